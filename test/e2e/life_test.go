package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/condition"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/share"
	"github.com/kruise-rollout/kruise-rollout/test/controlplane/stages"
	"github.com/kruise-rollout/kruise-rollout/test/record"
)

// What may happen to a release in its life, and how it ends.

// toTheEnd approves every step that comes until the release is over, then checks that nothing is
// left of it.
func (s *scenario) toTheEnd(owner *appsv1.Deployment) {
	s.Helper()
	for {
		over := false
		s.until("the next step rests or the release is over", func(st record.State) bool {
			r := st.Rollout(web)
			over = r.Status.Phase == v1beta1.RolloutPhaseHealthy
			return over || waits(r)
		})
		if over {
			break
		}
		s.approve()
		s.until("the step is left", func(st record.State) bool {
			return !waits(st.Rollout(web))
		})
	}
	s.untilWhole()
	s.plain(owner)
}

// waits reports whether the release waits for approval. The last step for all pods never does.
func waits(r *v1beta1.Rollout) bool {
	c, steps := r.Status.CanaryStatus, r.Spec.Strategy.Canary.Steps
	return c != nil && c.CurrentStepState == v1beta1.CanaryStepStatePaused &&
		(int(c.CurrentStepIndex) < len(steps) || !share.Whole(*steps[len(steps)-1].Replicas))
}

func (s *scenario) succeeded() bool {
	s.Helper()
	return condition.Get(s.status(), v1beta1.RolloutConditionSucceeded).Status == corev1.ConditionTrue
}

// untilNew waits until pods of the current template have come, ready or not.
func (s *scenario) untilNew(n int) {
	s.Helper()
	s.until(fmt.Sprintf("there are %d new pods", n), func(st record.State) bool {
		return st.Count(st.Deployment(web)).New >= n
	})
}

func (s *scenario) pause(paused bool) {
	s.Helper()
	s.edit(func(r *v1beta1.Rollout) { r.Spec.Strategy.Paused = paused })
	s.until("the Rollout knows whether it is paused", func(st record.State) bool {
		reason := condition.Reason(st.Rollout(web).Status, v1beta1.RolloutConditionProgressing)
		return (reason == v1beta1.ProgressingReasonPaused) == paused
	})
}

func TestContinuousReleaseInTheMiddleOfAStep(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(10, "25%", "25%")
	s.rollout("20%", "60%", "100%")
	s.release("v2-slow")
	stable := s.status().CanaryStatus.StableRevision
	s.approve()
	s.untilNew(3)
	s.release("v3")
	assert.Equal(t, stable, s.status().CanaryStatus.StableRevision)
	c := s.counts()
	assert.Equal(t, 2, c.New)
	assert.Equal(t, 8, c.Old)
	s.toTheEnd(owner)
	assert.Equal(t, "web:v3", s.live().Spec.Template.Spec.Containers[0].Image)
	assert.True(t, s.succeeded())
}

func TestContinuousReleaseWhileTheRolloutIsPaused(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(10, "25%", "25%")
	s.rollout("20%", "60%", "100%")
	s.release("v2")
	s.pause(true)
	assert.True(t, s.update(image("v3")).Spec.Paused)
	assert.Equal(t, record.Counts{Old: 10, OldReady: 10}, s.counts(), "a paused Rollout releases nothing")
	s.pause(false)
	s.untilReleasing("web:v3")
	assert.Equal(t, record.Counts{New: 2, NewReady: 2, Old: 8, OldReady: 8}, s.counts())
	s.toTheEnd(owner)
}

func TestFailedImageThenAGoodOne(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(10, "25%", "25%")
	s.rollout("20%", "100%")
	s.update(image("v2-failed"))
	s.untilNew(2)
	s.untilStep(1, v1beta1.CanaryStepStateUpgrade)
	assert.Equal(t, record.Counts{New: 2, Old: 8, OldReady: 8}, s.counts())
	s.release("v3")
	s.toTheEnd(owner)
	assert.True(t, s.succeeded())
}

func TestFailedImageRolledBack(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(5, "1", "0")
	s.rollout("20%", "100%")
	s.update(image("v2-failed"))
	s.untilNew(1)
	s.update(image("v1"))
	s.untilPhase(v1beta1.RolloutPhaseHealthy)
	s.untilWhole()
	s.plain(owner)
	assert.False(t, s.succeeded())
}

