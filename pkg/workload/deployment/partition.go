package deployment

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/share"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/window"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload/driver"
)

// Partition releases a Deployment in place: its own ReplicaSets, rolled batch by batch.
type Partition struct{}

var (
	_ driver.Driver = Partition{}
	_ driver.Holder = Partition{}
)

// Claim records the owner and what the user wrote, and holds the Deployment at rest. It also
// adopts a Deployment that the peer operator left paused with strategy Recreate.
func (Partition) Claim(o driver.Objects, owner metav1.OwnerReference) ([]plan.Action, error) {
	v, err := look(o)
	if err != nil {
		return nil, err
	}
	if v.obstacle() != "" || v.claimedBy(owner) && !v.strategy.Paused && !v.peersState() {
		return nil, nil
	}
	return v.claim(owner)
}

func (v view) claimedBy(owner metav1.OwnerReference) bool {
	return v.owner != nil && v.owner.UID == owner.UID && v.strategy != nil && v.original != nil
}

// peersState reports whether the Deployment is held in the way of the peer operator.
func (v view) peersState() bool {
	return v.strategy != nil && v.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
}

// obstacle says why the Deployment can't be released in batches.
func (v view) obstacle() string {
	if v.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType && !v.peersState() {
		return "strategy.type Recreate replaces all pods at once and can't be released in batches; " +
			"set spec.strategy.type of the Deployment to RollingUpdate"
	}
	return ""
}

func (v view) claim(owner metav1.OwnerReference) ([]plan.Action, error) {
	strategy := v1beta1.DeploymentStrategy{RollingStyle: v1beta1.PartitionRollingStyle, Partition: intstr.FromInt32(0)}
	if v.strategy != nil && v.owner != nil && v.owner.UID == owner.UID {
		strategy = *v.strategy // the same release goes on
		strategy.Paused = false
	}
	if v.original == nil {
		v.original = originals(v.d)
	}
	strategy.RollingUpdate = new(v.userRollingUpdate())
	rest := hold
	if wants(v.latest)+v.old() > v.replicas() {
		rest = holdKeepingSurge
	}
	edit, err := v.edit(rest, strategy, func(d *appsv1.Deployment) error {
		d.Labels[v1beta1.AdvancedDeploymentControlLabel] = "true"
		return writeJSON(d, v1beta1.ControlInfoAnnotation, owner)
	})
	if err != nil {
		return nil, err
	}
	return append(v.agesOf(v.ownMinReadySeconds), edit), nil
}

// Advance moves the gate one state on towards the target, whenever what we see is of one piece.
func (Partition) Advance(o driver.Objects, t driver.Target) ([]plan.Action, error) {
	v, err := look(o)
	if err != nil || v.strategy == nil || v.original == nil {
		return nil, err
	}
	if v.strategy.Paused {
		return v.freeze()
	}
	actions, next := v.next(v.counts(share.KeepingOne(t.Share, v.replicas())))
	strategy := *v.strategy
	strategy.Partition = v.widest(strategy.Partition, t.Share)
	edit, err := v.edit(next, strategy, nil)
	if err != nil || edit == nil {
		return actions, err
	}
	return append(actions, edit), nil
}

// freeze keeps a Deployment whose template has changed since it was claimed from moving on.
func (v view) freeze() ([]plan.Action, error) {
	if v.d.Spec.Paused {
		return nil, nil
	}
	edit, err := v.edit(shut, *v.strategy, nil)
	return []plan.Action{edit}, err
}

// next returns the move that brings the Deployment nearer to the target, or none where only the
// native controller, or time, can; and what has to be written to ReplicaSets before it.
func (v view) next(p window.Pods) ([]plan.Action, move) {
	switch gateOf(v.d) {
	case loose:
		return nil, shut
	case open:
		return nil, v.close(p)
	case armed:
		return v.reopen(p)
	case held:
		return v.leaveRest(p)
	}
	return nil, nil
}

// close ends a window as soon as the native controller has nothing left to do under it.
func (v view) close(p window.Pods) move {
	u := rollingUpdate(v.d.DeepCopy())
	if ok, _ := v.settled(); !ok || !window.Idle(p, window.Resolve(u.MaxSurge, u.MaxUnavailable, p.Wanted)) {
		return nil
	}
	if window.Reached(p) {
		return hold
	}
	return shut
}

