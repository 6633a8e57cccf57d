package batch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/fact"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

// world is a BatchRelease in its second of three batches, 20 %, 50 % and 100 % of 10 pods, with all
// that it was ordered to update there and ready.
func world(edits ...func(*World)) World {
	r := &v1beta1.BatchRelease{ObjectMeta: metav1.ObjectMeta{UID: "br", Generation: 3, Finalizers: []string{v1beta1.BatchReleaseFinalizer}}}
	for _, s := range []string{"20%", "50%", "100%"} {
		r.Spec.ReleasePlan.Batches = append(r.Spec.ReleasePlan.Batches, v1beta1.ReleaseBatch{CanaryReplicas: intstr.FromString(s)})
	}
	r.Spec.ReleasePlan.BatchPartition = new(int32(1))
	w := World{Release: r, Now: time.Unix(1000, 0), Workload: &fact.Workload{
		Fresh: true, Replicas: 10, Updated: 5, UpdatedReady: 5, KeepsOne: true, Held: true,
		UpdateRevision: "v2", StableRevision: "v1", PodTemplateHash: "v2hash", Owner: &metav1.OwnerReference{UID: "br", Name: "web"},
	}}
	for i := range 5 {
		w.Workload.Pods = append(w.Workload.Pods, pods("", "")[0])
		w.Workload.Pods[i].Ready = true
	}
	r.Status = v1beta1.BatchReleaseStatus{
		Phase: v1beta1.RolloutPhaseProgressing, ObservedGeneration: 3, UpdateRevision: "v2", StableRevision: "v1", PodTemplateHash: "v2hash",
		ObservedWorkloadReplicas: 10,
	}
	r.Status.CanaryStatus.CurrentBatch = 1
	r.Status.CanaryStatus.CurrentBatchState = v1beta1.VerifyingBatchState
	r.Status.CanaryStatus.UpdatedReplicas, r.Status.CanaryStatus.UpdatedReadyReplicas = 5, 5
	for _, edit := range edits {
		edit(&w)
	}
	if r.Status.ObservedReleasePlanHash == "" && r.Status.Phase == v1beta1.RolloutPhaseProgressing {
		r.Status.ObservedReleasePlanHash = PlanHash(r.Spec.ReleasePlan)
	}
	return w
}

func TestWhatTheDriverIsAskedFor(t *testing.T) {
	t.Parallel()
	half := intstr.FromString("50%")
	cases := map[string]struct {
		edit func(*World)
		want Order
	}{
		"before anything": {func(w *World) { w.Release.Status = v1beta1.BatchReleaseStatus{} }, Order{Verb: Claim}},
		"in a batch":      {func(*World) {}, Order{Verb: Advance, Share: half}},
		"claimed by nobody, as after a forced edit": {
			func(w *World) { w.Workload.Owner = nil }, Order{Verb: Claim},
		},
		"claimed by another release": {
			func(w *World) { w.Workload.Owner.UID = "other" }, Order{Verb: Rest},
		},
		"a newer revision is left held": {
			func(w *World) { w.Workload.UpdateRevision, w.Workload.PodTemplateHash = "v3", "" }, Order{Verb: Restore, From: "br"},
		},
		"the same revision under a new name, after an upgrade of the operator": {
			func(w *World) { w.Workload.UpdateRevision = "v2-renamed" }, Order{Verb: Advance, Share: half},
		},
		"back at this revision after a newer one": {
			func(w *World) { w.Workload.Frozen = true }, Order{Verb: Claim},
		},
		"told to finish": {
			func(w *World) { w.Release.Spec.ReleasePlan.BatchPartition = nil }, Order{Verb: Restore, Promote: true, From: "br"},
		},
		"told to finish what a vanished release has claimed": {
			func(w *World) { w.Release.Spec.ReleasePlan.BatchPartition, w.Workload.Owner = nil, nil }, Order{Verb: Restore, Promote: true},
		},
		"deleted in the middle": {
			func(w *World) { w.Release.DeletionTimestamp = new(metav1.Now()) }, Order{Verb: Restore, From: "br"},
		},
		"completed": {
			func(w *World) { w.Release.Status.Phase = v1beta1.RolloutPhaseCompleted }, Order{Verb: Rest},
		},
		"workload gone":   {func(w *World) { w.Workload = nil }, Order{Verb: Rest}},
		"not for us":      {func(w *World) { w.Unsupported = "no" }, Order{Verb: Rest}},
		"index from afar": {func(w *World) { w.Release.Status.CanaryStatus.CurrentBatch = 7 }, Order{Verb: Claim}},
		"negative index":  {func(w *World) { w.Release.Status.CanaryStatus.CurrentBatch = -1 }, Order{Verb: Claim}},
		"new plan": {func(w *World) {
			w.Release.Status.ObservedReleasePlanHash, w.Release.Status.CanaryStatus.CurrentBatch = "old", 0
		}, Order{Verb: Advance, Share: half}},
		"new release id starts over": {func(w *World) {
			w.Release.Status.ObservedReleasePlanHash, w.Release.Status.ObservedRolloutID = "old", "old"
		}, Order{Verb: Advance, Share: intstr.FromString("20%")}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, Want(world(c.edit)))
		})
	}
}

