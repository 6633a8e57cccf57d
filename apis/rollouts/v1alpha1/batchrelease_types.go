package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// BatchRelease replaces the pods of a workload batch by batch. A Rollout makes one per release; it
// works without a Rollout too.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="KIND",type="string",JSONPath=".spec.targetReference.workloadRef.kind",description="The kind of the workload"
// +kubebuilder:printcolumn:name="PHASE",type="string",JSONPath=".status.phase",description="Where the BatchRelease stands"
// +kubebuilder:printcolumn:name="BATCH",type="integer",JSONPath=".status.canaryStatus.currentBatch",description="The current batch, from 0"
// +kubebuilder:printcolumn:name="BATCH-STATE",type="string",JSONPath=".status.canaryStatus.batchState",description="Where the current batch stands"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type BatchRelease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +optional
	Spec BatchReleaseSpec `json:"spec,omitempty"`
	// Status is what the operator found and did.
	// +optional
	Status BatchReleaseStatus `json:"status,omitempty"`
}

// BatchReleaseList is a list of BatchReleases.
//
// +kubebuilder:object:root=true
type BatchReleaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the BatchReleases.
	Items []BatchRelease `json:"items"`
}

// BatchReleaseSpec is what is wanted of a BatchRelease.
type BatchReleaseSpec struct {
	// TargetRef names the workload, in the BatchRelease's namespace.
	TargetRef ObjectRef `json:"targetReference"`
	// ReleasePlan says how the pods are replaced.
	ReleasePlan ReleasePlan `json:"releasePlan"`
}

// ReleasePlan says how the pods are replaced.
type ReleasePlan struct {
	// Batches are run in order.
	Batches []ReleaseBatch `json:"batches"`
	// BatchPartition is the last batch, from 0, that may run. Absent gives the workload back.
	// +optional
	BatchPartition *int32 `json:"batchPartition,omitempty"`
	// RolloutID is the label that updated pods get; empty labels none.
	// +optional
	RolloutID string `json:"rolloutID,omitempty"`
	// FailureThreshold is how many new pods, or which share of them, may be not ready in a batch
	// that counts as done. Absent means none.
	// +optional
	FailureThreshold *intstr.IntOrString `json:"failureThreshold,omitempty"`
	// FinalizingPolicy is WaitResume (giving the workload back waits until all pods are updated) or
	// Immediate (it doesn't wait). Empty means Immediate.
	// +optional
	FinalizingPolicy FinalizingPolicyType `json:"finalizingPolicy,omitempty"`
	// PatchPodTemplateMetadata is added to the pods of the extra canary Deployment.
	// +optional
	PatchPodTemplateMetadata *PatchPodTemplateMetadata `json:"patchPodTemplateMetadata,omitempty"`
	// RollingStyle is Partition, Canary or BlueGreen. Empty means what the annotation
	// rollouts.kruise.io/rolling-style says.
	// +optional
	RollingStyle RollingStyleType `json:"rollingStyle,omitempty"`
	// EnableExtraWorkloadForCanary runs the new revision in an extra Deployment.
	EnableExtraWorkloadForCanary bool `json:"enableExtraWorkloadForCanary"`
}

// ReleaseBatch is one batch.
type ReleaseBatch struct {
	// CanaryReplicas is how many pods, or which share of them, run the new revision after this batch.
	// Percentages are rounded up.
	CanaryReplicas intstr.IntOrString `json:"canaryReplicas"`
}

// FinalizingPolicyType says what giving a workload back waits for; v1beta1 lists the policies.
type FinalizingPolicyType string

// BatchReleaseStatus is what the operator found and did.
type BatchReleaseStatus struct {
	// Conditions tell what is in the way, if anything.
	// +optional
	Conditions []RolloutCondition `json:"conditions,omitempty"`
	// CanaryStatus tells of the current batch.
	// +optional
	CanaryStatus BatchReleaseCanaryStatus `json:"canaryStatus,omitempty"`
	// StableRevision is the revision that served before the release.
	// +optional
	StableRevision string `json:"stableRevision,omitempty"`
	// UpdateRevision is the revision that is being released.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`
	// ObservedGeneration is the generation of the BatchRelease that the status belongs to.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ObservedRolloutID is the rolloutID of the plan that is being run.
	// +optional
	ObservedRolloutID string `json:"observedRolloutID,omitempty"`
	// ObservedWorkloadReplicas is how many pods the workload had when batches were last computed, -1
	// before that.
	// +optional
	ObservedWorkloadReplicas int32 `json:"observedWorkloadReplicas,omitempty"`
	// CollisionCount makes the name of a canary Deployment's revision unique.
	// +optional
	CollisionCount *int32 `json:"collisionCount,omitempty"`
	// ObservedReleasePlanHash is the hash of the plan that is being run.
	// +optional
	ObservedReleasePlanHash string `json:"observedReleasePlanHash,omitempty"`
	// Phase is where the BatchRelease stands.
	// +optional
	Phase RolloutPhase `json:"phase,omitempty"`
}

// BatchReleaseCanaryStatus tells of the current batch.
type BatchReleaseCanaryStatus struct {
	// CurrentBatchState is where the current batch stands.
	// +optional
	CurrentBatchState BatchReleaseBatchStateType `json:"batchState,omitempty"`
	// CurrentBatch is the batch that is being run, from 0.
	CurrentBatch int32 `json:"currentBatch"`
	// BatchReadyTime is when the current batch became ready.
	// +optional
	BatchReadyTime *metav1.Time `json:"batchReadyTime,omitempty"`
	// UpdatedReplicas counts the pods that run the new revision.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`
	// UpdatedReadyReplicas counts those that are ready.
	// +optional
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas,omitempty"`
	// NoNeedUpdateReplicas counts the pods that were at the revision before a rollback in batches
	// began; absent outside of one.
	// +optional
	NoNeedUpdateReplicas *int32 `json:"noNeedUpdateReplicas,omitempty"`
}

// BatchReleaseBatchStateType is where a batch stands; v1beta1 lists the states.
type BatchReleaseBatchStateType string