func TestPlanChangedInTheMiddleOfAStep(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(10, "25%", "25%")
	s.rollout("20%", "50%", "100%")
	s.update(image("v2-slow"))
	s.untilNew(2)
	s.edit(func(r *v1beta1.Rollout) { r.Spec.Strategy.Canary.Steps[0].Replicas = new(intstr.FromInt32(4)) })
	s.untilReadyCanary(4)
	s.untilPaused(1)
	assert.Equal(t, record.Counts{New: 4, NewReady: 4, Old: 6, OldReady: 6}, s.counts())
	s.toTheEnd(owner)
}

func TestDisabledBeforeAChange(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(4, "25%", "25%")
	r := s.newRollout("50%", "100%")
	r.Spec.Disabled = true
	s.must(s.client.Create(s.ctx, r))
	s.untilPhase(v1beta1.RolloutPhaseDisabled)
	assert.False(t, s.update(image("v2")).Spec.Paused)
	s.untilWhole()
	s.plain(owner)
	s.edit(func(r *v1beta1.Rollout) { r.Spec.Disabled = false })
	s.untilPhase(v1beta1.RolloutPhaseHealthy)
	s.release("v3")
	s.toTheEnd(owner)
}

func TestDisabledInTheMiddleOfAStep(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(10, "25%", "25%")
	s.rollout("50%", "100%")
	s.update(image("v2-slow"))
	s.untilNew(3)
	s.edit(func(r *v1beta1.Rollout) { r.Spec.Disabled = true })
	s.untilPhase(v1beta1.RolloutPhaseDisabled)
	s.plain(owner)
	s.untilWhole()
	s.edit(func(r *v1beta1.Rollout) { r.Spec.Disabled = false })
	s.untilPhase(v1beta1.RolloutPhaseHealthy)
}

func TestDeletionInTheMiddleOfARelease(t *testing.T) {
	t.Parallel()
	moments := map[string]func(*scenario){
		"just caught": func(s *scenario) { s.update(image("v2")) },
		"mid-step":    func(s *scenario) { s.update(image("v2-slow")); s.untilNew(3) },
		"paused":      func(s *scenario) { s.release("v2") },
	}
	for moment, prepare := range moments {
		for _, how := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
			t.Run(moment+"/"+string(how), func(t *testing.T) {
				t.Parallel()
				s := begin(t, shared)
				owner := s.deployment(10, "25%", "25%")
				s.rollout("50%", "100%")
				prepare(s)
				tag := s.live().Spec.Template.Spec.Containers[0].Image
				s.must(s.client.Delete(s.ctx, s.newRollout(), client.PropagationPolicy(how)))
				s.until("the Rollout is gone", func(st record.State) bool { return st.Rollout(web) == nil })
				s.plain(owner)
				s.until("its BatchRelease is gone", func(st record.State) bool { return record.Get[*v1beta1.BatchRelease](st, web) == nil })
				s.untilWhole()
				assert.Equal(t, tag, s.live().Spec.Template.Spec.Containers[0].Image, "the change goes on without the Rollout")
			})
		}
	}
}

func TestNewRolloutAfterADeletion(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(10, "25%", "25%")
	s.rollout("20%", "100%")
	s.release("v2")
	s.deleteRollout()
	s.rollout("30%", "100%")
	s.release("v3")
	assert.Equal(t, 3, s.counts().New)
	s.toTheEnd(owner)
}

// Through v1alpha1 the number of steps may change in the middle of a release.
func TestKR18FewerStepsThanTheIndex(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(10, "25%", "25%")
	s.rollout("20%", "40%", "60%", "100%")
	s.release("v2")
	s.approve()
	s.untilPaused(2)
	s.approve()
	s.untilPaused(3)
	var r v1alpha1.Rollout
	s.must(s.client.Get(s.ctx, s.key(), &r))
	r.Spec.Strategy.Canary.Steps = []v1alpha1.CanaryStep{{Replicas: new(intstr.FromString("70%"))}}
	s.must(s.client.Update(s.ctx, &r))
	s.untilPaused(1)
	s.untilReadyCanary(7)
	assert.Equal(t, v1beta1.NoNextStep, s.status().CanaryStatus.NextStepIndex)
	assert.Equal(t, record.Counts{New: 7, NewReady: 7, Old: 3, OldReady: 3}, s.counts())
	s.toTheEnd(owner)
}

