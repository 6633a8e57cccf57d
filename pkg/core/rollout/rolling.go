package rollout

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/condition"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

// progress goes on with a release, by the reason of its Progressing condition.
func progress(w World, d *draft) {
	switch reason(w) {
	case v1beta1.ProgressingReasonInRolling, v1beta1.ProgressingReasonPaused:
		first(rolling, w, d)
	case v1beta1.ProgressingReasonFinalising, v1beta1.ProgressingReasonCancelling:
		first(ending, w, d)
	case v1beta1.ProgressingReasonCompleted:
		rest(w, d)
	default:
		first(starting, w, d)
	}
}

func reason(w World) string {
	return condition.Reason(w.Rollout.Status, v1beta1.RolloutConditionProgressing)
}

// first lets the first row that applies act.
func first(table []rule, w World, d *draft) {
	for _, r := range table {
		if r.applies(w) {
			r.act(w, d)
			return
		}
	}
}

// starting is asked while a release begins.
var starting = []rule{
	{"an earlier BatchRelease is still there", leftover, dropRelease},
	{"gone back before it began", rolledBack, cancel},
	{"start", always, start},
}

// rolling is what may interrupt a release, in this order; the last row goes on with it.
var rolling = []rule{
	{"rolled back at once", rolledBackMeanwhile, cancel},
	{"paused by the user", paused, pause},
	{"newer revision", superseded, restart},
	{"plan edited", planEdited, remap},
	{"all steps done", stepsDone, finish},
	{"next", always, runStep},
}

// ending is asked while a release is ended.
var ending = []rule{
	{"changed again meanwhile", changedMeanwhile, goOn},
	{"let go", always, end},
}

func leftover(w World) bool   { return w.Release != nil }
func rolledBack(w World) bool { return w.Workload.RolledBack }
func paused(w World) bool     { return w.Rollout.Spec.Strategy.Paused }

// sameAsStored reports whether the workload still has the revision that is being released.
func sameAsStored(w World) bool {
	c := sub(&w.Rollout.Status)
	return c == nil || c.CanaryRevision == "" || w.Workload.SameRevision(c.CanaryRevision, c.PodTemplateHash)
}

func rolledBackMeanwhile(w World) bool { return rolledBack(w) && !sameAsStored(w) }
func superseded(w World) bool          { return !sameAsStored(w) }
func changedMeanwhile(w World) bool    { return w.Workload.InProgress && !sameAsStored(w) }

func planEdited(w World) bool {
	c := sub(&w.Rollout.Status)
	return c != nil && c.RolloutHash != "" && c.RolloutHash != w.Rollout.Annotations[v1beta1.RolloutHashAnnotation]
}

func stepsDone(w World) bool {
	c := sub(&w.Rollout.Status)
	return c != nil && c.CurrentStepState == v1beta1.CanaryStepStateCompleted
}

// dropRelease deletes the BatchRelease, once, and waits until it is gone: it leaves the workload
// held for the next one.
func dropRelease(w World, d *draft) {
	if w.Release.DeletionTimestamp == nil {
		d.do(plan.Drop{Object: w.Release})
	}
}

// start records what is released and goes into the first step.
func start(w World, d *draft) {
	d.Status.CanaryStatus = begun(w)
	inRolling(w, d)
	runStep(w, d)
}

func begun(w World) *v1beta1.CanaryStatus {
	c := &v1beta1.CanaryStatus{}
	c.CurrentStepIndex, c.NextStepIndex = 1, w.nextIndex(1)
	c.CurrentStepState = v1beta1.CanaryStepStateInit
	c.StableRevision, c.CanaryRevision = w.Workload.StableRevision, w.Workload.UpdateRevision
	c.ObservedRolloutID = releaseID(w)
	c.ObservedWorkloadGeneration = w.Workload.Generation
	c.RolloutHash = w.Rollout.Annotations[v1beta1.RolloutHashAnnotation]
	moved(w, c)
	return c
}

func inRolling(w World, d *draft) {
	d.Status.Message = "Rollout is in Progressing"
	set(w, d, condition.New(v1beta1.RolloutConditionProgressing, corev1.ConditionTrue, v1beta1.ProgressingReasonInRolling, d.Status.Message))
}

