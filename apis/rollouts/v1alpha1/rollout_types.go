package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Rollout releases every change of a workload step by step: some pods, some traffic, a pause.
//
// The annotation rollouts.kruise.io/rolling-style chooses between "partition" (in place) and "canary"
// (through an extra Deployment), which is also what an absent annotation means. A blue-green Rollout
// can only be written in v1beta1; here it is seen without its spec.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="STATUS",type="string",JSONPath=".status.phase",description="Where the Rollout stands"
// +kubebuilder:printcolumn:name="CANARY_STEP",type="integer",JSONPath=".status.canaryStatus.currentStepIndex",description="The current step, from 1"
// +kubebuilder:printcolumn:name="CANARY_STATE",type="string",JSONPath=".status.canaryStatus.currentStepState",description="Where the current step stands"
// +kubebuilder:printcolumn:name="MESSAGE",type="string",JSONPath=".status.message",description="The same in a sentence"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type Rollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	// +optional
	Spec RolloutSpec `json:"spec,omitempty"`
	// Status is what the operator found and did. Approval and jumps are written to it.
	// +optional
	Status RolloutStatus `json:"status,omitempty"`
}

// RolloutList is a list of Rollouts.
//
// +kubebuilder:object:root=true
type RolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the Rollouts.
	Items []Rollout `json:"items"`
}

// RolloutSpec is what the user wants of a Rollout.
type RolloutSpec struct {
	// ObjectRef names the workload, in the Rollout's namespace.
	ObjectRef ObjectRef `json:"objectRef"`
	// Strategy says how changes are released.
	Strategy RolloutStrategy `json:"strategy"`
	// DeprecatedRolloutID has no effect: label the workload with rollouts.kruise.io/rollout-id.
	// +optional
	DeprecatedRolloutID string `json:"rolloutID,omitempty"`
	// Disabled makes the Rollout let changes through. In the middle of a release everything borrowed
	// is given back and the workload rolls on by itself.
	// +optional
	// +kubebuilder:default=false
	Disabled bool `json:"disabled"`
}

// RolloutStrategy says how changes are released.
type RolloutStrategy struct {
	// Paused freezes the release at the step it has reached; batches that were ordered still finish.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// Canary releases in place, or through an extra Deployment. Required.
	// +optional
	Canary *CanaryStrategy `json:"canary,omitempty"`
}

// CanaryStrategy releases in place, or through an extra Deployment.
type CanaryStrategy struct {
	// Steps are run in order; there is at least one.
	// +optional
	Steps []CanaryStep `json:"steps,omitempty"`
	// TrafficRoutings says which Service and routes carry the workload's traffic; at most one.
	// +optional
	TrafficRoutings []TrafficRoutingRef `json:"trafficRoutings,omitempty"`
	// FailureThreshold is how many new pods, or which share of them, may be not ready in a batch
	// that counts as done. Absent means none.
	// +optional
	FailureThreshold *intstr.IntOrString `json:"failureThreshold,omitempty"`
	// PatchPodTemplateMetadata is added to the pods of the extra Deployment; without one it has no
	// effect on pods.
	// +optional
	PatchPodTemplateMetadata *PatchPodTemplateMetadata `json:"patchPodTemplateMetadata,omitempty"`
	// DisableGenerateCanaryService makes no canary Service: the stable Service serves all pods, and
	// its selector is left alone.
	// +optional
	DisableGenerateCanaryService bool `json:"disableGenerateCanaryService,omitempty"`
}

// CanaryStep is one step of a release: pods first, then traffic, then a pause.
type CanaryStep struct {
	TrafficRoutingStrategy `json:",inline"`

	// Replicas is how many pods, or which share of them, run the new revision after this step.
	// Percentages are rounded up. Absent means the same share as weight.
	// +optional
	Replicas *intstr.IntOrString `json:"replicas,omitempty"`
	// Pause is how long to wait after the step. Absent is the same as empty.
	// +optional
	Pause *RolloutPause `json:"pause,omitempty"`
}

// TrafficRoutingStrategy says which requests the new revision gets: a share of them, or those that
// match. With neither the step has no traffic of its own.
type TrafficRoutingStrategy struct {
	// Weight is how many percent of the requests go to the new revision.
	// +optional
	Weight *int32 `json:"weight,omitempty"`
	// RequestHeaderModifier changes the headers of requests that go to the new revision.
	// +optional
	RequestHeaderModifier *gatewayv1.HTTPHeaderFilter `json:"requestHeaderModifier,omitempty"`
	// Matches are the requests that go to the new revision: those that meet any of the elements.
	// +optional
	Matches []HTTPRouteMatch `json:"matches,omitempty"`
}

