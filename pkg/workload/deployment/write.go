package deployment

import (
	"encoding/json"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/share"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/window"
)

// What a release writes to a Deployment and takes away at its end. The mark of a caught change
// (in-progressing) is the Rollout's to take away; workload-type stays while a Rollout refers to it.
var (
	releaseAnnotations = []string{
		v1beta1.DeploymentStrategyAnnotation,
		v1beta1.DeploymentExtraStatusAnnotation,
		v1beta1.OriginalDeploymentStrategyAnnotation,
		v1beta1.ControlInfoAnnotation,
	}
	releaseLabels = []string{
		v1beta1.StableRevisionLabel,
		v1beta1.AdvancedDeploymentControlLabel,
	}
	// copiedAnnotations are those that the native controller copies to the new ReplicaSet.
	copiedAnnotations = append([]string{v1beta1.InProgressingAnnotation}, releaseAnnotations...)
)

// ours returns a copy to edit, marked as the operator's own write: admission keeps everybody
// else's hands off the fields we hold.
func (v view) ours() *appsv1.Deployment {
	after := v.d.DeepCopy()
	if after.Labels == nil {
		after.Labels = map[string]string{}
	}
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	after.Labels[v1beta1.GateWriteLabel] = v.d.ResourceVersion
	return after
}

// edit returns one write that makes the move and records the strategy and how far it has got, or
// nil when all of it is so already. Everything goes into one patch: the native controller answers
// each change of the annotations with a write of its own.
func (v view) edit(m move, strategy v1beta1.DeploymentStrategy, more func(*appsv1.Deployment) error) (plan.Action, error) {
	after := v.ours()
	if m != nil {
		m(after, v)
	}
	if err := writeJSON(after, v1beta1.DeploymentStrategyAnnotation, strategy); err != nil {
		return nil, err
	}
	if err := writeJSON(after, v1beta1.OriginalDeploymentStrategyAnnotation, v.original); err != nil {
		return nil, err
	}
	if extra := v.extraStatus(strategy); m != nil || extra.UpdatedReadyReplicas == wants(v.latest) {
		if err := writeJSON(after, v1beta1.DeploymentExtraStatusAnnotation, extra); err != nil {
			return nil, err
		}
	}
	if more != nil {
		if err := more(after); err != nil {
			return nil, err
		}
	}
	if unchanged(v.d, after) {
		return nil, nil //nolint:nilnil // no write and no error is the answer
	}
	return plan.Edit{Before: v.d, After: after}, nil
}

// unchanged compares everything but the mark, which is new with every write.
func unchanged(before, after *appsv1.Deployment) bool {
	after = after.DeepCopy()
	if mark, found := before.Labels[v1beta1.GateWriteLabel]; found {
		after.Labels[v1beta1.GateWriteLabel] = mark
	} else {
		delete(after.Labels, v1beta1.GateWriteLabel)
	}
	return equality.Semantic.DeepEqual(before, after)
}

// extraStatus is what clients read of a partition release.
func (v view) extraStatus(s v1beta1.DeploymentStrategy) v1beta1.DeploymentExtraStatus {
	ready := int32(0)
	if v.latest != nil {
		ready = v.latest.Status.ReadyReplicas
	}
	return v1beta1.DeploymentExtraStatus{
		UpdatedReadyReplicas:    ready,
		ExpectedUpdatedReplicas: share.KeepingOne(s.Partition, v.replicas()),
	}
}

// writeJSON puts value into an annotation.
func writeJSON(d *appsv1.Deployment, key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing annotation %s: %w", key, err)
	}
	d.Annotations[key] = string(text)
	return nil
}

// widest returns the share that lets more of the present pods through, a where both let the same: a
// release never takes pods back.
func (v view) widest(a, b intstr.IntOrString) intstr.IntOrString {
	if share.KeepingOne(b, v.replicas()) > share.KeepingOne(a, v.replicas()) {
		return b
	}
	return a
}

// userRollingUpdateOfStrategy returns the limits that the strategy annotation kept for the user,
// as the peer operator wrote it.
func (v view) userRollingUpdateOfStrategy() appsv1.RollingUpdateDeployment {
	if v.strategy == nil || v.strategy.RollingUpdate == nil {
		return withDefaults(appsv1.RollingUpdateDeployment{})
	}
	return withDefaults(*v.strategy.RollingUpdate)
}

// repairs mends a trap of the native controller: a single ReplicaSet with all pods whose
// desired-replicas annotation is out of date passes for a scale event that never ends.
func (v view) repairs(p window.Pods) []plan.Action {
	var only *appsv1.ReplicaSet
	for _, rs := range v.sets() {
		if !active(rs) {
			continue
		}
		if only != nil {
			return nil
		}
		only = rs
	}
	if only == nil || wants(only) != p.Wanted || knowsReplicas(only, p.Wanted) {
		return nil
	}
	after := only.DeepCopy()
	after.Annotations[nativeDesired] = strconv.Itoa(int(p.Wanted))
	after.Annotations[nativeMaxReplicas] = strconv.Itoa(int(p.Wanted + v.userLimits().Surge))
	return []plan.Action{plan.Edit{Before: only, After: after}}
}

// agesOf gives every old ReplicaSet the minReadySeconds that want returns for it.
func (v view) agesOf(want func(i int) int32) []plan.Action {
	var actions []plan.Action
	for i, rs := range v.others {
		if seconds := want(i); rs.Spec.MinReadySeconds != seconds {
			after := rs.DeepCopy()
			after.Spec.MinReadySeconds = seconds
			actions = append(actions, plan.Edit{Before: rs, After: after})
		}
	}
	return actions
}

// ownMinReadySeconds is what an old ReplicaSet has at rest: the user's value where we had put the
// endless one, else whatever it has.
func (v view) ownMinReadySeconds(i int) int32 {
	if v.others[i].Spec.MinReadySeconds == v1beta1.MaxReadySeconds {
		return v.userMinReadySeconds()
	}
	return v.others[i].Spec.MinReadySeconds
}

// takenFirst is what an old ReplicaSet has while pods move. Those of an abandoned revision shall
// go before the stable ones, so they get the endless value and count as unavailable. The native
// controller takes from the oldest ReplicaSet with unavailable pods, ready or not; so an abandoned
// one is marked only while every younger old one has all its pods ready.
func (v view) takenFirst(i int) int32 {
	rs := v.others[i]
	if !active(rs) || rs == v.stable() {
		return v.ownMinReadySeconds(i)
	}
	for _, younger := range v.others[i+1:] {
		if active(younger) && younger.Status.ReadyReplicas < wants(younger) {
			return v.ownMinReadySeconds(i)
		}
	}
	return v1beta1.MaxReadySeconds
}

// forgetNewSets deletes, at no replicas, what was released so far: when pods are wanted again the
// native controller would bring all of them back in the newest ReplicaSet.
func (v view) forgetNewSets() []plan.Action {
	stable := v.stable()
	if stable == nil || v.d.Labels[v1beta1.StableRevisionLabel] != templateHash(stable) {
		return nil
	}
	var actions []plan.Action
	for _, rs := range v.sets() {
		released := revisionNumber(rs) > revisionNumber(stable)
		if released && rs.DeletionTimestamp == nil && wants(rs) == 0 && rs.Status.Replicas == 0 {
			actions = append(actions, plan.Drop{Object: rs})
		}
	}
	return actions
}
