package rollout

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/condition"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/fact"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

func stepsOf(shares ...string) []v1beta1.CanaryStep {
	var steps []v1beta1.CanaryStep
	for _, s := range shares {
		steps = append(steps, v1beta1.CanaryStep{Replicas: new(intstr.Parse(s))})
	}
	return steps
}

// paused is a release of v2 that rests at a step of the plan, with what the step asks for updated
// and ready.
func pausedAt(step int32, shares ...string) World {
	r := &v1beta1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "r", Finalizers: []string{v1beta1.RolloutFinalizer}}}
	r.Spec.WorkloadRef = v1beta1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	r.Spec.Strategy.Canary = &v1beta1.CanaryStrategy{Steps: stepsOf(shares...)}
	r.Annotations = map[string]string{v1beta1.RolloutHashAnnotation: Hash(r)}
	w := World{
		Rollout: r,
		Object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Name: "web", ResourceVersion: "9", Labels: map[string]string{v1beta1.WorkloadTypeLabel: "deployment"},
			Annotations: map[string]string{v1beta1.InProgressingAnnotation: "x"},
		}},
		Workload: &fact.Workload{
			Fresh: true, Replicas: 10, InProgress: true, Held: true, Owner: &metav1.OwnerReference{UID: "br"},
			UpdateRevision: "v2", StableRevision: "v1", PodTemplateHash: "v2hash",
		},
		Now: time.Unix(1000, 0),
	}
	w.Workload.Updated = w.podsOf(w.stepAt(step))
	r.Status.Phase = v1beta1.RolloutPhaseProgressing
	r.Status.Conditions = []v1beta1.RolloutCondition{{Type: v1beta1.RolloutConditionProgressing, Status: "True", Reason: v1beta1.ProgressingReasonInRolling}}
	c := &v1beta1.CanaryStatus{CanaryRevision: "v2"}
	c.CurrentStepIndex, c.NextStepIndex, c.CurrentStepState = step, w.nextIndex(step), v1beta1.CanaryStepStatePaused
	c.RolloutHash, c.PodTemplateHash, c.StableRevision, c.ObservedRolloutID = Hash(r), "v2hash", "v1", "v2"
	c.LastUpdateTime = new(metav1.Unix(990, 0))
	r.Status.CanaryStatus = c
	w.Release = &v1beta1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "br"}}
	w.Release.Spec = v1beta1.BatchReleaseSpec{WorkloadRef: r.Spec.WorkloadRef, ReleasePlan: orders(w, c)}
	w.Release.Status.CanaryStatus.CurrentBatch = step - 1
	w.Release.Status.CanaryStatus.CurrentBatchState = v1beta1.ReadyBatchState
	return w
}

func placeOf(p plan.Plan[v1beta1.RolloutStatus]) place {
	return place{p.Status.CanaryStatus.CurrentStepIndex, p.Status.CanaryStatus.CurrentStepState}
}

func TestAPauseEnds(t *testing.T) {
	t.Parallel()
	lasting := func(seconds int32) func(*World) {
		return func(w *World) { w.Rollout.Spec.Strategy.Canary.Steps[0].Pause.Duration = &seconds }
	}
	cases := map[string]struct {
		edit  func(*World)
		want  place
		again time.Duration
	}{
		"by nothing":      {func(*World) {}, place{1, v1beta1.CanaryStepStatePaused}, 0},
		"not before time": {lasting(30), place{1, v1beta1.CanaryStepStatePaused}, 20 * time.Second},
		"by time":         {lasting(10), place{2, v1beta1.CanaryStepStateUpgrade}, 0},
		"at once":         {lasting(0), place{2, v1beta1.CanaryStepStateUpgrade}, 0},
		"by approval": {func(w *World) {
			w.Rollout.Status.CanaryStatus.CurrentStepState = v1beta1.CanaryStepStateReady
		}, place{2, v1beta1.CanaryStepStateUpgrade}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pausedAt(1, "20%", "50%")
			c.edit(&w)
			p := Decide(w)
			assert.Equal(t, c.want, placeOf(p))
			assert.Equal(t, c.again, p.Again)
			assert.Empty(t, p.Actions, "a move carries no writes")
		})
	}
	again := pausedAt(1, "20%", "50%")
	again.Rollout.Status.CurrentStepState = v1beta1.CanaryStepStateUpgrade
	again.Rollout.Status.CanaryStatus.CurrentStepState = v1beta1.CanaryStepStateReady
	assert.NotEqual(t, int32(2), placeOf(Decide(again)).index, "an approval said twice does not approve the step that the first one began")
	assert.Equal(t, place{2, v1beta1.CanaryStepStateCompleted}, placeOf(Decide(pausedAt(2, "20%", "100%"))), "the last step for all pods has nothing to decide")
	assert.Equal(t, place{2, v1beta1.CanaryStepStatePaused}, placeOf(Decide(pausedAt(2, "20%", "10"))), "a number is not 100%")
}

