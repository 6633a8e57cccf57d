// Package fact holds what a release needs to know about a workload, whatever its kind. Drivers
// fill it in; the state machines read nothing else of a workload.
package fact

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

// Workload is one observation of a workload.
type Workload struct {
	// Fresh is false while what was read is not of one piece: the workload's own controller has not
	// seen its latest generation. Nothing is decided on such an observation.
	Fresh bool
	// Generation is the workload's metadata.generation.
	Generation int64

	// Replicas is how many pods the user wants.
	Replicas int32
	// Updated is how many pods the newest revision has.
	Updated int32
	// UpdatedReady is how many of them are ready.
	UpdatedReady int32
	// Moving says that pods are in flight on behalf of the batch.
	Moving bool
	// KeepsOne says that a percentage other than 100% leaves one pod at the stable revision.
	KeepsOne bool

	// StableRevision is the revision that served before the release; "" if it can't be told.
	StableRevision string
	// UpdateRevision names the newest revision.
	UpdateRevision string
	// PodTemplateHash is the revision label of the newest revision's pods; "" while there are none.
	PodTemplateHash string

	// InProgress says that a change was caught and marked for release.
	InProgress bool
	// RolledBack says that the change under way goes back to the stable revision.
	RolledBack bool
	// Held says that something of the release is still on the workload and wants to be given back.
	Held bool
	// Frozen says that a newer change was caught since the workload was claimed, or that it is held
	// in the way of another operator: nothing moves until it is claimed again.
	Frozen bool
	// Owner is the BatchRelease that has claimed the workload, if any.
	Owner *metav1.OwnerReference
	// RolloutID is the user's name for the release; "" if there is none.
	RolloutID string

	// Pods are the workload's live pods, in the order in which batches label them.
	Pods []Pod

	// Obstacle says in the user's words why the workload can't be released as it is; "" if it can.
	Obstacle string
	// Again is when the facts change by time alone; zero means never.
	Again time.Duration
}

// Pod is one live pod of a workload.
type Pod struct {
	Name string
	// Object is what was read; the batch labels are written to a copy of it.
	Object plan.Object
	// Revision is the controller-revision-hash that the pod has or should have.
	Revision string
	// Updated says that the pod is at the newest revision.
	Updated bool
	// Ready is the pod's Ready condition.
	Ready bool
}

// OwnedBy reports whether the BatchRelease with this UID has claimed the workload.
func (w Workload) OwnedBy(uid types.UID) bool { return w.Owner != nil && w.Owner.UID == uid }

// SameRevision reports whether the workload is still at the revision that was stored: by name, or,
// when an operator upgrade has changed how revisions are named, by the pods that carry it.
func (w Workload) SameRevision(revision, podTemplateHash string) bool {
	return revision == w.UpdateRevision || podTemplateHash != "" && podTemplateHash == w.PodTemplateHash
}
