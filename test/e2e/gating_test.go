package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/condition"
	"github.com/kruise-rollout/kruise-rollout/test/operator"
	"github.com/kruise-rollout/kruise-rollout/test/record"
)

// What users and their tools send, however they send it, is held; and nothing else is.

// way is how a tool brings the cluster to what stands in Git.
type way struct {
	name string
	send func(context.Context, *scenario, *appsv1.Deployment) error
}

var ways = []way{{"PUT", put}, {"SSA", serverSideApply}, {"kubectl-apply", kubectlApply}}

// git returns the Deployment as it stands in Git: nothing of the cluster's, nothing of ours.
func (s *scenario) git(replicas int32, tag string) *appsv1.Deployment {
	return s.newDeployment(replicas, "25%", "25%", image(tag))
}

// put replaces the whole object, whatever is there.
func put(ctx context.Context, s *scenario, d *appsv1.Deployment) error {
	return s.client.Update(ctx, d.DeepCopy())
}

// asWritten says in so many words that the Deployment is not paused: the type would leave it out.
func asWritten(d *appsv1.Deployment) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	delete(content, "status")
	for _, path := range [][]string{{"metadata", "creationTimestamp"}, {"spec", "template", "metadata", "creationTimestamp"}} {
		unstructured.RemoveNestedField(content, path...)
	}
	return u, unstructured.SetNestedField(content, d.Spec.Paused, "spec", "paused")
}

func serverSideApply(ctx context.Context, s *scenario, d *appsv1.Deployment) error {
	u, err := asWritten(d)
	if err != nil {
		return err
	}
	return s.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("git"), client.ForceOwnership)
}

// kubectlApply patches by what it applied last, what it applies now and what is there.
func kubectlApply(ctx context.Context, s *scenario, d *appsv1.Deployment) error {
	u, err := asWritten(d)
	if err != nil {
		return err
	}
	applied, err := json.Marshal(u)
	if err != nil {
		return err
	}
	u.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: string(applied)})
	modified, err := json.Marshal(u)
	if err != nil {
		return err
	}
	var live appsv1.Deployment
	if err := s.client.Get(ctx, s.key(), &live); err != nil {
		return err
	}
	current, err := json.Marshal(live)
	if err != nil {
		return err
	}
	schema, err := strategicpatch.NewPatchMetaFromStruct(appsv1.Deployment{})
	if err != nil {
		return err
	}
	last := []byte(live.Annotations[corev1.LastAppliedConfigAnnotation])
	patch, err := strategicpatch.CreateThreeWayMergePatch(last, modified, current, schema, true)
	if err != nil || string(patch) == "{}" {
		return err
	}
	return s.client.Patch(ctx, &live, client.RawPatch(types.StrategicMergePatchType, patch))
}

// resync sends again and again until it is told to stop, and counts.
func (s *scenario) resync(every time.Duration, send func(context.Context) error) (stop func() int) {
	ctx, cancel := context.WithCancel(s.ctx)
	sent := make(chan int)
	go func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for n := 0; ; n++ {
			if err := send(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
				s.Errorf("sending what stands in Git: %v", err)
			}
			select {
			case <-ctx.Done():
				sent <- n
				return
			case <-ticker.C:
			}
		}
	}()
	return func() int {
		cancel()
		return <-sent
	}
}

// gated checks that the change was held and its release has begun.
func (s *scenario) gated(tag string) {
	s.Helper()
	d := s.live()
	assert.True(s, d.Spec.Paused, "held")
	assert.Equal(s, string(v1beta1.DeploymentType), d.Labels[v1beta1.WorkloadTypeLabel], "labelled for admission")
	s.untilReleasing("web:" + tag)
}