// reopen opens the next window, or comes to rest when there is none.
func (v view) reopen(p window.Pods) ([]plan.Action, move) {
	if repairs := v.repairs(p); len(repairs) > 0 {
		return repairs, nil
	}
	if ok, _ := v.settled(); !ok {
		return nil, nil
	}
	next := window.Open(p, v.userLimits())
	nothingToDo := next.Shut() || window.Idle(p, next)
	if window.Reached(p) || nothingToDo && p.New >= p.Target && p.Available >= p.New {
		return v.agesOf(v.ownMinReadySeconds), hold
	}
	if nothingToDo || v.latest != nil && v.latest.Status.AvailableReplicas > 0 {
		return nil, nil
	}
	if ages := v.agesOf(v.takenFirst); len(ages) > 0 {
		return ages, nil
	}
	return nil, openTo(next)
}

// leaveRest arms a held Deployment when the batch wants more pods than there are.
func (v view) leaveRest(p window.Pods) ([]plan.Action, move) {
	if p.Wanted == 0 {
		return v.forgetNewSets(), nil
	}
	if p.New < p.Target {
		return v.repairs(p), arm
	}
	if surges(v.d) && (window.Reached(p) || p.Available >= p.New) {
		if ok, _ := v.settled(); ok {
			return v.agesOf(v.ownMinReadySeconds), hold
		}
	}
	return v.agesOf(v.ownMinReadySeconds), nil
}

// manyPods makes every percentage above 0 count.
const manyPods = 1 << 24

// surges reports whether a Deployment at rest still has room for surplus pods.
func surges(d *appsv1.Deployment) bool {
	u := d.Spec.Strategy.RollingUpdate
	return u != nil && u.MaxSurge != nil && share.Pods(*u.MaxSurge, manyPods) > 0
}

// Restore gives the Deployment back as its user wrote it, then takes our traces off it and its
// ReplicaSets. Without Promote, or when a newer change was caught meanwhile, it stays held.
func (Partition) Restore(o driver.Objects, e driver.Ending) ([]plan.Action, error) {
	v, err := look(o)
	if err != nil {
		return nil, err
	}
	if v.owner != nil && e.Owner != "" && v.owner.UID != e.Owner {
		return nil, nil
	}
	_, caught := v.d.Annotations[v1beta1.InProgressingAnnotation]
	switch {
	case !e.Promote || caught:
		return v.disown()
	case v.traces():
		return v.giveBack()
	default:
		return v.sweep(), nil
	}
}

// disown leaves the Deployment held for the next release.
func (v view) disown() ([]plan.Action, error) {
	if v.owner == nil && (v.d.Spec.Paused || v.original == nil) {
		return nil, nil
	}
	after := v.ours()
	delete(after.Annotations, v1beta1.ControlInfoAnnotation)
	if v.original != nil {
		after.Spec.Paused = true
	}
	return []plan.Action{plan.Edit{Before: v.d, After: after}}, nil
}

// traces reports whether the Deployment still carries anything of a release.
func (v view) traces() bool { return v.original != nil || v.strategy != nil || v.owner != nil }

func (v view) giveBack() ([]plan.Action, error) {
	after := v.ours()
	original := v.original
	if original == nil {
		original = originals(v.d)
		if v.strategy != nil {
			u := v.userRollingUpdateOfStrategy()
			original.MaxSurge, original.MaxUnavailable = u.MaxSurge, u.MaxUnavailable
		}
	}
	giveBack(after, original)
	if v.obstacle() != "" {
		after.Spec.Strategy = *v.d.Spec.Strategy.DeepCopy() // never borrowed
	}
	after.Spec.Paused = original.Paused
	for _, key := range releaseAnnotations {
		delete(after.Annotations, key)
	}
	for _, key := range releaseLabels {
		delete(after.Labels, key)
	}
	return append(v.agesOf(v.ownMinReadySeconds), plan.Edit{Before: v.d, After: after}), nil
}

// sweep removes what the native controller copied to ReplicaSets, once it has seen that the
// Deployment no longer has it: `kubectl rollout undo` would copy it back. The mark of our own
// writes goes with it.
func (v view) sweep() []plan.Action {
	if v.d.Status.ObservedGeneration != v.d.Generation {
		return nil
	}
	var actions []plan.Action
	for _, rs := range v.sets() {
		after := rs.DeepCopy()
		for _, key := range copiedAnnotations {
			delete(after.Annotations, key)
		}
		if len(after.Annotations) != len(rs.Annotations) {
			actions = append(actions, plan.Edit{Before: rs, After: after})
		}
	}
	if _, found := v.d.Labels[v1beta1.GateWriteLabel]; found {
		after := v.d.DeepCopy()
		delete(after.Labels, v1beta1.GateWriteLabel)
		actions = append(actions, plan.Edit{Before: v.d, After: after})
	}
	return actions
}

// again tells when the facts change by time alone.
func (v view) again() time.Duration {
	_, ready := v.available()
	_, silent := v.settled()
	if ready == 0 || silent != 0 && silent < ready {
		return silent
	}
	return ready
}
