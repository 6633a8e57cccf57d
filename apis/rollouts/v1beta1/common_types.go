package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ObjectRef names an object in the namespace of the object that refers to it.
type ObjectRef struct {
	// APIVersion is the object's group and version, such as apps/v1.
	APIVersion string `json:"apiVersion"`
	// Kind is the object's kind, such as Deployment.
	Kind string `json:"kind"`
	// Name is the object's name.
	Name string `json:"name"`
}

// RollingStyleType is how a release replaces pods.
type RollingStyleType string

// The rolling styles.
const (
	// PartitionRollingStyle replaces the workload's own pods in place, batch by batch.
	PartitionRollingStyle RollingStyleType = "Partition"
	// CanaryRollingStyle runs the new revision in an extra Deployment until the release succeeds.
	CanaryRollingStyle RollingStyleType = "Canary"
	// BlueGreenRollingStyle runs both revisions side by side and removes the old one at the end.
	BlueGreenRollingStyle RollingStyleType = "BlueGreen"
	// EmptyRollingStyle leaves the choice open: Canary if enableExtraWorkloadForCanary is true, else
	// Partition.
	EmptyRollingStyle RollingStyleType = ""
)

// PatchPodTemplateMetadata is added to the pod template of the extra canary Deployment, and only
// there.
type PatchPodTemplateMetadata struct {
	// Annotations are added to those of the pod template.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// Labels are added to those of the pod template.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// RolloutCondition is one condition of a Rollout or a BatchRelease.
type RolloutCondition struct {
	// Type is what the condition is about.
	Type RolloutConditionType `json:"type"`
	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`
	// LastUpdateTime is when the condition last changed in any way.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitzero"`
	// LastTransitionTime is when the status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`
	// Reason is one word for why the condition is as it is.
	Reason string `json:"reason"`
	// Message says the same in a sentence.
	Message string `json:"message"`
}

// RolloutConditionType is what a condition is about.
type RolloutConditionType string

// The condition types.
const (
	// RolloutConditionProgressing is True while a release is under way; its reason says how far it
	// is.
	RolloutConditionProgressing RolloutConditionType = "Progressing"
	// RolloutConditionSucceeded tells how the latest release ended; absent while one is under way.
	RolloutConditionSucceeded RolloutConditionType = "Succeeded"
	// RolloutConditionTerminating tells how far the clean-up of a deleted Rollout is.
	RolloutConditionTerminating RolloutConditionType = "Terminating"
)

// The reasons of the condition Progressing.
const (
	// ProgressingReasonInitializing: a change was caught, the release is being prepared.
	ProgressingReasonInitializing = "Initializing"
	// ProgressingReasonInRolling: the steps are being run.
	ProgressingReasonInRolling = "InRolling"
	// ProgressingReasonFinalising: the steps are done, everything borrowed is given back.
	ProgressingReasonFinalising = "Finalising"
	// ProgressingReasonCompleted: nothing is left to do.
	ProgressingReasonCompleted = "Completed"
	// ProgressingReasonCancelling: the workload was rolled back, everything borrowed is given back.
	ProgressingReasonCancelling = "Cancelling"
	// ProgressingReasonPaused: spec.strategy.paused is true.
	ProgressingReasonPaused = "Paused"
)

// The reasons of the condition Terminating.
const (
	// TerminatingReasonInTerminating: what the Rollout holds is being given back.
	TerminatingReasonInTerminating = "InTerminating"
	// TerminatingReasonCompleted: nothing is left, the finalizer may go.
	TerminatingReasonCompleted = "Completed"
)

// The reasons of events.
const (
	// EventReasonProgressing is the reason of every event on a Rollout.
	EventReasonProgressing = "Progressing"
	// EventReasonUnsupportedWorkload is the reason of the warning on a BatchRelease whose workload
	// can't be released.
	EventReasonUnsupportedWorkload = "UnsupportedWorkload"
)

// RolloutPhase is where a Rollout or a BatchRelease stands; "" before it was first looked at.
type RolloutPhase string

// The phases of a Rollout. Progressing is also one of a BatchRelease.
const (
	// RolloutPhaseInitial: the workload was not found yet.
	RolloutPhaseInitial RolloutPhase = "Initial"
	// RolloutPhaseHealthy: no release is under way.
	RolloutPhaseHealthy RolloutPhase = "Healthy"
	// RolloutPhaseProgressing: a release is under way.
	RolloutPhaseProgressing RolloutPhase = "Progressing"
	// RolloutPhaseTerminating: the Rollout is deleted and gives back what it holds.
	RolloutPhaseTerminating RolloutPhase = "Terminating"
	// RolloutPhaseDisabled: the Rollout does nothing.
	RolloutPhaseDisabled RolloutPhase = "Disabled"
	// RolloutPhaseDisabling: the Rollout was disabled during a release and gives back what it holds.
	RolloutPhaseDisabling RolloutPhase = "Disabling"
)

// The phases that only a BatchRelease has.
const (
	// RolloutPhasePreparing: the workload is being claimed.
	RolloutPhasePreparing RolloutPhase = "Preparing"
	// RolloutPhaseFinalizing: the workload is being given back.
	RolloutPhaseFinalizing RolloutPhase = "Finalizing"
	// RolloutPhaseCompleted: the BatchRelease will never act again.
	RolloutPhaseCompleted RolloutPhase = "Completed"
)
