package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/condition"
	"github.com/kruise-rollout/kruise-rollout/test/operator"
	"github.com/kruise-rollout/kruise-rollout/test/record"
)

// A step goes on when its user says so: however it is said, once for each time, never without.

// named is the Rollout by its name alone, in either version.
func (s *scenario) named(version string) client.Object {
	meta := metav1.ObjectMeta{Name: web, Namespace: s.ns}
	if version == "v1alpha1" {
		return &v1alpha1.Rollout{ObjectMeta: meta}
	}
	return &v1beta1.Rollout{ObjectMeta: meta}
}

// approvals are the ways of KR-17 that approve.
var approvals = map[string]func(s *scenario, version string) error{
	"merge patch": func(s *scenario, version string) error {
		return s.client.Status().Patch(s.ctx, s.named(version), approval)
	},
	"JSON patch": func(s *scenario, version string) error {
		body := `[{"op":"replace","path":"/status/canaryStatus/currentStepState","value":"StepReady"}]`
		return s.client.Status().Patch(s.ctx, s.named(version), client.RawPatch(types.JSONPatchType, []byte(body)))
	},
	"PUT": func(s *scenario, version string) error {
		return retryConflicts(func() error {
			o := s.named(version)
			if err := s.client.Get(s.ctx, s.key(), o); err != nil {
				return err
			}
			switch r := o.(type) {
			case *v1alpha1.Rollout:
				r.Status.CanaryStatus.CurrentStepState = "StepReady"
			case *v1beta1.Rollout:
				r.Status.CanaryStatus.CurrentStepState = v1beta1.CanaryStepStateReady
			}
			return s.client.Status().Update(s.ctx, o)
		})
	},
}

// retryConflicts is what a client does that was told to read again.
func retryConflicts(act func() error) error {
	for {
		if err := act(); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// indices are the steps that a Rollout has been at, in order.
func (s *scenario) indices() []int32 {
	var all []int32
	for _, e := range s.recorder.Log() {
		r, ok := e.Object.(*v1beta1.Rollout)
		if !ok || r.Status.Phase != v1beta1.RolloutPhaseProgressing || r.Status.CanaryStatus == nil {
			continue
		}
		if i := r.Status.CanaryStatus.CurrentStepIndex; len(all) == 0 || all[len(all)-1] != i {
			all = append(all, i)
		}
	}
	return all
}

func TestKR17EachApprovalIsOneStep(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := begin(t, shared)
			owner := s.deployment(10, "25%", "25%")
			s.rollout("10%", "20%", "30%", "40%", "100%")
			s.release("v2")
			begun := len(s.indices())
			step := int32(1)
			for way, approve := range approvals {
				require.NoError(t, approve(s, version), way)
				step++
				s.untilPaused(step)
				assert.Equal(t, int(step), s.counts().New, way)
			}
			assert.Equal(t, []int32{2, 3, 4}, s.indices()[begun:], "exactly one step each")
			s.toTheEnd(owner)
		})
	}
}

// Clients repeat an approval until they see that it was heard.
func TestKR17ApprovedTwice(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	s.deployment(10, "25%", "25%")
	s.rollout("10%", "20%", "30%", "100%")
	s.release("v2-slow")
	begun := len(s.indices())
	s.approve()
	s.approve()
	s.untilStep(2, v1beta1.CanaryStepStateUpgrade)
	s.approve() // the client has not seen yet that the step began
	s.untilPaused(2)
	assert.Equal(t, record.Counts{New: 2, NewReady: 2, Old: 8, OldReady: 8}, s.counts())
	assert.Equal(t, []int32{2}, s.indices()[begun:], "one step, and its pods were waited for")
}

