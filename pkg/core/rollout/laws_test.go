package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/fact"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

// anyWorld is whatever users, older versions and accidents may have stored.
func anyWorld(t *rapid.T) World {
	r := &v1beta1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "r", Finalizers: []string{v1beta1.RolloutFinalizer}}}
	r.Spec.WorkloadRef = v1beta1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	r.Spec.Disabled = rapid.Bool().Draw(t, "disabled")
	r.Spec.Strategy.Paused = rapid.Bool().Draw(t, "paused")
	if rapid.IntRange(0, 9).Draw(t, "canary") > 0 {
		r.Spec.Strategy.Canary = &v1beta1.CanaryStrategy{}
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			step := v1beta1.CanaryStep{}
			if rapid.Bool().Draw(t, "has replicas") {
				step.Replicas = new(intstr.Parse(rapid.SampledFrom([]string{"1", "20%", "100%", "nonsense", "-4"}).Draw(t, "replicas")))
			}
			if rapid.Bool().Draw(t, "timed") {
				step.Pause.Duration = new(rapid.Int32Range(-1, 30).Draw(t, "pause"))
			}
			r.Spec.Strategy.Canary.Steps = append(r.Spec.Strategy.Canary.Steps, step)
		}
	}
	r.Annotations = map[string]string{v1beta1.RolloutHashAnnotation: Hash(r)}
	r.Status.Phase = rapid.SampledFrom([]v1beta1.RolloutPhase{
		"", "Nonsense", v1beta1.RolloutPhaseInitial, v1beta1.RolloutPhaseHealthy,
		v1beta1.RolloutPhaseProgressing, v1beta1.RolloutPhaseTerminating, v1beta1.RolloutPhaseDisabled, v1beta1.RolloutPhaseDisabling,
	}).Draw(t, "phase")
	if why := rapid.SampledFrom([]string{
		"", "Nonsense", v1beta1.ProgressingReasonInitializing, v1beta1.ProgressingReasonInRolling, v1beta1.ProgressingReasonPaused,
		v1beta1.ProgressingReasonFinalising, v1beta1.ProgressingReasonCancelling, v1beta1.ProgressingReasonCompleted,
	}).Draw(t, "reason"); why != "" {
		r.Status.Conditions = []v1beta1.RolloutCondition{{Type: v1beta1.RolloutConditionProgressing, Status: "True", Reason: why}}
	}
	if rapid.Bool().Draw(t, "has sub-status") {
		c := &v1beta1.CanaryStatus{CanaryRevision: rapid.SampledFrom([]string{"", "v1", "v2"}).Draw(t, "canary revision")}
		c.CurrentStepIndex = rapid.Int32Range(-2, 7).Draw(t, "index")
		c.NextStepIndex = rapid.Int32Range(-2, 7).Draw(t, "next index")
		c.CurrentStepState = rapid.SampledFrom([]v1beta1.CanaryStepState{
			"", "Nonsense", v1beta1.CanaryStepStateInit, v1beta1.CanaryStepStateUpgrade,
			v1beta1.CanaryStepStateTrafficRouting, v1beta1.CanaryStepStateMetricsAnalysis, v1beta1.CanaryStepStatePaused,
			v1beta1.CanaryStepStateReady, v1beta1.CanaryStepStateCompleted,
		}).Draw(t, "state")
		c.RolloutHash = rapid.SampledFrom([]string{"", "other", Hash(r)}).Draw(t, "hash")
		c.FinalisingStep = rapid.SampledFrom([]v1beta1.FinalisingStepType{
			"", "Nonsense", v1beta1.FinalisingStepResumeWorkload,
			v1beta1.FinalisingStepReleaseWorkloadControl, v1beta1.FinalisingStepEnd,
		}).Draw(t, "finalising")
		r.Status.CanaryStatus = c
	}
	w := World{Rollout: r, Now: time.Unix(1000, 0)}
	if rapid.IntRange(0, 5).Draw(t, "deleted") == 0 {
		r.DeletionTimestamp = new(metav1.Unix(900, 0))
	}
	if rapid.IntRange(0, 5).Draw(t, "workload") > 0 {
		w.Object = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{v1beta1.WorkloadTypeLabel: "deployment"}}}
		w.Workload = &fact.Workload{
			Fresh:          rapid.Bool().Draw(t, "fresh"),
			Replicas:       rapid.Int32Range(0, 10).Draw(t, "replicas"),
			Updated:        rapid.Int32Range(0, 10).Draw(t, "updated"),
			UpdateRevision: rapid.SampledFrom([]string{"v1", "v2"}).Draw(t, "update revision"),
			StableRevision: "v1",
			InProgress:     rapid.Bool().Draw(t, "in progress"),
			RolledBack:     rapid.Bool().Draw(t, "rolled back"),
			Held:           rapid.Bool().Draw(t, "held"),
		}
	}
	if rapid.Bool().Draw(t, "release") {
		w.Release = &v1beta1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
		if rapid.Bool().Draw(t, "has partition") {
			w.Release.Spec.ReleasePlan.BatchPartition = new(rapid.Int32Range(-3, 7).Draw(t, "partition"))
		}
		for range rapid.IntRange(0, 3).Draw(t, "batches") {
			w.Release.Spec.ReleasePlan.Batches = append(w.Release.Spec.ReleasePlan.Batches, v1beta1.ReleaseBatch{CanaryReplicas: intstr.FromInt32(2)})
		}
		w.Release.Status.CanaryStatus.CurrentBatch = rapid.Int32Range(-1, 6).Draw(t, "current batch")
		w.Release.Status.CanaryStatus.CurrentBatchState = rapid.SampledFrom([]v1beta1.BatchReleaseBatchStateType{"", v1beta1.ReadyBatchState}).Draw(t, "batch state")
		w.Release.Status.Phase = rapid.SampledFrom([]v1beta1.RolloutPhase{"", v1beta1.RolloutPhaseProgressing, v1beta1.RolloutPhaseCompleted}).Draw(t, "release phase")
	}
	return w
}

