package deployment

import (
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// silence is how long nothing must have been written before a ReplicaSet that has fewer pods than
// it wants counts as settled all the same: a quota can keep it so for ever. Field managers record
// whole seconds, hence one more than the two that are meant.
const silence = 3 * time.Second

// settled reports whether what we see is of one piece. The native controller and this operator
// both work from watches that lag; a gate moved on a mixture of old and new lets a whole batch too
// many through. again is when silence alone will settle it (zero: only a change can).
func (v view) settled() (yes bool, again time.Duration) {
	if !v.statusAddsUp() || !v.scalingSharedOut() {
		return false, 0
	}
	for _, rs := range v.sets() {
		if rs.Status.ObservedGeneration < rs.Generation {
			return false, 0
		}
	}
	if v.podsComplete() {
		return true, 0
	}
	if left := silence - v.now.Sub(v.lastWrite()); left > 0 {
		return false, left
	}
	return true, 0
}

// statusAddsUp compares the Deployment's status with the ReplicaSets that we see, as the native
// controller sums them up.
func (v view) statusAddsUp() bool {
	s := v.d.Status
	if s.ObservedGeneration != v.d.Generation {
		return false
	}
	var replicas, ready, available, wanted int32
	for _, rs := range v.sets() {
		replicas += rs.Status.Replicas
		ready += rs.Status.ReadyReplicas
		available += rs.Status.AvailableReplicas
		wanted += wants(rs)
	}
	updated := int32(0)
	if v.latest != nil {
		updated = v.latest.Status.Replicas
	}
	return s.Replicas == replicas && s.UpdatedReplicas == updated && s.ReadyReplicas == ready &&
		s.AvailableReplicas == available && s.AvailableReplicas+s.UnavailableReplicas == wanted
}

// scalingSharedOut reports whether every ReplicaSet with pods knows the present spec.replicas.
// Until then the native controller scales instead of rolling.
func (v view) scalingSharedOut() bool {
	for _, rs := range v.sets() {
		if active(rs) && !knowsReplicas(rs, v.replicas()) {
			return false
		}
	}
	return true
}

func knowsReplicas(rs *appsv1.ReplicaSet, replicas int32) bool {
	desired, found := rs.Annotations[nativeDesired]
	return !found || desired == strconv.Itoa(int(replicas))
}

func (v view) podsComplete() bool {
	for _, rs := range v.sets() {
		if rs.Status.Replicas != wants(rs) {
			return false
		}
	}
	return true
}

// lastWrite returns when anybody last wrote to the Deployment or one of its ReplicaSets.
func (v view) lastWrite() time.Time {
	last := v.d.CreationTimestamp.Time
	fields := v.d.ManagedFields
	for _, rs := range v.sets() {
		fields = append(slices.Clip(fields), rs.ManagedFields...)
	}
	for _, f := range fields {
		if f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}
