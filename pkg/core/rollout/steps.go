package rollout

import (
	"fmt"
	"time"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/share"
)

// place is where a release stands: the step and its state.
type place struct {
	index int32
	state v1beta1.CanaryStepState
}

// stepState is one row of the step machine.
type stepState struct {
	name v1beta1.CanaryStepState
	// goal returns the writes that are still needed while a release is in this state.
	goal func(World, *v1beta1.CanaryStatus) []plan.Action
	// stay says why the state may not be left yet and when time alone will let it go; "" lets it go.
	stay func(World, *v1beta1.CanaryStatus) (why string, again time.Duration)
	// next is where it goes from here.
	next func(World, *v1beta1.CanaryStatus) place
	// rests says that the place is stored when it is reached, though it could be left at once.
	rests bool
}

// steps is the whole step machine. A state is left once its goal needs no more writes and stay has
// no objection.
var steps = []stepState{
	{v1beta1.CanaryStepStateInit, nothing, free, to(v1beta1.CanaryStepStateUpgrade), false},
	{v1beta1.CanaryStepStateUpgrade, releaseOfStep, batchReady, to(v1beta1.CanaryStepStateTrafficRouting), true},
	{v1beta1.CanaryStepStateTrafficRouting, releaseOfStep, free, to(v1beta1.CanaryStepStateMetricsAnalysis), false},
	{v1beta1.CanaryStepStateMetricsAnalysis, releaseOfStep, free, to(v1beta1.CanaryStepStatePaused), false},
	{v1beta1.CanaryStepStatePaused, releaseOfStep, approved, to(v1beta1.CanaryStepStateReady), true},
	{v1beta1.CanaryStepStateReady, releaseOfStep, free, onward, false},
	{v1beta1.CanaryStepStateCompleted, releaseOfStep, done, stop, true},
}

// runStep goes on with the current step as far as it goes without a write.
func runStep(w World, d *draft) {
	if reason(w) == v1beta1.ProgressingReasonPaused {
		inRolling(w, d)
	}
	c := sub(&d.Status)
	if c == nil {
		d.Status.CanaryStatus = begun(w)
		return
	}
	observeRelease(w, c)
	if jumped(w, c) {
		return
	}
	for range steps {
		row := find(c.CurrentStepState)
		if needed := row.goal(w, c); len(needed) > 0 {
			d.do(needed...)
			d.message("%s", upgrading(w, c))
			return
		}
		why, again := row.stay(w, c)
		if why != "" {
			d.message("%s", why)
			d.again(again)
			return
		}
		if row.name == v1beta1.CanaryStepStateUpgrade {
			d.tell(fmt.Sprintf("upgrade step(%d) canary pods with new versions done", c.CurrentStepIndex))
			c.PodTemplateHash = w.Workload.PodTemplateHash
		}
		goTo(w, c, row.next(w, c))
		if c.CurrentStepState == v1beta1.CanaryStepStateCompleted {
			finish(w, d)
			return
		}
		if find(c.CurrentStepState).rests {
			d.message("%s", describe(w, c))
			return
		}
	}
}

// goTo moves the release to a place. Whatever the user had stored as the next step is replaced.
func goTo(w World, c *v1beta1.CanaryStatus, p place) {
	c.CurrentStepIndex, c.CurrentStepState = p.index, p.state
	c.NextStepIndex = w.nextIndex(p.index)
	moved(w, c)
}

// find returns the row of a state; an unknown one starts the step over.
func find(name v1beta1.CanaryStepState) stepState {
	for _, s := range steps {
		if s.name == name {
			return s
		}
	}
	return steps[0]
}

func nothing(World, *v1beta1.CanaryStatus) []plan.Action            { return nil }
func free(World, *v1beta1.CanaryStatus) (string, time.Duration)     { return "", 0 }
func done(w World, c *v1beta1.CanaryStatus) (string, time.Duration) { return describe(w, c), 0 }

func to(name v1beta1.CanaryStepState) func(World, *v1beta1.CanaryStatus) place {
	return func(w World, c *v1beta1.CanaryStatus) place { return place{w.clamp(c.CurrentStepIndex), name} }
}