func TestOnlyAnApprovalMovesAStepThatRests(t *testing.T) {
	t.Parallel()
	at := func(index int32, state v1beta1.CanaryStepState) func(*v1beta1.CanaryStatus) {
		return func(c *v1beta1.CanaryStatus) { c.CurrentStepIndex, c.CurrentStepState = index, state }
	}
	rests := place{1, v1beta1.CanaryStepStatePaused}
	cases := map[string]struct {
		write func(*v1beta1.CanaryStatus)
		want  place
	}{
		"an approval":              {at(1, v1beta1.CanaryStepStateReady), place{2, v1beta1.CanaryStepStateUpgrade}},
		"an index from afar":       {at(77, v1beta1.CanaryStepStatePaused), rests},
		"a negative index":         {at(-3, v1beta1.CanaryStepStatePaused), rests},
		"a later step, approved":   {at(2, v1beta1.CanaryStepStateReady), rests},
		"the end":                  {at(1, v1beta1.CanaryStepStateCompleted), rests},
		"a state that there isn't": {at(1, "x"), rests},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pausedAt(1, "20%", "50%", "100%")
			mirror(&w.Rollout.Status)
			c.write(w.Rollout.Status.CanaryStatus)
			assert.Equal(t, c.want, placeOf(Decide(w)))
		})
	}
}

func TestAnEditedPlanFindsItsPlace(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		at     int32
		before []string
		after  []string
		want   place
		next   int32
	}{
		"the current step asks for more":              {1, []string{"20%"}, []string{"60%"}, place{1, v1beta1.CanaryStepStateInit}, -1},
		"the same pods are not updated again":         {1, []string{"20%", "50%"}, []string{"2", "50%"}, place{1, v1beta1.CanaryStepStateTrafficRouting}, 2},
		"the next step is the first that is enough":   {1, []string{"20%", "40%", "60%"}, []string{"10%", "30%", "100%"}, place{1, v1beta1.CanaryStepStateReady}, 2},
		"a later one is":                              {2, []string{"20%", "60%"}, []string{"10%", "20%", "30%", "90%"}, place{4, v1beta1.CanaryStepStateInit}, -1},
		"none is: the last, and no pod is taken back": {2, []string{"20%", "60%"}, []string{"10%", "20%"}, place{1, v1beta1.CanaryStepStateInit}, 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pausedAt(c.at, c.before...)
			w.Rollout.Spec.Strategy.Canary.Steps = stepsOf(c.after...)
			w.Rollout.Annotations[v1beta1.RolloutHashAnnotation] = Hash(w.Rollout)
			p := Decide(w)
			assert.Equal(t, c.want, placeOf(p))
			assert.Equal(t, c.next, p.Status.CanaryStatus.NextStepIndex)
			assert.Equal(t, Hash(w.Rollout), p.Status.CanaryStatus.RolloutHash)
		})
	}
}

func TestPausesAndThresholdsAreNotPartOfThePlan(t *testing.T) {
	t.Parallel()
	w := pausedAt(1, "20%", "50%")
	before := Hash(w.Rollout)
	w.Rollout.Spec.Strategy.Canary.Steps[0].Pause.Duration = new(int32(5))
	w.Rollout.Spec.Strategy.Canary.FailureThreshold = new(intstr.FromInt32(1))
	assert.Equal(t, before, Hash(w.Rollout))
	assert.Regexp(t, "^[bcdfghjklmnpqrstvwxz2456789]{64}$", before)
	w.Rollout.Spec.Strategy.Canary.Steps[0].Replicas = new(intstr.FromString("21%"))
	assert.NotEqual(t, before, Hash(w.Rollout))
}