func TestKR17ApprovalOfAnOutdatedVersion(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	s.deployment(4, "25%", "25%")
	s.rollout("25%", "50%", "100%")
	s.release("v2")
	var outdated v1beta1.Rollout
	s.must(s.client.Get(s.ctx, s.key(), &outdated))
	s.approve()
	s.untilPaused(2)
	body := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":{"canaryStatus":{"currentStepState":"StepReady"}}}`, outdated.ResourceVersion)
	err := s.client.Status().Patch(s.ctx, s.named("v1beta1"), client.RawPatch(types.MergePatchType, []byte(body)))
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	outdated.Status.CanaryStatus.CurrentStepState = v1beta1.CanaryStepStateReady
	err = s.client.Status().Update(s.ctx, &outdated)
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	assert.Equal(t, int32(2), s.status().CanaryStatus.CurrentStepIndex)
	assert.Equal(t, v1beta1.CanaryStepStatePaused, s.status().CanaryStatus.CurrentStepState)
}

// warnings keeps what the API server warns of.
type warnings struct{ texts []string }

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) { w.texts = append(w.texts, text) }

// An edit of the Rollout itself does not reach its status; the API server drops it without a word.
func TestKR17EditOfTheMainResourceIsWarnedOf(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	s.deployment(4, "25%", "25%")
	s.rollout("25%", "100%")
	s.release("v2")
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		w := &warnings{}
		config := rest.CopyConfig(s.op.Plane.Config())
		config.WarningHandler = w
		scheme, err := operator.Scheme()
		s.must(err)
		c, err := client.New(config, client.Options{Scheme: scheme})
		s.must(err)
		s.must(c.Patch(s.ctx, s.named(version), approval))
		require.NotEmpty(t, w.texts, version)
		assert.Contains(t, w.texts[0], "status", version)
		assert.Equal(t, v1beta1.CanaryStepStatePaused, s.status().CanaryStatus.CurrentStepState)
		assert.Equal(t, int32(1), s.status().CanaryStatus.CurrentStepIndex)
	}
}

// Somebody keeps the controller writing statuses all the while: no approval gets lost in between.
func TestApprovalsAreNotLostAmongStatusWrites(t *testing.T) {
	t.Parallel()
	const steps = 8
	s := begin(t, shared)
	owner := s.deployment(9, "25%", "25%")
	shares := make([]string, 0, steps)
	for i := range steps {
		shares = append(shares, fmt.Sprint(i+1))
	}
	s.rollout(shares...)
	s.release("v2")
	begun := len(s.indices())
	n := 0
	stop := s.resync(100*time.Millisecond, func(ctx context.Context) error {
		n++ // another generation of the Deployment, and another of the Rollout
		body := fmt.Sprintf(`{"spec":{"progressDeadlineSeconds":%d}}`, 700+n)
		if err := s.client.Patch(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: web, Namespace: s.ns}}, client.RawPatch(types.MergePatchType, []byte(body))); err != nil {
			return err
		}
		body = fmt.Sprintf(`{"spec":{"strategy":{"canary":{"failureThreshold":"%d%%"}}}}`, n%10+1)
		return s.client.Patch(ctx, s.named("v1beta1"), client.RawPatch(types.MergePatchType, []byte(body)))
	})
	want := []int32{}
	for step := int32(2); step <= steps; step++ {
		s.approve()
		s.untilPaused(step)
		want = append(want, step)
	}
	assert.Positive(t, stop())
	assert.Equal(t, want, s.indices()[begun:])
	s.approve()
	s.untilPhase(v1beta1.RolloutPhaseHealthy)
	s.untilWhole()
	owner.Spec.ProgressDeadlineSeconds = s.live().Spec.ProgressDeadlineSeconds
	assert.InDelta(t, 700+n, *owner.Spec.ProgressDeadlineSeconds, 1, "what the user wrote meanwhile came back; the last may not have been sent")
	s.plain(owner)
}