// HTTPRouteMatch tells a request by its headers.
type HTTPRouteMatch struct {
	// Headers match headers of the request; all of them must.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Headers []gatewayv1.HTTPHeaderMatch `json:"headers,omitempty"`
}

// RolloutPause is how long a release waits after a step.
type RolloutPause struct {
	// Duration is in seconds. 0 goes on at once, absent waits until somebody approves.
	// +optional
	Duration *int32 `json:"duration,omitempty"`
}

// TrafficRoutingRef says which Service and routes carry the workload's traffic. Several kinds of
// route may be set; all of them are changed.
type TrafficRoutingRef struct {
	// Service is the name of the Service that selects the workload's pods.
	Service string `json:"service"`
	// GracePeriodSeconds is how long to wait after a change of routes before what depends on it.
	// +optional
	// +kubebuilder:default=3
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty"`
	// Ingress is the Ingress that routes to the Service.
	// +optional
	Ingress *IngressTrafficRouting `json:"ingress,omitempty"`
	// Gateway is the Gateway API route that routes to the Service.
	// +optional
	Gateway *GatewayTrafficRouting `json:"gateway,omitempty"`
	// CustomNetworkRefs are objects of other kinds that route to the Service; a Lua script per kind
	// knows how to change them.
	// +optional
	CustomNetworkRefs []CustomNetworkRef `json:"customNetworkRefs,omitempty"`
}

// IngressTrafficRouting names an Ingress.
type IngressTrafficRouting struct {
	// ClassType selects the Lua script that knows the Ingress controller's annotations, such as
	// nginx, alb, aliyun-alb, mse or higress. Empty means nginx.
	// +optional
	ClassType string `json:"classType,omitempty"`
	// Name is the name of the Ingress.
	Name string `json:"name"`
}

// GatewayTrafficRouting names a route of the Gateway API.
type GatewayTrafficRouting struct {
	// HTTPRouteName is the name of an HTTPRoute. Required.
	// +optional
	HTTPRouteName *string `json:"httpRouteName,omitempty"`
}

// RolloutStatus is what the operator found and did.
type RolloutStatus struct {
	// ObservedGeneration is the generation of the Rollout that the status belongs to.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// CanaryStatus tells of the latest release.
	// +optional
	CanaryStatus *CanaryStatus `json:"canaryStatus,omitempty"`
	// Conditions are Progressing, Succeeded and Terminating.
	// +optional
	Conditions []RolloutCondition `json:"conditions,omitempty"`
	// Phase is where the Rollout stands.
	// +optional
	Phase RolloutPhase `json:"phase,omitempty"`
	// Message says for users what happens or what is waited for.
	// +optional
	Message string `json:"message,omitempty"`
}

// CanaryStatus tells of a release.
type CanaryStatus struct {
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
	// CanaryRevision is the revision that is being released.
	CanaryRevision string `json:"canaryRevision"`
	// PodTemplateHash is the value that the revision label has on pods of the new revision; empty
	// until the workload's controller has made some.
	PodTemplateHash string `json:"podTemplateHash"`
	// CanaryReplicas counts the pods that run the new revision.
	CanaryReplicas int32 `json:"canaryReplicas"`
	// CanaryReadyReplicas counts those that are ready.
	CanaryReadyReplicas int32 `json:"canaryReadyReplicas"`
	// NextStepIndex is the step after the current one, -1 if there is none. Another value than that
	// makes the release jump.
	NextStepIndex int32 `json:"nextStepIndex"`
	// CurrentStepIndex is the step that is being run, from 1.
	CurrentStepIndex int32 `json:"currentStepIndex"`
	// CurrentStepState is where the current step stands. Writing StepReady approves a step that is
	// StepPaused.
	CurrentStepState CanaryStepState `json:"currentStepState"`
	// Message tells of the BatchRelease.
	// +optional
	Message string `json:"message,omitempty"`
	// LastUpdateTime is when the step last changed its state; pauses and grace periods count from it.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`
	// FinalisingStep is how far giving back what was borrowed has come; empty before.
	FinalisingStep FinalisingStepType `json:"finalisingStep"`
}