// cancel goes back to the stable revision.
func cancel(w World, d *draft) {
	if sub(&d.Status) == nil {
		d.Status.CanaryStatus = begun(w)
	}
	c := sub(&d.Status)
	c.CanaryRevision, c.PodTemplateHash, c.FinalisingStep = w.Workload.UpdateRevision, w.Workload.PodTemplateHash, ""
	c.ObservedRolloutID = releaseID(w)
	moved(w, c)
	d.Status.Message = "The workload has been rolled back and the rollout process will be canceled"
	set(w, d, condition.New(v1beta1.RolloutConditionProgressing, corev1.ConditionTrue, v1beta1.ProgressingReasonCancelling, d.Status.Message))
	d.tell("workload has been rollback, then rollout is canceled")
}

// pause freezes the step; batches that were ordered already go on.
func pause(w World, d *draft) {
	d.Status.Message = "Rollout has been paused, you can resume it by kube-cli"
	set(w, d, condition.New(v1beta1.RolloutConditionProgressing, corev1.ConditionTrue, v1beta1.ProgressingReasonPaused, d.Status.Message))
	observeRelease(w, sub(&d.Status))
}

// restart begins anew with a newer revision, once the BatchRelease of the one before is gone.
func restart(w World, d *draft) {
	if w.Release != nil {
		if w.Release.DeletionTimestamp == nil {
			d.tell("workload continuous publishing canaryRevision, then restart publishing")
		}
		dropRelease(w, d)
		return
	}
	d.Status.CanaryStatus = nil
	initializing(w, d, "Workload is continuous release")
}

// remap finds the step of the new plan that is nearest to what has been released.
func remap(w World, d *draft) {
	c := sub(&d.Status)
	c.RolloutHash = w.Rollout.Annotations[v1beta1.RolloutHashAnnotation]
	moved(w, c)
	picked := nearest(w, c.CurrentStepIndex)
	if picked == c.NextStepIndex && picked == w.nextIndex(c.CurrentStepIndex) {
		c.CurrentStepState = v1beta1.CanaryStepStateReady
		return
	}
	jump(w, c, picked)
}

// nearest returns the first step, the current one asked first, that asks for at least as many pods
// as the BatchRelease has been ordered to update.
func nearest(w World, current int32) int32 {
	if w.Release == nil || w.Release.Spec.ReleasePlan.BatchPartition == nil {
		return 1
	}
	batches := w.Release.Spec.ReleasePlan.Batches
	ordered := int(*w.Release.Spec.ReleasePlan.BatchPartition)
	if ordered < 0 || ordered >= len(batches) {
		return 1
	}
	released := w.podsOf(v1beta1.CanaryStep{Replicas: &batches[ordered].CanaryReplicas})
	order := []int32{}
	if current >= 1 && current <= w.last() {
		order = append(order, current)
	}
	for i := int32(1); i <= w.last(); i++ {
		if i != current {
			order = append(order, i)
		}
	}
	picked := int32(1)
	for _, picked = range order {
		if w.podsOf(w.stepAt(picked)) >= released {
			break
		}
	}
	return picked
}

func finish(w World, d *draft) {
	d.Status.Message = "Rollout has been completed and some closing work is being done"
	set(w, d, condition.New(v1beta1.RolloutConditionProgressing, corev1.ConditionTrue, v1beta1.ProgressingReasonFinalising, d.Status.Message))
}

// goOn returns to the release when the workload was changed again while it was being ended: the
// new change must not be let go with the old one.
func goOn(w World, d *draft) {
	sub(&d.Status).FinalisingStep = ""
	inRolling(w, d)
}

// end lets go of the workload and closes the release.
func end(w World, d *draft) {
	why, succeeded, message := bySuccess, corev1.ConditionTrue, "Rollout progressing has been completed"
	if reason(w) == v1beta1.ProgressingReasonCancelling {
		why, succeeded, message = byRollback, corev1.ConditionFalse, "Rollout progressing has been canceled"
	}
	if !finalise(w, d, why) {
		return
	}
	set(w, d, condition.New(v1beta1.RolloutConditionProgressing, corev1.ConditionFalse, v1beta1.ProgressingReasonCompleted, message))
	set(w, d, condition.New(v1beta1.RolloutConditionSucceeded, succeeded, "", ""))
	d.Status.Message = message
	over(sub(&d.Status))
	rest(w, d)
}
