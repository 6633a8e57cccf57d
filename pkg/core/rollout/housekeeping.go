package rollout

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/condition"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/pace"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

// housekeeping returns what has to be on the Rollout and its workload before anything is decided:
// the finalizer, the hash of the plan and the label by which admission finds the workload. It has
// passes of its own, as each of these writes changes the version that a status write is guarded by.
func housekeeping(w World) []plan.Action {
	var actions []plan.Action
	if after, changed := relabelled(w); changed {
		actions = append(actions, plan.Edit{Before: w.Object, After: after})
	}
	after := w.Rollout.DeepCopy()
	after.Finalizers = finalizers(w)
	if hash := Hash(w.Rollout); !deleting(w) && after.Annotations[v1beta1.RolloutHashAnnotation] != hash {
		if after.Annotations == nil {
			after.Annotations = map[string]string{}
		}
		after.Annotations[v1beta1.RolloutHashAnnotation] = hash
	}
	if !equality.Semantic.DeepEqual(w.Rollout.ObjectMeta, after.ObjectMeta) {
		actions = append(actions, plan.Edit{Before: w.Rollout, After: after})
	}
	return actions
}

func terminated(w World) bool {
	return deleting(w) && condition.Reason(w.Rollout.Status, v1beta1.RolloutConditionTerminating) == v1beta1.TerminatingReasonCompleted
}

func finalizers(w World) []string {
	have := slices.Clone(w.Rollout.Finalizers)
	switch {
	case terminated(w):
		return slices.DeleteFunc(have, func(f string) bool { return f == v1beta1.RolloutFinalizer })
	case !deleting(w) && !slices.Contains(have, v1beta1.RolloutFinalizer):
		return append(have, v1beta1.RolloutFinalizer)
	default:
		return have
	}
}

// relabelled returns the workload with the label that says a Rollout refers to it, or, when the
// Rollout goes, without.
func relabelled(w World) (after plan.Object, changed bool) {
	if w.Object == nil || w.Unsupported != "" {
		return nil, false
	}
	kind := strings.ToLower(w.Rollout.Spec.WorkloadRef.Kind)
	have := w.Object.GetLabels()[v1beta1.WorkloadTypeLabel]
	after, ok := w.Object.DeepCopyObject().(plan.Object)
	if !ok {
		return nil, false
	}
	labels := after.GetLabels()
	switch {
	case terminated(w) && have == kind:
		delete(labels, v1beta1.WorkloadTypeLabel)
	case !deleting(w) && have == "":
		if labels == nil {
			labels = map[string]string{}
		}
		labels[v1beta1.WorkloadTypeLabel] = kind
	default:
		return nil, false
	}
	after.SetLabels(labels)
	return after, true
}

// holdBackCounters spares a write that would tell nothing but how many pods got ready since the
// last one, a moment ago.
func holdBackCounters(w World, d *draft) {
	before := w.Rollout.Status
	if equality.Semantic.DeepEqual(before, d.Status) || before.CanaryStatus == nil || d.Status.CanaryStatus == nil {
		return
	}
	after := d.Status.DeepCopy()
	after.CanaryStatus.CanaryReplicas = before.CanaryStatus.CanaryReplicas
	after.CanaryStatus.CanaryReadyReplicas = before.CanaryStatus.CanaryReadyReplicas
	after.CanaryStatus.ObservedWorkloadGeneration = before.CanaryStatus.ObservedWorkloadGeneration
	after.CanaryStatus.Message = before.CanaryStatus.Message
	if !equality.Semantic.DeepEqual(before, *after) {
		return
	}
	if left := pace.Counters(w.Rollout, w.Now); left > 0 {
		d.Status = before
		d.again(left)
	}
}