func onward(w World, c *v1beta1.CanaryStatus) place {
	i := w.clamp(c.CurrentStepIndex)
	if i >= w.last() {
		return place{i, v1beta1.CanaryStepStateCompleted}
	}
	return place{i + 1, v1beta1.CanaryStepStateInit}
}

func stop(w World, c *v1beta1.CanaryStatus) place {
	return place{w.clamp(c.CurrentStepIndex), v1beta1.CanaryStepStateCompleted}
}

func (w World) clamp(i int32) int32 { return max(1, min(i, w.last())) }

// batchReady waits until the BatchRelease has brought the step's pods up.
func batchReady(w World, c *v1beta1.CanaryStatus) (string, time.Duration) {
	r := w.Release
	if r.Status.ObservedGeneration == r.Generation &&
		r.Status.CanaryStatus.CurrentBatchState == v1beta1.ReadyBatchState &&
		r.Status.CanaryStatus.CurrentBatch+1 >= w.clamp(c.CurrentStepIndex) {
		return "", 0
	}
	if w.Workload.Obstacle != "" {
		return w.Workload.Obstacle, 0
	}
	return upgrading(w, c), 0
}

// approved waits for the user or for the pause of the step to pass. The last step, if it is for
// all pods, has nothing left to decide.
func approved(w World, c *v1beta1.CanaryStatus) (string, time.Duration) {
	step := w.stepAt(c.CurrentStepIndex)
	switch {
	case nothingToDecide(w, c):
		return "", 0
	case step.Pause.Duration == nil:
		return describe(w, c), 0
	case c.LastUpdateTime == nil:
		return "", 0
	}
	left := c.LastUpdateTime.Add(time.Duration(*step.Pause.Duration) * time.Second).Sub(w.Now)
	if left > 0 {
		return describe(w, c), left
	}
	return "", 0
}

// nothingToDecide reports whether the release is at its last step and that one is for all pods.
func nothingToDecide(w World, c *v1beta1.CanaryStatus) bool {
	step := w.stepAt(c.CurrentStepIndex)
	return c.CurrentStepIndex >= w.last() && step.Replicas != nil && share.Whole(*step.Replicas)
}

func upgrading(w World, c *v1beta1.CanaryStatus) string {
	return fmt.Sprintf("Rollout is in step(%d/%d), and upgrade workload to new version", w.clamp(c.CurrentStepIndex), w.last())
}

// describe tells the user where the release is and what it waits for.
func describe(w World, c *v1beta1.CanaryStatus) string {
	step := w.stepAt(c.CurrentStepIndex)
	switch {
	case c.CurrentStepState == v1beta1.CanaryStepStateUpgrade:
		return upgrading(w, c)
	case c.CurrentStepState != v1beta1.CanaryStepStatePaused || nothingToDecide(w, c):
		return "Rollout is in Progressing"
	case step.Pause.Duration == nil:
		return fmt.Sprintf("Rollout is in step(%d/%d), and you need manually confirm to enter the next step", c.CurrentStepIndex, w.last())
	default:
		return fmt.Sprintf("Rollout is in step(%d/%d), and wait duration(%d seconds) to enter the next step", c.CurrentStepIndex, w.last(), *step.Pause.Duration)
	}
}

// jumped obeys a nextStepIndex that the user has stored, and puts back one that leads nowhere.
func jumped(w World, c *v1beta1.CanaryStatus) bool {
	normal := w.nextIndex(w.clamp(c.CurrentStepIndex))
	switch {
	case c.NextStepIndex == normal:
		return false
	case c.NextStepIndex < 1 || c.NextStepIndex > w.last():
		c.NextStepIndex = normal
		return false
	}
	jump(w, c, c.NextStepIndex)
	return true
}

// jump goes to step k. Pods are never taken back: a step that asks for exactly what there is goes
// on with its traffic, any other with its upgrade.
func jump(w World, c *v1beta1.CanaryStatus, k int32) {
	state := v1beta1.CanaryStepStateInit
	if w.podsOf(w.stepAt(k)) == w.Workload.Updated {
		state = v1beta1.CanaryStepStateTrafficRouting
	}
	goTo(w, c, place{k, state})
}