func TestKR21FullUpdateIsGated(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, shared)
			owner := s.deployment(10, "25%", "25%")
			s.rollout("20%", "100%")
			for range 2 {
				s.must(way.send(s.ctx, s, s.git(10, "v2")))
			}
			s.gated("v2")
			before := s.rolloutStatus()
			for range 2 {
				s.must(way.send(s.ctx, s, s.git(10, "v2")))
			}
			d := s.live()
			assert.True(t, d.Spec.Paused, "held in the middle of the release too")
			for _, key := range []string{v1beta1.DeploymentStrategyAnnotation, v1beta1.OriginalDeploymentStrategyAnnotation, v1beta1.ControlInfoAnnotation} {
				assert.Contains(t, d.Annotations, key)
			}
			assert.Equal(t, record.Counts{New: 2, NewReady: 2, Old: 8, OldReady: 8}, s.counts())
			assert.Equal(t, before.CanaryStatus.CurrentStepIndex, s.rolloutStatus().CanaryStatus.CurrentStepIndex)
			s.approve()
			s.untilPhase(v1beta1.RolloutPhaseHealthy)
			s.untilWhole()
			s.plain(owner)
		})
	}
}

// rolloutStatus is the status as the recorder knows it.
func (s *scenario) rolloutStatus() v1beta1.RolloutStatus {
	var status v1beta1.RolloutStatus
	s.recorder.Now(func(st record.State) { status = *st.Rollout(web).Status.DeepCopy() })
	return status
}

func TestKR21ForcedApplyDropsOurLabel(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	labelled := s.git(10, "v1")
	labelled.Labels = map[string]string{v1beta1.WorkloadTypeLabel: string(v1beta1.DeploymentType)}
	s.must(serverSideApply(s.ctx, s, labelled))
	s.untilWhole()
	s.rollout("20%", "100%")
	s.must(serverSideApply(s.ctx, s, s.git(10, "v2")))
	s.gated("v2")
}

func TestKR21PatchNullsOurLabel(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	s.deployment(10, "25%", "25%")
	s.rollout("20%", "100%")
	body := `{"metadata":{"labels":{"rollouts.kruise.io/workload-type":null}},"spec":{"template":{"spec":{"containers":[{"name":"main","image":"web:v2"}]}}}}`
	s.must(s.client.Patch(s.ctx, s.live(), client.RawPatch(types.MergePatchType, []byte(body))))
	s.gated("v2")
	nulled := `{"metadata":{"labels":null,"annotations":null}}`
	s.must(s.client.Patch(s.ctx, s.live(), client.RawPatch(types.MergePatchType, []byte(nulled))))
	assert.Equal(t, record.Counts{New: 2, NewReady: 2, Old: 8, OldReady: 8}, s.counts())
	s.approve()
	s.untilPhase(v1beta1.RolloutPhaseHealthy)
	s.untilWhole()
}

func TestKR21ScaleSubresourceIsNotGated(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(4, "25%", "25%")
	s.rollout("50%", "100%")
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 6}}
	s.must(s.client.SubResource("scale").Update(s.ctx, s.live(), client.WithSubResourceBody(scale)))
	d := s.live()
	assert.Equal(t, int32(6), *d.Spec.Replicas)
	assert.False(t, d.Spec.Paused)
	s.untilWhole()
	s.plain(owner)
	assert.Equal(t, v1beta1.RolloutPhaseHealthy, s.status().Phase)
}

func TestKR22ChangeRightAfterTheRollout(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(10, "25%", "25%")
	s.must(s.client.Create(s.ctx, s.newRollout("20%", "100%")))
	s.until("the Deployment is labelled", func(st record.State) bool {
		return st.Deployment(web).Labels[v1beta1.WorkloadTypeLabel] != ""
	})
	assert.True(t, s.update(image("v2")).Spec.Paused, "held, whatever the Rollout's phase is by now")
	s.untilReleasing("web:v2")
	assert.Equal(t, record.Counts{New: 2, NewReady: 2, Old: 8, OldReady: 8}, s.counts())
	s.approve()
	s.untilPhase(v1beta1.RolloutPhaseHealthy)
	s.untilWhole()
	s.plain(owner)
}

