package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TrafficRouting routes the same requests to the new revision during the whole release of every
// Rollout that refers to it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="STATUS",type="string",JSONPath=".status.phase",description="Where the TrafficRouting stands"
// +kubebuilder:printcolumn:name="MESSAGE",type="string",JSONPath=".status.message",description="The same in a sentence"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type TrafficRouting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants.
	// +optional
	Spec TrafficRoutingSpec `json:"spec,omitempty"`
	// Status is what the operator found and did.
	// +optional
	Status TrafficRoutingStatus `json:"status,omitempty"`
}

// TrafficRoutingList is a list of TrafficRoutings.
//
// +kubebuilder:object:root=true
type TrafficRoutingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the TrafficRoutings.
	Items []TrafficRouting `json:"items"`
}

// TrafficRoutingSpec is what the user wants of a TrafficRouting.
type TrafficRoutingSpec struct {
	// ObjectRef says which Service and routes carry the traffic. Only the first element counts.
	ObjectRef []TrafficRoutingRef `json:"objectRef"`
	// Strategy says which requests the new revision gets.
	Strategy TrafficRoutingStrategy `json:"strategy"`
}

// TrafficRoutingStatus is what the operator found and did.
type TrafficRoutingStatus struct {
	// ObservedGeneration is the generation of the TrafficRouting that the status belongs to.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Phase is where the TrafficRouting stands.
	// +optional
	Phase TrafficRoutingPhase `json:"phase,omitempty"`
	// Message says the same in a sentence.
	// +optional
	Message string `json:"message,omitempty"`
}

// TrafficRoutingPhase is where a TrafficRouting stands; "" before it was first looked at.
type TrafficRoutingPhase string

// The phases of a TrafficRouting.
const (
	// TrafficRoutingPhaseInitial: the Service and routes were not found yet.
	TrafficRoutingPhaseInitial TrafficRoutingPhase = "Initial"
	// TrafficRoutingPhaseHealthy: no Rollout needs the route.
	TrafficRoutingPhaseHealthy TrafficRoutingPhase = "Healthy"
	// TrafficRoutingPhaseProgressing: the route is in force.
	TrafficRoutingPhaseProgressing TrafficRoutingPhase = "Progressing"
	// TrafficRoutingPhaseFinalizing: the route is being undone.
	TrafficRoutingPhaseFinalizing TrafficRoutingPhase = "Finalizing"
	// TrafficRoutingPhaseTerminating: the TrafficRouting is deleted and the route is being undone.
	TrafficRoutingPhaseTerminating TrafficRoutingPhase = "Terminating"
)