func TestKR20SwitchOfStyle(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(4, "25%", "25%")
	s.rollout("50%", "100%")
	s.release("v2")
	other := map[string]func(*v1beta1.Rollout){
		"spec.strategy.canary.enableExtraWorkloadForCanary": func(r *v1beta1.Rollout) { r.Spec.Strategy.Canary.EnableExtraWorkloadForCanary = true },
		"spec.strategy.blueGreen": func(r *v1beta1.Rollout) {
			r.Spec.Strategy.BlueGreen = &v1beta1.BlueGreenStrategy{Steps: r.Spec.Strategy.Canary.Steps}
			r.Spec.Strategy.Canary = nil
		},
	}
	for field, change := range other {
		var r v1beta1.Rollout
		s.must(s.client.Get(s.ctx, s.key(), &r))
		change(&r)
		err := s.client.Update(s.ctx, &r)
		assert.True(t, apierrors.IsInvalid(err), "%v", err)
		assert.ErrorContains(t, err, field)
		assert.ErrorContains(t, err, "set spec.disabled to true", "it says how to go on")
	}
	s.toTheEnd(owner)
	for _, change := range other {
		s.edit(func(r *v1beta1.Rollout) {
			r.Spec.Strategy = s.newRollout("50%", "100%").Spec.Strategy
			change(r)
		})
	}
}

func TestWorkloadDeletedAndMadeAgain(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	s.deployment(10, "25%", "25%")
	s.rollout("20%", "100%")
	s.release("v2")
	s.must(s.client.Delete(s.ctx, s.live(), client.PropagationPolicy(metav1.DeletePropagationBackground)))
	s.until("the Rollout has forgotten the release", func(st record.State) bool {
		r := st.Rollout(web)
		return st.Deployment(web) == nil && r.Status.Phase == v1beta1.RolloutPhaseInitial && r.Status.Message == "Workload Not Found" &&
			r.Status.CanaryStatus == nil && record.Get[*v1beta1.BatchRelease](st, web) == nil
	})
	owner := s.deployment(10, "25%", "25%", image("v3"))
	s.untilPhase(v1beta1.RolloutPhaseHealthy)
	s.plain(owner)
	s.release("v4")
	assert.Equal(t, record.Counts{New: 2, NewReady: 2, Old: 8, OldReady: 8}, s.counts())
	s.toTheEnd(owner)
}

func TestScaledInTheMiddleOfARelease(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	s.rules.AnySize = true // the native controller shares a scale event out in proportion
	owner := s.deployment(10, "25%", "25%")
	s.rollout("20%", "50%", "100%")
	s.release("v2")
	for _, size := range []struct {
		replicas, updated int32
	}{{20, 4}, {10, 2}, {15, 3}} {
		s.update(scale(size.replicas))
		s.untilReadyCanary(size.updated)
		s.untilTotal(size.replicas)
		assert.Equal(t, int(size.updated), s.counts().New)
	}
	s.update(scale(0))
	s.untilTotal(0)
	s.update(scale(10))
	s.untilTotal(10)
	s.untilReadyCanary(2)
	s.untilPaused(1)
	assert.Equal(t, record.Counts{New: 2, NewReady: 2, Old: 8, OldReady: 8}, s.counts())
	s.toTheEnd(owner)
}

// untilTotal waits until so many pods are ready, and no other is there.
func (s *scenario) untilTotal(n int32) {
	s.Helper()
	s.until(fmt.Sprintf("all of %d pods are ready", n), func(st record.State) bool {
		c := st.Count(st.Deployment(web))
		return c.New+c.Old == int(n) && c.NewReady+c.OldReady == int(n) && st.Deployment(web).Status.Replicas == n
	})
}

// A pod counts only once it has been ready for as long as its user asks.
func TestMinReadySecondsOfTheUser(t *testing.T) {
	t.Parallel()
	const seconds = 2
	s := begin(t, shared)
	owner := s.deployment(4, "1", "0", func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = seconds })
	s.rollout("50%", "100%")
	s.release("v2")
	assert.Equal(t, int32(seconds), s.live().Spec.MinReadySeconds, "at rest the Deployment shows the user's")
	s.toTheEnd(owner)

	var pods []*corev1.Pod
	s.recorder.Now(func(st record.State) {
		_, latest := st.Sets(st.Deployment(web))
		pods = st.Pods(latest)
	})
	require.Len(t, pods, 4)
	for _, pod := range pods {
		for _, earlier := range pods {
			if born := pod.CreationTimestamp.Time; earlier.CreationTimestamp.Time.Before(born) {
				assert.GreaterOrEqual(t, born.Sub(readyAt(earlier)), seconds*time.Second, "%s came before %s had been ready for long enough", pod.Name, earlier.Name)
			}
		}
	}
}