func TestABatchIsReady(t *testing.T) {
	t.Parallel()
	failed := func(ready int32) func(*World) { return func(w *World) { w.Workload.UpdatedReady = ready } }
	tolerate := func(s string) func(*World) {
		return func(w *World) { w.Release.Spec.ReleasePlan.FailureThreshold = new(intstr.Parse(s)) }
	}
	cases := map[string]struct {
		edits []func(*World)
		want  v1beta1.BatchReleaseBatchStateType
	}{
		"when all are updated and ready": {nil, v1beta1.ReadyBatchState},
		"not when one is unready":        {[]func(*World){failed(4)}, v1beta1.VerifyingBatchState},
		"when the unready are tolerated": {[]func(*World){failed(4), tolerate("20%")}, v1beta1.ReadyBatchState},
		"not when none is ready":         {[]func(*World){failed(0), tolerate("100%")}, v1beta1.VerifyingBatchState},
		"not when too few are updated":   {[]func(*World){func(w *World) { w.Workload.Updated = 4 }}, v1beta1.UpgradingBatchState},
		"not while pods are in flight":   {[]func(*World){func(w *World) { w.Workload.Moving = true }}, v1beta1.VerifyingBatchState},
		"not before pods are labelled": {[]func(*World){func(w *World) {
			w.Release.Spec.ReleasePlan.RolloutID, w.Release.Status.ObservedRolloutID = "1", "1"
		}}, v1beta1.VerifyingBatchState},
		"when no pods are wanted": {[]func(*World){func(w *World) {
			w.Workload.Replicas, w.Workload.Updated, w.Workload.UpdatedReady, w.Workload.Pods = 0, 0, 0, nil
			w.Release.Status.ObservedWorkloadReplicas = 0
		}}, v1beta1.ReadyBatchState},
		"not before the workload is observed": {[]func(*World){func(w *World) { w.Workload.Fresh = false }}, v1beta1.VerifyingBatchState},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Decide(world(c.edits...), nil)
			assert.Equal(t, c.want, p.Status.CanaryStatus.CurrentBatchState)
			assert.Equal(t, c.want == v1beta1.ReadyBatchState, p.Status.CanaryStatus.BatchReadyTime != nil)
		})
	}
}

