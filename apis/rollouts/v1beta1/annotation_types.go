package v1beta1

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// InProgressing is the JSON of InProgressingAnnotation.
type InProgressing struct {
	// RolloutName is the Rollout that releases the workload.
	RolloutName string `json:"rolloutName"`
}

// DeploymentStrategy is the JSON of DeploymentStrategyAnnotation: how a Deployment is released in
// place.
type DeploymentStrategy struct {
	// RollingStyle is Partition on a Deployment that is being released in place.
	RollingStyle RollingStyleType `json:"rollingStyle,omitempty"`
	// RollingUpdate holds the user's limits.
	RollingUpdate *appsv1.RollingUpdateDeployment `json:"rollingUpdate,omitempty"`
	// Paused says that no pod may move.
	Paused bool `json:"paused,omitempty"`
	// Partition is how many pods, or which share of them, may run the new revision.
	Partition intstr.IntOrString `json:"partition"`
}

// DeploymentExtraStatus is the JSON of DeploymentExtraStatusAnnotation: what a Deployment's own status
// does not tell.
type DeploymentExtraStatus struct {
	// UpdatedReadyReplicas counts the ready pods of the new revision.
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas,omitempty"`
	// ExpectedUpdatedReplicas is how many pods the partition lets run the new revision.
	ExpectedUpdatedReplicas int32 `json:"expectedUpdatedReplicas,omitempty"`
}

// OriginalDeploymentStrategy is the JSON of OriginalDeploymentStrategyAnnotation: what the user wrote
// to the fields that a release borrows. An absent member was absent in the workload.
type OriginalDeploymentStrategy struct {
	// MaxUnavailable is the rolling update's limit of pods that may be missing.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// MaxSurge is the rolling update's limit of pods that may be extra.
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
	// MinReadySeconds is how long a pod must be ready to be available.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`
	// ProgressDeadlineSeconds is when a rollout of the Deployment counts as failed.
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// RevisionHistoryLimit is how many old ReplicaSets are kept.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// Paused says that the user had paused the workload.
	Paused bool `json:"paused,omitempty"`
}

// DaemonSetRevision is the JSON of DaemonSetRevisionAnnotation.
type DaemonSetRevision struct {
	// CanaryRevision is the controller-revision-hash of the revision that is being released.
	CanaryRevision string `json:"canary-revision"`
	// StableRevision is the controller-revision-hash of the revision that served before.
	StableRevision string `json:"stable-revision"`
}

// DaemonSetAdvancedControl is the JSON of DaemonSetAdvancedControlAnnotation.
type DaemonSetAdvancedControl struct {
	// Partition is, as a decimal number, how many pods stay at the stable revision.
	Partition string `json:"partition"`
	// BatchRevision is the controller-revision-hash that the batch brings.
	BatchRevision string `json:"batch-revision"`
}
