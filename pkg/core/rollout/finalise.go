package rollout

import (
	"slices"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

// ending reasons. They choose the order in which a release lets go and whether anybody waits.
type cause string

const (
	bySuccess   cause = "Success"
	byRollback  cause = "Rollback"
	byDisabling cause = "RolloutDisabled"
	byDeletion  cause = "RolloutDeleting"
)

// finalStep is one step of letting go.
type finalStep struct {
	name v1beta1.FinalisingStepType
	// act returns the writes that are still needed, and whether the step is done.
	act func(World, cause) (needed []plan.Action, done bool)
}

// finalSteps lets go of a workload, in this order, for every cause.
var finalSteps = []finalStep{
	{v1beta1.FinalisingStepResumeWorkload, resumeWorkload},
	{v1beta1.FinalisingStepReleaseWorkloadControl, releaseControl},
}

// finalise goes on with letting go and reports whether it is done. The mark of a caught change goes
// first; while the workload is still held, admission protects it all the same.
func finalise(w World, d *draft, why cause) bool {
	if unmark, needed := unmarked(w); needed {
		d.do(unmark)
		return false
	}
	current := v1beta1.FinalisingStepType("")
	if c := sub(&w.Rollout.Status); c != nil {
		current = c.FinalisingStep
	}
	at := max(0, slices.IndexFunc(finalSteps, func(s finalStep) bool { return s.name == current }))
	for _, s := range finalSteps[at:] {
		needed, done := s.act(w, why)
		if !done {
			d.do(needed...)
			goToFinal(w, d, s.name)
			return false
		}
	}
	goToFinal(w, d, v1beta1.FinalisingStepEnd)
	return true
}

func goToFinal(w World, d *draft, name v1beta1.FinalisingStepType) {
	if c := sub(&d.Status); c != nil && c.FinalisingStep != name {
		c.FinalisingStep = name
		moved(w, c)
	}
}

// unmarked returns the write that takes the mark of a caught change off the workload. It carries
// the operator's own mark, or admission would put the other one back.
func unmarked(w World) (edit plan.Edit, needed bool) {
	if w.Workload == nil || !w.Workload.InProgress {
		return plan.Edit{}, false
	}
	after, ok := w.Object.DeepCopyObject().(plan.Object)
	if !ok {
		return plan.Edit{}, false
	}
	annotations, labels := after.GetAnnotations(), after.GetLabels()
	delete(annotations, v1beta1.InProgressingAnnotation)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1beta1.GateWriteLabel] = w.Object.GetResourceVersion()
	after.SetAnnotations(annotations)
	after.SetLabels(labels)
	return plan.Edit{Before: w.Object, After: after}, true
}

// resumeWorkload has the BatchRelease give the workload back. One is made for it where a change was
// caught but nothing had been released yet.
func resumeWorkload(w World, why cause) ([]plan.Action, bool) {
	if w.Release == nil && (w.Workload == nil || !w.Workload.Held) {
		return nil, true
	}
	if w.Release != nil && w.Release.DeletionTimestamp != nil {
		return nil, false // gone soon; what it leaves held is given back by a new one
	}
	finish := v1beta1.ReleasePlan{RollingStyle: w.Rollout.Style(), Batches: batches(w)}
	if w.Release != nil {
		finish = *w.Release.Spec.ReleasePlan.DeepCopy()
	}
	finish.BatchPartition = nil
	finish.FinalizingPolicy = v1beta1.ImmediateFinalizingPolicy
	if why == bySuccess {
		finish.FinalizingPolicy = v1beta1.WaitResumeFinalizingPolicy
	}
	if needed := toward(w, finish); len(needed) > 0 {
		return needed, false
	}
	return nil, w.Release.Status.Phase == v1beta1.RolloutPhaseCompleted
}

// releaseControl deletes the BatchRelease and waits until it is gone.
func releaseControl(w World, _ cause) ([]plan.Action, bool) {
	switch {
	case w.Release == nil:
		return nil, true
	case w.Release.DeletionTimestamp != nil:
		return nil, false
	default:
		return []plan.Action{plan.Drop{Object: w.Release}}, false
	}
}
