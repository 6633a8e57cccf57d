// Package v1alpha1 holds the first version of Rollout and BatchRelease, which is served for old
// clients and converted to v1beta1, and the only version of TrafficRouting and RolloutHistory.
//
// It is a leaf that users import: it may import API types and apimachinery, never a client or
// another package of this module. It repeats types of v1beta1 on purpose, so that what v1beta1 gains
// does not show up here. Keys of annotations and labels are in v1beta1.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="../../applyconfiguration/v1alpha1"
// +groupName=rollouts.kruise.io
package v1alpha1
