package conversion

import (
	"context"
	"strings"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// batchReleaseToSpoke shows a stored BatchRelease to a client of v1alpha1.
func batchReleaseToSpoke(_ context.Context, hub *v1beta1.BatchRelease, spoke *v1alpha1.BatchRelease) error {
	hub = hub.DeepCopy()
	only := take[batchReleaseSpokeOnly](hub, v1beta1.SpokeDataAnnotation)
	drop(hub, v1beta1.HubDataAnnotation)

	shownRelease := spokeBatchRelease(hub)
	only.restore(shownRelease)
	keep(shownRelease, v1beta1.HubDataAnnotation, batchReleaseHubOnlyOf(hub))

	shownRelease.TypeMeta = spoke.TypeMeta
	*spoke = *shownRelease
	return nil
}

// batchReleaseToHub takes what a client of v1alpha1 wrote, or the API server merged into it.
func batchReleaseToHub(_ context.Context, spoke *v1alpha1.BatchRelease, hub *v1beta1.BatchRelease) error {
	spoke = spoke.DeepCopy()
	only := take[batchReleaseHubOnly](spoke, v1beta1.HubDataAnnotation)
	drop(spoke, v1beta1.SpokeDataAnnotation)

	stored := hubBatchRelease(spoke)
	only.restore(stored)
	keep(stored, v1beta1.SpokeDataAnnotation, batchReleaseSpokeOnlyOf(spoke, stored))

	stored.TypeMeta = hub.TypeMeta
	*hub = *stored
	return nil
}

// batchReleaseSpokeOnly is what v1beta1 has no field for.
type batchReleaseSpokeOnly struct {
	// ImpliedRollingStyle says that the style was given by annotation alone.
	ImpliedRollingStyle bool `json:"impliedRollingStyle,omitempty"`
}

func batchReleaseSpokeOnlyOf(spoke *v1alpha1.BatchRelease, hub *v1beta1.BatchRelease) batchReleaseSpokeOnly {
	return batchReleaseSpokeOnly{
		ImpliedRollingStyle: spoke.Spec.ReleasePlan.RollingStyle == "" && hub.Spec.ReleasePlan.RollingStyle != "",
	}
}

func (o batchReleaseSpokeOnly) restore(spoke *v1alpha1.BatchRelease) {
	given := v1beta1.RollingStyleType(spoke.Spec.ReleasePlan.RollingStyle)
	if o.ImpliedRollingStyle && given == annotatedStyle(spoke.Annotations) {
		spoke.Spec.ReleasePlan.RollingStyle = ""
	}
}

// batchReleaseHubOnly is what v1alpha1 has no field for.
type batchReleaseHubOnly struct {
	Annotations     annotations `json:"annotations,omitempty"`
	Message         string      `json:"message,omitempty"`
	PodTemplateHash string      `json:"podTemplateHash,omitempty"`
	// UpdateRevision is the revision that PodTemplateHash belongs to.
	UpdateRevision string `json:"updateRevision,omitempty"`
}

func batchReleaseHubOnlyOf(hub *v1beta1.BatchRelease) batchReleaseHubOnly {
	only := batchReleaseHubOnly{
		Annotations:     hidden(hub, shownStyle(hub)),
		Message:         hub.Status.Message,
		PodTemplateHash: hub.Status.PodTemplateHash,
	}
	if only.PodTemplateHash != "" {
		only.UpdateRevision = hub.Status.UpdateRevision
	}
	return only
}

func (o batchReleaseHubOnly) restore(hub *v1beta1.BatchRelease) {
	hub.Status.Message = o.Message
	if hub.Status.UpdateRevision == o.UpdateRevision {
		hub.Status.PodTemplateHash = o.PodTemplateHash
	}
	o.Annotations.restore(hub, shownStyle(hub))
}

// shownStyle is the annotation by which v1alpha1 shows the style; it is there even if it is empty.
func shownStyle(hub *v1beta1.BatchRelease) map[string]string {
	return map[string]string{v1beta1.RollingStyleAnnotation: styleText(hub.Spec.ReleasePlan.RollingStyle)}
}

// annotatedStyle is the style that the annotation names; empty if it names none.
func annotatedStyle(annotations map[string]string) v1beta1.RollingStyleType {
	for _, style := range []v1beta1.RollingStyleType{
		v1beta1.PartitionRollingStyle, v1beta1.CanaryRollingStyle, v1beta1.BlueGreenRollingStyle,
	} {
		if strings.EqualFold(annotations[v1beta1.RollingStyleAnnotation], string(style)) {
			return style
		}
	}
	return v1beta1.EmptyRollingStyle
}

// hubBatchRelease translates as if v1beta1 had nothing that v1alpha1 has no field for. A style in the
// spec wins over one in the annotation.
func hubBatchRelease(r *v1alpha1.BatchRelease) *v1beta1.BatchRelease {
	hub := &v1beta1.BatchRelease{ObjectMeta: *r.ObjectMeta.DeepCopy()}
	if ref := r.Spec.TargetRef.WorkloadRef; ref != nil {
		hub.Spec.WorkloadRef = v1beta1.ObjectRef(*ref)
	}
	p, s := r.Spec.ReleasePlan, r.Status
	hub.Spec.ReleasePlan = v1beta1.ReleasePlan{
		Batches:                      each(p.Batches, func(b v1alpha1.ReleaseBatch) v1beta1.ReleaseBatch { return v1beta1.ReleaseBatch(b) }),
		BatchPartition:               p.BatchPartition,
		RolloutID:                    p.RolloutID,
		FailureThreshold:             p.FailureThreshold,
		FinalizingPolicy:             v1beta1.FinalizingPolicyType(p.FinalizingPolicy),
		PatchPodTemplateMetadata:     (*v1beta1.PatchPodTemplateMetadata)(p.PatchPodTemplateMetadata),
		RollingStyle:                 v1beta1.RollingStyleType(p.RollingStyle),
		EnableExtraWorkloadForCanary: p.EnableExtraWorkloadForCanary,
	}
	if p.RollingStyle == "" {
		hub.Spec.ReleasePlan.RollingStyle = annotatedStyle(r.Annotations)
	}
	hub.Status = v1beta1.BatchReleaseStatus{
		Conditions: each(s.Conditions, hubCondition),
		CanaryStatus: v1beta1.BatchReleaseCanaryStatus{
			CurrentBatchState:    v1beta1.BatchReleaseBatchStateType(s.CanaryStatus.CurrentBatchState),
			CurrentBatch:         s.CanaryStatus.CurrentBatch,
			BatchReadyTime:       s.CanaryStatus.BatchReadyTime,
			UpdatedReplicas:      s.CanaryStatus.UpdatedReplicas,
			UpdatedReadyReplicas: s.CanaryStatus.UpdatedReadyReplicas,
			NoNeedUpdateReplicas: s.CanaryStatus.NoNeedUpdateReplicas,
		},
		StableRevision:           s.StableRevision,
		UpdateRevision:           s.UpdateRevision,
		ObservedGeneration:       s.ObservedGeneration,
		ObservedRolloutID:        s.ObservedRolloutID,
		ObservedWorkloadReplicas: s.ObservedWorkloadReplicas,
		CollisionCount:           s.CollisionCount,
		ObservedReleasePlanHash:  s.ObservedReleasePlanHash,
		Phase:                    v1beta1.RolloutPhase(s.Phase),
	}
	return hub
}

// spokeBatchRelease translates and leaves out what v1alpha1 has no field for.
func spokeBatchRelease(r *v1beta1.BatchRelease) *v1alpha1.BatchRelease {
	spoke := &v1alpha1.BatchRelease{ObjectMeta: *r.ObjectMeta.DeepCopy()}
	if r.Spec.WorkloadRef != (v1beta1.ObjectRef{}) {
		spoke.Spec.TargetRef.WorkloadRef = new(v1alpha1.WorkloadRef(r.Spec.WorkloadRef))
	}
	p, s := r.Spec.ReleasePlan, r.Status
	spoke.Spec.ReleasePlan = v1alpha1.ReleasePlan{
		Batches:                      each(p.Batches, func(b v1beta1.ReleaseBatch) v1alpha1.ReleaseBatch { return v1alpha1.ReleaseBatch(b) }),
		BatchPartition:               p.BatchPartition,
		RolloutID:                    p.RolloutID,
		FailureThreshold:             p.FailureThreshold,
		FinalizingPolicy:             v1alpha1.FinalizingPolicyType(p.FinalizingPolicy),
		PatchPodTemplateMetadata:     (*v1alpha1.PatchPodTemplateMetadata)(p.PatchPodTemplateMetadata),
		RollingStyle:                 v1alpha1.RollingStyleType(p.RollingStyle),
		EnableExtraWorkloadForCanary: p.EnableExtraWorkloadForCanary,
	}
	for key, value := range shownStyle(r) {
		write(spoke, key, value)
	}
	spoke.Status = v1alpha1.BatchReleaseStatus{
		Conditions: each(s.Conditions, spokeCondition),
		CanaryStatus: v1alpha1.BatchReleaseCanaryStatus{
			CurrentBatchState:    v1alpha1.BatchReleaseBatchStateType(s.CanaryStatus.CurrentBatchState),
			CurrentBatch:         s.CanaryStatus.CurrentBatch,
			BatchReadyTime:       s.CanaryStatus.BatchReadyTime,
			UpdatedReplicas:      s.CanaryStatus.UpdatedReplicas,
			UpdatedReadyReplicas: s.CanaryStatus.UpdatedReadyReplicas,
			NoNeedUpdateReplicas: s.CanaryStatus.NoNeedUpdateReplicas,
		},
		StableRevision:           s.StableRevision,
		UpdateRevision:           s.UpdateRevision,
		ObservedGeneration:       s.ObservedGeneration,
		ObservedRolloutID:        s.ObservedRolloutID,
		ObservedWorkloadReplicas: s.ObservedWorkloadReplicas,
		CollisionCount:           s.CollisionCount,
		ObservedReleasePlanHash:  s.ObservedReleasePlanHash,
		Phase:                    v1alpha1.RolloutPhase(s.Phase),
	}
	return spoke
}