// The agent of a multi-cluster tool writes the whole object, without UID, guarded by the version
// that it read last, and whenever what it reads differs from what it wants.
func TestKR23SyncedByAnAgent(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(10, "25%", "25%")
	s.rollout("20%", "50%", "100%")
	want := s.git(10, "v2")
	want.Labels = map[string]string{"agent": "yes"}
	want.Annotations = map[string]string{"agent/uid": "1"}
	stop := s.resync(100*time.Millisecond, func(ctx context.Context) error {
		var live appsv1.Deployment
		if err := s.client.Get(ctx, s.key(), &live); err != nil {
			return err
		}
		sent := want.DeepCopy()
		sent.ResourceVersion = live.ResourceVersion
		return s.client.Update(ctx, sent)
	})
	s.untilReleasing("web:v2")
	assert.Equal(t, record.Counts{New: 2, NewReady: 2, Old: 8, OldReady: 8}, s.counts())
	s.approve()
	s.untilPaused(2)
	assert.Equal(t, record.Counts{New: 5, NewReady: 5, Old: 5, OldReady: 5}, s.counts())
	s.approve()
	s.untilPhase(v1beta1.RolloutPhaseHealthy)
	s.untilWhole()
	s.plain(owner)
	assert.Positive(t, stop())
	assert.Equal(t, "yes", s.live().Labels["agent"])
}

func TestKR24LeftoverLabelPasses(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(4, "25%", "25%", func(d *appsv1.Deployment) {
		d.Labels = map[string]string{v1beta1.WorkloadTypeLabel: string(v1beta1.DeploymentType)}
	})
	assert.False(t, s.update(image("v2")).Spec.Paused)
	s.untilWhole()
	s.plain(owner)
}

// A Rollout that goes takes its label along.
func TestKR24NoLabelIsLeftOver(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(4, "25%", "25%")
	s.rollout("50%", "100%")
	s.deleteRollout()
	assert.NotContains(t, s.live().Labels, v1beta1.WorkloadTypeLabel)
	assert.False(t, s.update(image("v2")).Spec.Paused)
	s.untilWhole()
	s.plain(owner)
}

func TestDryRunTellsTheSameAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	s.deployment(4, "25%", "25%")
	s.rollout("50%", "100%")
	before := s.live()
	dry := before.DeepCopy()
	image("v2")(dry)
	s.must(s.client.Update(s.ctx, dry, client.DryRunAll))
	assert.Equal(t, before, s.live(), "a dry run changes nothing")
	assert.Equal(t, v1beta1.RolloutPhaseHealthy, s.status().Phase)
	sent := s.update(image("v2"))
	assert.Equal(t, sent.Spec, dry.Spec)
	assert.Equal(t, sent.Labels, dry.Labels)
	assert.Equal(t, sent.Annotations, dry.Annotations)
	s.untilReleasing("web:v2")

	dry = s.live()
	image("v3")(dry)
	s.must(s.client.Update(s.ctx, dry, client.DryRunAll))
	assert.Contains(t, dry.Annotations, v1beta1.InProgressingAnnotation, "the next change would be caught")
	assert.Equal(t, "web:v2", s.live().Spec.Template.Spec.Containers[0].Image)
}

func TestKR02NeighborsWithTheSameSelector(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	started := time.Now()
	owner := s.deployment(10, "25%", "25%")
	neighbors := map[string]int32{"neighbor-b": 0, "neighbor-c": 0, "neighbor-d": 2}
	for name, replicas := range neighbors {
		d := s.git(replicas, name)
		d.Name = name
		s.must(s.client.Create(s.ctx, d))
	}
	s.until("the neighbors are ready", func(st record.State) bool {
		for name, replicas := range neighbors {
			d := st.Deployment(name)
			if _, latest := st.Sets(d); latest == nil || d.Status.ReadyReplicas != replicas || d.Status.ObservedGeneration == 0 {
				return false
			}
		}
		return true
	})
	s.rollout("20%", "100%")
	s.release("v2")
	assert.Equal(t, record.Counts{New: 2, NewReady: 2, Old: 8, OldReady: 8}, s.counts())
	s.approve()
	s.untilPhase(v1beta1.RolloutPhaseHealthy)
	s.untilWhole()
	s.plain(owner)

	writes, err := operator.Writes(s.op.Plane.AuditLog(), s.ns, started)
	s.must(err)
	for _, w := range writes {
		assert.NotContains(t, w.Object, "neighbor", "the operator writes only to what belongs to the Deployment")
	}
	s.recorder.Now(func(st record.State) {
		for name, replicas := range neighbors {
			assert.Equal(t, record.Counts{New: int(replicas), NewReady: int(replicas)}, st.Count(st.Deployment(name)), name)
		}
	})
}

