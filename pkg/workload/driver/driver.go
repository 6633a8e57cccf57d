// Package driver is what the state machines and the admission ask of a workload kind.
//
// A driver is pure: it is handed what was read and returns what should be written. None returned
// means that the wanted state is reached, or that only the workload's own controller can move on.
// It knows neither the state machines nor other kinds.
package driver

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/pkg/core/fact"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

// Objects is what was read of one workload. Drivers never change it.
type Objects struct {
	Workload plan.Object
	// ReplicaSets are those that the workload controls, in no order.
	ReplicaSets []*appsv1.ReplicaSet
	// Pods are those that the workload controls, directly or through a ReplicaSet, finished and
	// terminating ones included.
	Pods []*corev1.Pod
	Now  time.Time
}

// Needs says what must be read before a driver is asked; the rest of Objects stays empty.
type Needs struct{ ReplicaSets, Pods bool }

// Target is how far a batch goes.
type Target struct {
	// Share is the batch as the user wrote it: a number of pods or a percentage of them.
	Share intstr.IntOrString
}

// Ending is how a release lets go of its workload.
type Ending struct {
	// Owner is the BatchRelease that lets go. A workload claimed by another one is left alone; ""
	// where the one that has claimed it is gone.
	Owner types.UID
	// Promote gives the workload back to its own controller, which finishes the update; otherwise
	// it stays held for the next release.
	Promote bool
}

// Driver releases one workload kind in one style.
type Driver interface {
	// Facts tells what the state machines need to know.
	Facts(o Objects) (fact.Workload, error)
	// Claim makes the workload the owner's and holds it at rest. It also thaws one that was frozen
	// by a newer change: the caller has made sure that it releases that change.
	Claim(o Objects, owner metav1.OwnerReference) ([]plan.Action, error)
	// Advance lets the target's share of pods run the new revision, and no more.
	Advance(o Objects, t Target) ([]plan.Action, error)
	// Restore gives the workload back as its user wrote it, or leaves it held.
	Restore(o Objects, e Ending) ([]plan.Action, error)
}

// Holder keeps updates of one workload kind from rolling before a release lets them. It is asked
// within admission.
type Holder interface {
	// Hold edits c.Updated, in place, so that it moves no pod.
	Hold(c Change) (Verdict, error)
}

// Change is an update of a workload that a Rollout refers to.
type Change struct {
	Old, Updated plan.Object
	// ReplicaSets are those that the workload controls.
	ReplicaSets []*appsv1.ReplicaSet
	// Rollout is the name of the Rollout that refers to the workload.
	Rollout string
	// Routed says that the Rollout also moves traffic.
	Routed bool
}

// Verdict is what admission did about a change.
type Verdict struct {
	// Caught says that the change was marked for release.
	Caught bool
	// Warnings go to the one who made the request.
	Warnings []string
}