// Whatever is stored and observed: a decision does not panic, does not change what it was shown, is
// the same when made twice, and stores a place that is inside the plan.
func TestAnyWorldGetsADecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		shown := w.Rollout.DeepCopy()
		first, second := Decide(w), Decide(w)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("two decisions on one world differ: %s", diff)
		}
		if diff := cmp.Diff(shown, w.Rollout); diff != "" {
			t.Fatalf("the decision changed what it was shown: %s", diff)
		}
		c, before := first.Status.CanaryStatus, w.Rollout.Status.CanaryStatus
		if c == nil || before != nil && cmp.Equal(c.CommonStatus, before.CommonStatus) {
			return
		}
		if rolls := first.Status.Phase == v1beta1.RolloutPhaseProgressing && c.CurrentStepState != stateOf(before); rolls && (c.CurrentStepIndex > max(1, w.last())) {
			t.Fatalf("moved to step %d of %d", c.CurrentStepIndex, w.last())
		}
	})
}

func stateOf(c *v1beta1.CanaryStatus) v1beta1.CanaryStepState {
	if c == nil {
		return ""
	}
	return c.CurrentStepState
}

// A step is not approved by anything but the user, its timer, or the last step's being for all pods.
func TestNothingButApprovalPassesAPause(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := anyWorld(t)
		w.Rollout.DeletionTimestamp, w.Rollout.Spec.Disabled, w.Rollout.Spec.Strategy.Paused = nil, false, false
		w.Rollout.Spec.Strategy.Canary = &v1beta1.CanaryStrategy{Steps: []v1beta1.CanaryStep{
			{Replicas: new(intstr.FromInt32(1))}, {Replicas: new(intstr.FromString("100%"))},
		}}
		hash := Hash(w.Rollout)
		w.Rollout.Annotations = map[string]string{v1beta1.RolloutHashAnnotation: hash}
		w.Rollout.Status.Phase = v1beta1.RolloutPhaseProgressing
		w.Rollout.Status.Conditions = []v1beta1.RolloutCondition{{Type: v1beta1.RolloutConditionProgressing, Status: "True", Reason: v1beta1.ProgressingReasonInRolling}}
		c := &v1beta1.CanaryStatus{CanaryRevision: "v2"}
		c.CurrentStepIndex, c.NextStepIndex, c.CurrentStepState, c.RolloutHash = 1, 2, v1beta1.CanaryStepStatePaused, hash
		w.Rollout.Status.CanaryStatus = c
		if w.Workload == nil {
			return
		}
		w.Workload.Fresh, w.Workload.UpdateRevision, w.Workload.RolledBack = true, "v2", false
		p := Decide(w)
		if got := p.Status.CanaryStatus; got.CurrentStepState != v1beta1.CanaryStepStatePaused || got.CurrentStepIndex != 1 {
			t.Fatalf("left the pause for %d/%s", got.CurrentStepIndex, got.CurrentStepState)
		}
		for _, a := range p.Actions {
			if e, ok := a.(plan.Edit); ok {
				if r, ok := e.After.(*v1beta1.BatchRelease); ok && *r.Spec.ReleasePlan.BatchPartition > 0 {
					t.Fatalf("ordered batch %d while step 1 waits for approval", *r.Spec.ReleasePlan.BatchPartition)
				}
			}
		}
	})
}
