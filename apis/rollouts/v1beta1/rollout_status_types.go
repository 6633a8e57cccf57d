package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutStatus is what the operator found and did.
type RolloutStatus struct {
	// ObservedGeneration is the generation of the Rollout that the status belongs to.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// CanaryStatus tells of the latest release in place or through an extra Deployment.
	// +optional
	CanaryStatus *CanaryStatus `json:"canaryStatus,omitempty"`
	// BlueGreenStatus tells of the latest blue-green release.
	// +optional
	BlueGreenStatus *BlueGreenStatus `json:"blueGreenStatus,omitempty"`
	// Conditions are Progressing, Succeeded and Terminating.
	// +optional
	Conditions []RolloutCondition `json:"conditions,omitempty"`
	// Phase is where the Rollout stands.
	// +optional
	Phase RolloutPhase `json:"phase,omitempty"`
	// Message says for users what happens or what is waited for.
	// +optional
	Message string `json:"message,omitempty"`
	// CurrentStepIndex repeats the one of canaryStatus or blueGreenStatus, for kubectl get.
	CurrentStepIndex int32 `json:"currentStepIndex"`
	// CurrentStepState repeats the one of canaryStatus or blueGreenStatus, for kubectl get.
	CurrentStepState CanaryStepState `json:"currentStepState"`
}

// CommonStatus is what the status of a release has in every style.
type CommonStatus struct {
	// ObservedWorkloadGeneration is the generation of the workload that the status belongs to.
	// +optional
	ObservedWorkloadGeneration int64 `json:"observedWorkloadGeneration,omitempty"`
	// ObservedRolloutID names the release: the workload's rollout-id, or else its new revision.
	// +optional
	ObservedRolloutID string `json:"observedRolloutID,omitempty"`
	// RolloutHash is the hash of the strategy that is being run.
	// +optional
	RolloutHash string `json:"rolloutHash,omitempty"`
	// StableRevision is the revision that served before the release.
	// +optional
	StableRevision string `json:"stableRevision,omitempty"`
	// PodTemplateHash is the value that the revision label has on pods of the new revision; empty
	// until the workload's controller has made some.
	PodTemplateHash string `json:"podTemplateHash"`
	// CurrentStepIndex is the step that is being run, from 1.
	CurrentStepIndex int32 `json:"currentStepIndex"`
	// NextStepIndex is the step after it, -1 if there is none. Another value than that makes the
	// release jump.
	NextStepIndex int32 `json:"nextStepIndex"`
	// FinalisingStep is how far giving back what was borrowed has come; empty before.
	FinalisingStep FinalisingStepType `json:"finalisingStep"`
	// CurrentStepState is where the current step stands. Writing StepReady approves a step that is
	// StepPaused.
	CurrentStepState CanaryStepState `json:"currentStepState"`
	// Message tells of the BatchRelease.
	// +optional
	Message string `json:"message,omitempty"`
	// LastUpdateTime is when the step last changed its state; pauses and grace periods count from it.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`
}

// NoNextStep is the nextStepIndex of the last step.
const NoNextStep int32 = -1

// CanaryStatus tells of a release in place or through an extra Deployment.
type CanaryStatus struct {
	CommonStatus `json:",inline"`

	// CanaryRevision is the revision that is being released.
	CanaryRevision string `json:"canaryRevision"`
	// CanaryReplicas counts the pods that run it.
	CanaryReplicas int32 `json:"canaryReplicas"`
	// CanaryReadyReplicas counts those that are ready.
	CanaryReadyReplicas int32 `json:"canaryReadyReplicas"`
}

// BlueGreenStatus tells of a blue-green release.
type BlueGreenStatus struct {
	CommonStatus `json:",inline"`

	// UpdatedRevision is the revision that is being released.
	UpdatedRevision string `json:"updatedRevision"`
	// UpdatedReplicas counts the pods that run it.
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// UpdatedReadyReplicas counts those that are ready.
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas"`
}

// CanaryStepState is where a step stands, in every style.
type CanaryStepState string

// The states of a step, in the order in which they are passed.
const (
	// CanaryStepStateInit: traffic is prepared for pods that come or go.
	CanaryStepStateInit CanaryStepState = "BeforeStepUpgrade"
	// CanaryStepStateUpgrade: the step's pods are replaced.
	CanaryStepStateUpgrade CanaryStepState = "StepUpgrade"
	// CanaryStepStateTrafficRouting: the step's traffic is routed.
	CanaryStepStateTrafficRouting CanaryStepState = "StepTrafficRouting"
	// CanaryStepStateMetricsAnalysis: what the new revision does with it is judged.
	CanaryStepStateMetricsAnalysis CanaryStepState = "StepMetricsAnalysis"
	// CanaryStepStatePaused: the step waits for its time to pass, or for approval.
	CanaryStepStatePaused CanaryStepState = "StepPaused"
	// CanaryStepStateReady: the step may be left.
	CanaryStepStateReady CanaryStepState = "StepReady"
	// CanaryStepStateCompleted: the last step was left.
	CanaryStepStateCompleted CanaryStepState = "Completed"
)

// FinalisingStepType is how far giving back what a release has borrowed has come.
type FinalisingStepType string

// The finalising steps; their order depends on the style and on why the release ends.
const (
	// FinalisingStepRouteTrafficToNew sends all requests to the new revision.
	FinalisingStepRouteTrafficToNew FinalisingStepType = "FinalisingStepRouteTrafficToNew"
	// FinalisingStepRouteTrafficToStable gives the routes back.
	FinalisingStepRouteTrafficToStable FinalisingStepType = "FinalisingStepRouteTrafficToStable"
	// FinalisingStepRestoreStableService gives the stable Service's selector back.
	FinalisingStepRestoreStableService FinalisingStepType = "RestoreStableService"
	// FinalisingStepRemoveCanaryService deletes the canary Service.
	FinalisingStepRemoveCanaryService FinalisingStepType = "RemoveCanaryService"
	// FinalisingStepResumeWorkload lets the BatchRelease give the workload back.
	FinalisingStepResumeWorkload FinalisingStepType = "ResumeWorkload"
	// FinalisingStepReleaseWorkloadControl deletes the BatchRelease.
	FinalisingStepReleaseWorkloadControl FinalisingStepType = "ReleaseWorkloadControl"
	// FinalisingStepEnd says that nothing is left to give back.
	FinalisingStepEnd FinalisingStepType = "END"
	// FinalisingStepWaitEndless is never left; for debugging only.
	FinalisingStepWaitEndless FinalisingStepType = "WaitEndless"
)