func TestNoStateIsLeftWhileWritesAreNeeded(t *testing.T) {
	t.Parallel()
	needed := []plan.Action{plan.Drop{}}
	for name, w := range map[string]World{
		"preparing":  world(func(w *World) { w.Release.Status = v1beta1.BatchReleaseStatus{Phase: v1beta1.RolloutPhasePreparing} }),
		"in a batch": world(),
		"finalizing": world(func(w *World) { w.Release.Status.Phase = v1beta1.RolloutPhaseFinalizing }),
	} {
		p := Decide(w, needed)
		assert.Equal(t, w.Release.Status.Phase, p.Status.Phase, name)
		assert.Equal(t, w.Release.Status.CanaryStatus.CurrentBatchState, p.Status.CanaryStatus.CurrentBatchState, name)
		assert.Equal(t, needed, p.Actions, name)
	}
}

func TestTheNextBatchFollowsTheOrder(t *testing.T) {
	t.Parallel()
	ready := func(w *World) { w.Release.Status.CanaryStatus.CurrentBatchState = v1beta1.ReadyBatchState }
	assert.Equal(t, int32(1), Decide(world(ready), nil).Status.CanaryStatus.CurrentBatch, "it rests where it was ordered to")
	ordered := func(w *World) { w.Release.Spec.ReleasePlan.BatchPartition = new(int32(2)) }
	hash := func(w *World) { w.Release.Status.ObservedReleasePlanHash = PlanHash(w.Release.Spec.ReleasePlan) }
	assert.Equal(t, int32(2), Decide(world(ready, ordered, hash), nil).Status.CanaryStatus.CurrentBatch)
}

func TestTheFinalizerComesFirstAndGoesLast(t *testing.T) {
	t.Parallel()
	without := func(w *World) { w.Release.Finalizers = nil }
	p := Decide(world(without), []plan.Action{plan.Drop{}})
	edit, ok := p.Actions[0].(plan.Edit)
	assert.True(t, ok && len(p.Actions) == 1, "nothing else in that pass")
	assert.Equal(t, []string{v1beta1.BatchReleaseFinalizer}, edit.After.GetFinalizers())

	over := func(w *World) {
		w.Release.DeletionTimestamp, w.Release.Status.Phase = new(metav1.Now()), v1beta1.RolloutPhaseCompleted
	}
	edit, ok = Decide(world(over), nil).Actions[0].(plan.Edit)
	assert.True(t, ok)
	assert.Empty(t, edit.After.GetFinalizers())
}

func TestCountersAloneAreNotWrittenEveryTime(t *testing.T) {
	t.Parallel()
	justNow := func(w *World) {
		w.Release.ManagedFields = []metav1.ManagedFieldsEntry{{Subresource: "status", Time: new(metav1.NewTime(w.Now))}}
	}
	unready := func(w *World) { w.Workload.UpdatedReady = 3 }
	w := world(justNow, unready)
	p := Decide(w, nil)
	assert.Equal(t, w.Release.Status, p.Status)
	assert.Equal(t, time.Second, p.Again)

	p = Decide(world(unready), nil)
	assert.Equal(t, int32(3), p.Status.CanaryStatus.UpdatedReadyReplicas)
}

func TestUsersAreToldWhatTheReleaseWaitsFor(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		edit func(*World)
		want string
	}{
		"pods":            {func(*World) {}, ""},
		"an obstacle":     {func(w *World) { w.Workload.Obstacle = "strategy.type Recreate" }, "strategy.type Recreate"},
		"another release": {func(w *World) { w.Workload.Owner = &metav1.OwnerReference{UID: "x", Name: "other"} }, "is being released by BatchRelease other"},
		"a newer change":  {func(w *World) { w.Workload.UpdateRevision, w.Workload.PodTemplateHash = "v3", "" }, "template has changed since this release began"},
		"no driver":       {func(w *World) { w.Unsupported = "a Foo can't be released" }, "a Foo can't be released"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Contains(t, Decide(world(c.edit), nil).Status.Message, c.want)
		})
	}
	p := Decide(world(func(w *World) { w.Unsupported = "a Foo can't be released" }), nil)
	assert.Equal(t, "UnsupportedWorkload", p.Events[0].Reason)
}
