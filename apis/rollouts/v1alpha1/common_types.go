package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ObjectRef holds the reference to a workload.
type ObjectRef struct {
	// WorkloadRef names the workload. Required.
	// +optional
	WorkloadRef *WorkloadRef `json:"workloadRef,omitempty"`
}

// WorkloadRef names a workload in the namespace of the object that refers to it.
type WorkloadRef struct {
	// APIVersion is the workload's group and version, such as apps/v1.
	APIVersion string `json:"apiVersion"`
	// Kind is the workload's kind, such as Deployment.
	Kind string `json:"kind"`
	// Name is the workload's name.
	Name string `json:"name"`
}

// CustomNetworkRef names an object that routes traffic, in the namespace of the object that refers
// to it.
type CustomNetworkRef struct {
	// APIVersion is the object's group and version.
	APIVersion string `json:"apiVersion"`
	// Kind is the object's kind.
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
	// EmptyRollingStyle leaves the choice open.
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

// RolloutConditionType is what a condition is about; v1beta1 lists the types and their reasons.
type RolloutConditionType string

// RolloutPhase is where a Rollout or a BatchRelease stands; v1beta1 lists the phases.
type RolloutPhase string

// CanaryStepState is where a step stands; v1beta1 lists the states.
type CanaryStepState string

// FinalisingStepType is how far giving back what a release has borrowed has come; v1beta1 lists the
// steps.
type FinalisingStepType string
