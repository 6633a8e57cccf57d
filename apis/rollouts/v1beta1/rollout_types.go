package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Rollout releases every change of a workload step by step: some pods, some traffic, a pause.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="STATUS",type="string",JSONPath=".status.phase",description="Where the Rollout stands"
// +kubebuilder:printcolumn:name="CANARY_STEP",type="integer",JSONPath=".status.currentStepIndex",description="The current step, from 1"
// +kubebuilder:printcolumn:name="CANARY_STATE",type="string",JSONPath=".status.currentStepState",description="Where the current step stands"
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
	// WorkloadRef names the workload, in the Rollout's namespace.
	WorkloadRef ObjectRef `json:"workloadRef"`
	// Strategy says how changes are released.
	Strategy RolloutStrategy `json:"strategy"`
	// Disabled makes the Rollout let changes through. In the middle of a release everything borrowed
	// is given back and the workload rolls on by itself.
	// +optional
	// +kubebuilder:default=false
	Disabled bool `json:"disabled"`
}

// RolloutStrategy says how changes are released: exactly one of canary and blueGreen is set.
type RolloutStrategy struct {
	// Paused freezes the release at the step it has reached; batches that were ordered still finish.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// Canary releases in place, or through an extra Deployment.
	// +optional
	Canary *CanaryStrategy `json:"canary,omitempty"`
	// BlueGreen keeps all old pods until the end. For Deployments and CloneSets.
	// +optional
	BlueGreen *BlueGreenStrategy `json:"blueGreen,omitempty"`
}

// CanaryStrategy releases in place, or through an extra Deployment.
type CanaryStrategy struct {
	// Steps are run in order; there is at least one.
	// +optional
	// +kubebuilder:validation:MaxItems=50
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
	// EnableExtraWorkloadForCanary runs the new revision in an extra Deployment. For Deployments of
	// apps/v1; all other workloads are released in place, whatever is set here.
	// +optional
	EnableExtraWorkloadForCanary bool `json:"enableExtraWorkloadForCanary,omitempty"`
	// TrafficRoutingRef names a TrafficRouting in the Rollout's namespace that is in force during the
	// release.
	// +optional
	TrafficRoutingRef string `json:"trafficRoutingRef,omitempty"`
	// DisableGenerateCanaryService makes no canary Service: the stable Service serves all pods, and
	// its selector is left alone.
	// +optional
	DisableGenerateCanaryService bool `json:"disableGenerateCanaryService,omitempty"`
}

// BlueGreenStrategy keeps all old pods until the end.
type BlueGreenStrategy struct {
	// Steps are run in order; there is at least one.
	// +optional
	// +kubebuilder:validation:MaxItems=50
	Steps []CanaryStep `json:"steps,omitempty"`
	// TrafficRoutings says which Service and routes carry the workload's traffic; at most one.
	// +optional
	TrafficRoutings []TrafficRoutingRef `json:"trafficRoutings,omitempty"`
	// FailureThreshold has no effect: every new pod has to be ready.
	// +optional
	FailureThreshold *intstr.IntOrString `json:"failureThreshold,omitempty"`
	// TrafficRoutingRef names a TrafficRouting in the Rollout's namespace that is in force during the
	// release.
	// +optional
	TrafficRoutingRef string `json:"trafficRoutingRef,omitempty"`
	// DisableGenerateCanaryService makes no canary Service: the stable Service serves all pods, and
	// its selector is left alone.
	// +optional
	DisableGenerateCanaryService bool `json:"disableGenerateCanaryService,omitempty"`
}

// CanaryStep is one step of a release: pods first, then traffic, then a pause.
type CanaryStep struct {
	TrafficRoutingStrategy `json:",inline"`

	// Replicas is how many pods, or which share of them, run the new revision after this step.
	// Percentages are rounded up. Required.
	// +optional
	Replicas *intstr.IntOrString `json:"replicas,omitempty"`
	// Pause is how long to wait after the step.
	// +optional
	Pause RolloutPause `json:"pause,omitempty"`
}

// TrafficRoutingStrategy says which requests the new revision gets: a share of them, or those that
// match. With neither the step has no traffic of its own.
type TrafficRoutingStrategy struct {
	// Traffic is the share of requests that goes to the new revision, such as "20%". Absent differs
	// from "0%": it takes earlier routing back.
	// +optional
	Traffic *string `json:"traffic,omitempty"`
	// RequestHeaderModifier changes the headers of requests that go to the new revision.
	// +optional
	RequestHeaderModifier *gatewayv1.HTTPHeaderFilter `json:"requestHeaderModifier,omitempty"`
	// Matches are the requests that go to the new revision: those that meet any of the elements.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Matches []HTTPRouteMatch `json:"matches,omitempty"`
}

// HTTPRouteMatch tells a request by its path, headers and query parameters: all that are given must
// match.
type HTTPRouteMatch struct {
	// Path matches the path of the request.
	// +optional
	Path *gatewayv1.HTTPPathMatch `json:"path,omitempty"`
	// Headers match headers of the request; all of them must.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Headers []gatewayv1.HTTPHeaderMatch `json:"headers,omitempty"`
	// QueryParams match query parameters of the request; all of them must.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	QueryParams []gatewayv1.HTTPQueryParamMatch `json:"queryParams,omitempty"`
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
	CustomNetworkRefs []ObjectRef `json:"customNetworkRefs,omitempty"`
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