func readyAt(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// Whoever had paused the Deployment before the release finds it paused after it.
func TestUsersOwnPause(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	s.deployment(4, "25%", "25%")
	owner := s.update(func(d *appsv1.Deployment) { d.Spec.Paused = true })
	s.rollout("50%", "100%")
	s.release("v2")
	assert.Equal(t, record.Counts{New: 2, NewReady: 2, Old: 2, OldReady: 2}, s.counts())
	s.toTheEnd(owner)
	assert.True(t, s.live().Spec.Paused)
}

func TestRecreateIsRefused(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	s.rules.AnyStrategy = true
	s.deployment(4, "25%", "25%", func(d *appsv1.Deployment) {
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	})
	s.rollout("50%", "100%")
	s.update(image("v2"))
	s.until("the Rollout says what to do", func(st record.State) bool {
		return contains(st.Rollout(web).Status.Message, "Recreate", "set spec.strategy.type of the Deployment to RollingUpdate")
	})
	assert.Equal(t, record.Counts{Old: 4, OldReady: 4}, s.counts(), "nothing was replaced all at once")

	owner := s.update(func(d *appsv1.Deployment) {
		d.Spec.Strategy = appsv1.DeploymentStrategy{
			Type:          appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0))},
		}
	})
	owner.Spec.Paused = false
	s.untilReleasing("web:v2")
	s.toTheEnd(owner)
}

// A Recreate that was left by its Rollout goes on as its user wrote it.
func TestRecreateIsLetGo(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	s.rules.AnyStrategy, s.rules.AnyAvailability = true, true
	owner := s.deployment(4, "25%", "25%", func(d *appsv1.Deployment) {
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	})
	s.rollout("50%", "100%")
	s.update(image("v2"))
	s.until("the Rollout says what to do", func(st record.State) bool {
		return contains(st.Rollout(web).Status.Message, "Recreate")
	})
	s.deleteRollout()
	s.plain(owner)
	s.untilWhole()
}

func TestUnsupportedIsSaidAndNotHeld(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change  func(*v1beta1.Rollout)
		message string
	}{
		"extra Deployment": {
			func(r *v1beta1.Rollout) { r.Spec.Strategy.Canary.EnableExtraWorkloadForCanary = true },
			"a Deployment.apps can't be released in the Canary style",
		},
		"blue-green": {
			func(r *v1beta1.Rollout) {
				r.Spec.Strategy.BlueGreen = &v1beta1.BlueGreenStrategy{Steps: r.Spec.Strategy.Canary.Steps}
				r.Spec.Strategy.Canary = nil
			},
			"a Deployment.apps can't be released in the BlueGreen style",
		},
		"traffic": {
			func(r *v1beta1.Rollout) {
				r.Spec.Strategy.Canary.TrafficRoutings = []v1beta1.TrafficRoutingRef{{Service: web, Ingress: &v1beta1.IngressTrafficRouting{Name: web}}}
			},
			"moving traffic is not part of this version",
		},
		"StatefulSet": {
			func(r *v1beta1.Rollout) { r.Spec.WorkloadRef.Kind = "StatefulSet" },
			"a StatefulSet.apps can't be released",
		},
		"CloneSet": {
			func(r *v1beta1.Rollout) {
				r.Spec.WorkloadRef.APIVersion, r.Spec.WorkloadRef.Kind = "apps.kruise.io/v1alpha1", "CloneSet"
			},
			"a CloneSet.apps.kruise.io can't be released",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, shared)
			owner := s.deployment(4, "25%", "25%")
			r := s.newRollout("50%", "100%")
			c.change(r)
			s.must(s.client.Create(s.ctx, r))
			s.until("the Rollout says that it can't", func(st record.State) bool {
				r := st.Rollout(web)
				return r != nil && contains(r.Status.Message, c.message)
			})
			s.untilWarned("UnsupportedWorkload", c.message)
			assert.False(t, s.update(image("v2")).Spec.Paused, "the update rolls as if there were no Rollout")
			s.untilWhole()
			s.plain(owner)
			s.deleteRollout()
		})
	}
}

// untilWarned waits for a warning about the Rollout.
func (s *scenario) untilWarned(reason, text string) {
	s.Helper()
	w, err := s.client.Watch(s.ctx, &corev1.EventList{}, client.InNamespace(s.ns))
	s.must(err)
	defer w.Stop()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			s.Fatalf("there was no warning %s", reason)
		case got := <-w.ResultChan():
			e, ok := got.Object.(*corev1.Event)
			if ok && e.Reason == reason && e.Type == corev1.EventTypeWarning && e.InvolvedObject.Kind == "Rollout" && contains(e.Message, text) {
				return
			}
		}
	}
}

