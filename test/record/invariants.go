package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/condition"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/revision"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/share"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/window"
)

// The invariants of a release, checked over everything that happened in a namespace. Their numbers
// are those of the design; 1 and 2 are about traffic, 6 is checked at the end of a test by the test.

// Rules relaxes the invariants where a test does on purpose what they forbid.
type Rules struct {
	// AnySize lets new pods exceed the step: the native controller shares a scale event out in
	// proportion.
	AnySize bool
	// AnyAvailability lets ready pods be too few: the test itself makes them unready.
	AnyAvailability bool
	// AnyStrategy lets a Deployment have strategy Recreate: its user wrote it.
	AnyStrategy bool
}

// replay is what an invariant sees: the state after each stored version, in order.
type replay struct {
	state State
	// there is set once the Deployment has had enough ready pods for its present size.
	there map[string]bool
	place map[string]place
	// ordered are the shares of the steps that the release of a revision has been at.
	ordered map[string][]intstr.IntOrString
}

// Check returns every violation of the invariants 3, 4, 5 and 8 in the log.
func Check(log []Entry, rules Rules) []string {
	r := replay{state: State{map[string]client.Object{}}, there: map[string]bool{}, place: map[string]place{}, ordered: map[string][]intstr.IntOrString{}}
	var violations []string
	for _, e := range log {
		before := r.state.objects[Key(e.Object)]
		if e.Deleted {
			delete(r.state.objects, Key(e.Object))
			r.forget(e.Object)
		} else {
			r.state.objects[Key(e.Object)] = e.Object
		}
		for _, violation := range r.after(e, before, rules) {
			violations = append(violations, fmt.Sprintf("at version %d: %s", e.Version, violation))
		}
	}
	return slices.Compact(violations)
}

// forget ends the life of an object: another one of its name begins anew.
func (r replay) forget(o client.Object) {
	switch o.(type) {
	case *v1beta1.Rollout:
		delete(r.place, o.GetName())
	case *appsv1.Deployment:
		delete(r.there, o.GetName())
	}
}

func (r replay) after(e Entry, before client.Object, rules Rules) []string {
	var violations []string
	if ro, ok := e.Object.(*v1beta1.Rollout); ok && !e.Deleted {
		violations = append(violations, r.edge(ro)...)
		r.order(ro)
	}
	for _, d := range All[*appsv1.Deployment](r.state) {
		if !rules.AnyStrategy && d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
			violations = append(violations, fmt.Sprintf("invariant 5: Deployment %s has strategy Recreate", d.Name))
		}
		if !rules.AnySize {
			violations = append(violations, r.size(d)...)
		}
		if !rules.AnyAvailability {
			violations = append(violations, r.availability(d, e, before)...)
		}
	}
	return violations
}

// order notes the step that a Rollout is at.
func (r replay) order(ro *v1beta1.Rollout) {
	c, steps := ro.Status.CanaryStatus, ro.Spec.Strategy.Steps()
	if c == nil || c.CurrentStepIndex < 1 || int(c.CurrentStepIndex) > len(steps) || steps[c.CurrentStepIndex-1].Replicas == nil {
		return
	}
	r.ordered[c.CanaryRevision] = append(r.ordered[c.CanaryRevision], *steps[c.CurrentStepIndex-1].Replicas)
}

// most is how many pods the steps have asked for so far; all of them where there is no Rollout.
func (r replay) most(d *appsv1.Deployment) int32 {
	shares := r.ordered[revision.Hash(&d.Spec.Template, nil)]
	if len(All[*v1beta1.Rollout](r.state)) == 0 || len(shares) == 0 {
		return replicas(d)
	}
	most := int32(0)
	for _, s := range shares {
		most = max(most, share.KeepingOne(s, replicas(d)))
	}
	return most
}

// size is invariant 3: new pods never exceed what the release was ordered to update, and the order
// never exceeds the step. It stands in the Deployment before any pod moves for it. Going back to the
// stable revision is no release.
func (r replay) size(d *appsv1.Deployment) []string {
	var strategy v1beta1.DeploymentStrategy
	text, held := d.Annotations[v1beta1.DeploymentStrategyAnnotation]
	if !held || json.Unmarshal([]byte(text), &strategy) != nil || strategy.Paused {
		return nil
	}
	if _, latest := r.state.Sets(d); latest != nil && latest.Labels[appsv1.DefaultDeploymentUniqueLabelKey] == d.Labels[v1beta1.StableRevisionLabel] {
		return nil
	}
	allowed := share.KeepingOne(strategy.Partition, replicas(d))
	if most := r.most(d); allowed > most {
		return []string{fmt.Sprintf("invariant 3: Deployment %s was ordered to update %d pods, its step asks for %d", d.Name, allowed, most)}
	}
	if n := r.state.Count(d).New; n > int(allowed) {
		return []string{fmt.Sprintf("invariant 3: Deployment %s has %d new pods where %d are released", d.Name, n, allowed)}
	}
	return nil
}

