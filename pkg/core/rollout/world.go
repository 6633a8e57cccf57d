package rollout

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/fact"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/share"
)

// World is all a decision may look at. It is read once per pass.
type World struct {
	Rollout *v1beta1.Rollout
	// Object is the workload as it was read, and Workload what a release must know of it; both are
	// nil when there is none.
	Object   plan.Object
	Workload *fact.Workload
	// Release is the BatchRelease of the Rollout's name, nil when there is none.
	Release *v1beta1.BatchRelease
	// Unsupported says in the user's words why the workload can't be released as the Rollout asks;
	// "" when it can.
	Unsupported string
	Now         time.Time
}

// draft is a plan in the making.
type draft struct {
	plan.Plan[v1beta1.RolloutStatus]
}

// Decide returns what to write next.
func Decide(w World) plan.Plan[v1beta1.RolloutStatus] {
	w.Rollout = heard(w.Rollout)
	d := &draft{}
	d.Status = *w.Rollout.Status.DeepCopy()
	if d.Actions = housekeeping(w); len(d.Actions) > 0 {
		return d.Plan
	}
	d.Status.ObservedGeneration = w.Rollout.Generation
	for _, p := range phases {
		if p.applies(w) {
			p.act(w, d)
			break
		}
	}
	mirror(&d.Status)
	holdBackCounters(w, d)
	return d.Plan
}

// heard hears an approval where a step rests and puts back everything else that was written over the
// place of the release: a second approval must not approve the step that the first one has begun, nor
// a slip of the pen release what nobody approved. The top of the status repeats the place that the
// operator itself stored last; where it is empty, as an older version left it, the place is taken as
// it stands.
func heard(r *v1beta1.Rollout) *v1beta1.Rollout {
	c, stored := sub(&r.Status), place{r.Status.CurrentStepIndex, r.Status.CurrentStepState}
	if c == nil || stored.state == "" {
		return r
	}
	now := place{c.CurrentStepIndex, c.CurrentStepState}
	approval := place{stored.index, v1beta1.CanaryStepStateReady}
	if now == stored || now == approval && stored.state == v1beta1.CanaryStepStatePaused {
		return r
	}
	r = r.DeepCopy()
	sub(&r.Status).CurrentStepIndex, sub(&r.Status).CurrentStepState = stored.index, stored.state
	return r
}

// message sets what the user reads in `kubectl get`.
func (d *draft) message(format string, args ...any) { d.Status.Message = fmt.Sprintf(format, args...) }

func (d *draft) do(actions ...plan.Action) { d.Actions = append(d.Actions, actions...) }

func (d *draft) tell(text string) {
	d.Events = append(d.Events, plan.Event{Reason: "Progressing", Message: text})
}

// again asks to be called back after a time; the soonest call wins.
func (d *draft) again(after time.Duration) {
	if after > 0 && (d.Again == 0 || after < d.Again) {
		d.Again = after
	}
}

// stepAt returns the step of a 1-based index, clamped so that no stored index reaches outside the
// plan: statuses can be written by users.
func (w World) stepAt(index int32) v1beta1.CanaryStep {
	steps := w.Rollout.Spec.Strategy.Steps()
	if len(steps) == 0 {
		return v1beta1.CanaryStep{}
	}
	return steps[min(max(int(index)-1, 0), len(steps)-1)]
}

// last is the index of the last step.
func (w World) last() int32 { return int32(len(w.Rollout.Spec.Strategy.Steps())) } //nolint:gosec // at most 50 by schema

// noNext is nextStepIndex where there is no further step.
const noNext = -1

// nextIndex is the index after i, or -1 after the last.
func (w World) nextIndex(i int32) int32 {
	if i >= w.last() {
		return noNext
	}
	return i + 1
}

// podsOf returns how many pods a step asks for.
func (w World) podsOf(step v1beta1.CanaryStep) int32 {
	if step.Replicas == nil || w.Workload == nil {
		return 0
	}
	return share.Pods(*step.Replicas, w.Workload.Replicas)
}

// sub returns the part of the status that tells how far the release is, nil when there is none.
func sub(s *v1beta1.RolloutStatus) *v1beta1.CanaryStatus { return s.CanaryStatus }

// mirror copies the place of the release to the top of the status, where all styles have it.
func mirror(s *v1beta1.RolloutStatus) {
	if c := sub(s); c != nil {
		s.CurrentStepIndex, s.CurrentStepState = c.CurrentStepIndex, c.CurrentStepState
		return
	}
	s.CurrentStepIndex, s.CurrentStepState = 0, ""
}

// moved stamps a change of place.
func moved(w World, c *v1beta1.CanaryStatus) { c.LastUpdateTime = new(metav1.NewTime(w.Now)) }

// releaseID names the release on pods: the user's rollout-id, else the revision.
func releaseID(w World) string {
	switch {
	case w.Workload.RolloutID != "":
		return w.Workload.RolloutID
	case w.Workload.RolledBack:
		return "rollback-" + w.Workload.UpdateRevision
	default:
		return w.Workload.UpdateRevision
	}
}