// Up to the threshold a batch is complete though not all of its pods are ready.
func TestFailureThreshold(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	s.deployment(10, "25%", "25%")
	r := s.newRollout("40%", "100%")
	r.Spec.Strategy.Canary.FailureThreshold = new(intstr.FromString("50%"))
	s.must(s.client.Create(s.ctx, r))
	s.untilPhase(v1beta1.RolloutPhaseHealthy)
	s.update(func(d *appsv1.Deployment) {
		image("v2-slow")(d)
		d.Spec.Template.Annotations = map[string]string{stages.ReadyAfter: "1h"}
	})
	s.untilNew(4)
	s.readyNew(1)
	s.until("the BatchRelease has counted the ready pod", func(st record.State) bool {
		return record.Get[*v1beta1.BatchRelease](st, web).Status.CanaryStatus.UpdatedReadyReplicas == 1
	})
	assert.Equal(t, v1beta1.CanaryStepStateUpgrade, s.status().CanaryStatus.CurrentStepState, "2 of 4 are needed")
	s.readyNew(2)
	s.untilPaused(1)
	assert.Equal(t, 4, s.counts().New)
}

// readyNew makes the first new pods ready.
func (s *scenario) readyNew(n int) {
	s.Helper()
	var pods []*corev1.Pod
	s.recorder.Now(func(st record.State) {
		_, latest := st.Sets(st.Deployment(web))
		pods = st.Pods(latest)[:n]
	})
	body := fmt.Sprintf(`{"metadata":{"annotations":{%q:"1ms"}}}`, stages.ReadyAfter)
	for _, pod := range pods {
		s.must(s.client.Patch(s.ctx, pod.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(body))))
	}
	s.until("the pods are ready", func(st record.State) bool { return st.Count(st.Deployment(web)).NewReady >= n })
}

func TestBatchReleaseWithoutARollout(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(10, "25%", "25%")
	s.update(func(d *appsv1.Deployment) {
		image("v2")(d)
		d.Spec.Paused = true
	})
	release := &v1beta1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Name: web, Namespace: s.ns}}
	release.Spec.WorkloadRef = s.newRollout().Spec.WorkloadRef
	release.Spec.ReleasePlan.BatchPartition = new(int32(0))
	for _, share := range []string{"20%", "50%", "100%"} {
		release.Spec.ReleasePlan.Batches = append(release.Spec.ReleasePlan.Batches, v1beta1.ReleaseBatch{CanaryReplicas: intstr.Parse(share)})
	}
	s.must(s.client.Create(s.ctx, release))
	for batch, pods := range []int{2, 5} {
		s.partition(fmt.Sprint(batch))
		s.until("the batch is ready", func(st record.State) bool {
			r := record.Get[*v1beta1.BatchRelease](st, web)
			return r != nil && int(r.Status.CanaryStatus.CurrentBatch) == batch && r.Status.CanaryStatus.CurrentBatchState == v1beta1.ReadyBatchState
		})
		assert.Equal(t, record.Counts{New: pods, NewReady: pods, Old: 10 - pods, OldReady: 10 - pods}, s.counts())
		assert.True(t, s.live().Spec.Paused)
	}
	s.partition("null")
	s.until("the BatchRelease is completed", func(st record.State) bool {
		return record.Get[*v1beta1.BatchRelease](st, web).Status.Phase == v1beta1.RolloutPhaseCompleted
	})
	s.plain(owner)
	s.untilWhole()
	s.must(s.client.Delete(s.ctx, release))
	s.until("the BatchRelease is gone", func(st record.State) bool { return record.Get[*v1beta1.BatchRelease](st, web) == nil })
	s.plain(owner)
}

// partition tells the BatchRelease how far to go.
func (s *scenario) partition(batch string) {
	s.Helper()
	release := &v1beta1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Name: web, Namespace: s.ns}}
	body := fmt.Sprintf(`{"spec":{"releasePlan":{"batchPartition":%s}}}`, batch)
	s.must(s.client.Patch(s.ctx, release, client.RawPatch(types.MergePatchType, []byte(body))))
}

func TestNamespaceDeletedInTheMiddleOfARelease(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	s.rules.AnyAvailability = true
	s.deployment(10, "25%", "25%")
	s.rollout("20%", "100%")
	s.release("v2")
	w, err := s.client.Watch(s.ctx, &corev1.NamespaceList{}, client.MatchingFields{"metadata.name": s.ns})
	s.must(err)
	defer w.Stop()
	s.must(s.client.Delete(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}))
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			s.Fatal("the namespace is still there")
		case e := <-w.ResultChan():
			if e.Type == "DELETED" {
				return
			}
		}
	}
}
