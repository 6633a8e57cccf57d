package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is any API object; controller-runtime's client.Object satisfies it.
type Object interface {
	metav1.Object
	runtime.Object
}

// Action is one effect. The set is closed: Edit, Mark and Drop.
type Action interface{ action() }

// Edit changes an object that others write too: a merge patch of the difference between Before
// and After, refused by the API server when Before is no longer current. Without Before it
// creates After.
type Edit struct{ Before, After Object }

// Mark puts labels on exactly the object that was observed, whatever else has changed about it
// meanwhile: for labels that are ours alone, where a guard would only fail against a kubelet's
// status.
type Mark struct {
	Object Object
	Labels map[string]string
}

// Drop deletes exactly the object that was observed (its UID is the precondition). An object that
// is gone already counts as deleted.
type Drop struct{ Object Object }

func (Edit) action() {}
func (Mark) action() {}
func (Drop) action() {}

// Event is something that happened, told to the user once it is stored.
type Event struct {
	// Warning marks what a user should look into.
	Warning bool
	// Reason is a CamelCase word that tools filter by.
	Reason string
	// Message is one sentence.
	Message string
}

// Plan is the outcome of one decision about an object whose status is S.
type Plan[S any] struct {
	// Status replaces the object's status. It is written before Actions and only when it differs.
	Status S
	// Actions are written in order; the first failure ends the pass.
	Actions []Action
	// Events are published last.
	Events []Event
	// Again is when to look again although nothing changes; zero means never.
	Again time.Duration
}
