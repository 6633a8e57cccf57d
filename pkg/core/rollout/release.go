package rollout

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

// releaseOfStep returns the write that orders the BatchRelease of the current step.
func releaseOfStep(w World, c *v1beta1.CanaryStatus) []plan.Action {
	return toward(w, orders(w, c))
}

// orders is the release plan that takes a release to its current step.
func orders(w World, c *v1beta1.CanaryStatus) v1beta1.ReleasePlan {
	p := v1beta1.ReleasePlan{
		BatchPartition: new(w.clamp(c.CurrentStepIndex) - 1),
		RolloutID:      c.ObservedRolloutID,
		RollingStyle:   w.Rollout.Style(),
		Batches:        batches(w),
	}
	if canary := w.Rollout.Spec.Strategy.Canary; canary != nil {
		p.FailureThreshold = canary.FailureThreshold
		p.PatchPodTemplateMetadata = canary.PatchPodTemplateMetadata
		p.EnableExtraWorkloadForCanary = canary.EnableExtraWorkloadForCanary
	}
	return p
}

// batches are the steps as a BatchRelease has them; never nil, which the API server refuses.
func batches(w World) []v1beta1.ReleaseBatch {
	steps := w.Rollout.Spec.Strategy.Steps()
	list := make([]v1beta1.ReleaseBatch, len(steps))
	for i, step := range steps {
		if step.Replicas != nil {
			list[i].CanaryReplicas = *step.Replicas
		}
	}
	return list
}

// toward returns the write that gives the BatchRelease its plan; none when it has it.
func toward(w World, p v1beta1.ReleasePlan) []plan.Action {
	spec := v1beta1.BatchReleaseSpec{WorkloadRef: w.Rollout.Spec.WorkloadRef, ReleasePlan: p}
	if w.Release == nil {
		return []plan.Action{plan.Edit{After: &v1beta1.BatchRelease{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:       w.Rollout.Namespace,
				Name:            w.Rollout.Name,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w.Rollout, v1beta1.SchemeGroupVersion.WithKind("Rollout"))},
			},
			Spec: spec,
		}}}
	}
	if equality.Semantic.DeepEqual(w.Release.Spec, spec) {
		return nil
	}
	after := w.Release.DeepCopy()
	after.Spec = spec
	return []plan.Action{plan.Edit{Before: w.Release, After: after}}
}

// observeRelease copies what the BatchRelease tells into the status of the Rollout.
func observeRelease(w World, c *v1beta1.CanaryStatus) {
	if c == nil {
		return
	}
	refresh(w, c)
	if r := w.Release; r != nil {
		c.CanaryReplicas = r.Status.CanaryStatus.UpdatedReplicas
		c.CanaryReadyReplicas = r.Status.CanaryStatus.UpdatedReadyReplicas
		c.Message = fmt.Sprintf("BatchRelease is at state %s, rollout-id %s, step %d",
			r.Status.CanaryStatus.CurrentBatchState, r.Status.ObservedRolloutID, r.Status.CanaryStatus.CurrentBatch+1)
		if r.Status.Message != "" {
			c.Message += ", " + r.Status.Message
		}
	}
	if c.PodTemplateHash == "" && c.CanaryRevision == w.Workload.UpdateRevision {
		c.PodTemplateHash = w.Workload.PodTemplateHash
	}
}
