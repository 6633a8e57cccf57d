package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// RolloutHistory records one release: what was released, how, and which pods each step made.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource
// +kubebuilder:subresource:status
type RolloutHistory struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what took part in the release.
	// +optional
	Spec RolloutHistorySpec `json:"spec,omitempty"`
	// Status is what the steps of the release brought about.
	// +optional
	Status RolloutHistoryStatus `json:"status,omitempty"`
}

// RolloutHistoryList is a list of RolloutHistories.
//
// +kubebuilder:object:root=true
type RolloutHistoryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the RolloutHistories.
	Items []RolloutHistory `json:"items"`
}

// RolloutHistorySpec is what took part in the release; what had no part in it is absent.
type RolloutHistorySpec struct {
	// Rollout is the Rollout.
	// +optional
	Rollout *RolloutInfo `json:"rollout,omitempty"`
	// Workload is the workload.
	// +optional
	Workload *WorkloadInfo `json:"workload,omitempty"`
	// Service is the Service.
	// +optional
	Service *ServiceInfo `json:"service,omitempty"`
	// TrafficRouting holds the routes.
	// +optional
	TrafficRouting *TrafficRoutingInfo `json:"trafficRouting,omitempty"`
}

// RolloutInfo is the Rollout of a release.
type RolloutInfo struct {
	// RolloutID names the release.
	RolloutID string `json:"rolloutID"`
	// Name is the name of the Rollout.
	Name string `json:"name"`
	// Data is the spec of the Rollout.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Data runtime.RawExtension `json:"data,omitzero"`
}

// WorkloadInfo is the workload of a release.
type WorkloadInfo struct {
	// APIVersion is the workload's group and version.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// Kind is the workload's kind.
	// +optional
	Kind string `json:"kind,omitempty"`
	// Name is the name of the workload.
	Name string `json:"name"`
	// Data is the spec of the workload.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Data runtime.RawExtension `json:"data,omitzero"`
}

// ServiceInfo is the Service of a release.
type ServiceInfo struct {
	// Name is the name of the Service.
	Name string `json:"name"`
	// Data is the spec of the Service.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Data runtime.RawExtension `json:"data,omitzero"`
}

// TrafficRoutingInfo holds the routes of a release.
type TrafficRoutingInfo struct {
	// Ingress is the Ingress.
	// +optional
	Ingress *IngressInfo `json:"ingress,omitempty"`
	// HTTPRoute is the HTTPRoute.
	// +optional
	HTTPRoute *HTTPRouteInfo `json:"httpRoute,omitempty"`
}

// IngressInfo is the Ingress of a release.
type IngressInfo struct {
	// Name is the name of the Ingress.
	Name string `json:"name"`
	// Data is the spec of the Ingress.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Data runtime.RawExtension `json:"data,omitzero"`
}

// HTTPRouteInfo is the HTTPRoute of a release.
type HTTPRouteInfo struct {
	// Name is the name of the HTTPRoute.
	Name string `json:"name"`
	// Data is the spec of the HTTPRoute.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Data runtime.RawExtension `json:"data,omitzero"`
}

// RolloutHistoryStatus is what the steps of a release brought about.
type RolloutHistoryStatus struct {
	// Phase is "completed" once the release is over and the record is complete.
	// +optional
	Phase RolloutHistoryPhase `json:"phase,omitempty"`
	// CanarySteps are the steps that were run.
	// +optional
	CanarySteps []CanaryStepInfo `json:"canarySteps,omitempty"`
}

// RolloutHistoryPhase says whether the record is complete; "" while it isn't.
type RolloutHistoryPhase string

// RolloutHistoryPhaseCompleted says that the release is over and the record complete.
const RolloutHistoryPhaseCompleted RolloutHistoryPhase = "completed"

// CanaryStepInfo is what one step brought about.
type CanaryStepInfo struct {
	// CanaryStepIndex is the number of the step, from 1.
	CanaryStepIndex int32 `json:"canaryStepIndex"`
	// Pods are the pods that the step updated.
	// +optional
	Pods []Pod `json:"pods,omitempty"`
}

// Pod is one pod that a step updated.
type Pod struct {
	// Name is the name of the pod.
	// +optional
	Name string `json:"name,omitempty"`
	// IP is its address.
	// +optional
	IP string `json:"ip,omitempty"`
	// NodeName is where it runs.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
}