func TestWhatInterruptsARelease(t *testing.T) {
	t.Parallel()
	toV3 := func(w *World) { w.Workload.UpdateRevision, w.Workload.PodTemplateHash = "v3", "" }
	toV1 := func(w *World) {
		w.Workload.UpdateRevision, w.Workload.PodTemplateHash, w.Workload.RolledBack = "v1", "v1hash", true
	}
	pauseIt := func(w *World) { w.Rollout.Spec.Strategy.Paused = true }
	noRelease := func(w *World) { w.Release = nil }
	cases := map[string]struct {
		edits   []func(*World)
		reason  string
		drops   bool
		events  int
		cleared bool
	}{
		"nothing":                        {nil, v1beta1.ProgressingReasonInRolling, false, 0, false},
		"a pause":                        {[]func(*World){pauseIt}, v1beta1.ProgressingReasonPaused, false, 0, false},
		"a rollback, even when paused":   {[]func(*World){toV1, pauseIt}, v1beta1.ProgressingReasonCancelling, false, 1, false},
		"a newer revision":               {[]func(*World){toV3}, v1beta1.ProgressingReasonInRolling, true, 1, false},
		"not a newer one, when paused":   {[]func(*World){toV3, pauseIt}, v1beta1.ProgressingReasonPaused, false, 0, false},
		"once the old BatchRelease went": {[]func(*World){toV3, noRelease}, v1beta1.ProgressingReasonInitializing, false, 0, true},
		"not a new name of the same revision": {[]func(*World){func(w *World) {
			w.Workload.UpdateRevision = "v2-renamed"
		}}, v1beta1.ProgressingReasonInRolling, false, 0, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pausedAt(1, "20%", "50%")
			for _, edit := range c.edits {
				edit(&w)
			}
			p := Decide(w)
			assert.Equal(t, c.reason, condition.Reason(p.Status, v1beta1.RolloutConditionProgressing))
			assert.Len(t, p.Events, c.events)
			assert.Equal(t, c.cleared, p.Status.CanaryStatus == nil)
			dropped := false
			for _, a := range p.Actions {
				_, isDrop := a.(plan.Drop)
				dropped = dropped || isDrop
			}
			assert.Equal(t, c.drops, dropped)
		})
	}
}

func TestARevisionSeenWhilePausedIsNotTakenForTheOneThatIsReleased(t *testing.T) {
	t.Parallel()
	w := pausedAt(1, "20%", "50%")
	w.Rollout.Status.CanaryStatus.PodTemplateHash = ""
	w.Workload.UpdateRevision, w.Workload.PodTemplateHash = "v3", "v3hash"
	w.Rollout.Spec.Strategy.Paused = true
	assert.Empty(t, Decide(w).Status.CanaryStatus.PodTemplateHash)
}

// letGo runs a world that lets go of its workload, pass by pass, with a BatchRelease and a workload
// that obey; it returns what was written, in order.
func letGo(t *testing.T, w World) (written []string, last plan.Plan[v1beta1.RolloutStatus]) {
	t.Helper()
	for range 20 {
		last = Decide(w)
		w.Rollout = w.Rollout.DeepCopy()
		w.Rollout.Status = last.Status
		for _, a := range last.Actions {
			switch a := a.(type) {
			case plan.Edit:
				switch after := a.After.(type) {
				case *appsv1.Deployment:
					if after.Labels[v1beta1.WorkloadTypeLabel] == "" {
						written = append(written, "unlabel")
						continue
					}
					written = append(written, "unmark")
					require.Equal(t, "9", after.Labels[v1beta1.GateWriteLabel], "admission must know the operator's write")
					w.Workload.InProgress = false
				case *v1beta1.BatchRelease:
					require.Nil(t, after.Spec.ReleasePlan.BatchPartition)
					written = append(written, "finish "+string(after.Spec.ReleasePlan.FinalizingPolicy))
					after.Status.Phase = v1beta1.RolloutPhaseCompleted
					w.Release, w.Workload.Held = after, false
				case *v1beta1.Rollout:
					return append(written, "finalizer"), last
				}
			case plan.Drop:
				written = append(written, "drop")
				w.Release = nil
			}
		}
		if p := last.Status.Phase; p == v1beta1.RolloutPhaseHealthy || p == v1beta1.RolloutPhaseDisabled {
			return written, last
		}
	}
	t.Fatalf("did not end: %v, %+v", written, last.Status)
	return nil, last
}

