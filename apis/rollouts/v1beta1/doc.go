// Package v1beta1 holds the stored version of Rollout and BatchRelease, and every key that the
// operator writes to or reads from other objects.
//
// It is a leaf that users import: it may import API types and apimachinery, never a client or
// another package of this module. Within a version fields are only ever added, and the order of
// the fields under a strategy and a release plan is frozen, because hashes are taken of their JSON.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="../../applyconfiguration/v1beta1"
// +groupName=rollouts.kruise.io
package v1beta1