// availability is invariant 4: once there, ready pods never fall below replicas - maxUnavailable.
func (r replay) availability(d *appsv1.Deployment, e Entry, before client.Object) []string {
	if old, ok := before.(*appsv1.Deployment); ok && old.Name == d.Name && replicas(old) != replicas(d) {
		r.there[d.Name] = false
	}
	c := r.state.Count(d)
	least := int(replicas(d) - limits(d).Unavailable)
	if c.NewReady+c.OldReady >= int(replicas(d)) {
		r.there[d.Name] = true
	}
	if ofPod(e) && r.there[d.Name] && c.NewReady+c.OldReady < least {
		return []string{fmt.Sprintf("invariant 4: Deployment %s has %d ready pods, fewer than %d", d.Name, c.NewReady+c.OldReady, least)}
	}
	return nil
}

func ofPod(e Entry) bool {
	_, is := e.Object.(*corev1.Pod)
	return is
}

func replicas(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

// limits are the user's, wherever they are kept.
func limits(d *appsv1.Deployment) window.Limits {
	surge, unavailable := new(intstr.FromString("25%")), new(intstr.FromString("25%"))
	if u := d.Spec.Strategy.RollingUpdate; u != nil {
		surge, unavailable = u.MaxSurge, u.MaxUnavailable
	}
	var original v1beta1.OriginalDeploymentStrategy
	if text := d.Annotations[v1beta1.OriginalDeploymentStrategyAnnotation]; text != "" && json.Unmarshal([]byte(text), &original) == nil {
		surge, unavailable = original.MaxSurge, original.MaxUnavailable
	}
	return window.Resolve(surge, unavailable, replicas(d))
}

// place is a phase with the state of the step.
type place struct {
	phase v1beta1.RolloutPhase
	state v1beta1.CanaryStepState
	index int32
	hash  string
}

// phaseEdges are the documented moves between phases. An empty phase is a Rollout that nobody has
// looked at yet.
var phaseEdges = map[v1beta1.RolloutPhase][]v1beta1.RolloutPhase{
	"":                              {"Initial", "Healthy", "Disabled", "Terminating", "Progressing", "Disabling"},
	v1beta1.RolloutPhaseInitial:     {"Healthy", "Disabled", "Terminating", "Progressing"},
	v1beta1.RolloutPhaseHealthy:     {"Progressing", "Initial", "Disabled", "Disabling", "Terminating"},
	v1beta1.RolloutPhaseProgressing: {"Healthy", "Initial", "Disabling", "Terminating"},
	v1beta1.RolloutPhaseDisabling:   {"Disabled", "Terminating"},
	v1beta1.RolloutPhaseDisabled:    {"Healthy", "Initial", "Terminating", "Disabling", "Progressing"},
	v1beta1.RolloutPhaseTerminating: {},
}

// stepOrder is the way through a step. States may be passed in one write, never backwards.
var stepOrder = []v1beta1.CanaryStepState{
	v1beta1.CanaryStepStateInit, v1beta1.CanaryStepStateUpgrade, v1beta1.CanaryStepStateTrafficRouting,
	v1beta1.CanaryStepStateMetricsAnalysis, v1beta1.CanaryStepStatePaused, v1beta1.CanaryStepStateReady,
	v1beta1.CanaryStepStateCompleted,
}

// edge is invariant 8: phases and step states change only along the documented edges.
func (r replay) edge(ro *v1beta1.Rollout) []string {
	now := place{phase: ro.Status.Phase}
	if c := ro.Status.CanaryStatus; c != nil {
		now.state, now.index, now.hash = c.CurrentStepState, c.CurrentStepIndex, c.RolloutHash
	}
	before, seen := r.place[ro.Name]
	r.place[ro.Name] = now
	if !seen || before == now {
		return nil
	}
	var violations []string
	if before.phase != now.phase && !slices.Contains(phaseEdges[before.phase], now.phase) {
		violations = append(violations, fmt.Sprintf("invariant 8: Rollout %s went from phase %q to %q", ro.Name, before.phase, now.phase))
	}
	if before.index == now.index && before.phase == now.phase && before.hash == now.hash && backwards(before.state, now.state) {
		violations = append(violations, fmt.Sprintf("invariant 8: step %d of Rollout %s went from %s to %s", now.index, ro.Name, before.state, now.state))
	}
	return violations
}

// backwards allows a step that begins anew: by a jump onto itself or a release that starts over.
func backwards(before, now v1beta1.CanaryStepState) bool {
	from, to := slices.Index(stepOrder, before), slices.Index(stepOrder, now)
	return to >= 0 && from > to && now != v1beta1.CanaryStepStateInit && now != v1beta1.CanaryStepStateTrafficRouting && now != v1beta1.CanaryStepStateUpgrade
}

// mostWrites is how often the operator may write one object in any second. Beyond that, each state
// that a Rollout or BatchRelease had never been in accounts for a write, and each pod that came, got
// ready or went for some more: a window that lets pods through is opened and shut.
const (
	mostWrites   = 5
	writesPerPod = 2
)

// Write is one request of the operator that changed an object.
type Write struct {
	At     time.Time
	Object string
}

// TooMany is invariant 7: no object is written more than 5 times in any second, unless it gets on.
func TooMany(writes []Write, log []Entry) []string {
	byObject := map[string][]time.Time{}
	for _, w := range writes {
		byObject[w.Object] = append(byObject[w.Object], w.At)
	}
	states, pods := newStates(log), podChanges(log)
	var violations []string
	for object, times := range byObject {
		slices.SortFunc(times, time.Time.Compare)
		name, _, _ := strings.Cut(object, " ")
		for first, last := 0, 0; last < len(times); last++ {
			for times[last].Sub(times[first]) > time.Second {
				first++
			}
			n, from, to := last-first+1, times[first], times[last]
			if n > mostWrites && n > mostWrites+within(states[name], from, to)+writesPerPod*within(pods, from, to) {
				violations = append(violations, fmt.Sprintf("invariant 7: %s was written %d times within a second before %s", object, n, to.Format(time.StampMilli)))
				break
			}
		}
	}
	return violations
}

// newStates are the moments at which a Rollout or BatchRelease, named as in writes, got into a state
// that it had never been in. A loop comes back to its states.
func newStates(log []Entry) map[string][]time.Time {
	at := map[string][]time.Time{}
	known := map[string]bool{}
	for _, e := range log {
		name, state := stateOf(e.Object)
		if state != "" && !known[name+state] {
			known[name+state] = true
			at[name] = append(at[name], e.Seen)
		}
	}
	return at
}

// stateOf is what an object was written for, counters and times apart.
func stateOf(o client.Object) (name, state string) {
	common := []any{o.GetUID(), o.GetDeletionTimestamp() != nil, o.GetFinalizers()}
	switch o := o.(type) {
	case *v1beta1.Rollout:
		name = "rollouts/" + o.Name
		common = append(common, o.Status.ObservedGeneration, o.Status.Phase, o.Status.Message, condition.Reason(o.Status, v1beta1.RolloutConditionProgressing))
		if c := o.Status.CanaryStatus; c != nil {
			common = append(common, c.CurrentStepIndex, c.CurrentStepState, c.NextStepIndex, c.FinalisingStep, c.CanaryRevision)
		}
	case *v1beta1.BatchRelease:
		name = "batchreleases/" + o.Name
		common = append(common, o.Generation, o.Status.ObservedGeneration, o.Status.Phase, o.Status.CanaryStatus.CurrentBatch, o.Status.CanaryStatus.CurrentBatchState)
	default:
		return "", ""
	}
	return name, fmt.Sprint(common...)
}

func podChanges(log []Entry) (at []time.Time) {
	for _, e := range log {
		if ofPod(e) {
			at = append(at, e.Seen)
		}
	}
	return at
}

// within counts the events that may have caused what was written, which takes up to a second.
func within(at []time.Time, from, to time.Time) int {
	n := 0
	for _, t := range at {
		if !t.Before(from.Add(-time.Second)) && !t.After(to) {
			n++
		}
	}
	return n
}

// Replay shows the state after each stored version, in order.
func Replay(log []Entry, show func(Entry, State)) {
	state := State{map[string]client.Object{}}
	for _, e := range log {
		if e.Deleted {
			delete(state.objects, Key(e.Object))
		} else {
			state.objects[Key(e.Object)] = e.Object
		}
		show(e, state)
	}
}
