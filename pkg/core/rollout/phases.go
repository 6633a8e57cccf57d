package rollout

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/condition"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

// rule is a row of a table: the first that applies acts.
type rule struct {
	name    string
	applies func(World) bool
	act     func(World, *draft)
}

// phases is the life of a Rollout, in the order in which it is asked.
var phases = []rule{
	{"being deleted", deleting, terminate},
	{"being disabled", disabling, letGoDisabled},
	{"disabled", disabled, disable},
	{"can't be released", unsupported, refuse},
	{"no workload", noWorkload, forget},
	{"workload not observed yet", stale, wait},
	{"progressing", inPhase(v1beta1.RolloutPhaseProgressing), progress},
	{"a change was caught", caught, begin},
	{"at rest", always, rest},
}

func always(World) bool        { return true }
func deleting(w World) bool    { return w.Rollout.DeletionTimestamp != nil }
func unsupported(w World) bool { return w.Unsupported != "" }
func noWorkload(w World) bool  { return w.Workload == nil }
func stale(w World) bool       { return !w.Workload.Fresh }
func wait(w World, d *draft)   { d.again(w.Workload.Again) }
func caught(w World) bool      { return w.Workload.InProgress || abandoned(w) }
func progressing(w World) bool { return w.Rollout.Status.Phase == v1beta1.RolloutPhaseProgressing }
func disabling(w World) bool   { return w.Rollout.Status.Phase == v1beta1.RolloutPhaseDisabling }
func disabled(w World) bool    { return w.Rollout.Spec.Disabled }
func somethingHeld(w World) bool {
	return w.Workload != nil && (w.Workload.InProgress || w.Workload.Held)
}

// abandoned reports whether a workload was left held by a release that is gone, with its Rollout
// or its BatchRelease: the release is taken up again rather than left to nobody.
func abandoned(w World) bool { return w.Workload.Held && w.Workload.Owner == nil && w.Release == nil }

func inPhase(p v1beta1.RolloutPhase) func(World) bool {
	return func(w World) bool { return w.Rollout.Status.Phase == p }
}

// terminate lets the workload go before the Rollout does.
func terminate(w World, d *draft) {
	d.Status.Phase = v1beta1.RolloutPhaseTerminating
	if condition.Reason(d.Status, v1beta1.RolloutConditionTerminating) == v1beta1.TerminatingReasonCompleted {
		return
	}
	d.Status.Message = "Rollout is in terminating"
	set(w, d, condition.New(v1beta1.RolloutConditionTerminating, corev1.ConditionTrue, v1beta1.TerminatingReasonInTerminating, d.Status.Message))
	if w.Rollout.Status.Phase == v1beta1.RolloutPhaseTerminating && finalise(w, d, byDeletion) {
		set(w, d, condition.New(v1beta1.RolloutConditionTerminating, corev1.ConditionFalse, v1beta1.TerminatingReasonCompleted, "Rollout has been terminated"))
	}
}

// disable turns a Rollout off; one that has something on its workload lets go of that first.
func disable(w World, d *draft) {
	if progressing(w) || somethingHeld(w) {
		d.Status.Phase, d.Status.Message = v1beta1.RolloutPhaseDisabling, "Disabling rollout, release resources"
		return
	}
	d.Status.Phase, d.Status.Message = v1beta1.RolloutPhaseDisabled, "Rollout is disabled"
}

// letGoDisabled goes on to the end even if the Rollout is enabled again meanwhile.
func letGoDisabled(w World, d *draft) {
	if finalise(w, d, byDisabling) {
		d.Status.Phase, d.Status.Message = v1beta1.RolloutPhaseDisabled, "Rollout is disabled"
		over(sub(&d.Status))
	}
}

// over marks the place of a release that has ended.
func over(c *v1beta1.CanaryStatus) {
	if c != nil {
		c.CurrentStepState, c.NextStepIndex = v1beta1.CanaryStepStateCompleted, noNext
	}
}

// refuse leaves the workload alone and says why.
func refuse(w World, d *draft) {
	if d.Status.Phase == "" {
		d.Status.Phase = v1beta1.RolloutPhaseInitial
	}
	if d.Status.Message != w.Unsupported {
		d.Events = append(d.Events, plan.Event{Warning: true, Reason: "UnsupportedWorkload", Message: w.Unsupported})
	}
	d.Status.Message = w.Unsupported
}

// forget starts from nothing when the workload is gone.
func forget(w World, d *draft) {
	d.Status = v1beta1.RolloutStatus{
		ObservedGeneration: w.Rollout.Generation,
		Phase:              v1beta1.RolloutPhaseInitial,
		Message:            "Workload Not Found",
	}
	if w.Release != nil && w.Release.DeletionTimestamp == nil {
		d.do(plan.Drop{Object: w.Release})
	}
}

// begin takes up a change that admission has caught.
func begin(w World, d *draft) {
	d.Status.Phase = v1beta1.RolloutPhaseProgressing
	condition.Remove(&d.Status, v1beta1.RolloutConditionSucceeded)
	initializing(w, d, "Rollout is in Progressing")
	first(starting, w, d)
}

func initializing(w World, d *draft, message string) {
	d.Status.Message = message
	set(w, d, condition.New(v1beta1.RolloutConditionProgressing, corev1.ConditionTrue, v1beta1.ProgressingReasonInitializing, message))
}

// rest is the state between releases.
func rest(w World, d *draft) {
	if d.Status.Phase != v1beta1.RolloutPhaseHealthy {
		d.Status.Phase, d.Status.Message = v1beta1.RolloutPhaseHealthy, "rollout is healthy"
	}
	if sub(&d.Status) == nil || w.Rollout.Status.Phase == v1beta1.RolloutPhaseDisabled {
		d.Status.CanaryStatus = released(w)
		d.Status.Message = "workload deployment is completed"
	}
	refresh(w, sub(&d.Status))
}

// released is the place of a workload that runs what it should.
func released(w World) *v1beta1.CanaryStatus {
	c := &v1beta1.CanaryStatus{}
	c.CurrentStepIndex, c.NextStepIndex = w.last(), noNext
	c.CurrentStepState = v1beta1.CanaryStepStateCompleted
	c.StableRevision, c.CanaryRevision = w.Workload.StableRevision, w.Workload.UpdateRevision
	c.PodTemplateHash = w.Workload.PodTemplateHash
	c.RolloutHash = w.Rollout.Annotations[v1beta1.RolloutHashAnnotation]
	moved(w, c)
	return c
}

// refresh follows the workload while it stays at the revision that was released.
func refresh(w World, c *v1beta1.CanaryStatus) {
	if c == nil || c.CanaryRevision == "" || !w.Workload.SameRevision(c.CanaryRevision, c.PodTemplateHash) {
		return
	}
	c.CanaryRevision = w.Workload.UpdateRevision
	c.ObservedRolloutID = releaseID(w)
	c.ObservedWorkloadGeneration = w.Workload.Generation
}

func set(w World, d *draft, c v1beta1.RolloutCondition) { condition.Set(&d.Status, c, w.Now) }