func TestEveryEndingLetsGoInOrder(t *testing.T) {
	t.Parallel()
	done := func(w *World) { w.Rollout.Status.CanaryStatus.CurrentStepState = v1beta1.CanaryStepStateCompleted }
	back := func(w *World) {
		w.Workload.UpdateRevision, w.Workload.PodTemplateHash, w.Workload.RolledBack = "v1", "v1hash", true
	}
	cases := map[string]struct {
		edit    func(*World)
		written []string
		phase   v1beta1.RolloutPhase
		succeed string
	}{
		"success":  {done, []string{"unmark", "finish WaitResume", "drop"}, v1beta1.RolloutPhaseHealthy, "True"},
		"rollback": {back, []string{"unmark", "finish Immediate", "drop"}, v1beta1.RolloutPhaseHealthy, "False"},
		"disabled": {func(w *World) { w.Rollout.Spec.Disabled = true }, []string{"unmark", "finish Immediate", "drop"}, v1beta1.RolloutPhaseDisabled, ""},
		"deleted": {
			func(w *World) { w.Rollout.DeletionTimestamp = new(metav1.Now()) },
			[]string{"unmark", "finish Immediate", "drop", "unlabel", "finalizer"},
			v1beta1.RolloutPhaseTerminating, "",
		},
		"disabled before anything was released": {func(w *World) {
			w.Rollout.Spec.Disabled, w.Release, w.Workload.Owner = true, nil, nil
			w.Rollout.Status = v1beta1.RolloutStatus{Phase: v1beta1.RolloutPhaseHealthy}
		}, []string{"unmark", "finish Immediate", "drop"}, v1beta1.RolloutPhaseDisabled, ""},
		"deleted with the workload gone": {func(w *World) {
			w.Rollout.DeletionTimestamp, w.Workload, w.Object, w.Release = new(metav1.Now()), nil, nil, nil
		}, []string{"finalizer"}, v1beta1.RolloutPhaseTerminating, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pausedAt(1, "20%", "50%")
			c.edit(&w)
			written, last := letGo(t, w)
			assert.Equal(t, c.written, written)
			assert.Equal(t, c.phase, last.Status.Phase)
			if c.succeed != "" {
				assert.Equal(t, c.succeed, string(condition.Get(last.Status, v1beta1.RolloutConditionSucceeded).Status))
				assert.Equal(t, v1beta1.ProgressingReasonCompleted, condition.Reason(last.Status, v1beta1.RolloutConditionProgressing))
				assert.Equal(t, v1beta1.FinalisingStepEnd, last.Status.CanaryStatus.FinalisingStep)
			}
		})
	}
}

func TestAChangeWhileEndingIsNotLetGoWithTheOldOne(t *testing.T) {
	t.Parallel()
	w := pausedAt(2, "20%", "50%")
	w.Rollout.Status.Conditions[0].Reason = v1beta1.ProgressingReasonFinalising
	w.Rollout.Status.CanaryStatus.CurrentStepState = v1beta1.CanaryStepStateCompleted
	w.Workload.UpdateRevision, w.Workload.PodTemplateHash = "v3", ""
	p := Decide(w)
	assert.Empty(t, p.Actions, "the mark of the new change stays")
	assert.Equal(t, v1beta1.ProgressingReasonInRolling, condition.Reason(p.Status, v1beta1.RolloutConditionProgressing))
}

func TestAHeldWorkloadWithNobodyIsTakenUp(t *testing.T) {
	t.Parallel()
	w := pausedAt(1, "20%", "50%")
	w.Release, w.Workload.Owner, w.Workload.InProgress = nil, nil, false
	w.Rollout.Status = v1beta1.RolloutStatus{Phase: v1beta1.RolloutPhaseHealthy}
	assert.Equal(t, v1beta1.RolloutPhaseProgressing, Decide(w).Status.Phase)
	w.Workload.Owner = &metav1.OwnerReference{UID: "somebody's own BatchRelease"}
	assert.Equal(t, v1beta1.RolloutPhaseHealthy, Decide(w).Status.Phase)
}