func TestTimedPauses(t *testing.T) {
	t.Parallel()
	const seconds = 2
	s := begin(t, shared)
	owner := s.deployment(4, "25%", "25%")
	s.rolloutOf(timed("25%", seconds), timed("50%", 0), timed("75%", seconds), timed("100%", seconds))
	s.update(image("v2"))
	s.untilPhase(v1beta1.RolloutPhaseProgressing)
	s.untilPhase(v1beta1.RolloutPhaseHealthy)
	s.untilWhole()
	s.plain(owner)

	paused, left := map[int32]time.Time{}, map[int32]time.Time{}
	for _, e := range s.recorder.Log() {
		r, ok := e.Object.(*v1beta1.Rollout)
		if !ok || r.Status.Phase != v1beta1.RolloutPhaseProgressing || r.Status.CanaryStatus == nil {
			continue
		}
		i := r.Status.CanaryStatus.CurrentStepIndex
		switch _, was := paused[i]; {
		case r.Status.CanaryStatus.CurrentStepState == v1beta1.CanaryStepStatePaused && !was:
			paused[i] = e.Seen
		case i > 1 && left[i-1].IsZero() && !paused[i-1].IsZero():
			left[i-1] = e.Seen
		}
	}
	for _, step := range []int32{1, 3} {
		// Times in a status are whole seconds.
		assert.Greater(t, left[step].Sub(paused[step]), (seconds-1)*time.Second, "step %d", step)
		assert.Less(t, left[step].Sub(paused[step]), (seconds+1)*time.Second, "step %d", step)
	}
	assert.Less(t, left[2].Sub(paused[2]), time.Second, "a pause of no time")
}

func TestPauseIsCutShort(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(4, "25%", "25%")
	s.rolloutOf(manual("25%"), timed("50%", 3600), manual("100%"))
	s.release("v2")
	for step := range 2 {
		s.untilPaused(int32(step) + 1)
		s.edit(func(r *v1beta1.Rollout) { r.Spec.Strategy.Canary.Steps[step].Pause.Duration = new(int32(0)) })
	}
	s.untilPhase(v1beta1.RolloutPhaseHealthy)
	s.untilWhole()
	s.plain(owner)
}

func TestPausedRolloutGoesNoStepFurther(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(10, "25%", "25%")
	s.rollout("20%", "50%", "100%")
	s.update(image("v2-slow"))
	s.untilStep(1, v1beta1.CanaryStepStateUpgrade)
	s.pause(true)
	s.until("the batch that was ordered goes on", func(st record.State) bool { return st.Count(st.Deployment(web)).NewReady == 2 })
	r := s.status()
	assert.Equal(t, v1beta1.CanaryStepStateUpgrade, r.CanaryStatus.CurrentStepState, "frozen")
	assert.Equal(t, "Rollout has been paused, you can resume it by kube-cli", r.Message)
	s.pause(false)
	s.untilPaused(1)
	assert.Equal(t, v1beta1.ProgressingReasonInRolling, condition.Reason(s.status(), v1beta1.RolloutConditionProgressing))

	s.pause(true)
	s.approve()
	s.until("the approval is stored", func(st record.State) bool {
		return st.Rollout(web).Status.CanaryStatus.CurrentStepState == v1beta1.CanaryStepStateReady
	})
	s.pause(false)
	s.untilPaused(2) // and it counts from then on
	s.toTheEnd(owner)
}

func TestNextStepThatLeadsNowhereIsPutRight(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(10, "25%", "25%")
	s.rollout("20%", "50%", "100%")
	s.release("v2")
	for _, wrong := range []int32{0, -7, 4, 99} {
		s.jump(wrong)
		s.until("the next step is put right", func(st record.State) bool {
			return st.Rollout(web).Status.CanaryStatus.NextStepIndex == 2
		})
		assert.Equal(t, v1beta1.CanaryStepStatePaused, s.status().CanaryStatus.CurrentStepState)
		assert.Equal(t, int32(1), s.status().CanaryStatus.CurrentStepIndex)
	}
	s.patchStatus(`{"status":{"canaryStatus":{"currentStepIndex":99,"nextStepIndex":7}}}`)
	s.toTheEnd(owner)
}