func TestKR25RollbackByApplyingTheOldManifest(t *testing.T) {
	t.Parallel()
	cases := map[string]func(s *scenario){
		"while the step is paused": func(*scenario) {},
		"while the Rollout is paused": func(s *scenario) {
			s.edit(func(r *v1beta1.Rollout) { r.Spec.Strategy.Paused = true })
			s.until("the Rollout is paused", func(st record.State) bool {
				return condition.Reason(st.Rollout(web).Status, v1beta1.RolloutConditionProgressing) == v1beta1.ProgressingReasonPaused
			})
		},
		"in the middle of a step": func(s *scenario) {
			s.approve()
			s.until("pods of the next step come", func(st record.State) bool {
				return st.Count(st.Deployment(web)).New > 2
			})
		},
	}
	for name, prepare := range cases {
		for _, way := range ways {
			t.Run(strings.ReplaceAll(name, " ", "-")+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				s := begin(t, shared)
				s.must(way.create(s.ctx, s, s.git(10, "v1")))
				s.untilWhole()
				s.rollout("20%", "50%", "100%")
				owner := s.live()
				s.must(way.send(s.ctx, s, s.git(10, "v2-slow")))
				s.untilReleasing("web:v2-slow")
				prepare(s)
				s.must(way.send(s.ctx, s, s.git(10, "v1")))
				s.untilPhase(v1beta1.RolloutPhaseHealthy)
				assert.Equal(t, corev1.ConditionFalse, condition.Get(s.status(), v1beta1.RolloutConditionSucceeded).Status)
				s.untilWhole()
				assert.Equal(t, "web:v1", s.live().Spec.Template.Spec.Containers[0].Image)
				s.plain(owner)
			})
		}
	}
}

// create brings a Deployment into being the way that it will be kept.
func (w way) create(ctx context.Context, s *scenario, d *appsv1.Deployment) error {
	if err := s.client.Create(ctx, d.DeepCopy()); err != nil {
		return err
	}
	return w.send(ctx, s, d)
}

func TestKR04ReappliedThroughTheWholeRelease(t *testing.T) {
	t.Parallel()
	const iterations = 3
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, shared)
			s.must(way.create(s.ctx, s, s.git(10, "v0")))
			s.untilWhole()
			s.rollout("20%", "50%", "100%")
			owner := s.live()
			for i := range iterations {
				tag := "v" + string(rune('1'+i))
				stop := s.resync(300*time.Millisecond, func(ctx context.Context) error {
					return way.send(ctx, s, s.git(10, tag))
				})
				s.untilReleasing("web:" + tag)
				assert.Equal(t, record.Counts{New: 2, NewReady: 2, Old: 8, OldReady: 8}, s.counts())
				s.approve()
				s.untilPaused(2)
				assert.Equal(t, record.Counts{New: 5, NewReady: 5, Old: 5, OldReady: 5}, s.counts())
				s.approve()
				s.untilPhase(v1beta1.RolloutPhaseHealthy)
				assert.Equal(t, corev1.ConditionTrue, condition.Get(s.status(), v1beta1.RolloutConditionSucceeded).Status)
				s.untilWhole()
				s.plain(owner)
				s.must(way.send(s.ctx, s, s.git(10, tag)))
				assert.Positive(t, stop())
				s.plain(owner)
			}
		})
	}
}
