package e2e

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/condition"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/revision"
	"github.com/kruise-rollout/kruise-rollout/test/record"
)

// Contract cases: what clients of the peer operator assert of a Deployment that is released in
// place. They look at a status once, without a retry, as soon as it says StepPaused or Healthy.

// contractClient sends updates as the contract's clients do: it takes the object as it is now, overwrites
// replicas, template and pause with its own copy, and lays its own labels and annotations over it.
type contractClient struct {
	*scenario
	local  *appsv1.Deployment
	stable string
}

func contractCase(t *testing.T, steps ...v1beta1.CanaryStep) *contractClient {
	t.Helper()
	s := begin(t, shared)
	c := &contractClient{scenario: s, local: s.deployment(5, "1", "0")}
	s.rolloutOf(steps...)
	c.stable = c.hashOf("web:v1")
	assert.Equal(t, c.stable, s.status().CanaryStatus.StableRevision, "the revision that serves before any release")
	return c
}

// manual is a step that waits for approval, timed one that goes on by itself.
func manual(share string) v1beta1.CanaryStep { return stepsOf(share)[0] }

func timed(share string, seconds int32) v1beta1.CanaryStep {
	step := manual(share)
	step.Pause.Duration = &seconds
	return step
}

func (c *contractClient) send(edit func(*appsv1.Deployment)) {
	c.Helper()
	edit(c.local)
	c.update(func(d *appsv1.Deployment) {
		d.Spec.Replicas, d.Spec.Paused = c.local.Spec.Replicas, c.local.Spec.Paused
		d.Spec.Template = *c.local.Spec.Template.DeepCopy()
		for key, value := range c.local.Labels {
			metav1.SetMetaDataLabel(&d.ObjectMeta, key, value)
		}
		for key, value := range c.local.Annotations {
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, key, value)
		}
	})
}

// hashOf returns the pod-template-hash of the ReplicaSet that runs an image.
func (c *contractClient) hashOf(image string) string {
	hash := ""
	c.recorder.Now(func(st record.State) {
		all, _ := st.Sets(st.Deployment(web))
		for _, rs := range all {
			if rs.Spec.Template.Spec.Containers[0].Image == image {
				hash = rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
			}
		}
	})
	return hash
}

// pausedAt waits for a step and looks, once, at all that must be true by then.
func (c *contractClient) pausedAt(step, next, updated int32) {
	c.Helper()
	c.untilPaused(step)
	c.restingAt(step, next, updated)
}

func (c *contractClient) restingAt(step, next, updated int32) {
	c.Helper()
	d, r := c.live(), c.rolloutNow()
	assert.Equal(c, updated, d.Status.UpdatedReplicas, "updated pods")
	assert.Equal(c, *d.Spec.Replicas, d.Status.Replicas, "pods in all")
	assert.Equal(c, *d.Spec.Replicas, d.Status.ReadyReplicas, "ready pods")
	var extra v1beta1.DeploymentExtraStatus
	c.must(json.Unmarshal([]byte(d.Annotations[v1beta1.DeploymentExtraStatusAnnotation]), &extra))
	assert.Equal(c, updated, extra.UpdatedReadyReplicas, "the Deployment's extra status")
	var strategy v1beta1.DeploymentStrategy
	c.must(json.Unmarshal([]byte(d.Annotations[v1beta1.DeploymentStrategyAnnotation]), &strategy))
	assert.False(c, strategy.Paused, "the strategy annotation is not paused")
	assert.Equal(c, v1beta1.PartitionRollingStyle, strategy.RollingStyle)
	assert.Equal(c, d.Labels[v1beta1.StableRevisionLabel], r.Status.CanaryStatus.StableRevision, "stable revision by label")

	assert.Equal(c, v1beta1.RolloutPhaseProgressing, r.Status.Phase)
	assert.Equal(c, step, r.Status.CurrentStepIndex, "the top of the status")
	assert.Equal(c, v1beta1.CanaryStepStatePaused, r.Status.CurrentStepState, "the top of the status")
	s := r.Status.CanaryStatus
	assert.Equal(c, step, s.CurrentStepIndex)
	assert.Equal(c, v1beta1.CanaryStepStatePaused, s.CurrentStepState)
	assert.Equal(c, next, s.NextStepIndex, "next step")
	assert.Equal(c, updated, s.CanaryReplicas)
	assert.Equal(c, updated, s.CanaryReadyReplicas)
	assert.Equal(c, c.stable, s.StableRevision, "stable revision")
	assert.Equal(c, revision.Hash(&d.Spec.Template, nil), s.CanaryRevision)
	assert.Equal(c, c.hashOf(d.Spec.Template.Spec.Containers[0].Image), s.PodTemplateHash)
	assert.NotEmpty(c, s.RolloutHash)
	assert.Equal(c, r.Annotations[v1beta1.RolloutHashAnnotation], s.RolloutHash)
}

func (c *contractClient) rolloutNow() *v1beta1.Rollout {
	c.Helper()
	var r v1beta1.Rollout
	c.must(c.client.Get(c.ctx, c.key(), &r))
	return &r
}

// succeeded waits until the Rollout is Healthy and looks, once, at how the release ended; then that
// the pods follow.
func (c *contractClient) succeeded() {
	c.Helper()
	c.untilPhase(v1beta1.RolloutPhaseHealthy)
	c.ended(corev1.ConditionTrue)
	d := c.live()
	assert.False(c, d.Spec.Paused)
	assert.Equal(c, appsv1.RollingUpdateDeploymentStrategyType, d.Spec.Strategy.Type)
	assert.Equal(c, "web:v2", d.Spec.Template.Spec.Containers[0].Image)
	c.untilWhole()
	c.plain(c.local)
	c.follows()
}

func (c *contractClient) ended(succeeded corev1.ConditionStatus) {
	c.Helper()
	s := c.status()
	progressing := condition.Get(s, v1beta1.RolloutConditionProgressing)
	assert.Equal(c, corev1.ConditionFalse, progressing.Status)
	assert.Equal(c, v1beta1.ProgressingReasonCompleted, progressing.Reason)
	assert.Equal(c, succeeded, condition.Get(s, v1beta1.RolloutConditionSucceeded).Status)
	assert.Equal(c, v1beta1.CanaryStepStateCompleted, s.CanaryStatus.CurrentStepState)
	assert.Equal(c, v1beta1.NoNextStep, s.CanaryStatus.NextStepIndex)
	assert.Equal(c, c.stable, s.CanaryStatus.StableRevision, "it moves on only when the next release begins")
	assert.True(c, c.gone(&v1beta1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Name: web, Namespace: c.ns}}))
}

// follows waits until the Rollout has seen the Deployment's latest generation.
func (c *contractClient) follows() {
	c.Helper()
	c.until("the Rollout has observed the Deployment's generation", func(st record.State) bool {
		return st.Rollout(web).Status.CanaryStatus.ObservedWorkloadGeneration == st.Deployment(web).Generation
	})
}

func TestContract29Disabled(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	r := s.newRollout("2", "50%")
	s.must(s.client.Create(s.ctx, r))
	for range 2 {
		second := s.newRollout("2", "50%")
		second.Name = "second"
		err := s.client.Create(s.ctx, second)
		assert.True(t, apierrors.IsInvalid(err), "a second Rollout on the same workload: %v", err)
		assert.ErrorContains(t, err, "This rollout conflict with Rollout("+s.ns+"/web)")
	}
	s.untilPhase(v1beta1.RolloutPhaseInitial)
	owner := s.deployment(10, "25%", "25%")
	s.untilPhase(v1beta1.RolloutPhaseHealthy)

	s.release("v2")
	assert.Equal(t, int32(2), s.status().CanaryStatus.CanaryReplicas)
	assert.Equal(t, int32(2), s.status().CanaryStatus.CanaryReadyReplicas)
	assert.True(t, s.live().Spec.Paused)

	s.edit(func(r *v1beta1.Rollout) { r.Spec.Disabled = true })
	s.within(5*time.Second, func() { s.untilPhase(v1beta1.RolloutPhaseDisabled) })
	assert.False(t, s.live().Spec.Paused)
	assert.True(t, s.gone(&v1beta1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Name: web, Namespace: s.ns}}))
	s.plain(owner)

	s.update(image("v3"))
	s.untilWhole()
	for _, e := range s.recorder.Log() {
		if d, ok := e.Object.(*appsv1.Deployment); ok && d.Spec.Template.Spec.Containers[0].Image == "web:v3" {
			assert.False(t, d.Spec.Paused, "nothing holds v3 while the Rollout is disabled")
		}
	}

	s.edit(func(r *v1beta1.Rollout) { r.Spec.Disabled = false })
	s.within(3*time.Second, func() { s.untilPhase(v1beta1.RolloutPhaseHealthy) })
	s.plain(owner)
}

func TestContract31StepJump(t *testing.T) {
	t.Parallel()
	c := contractCase(t, manual("20%"), timed("40%", 10), timed("60%", 10), timed("80%", 10), timed("100%", 0))
	c.send(image("v2"))
	c.pausedAt(1, 2, 1)
	c.approve()
	c.pausedAt(2, 3, 2)
	c.approve()
	c.pausedAt(3, 4, 3)
	c.approve()
	c.pausedAt(4, 5, 4)

	c.jump(3)
	c.pausedAt(3, 4, 4)
	// An edit of the step that is being run runs it again, and takes no pod back.
	c.edit(func(r *v1beta1.Rollout) { r.Spec.Strategy.Canary.Steps[2].Replicas = new(intstr.FromInt32(3)) })
	c.until("the edited step was run", func(st record.State) bool {
		r := st.Rollout(web)
		return r.Status.ObservedGeneration == r.Generation && r.Status.CanaryStatus.RolloutHash == r.Annotations[v1beta1.RolloutHashAnnotation] &&
			r.Status.CanaryStatus.CurrentStepState == v1beta1.CanaryStepStatePaused
	})
	c.restingAt(3, 4, 4)
	c.jump(2)
	c.pausedAt(2, 3, 4)
	c.jump(1)
	c.pausedAt(1, 2, 4)
	c.jump(5)
	c.succeeded()
}

// jump asks for a step.
func (s *scenario) jump(step int32) {
	s.Helper()
	s.patchStatus(fmt.Sprintf(`{"status":{"canaryStatus":{"nextStepIndex":%d}}}`, step))
}

func TestContract52PartitionDeployment(t *testing.T) {
	t.Parallel()
	c := contractCase(t, manual("20%"), manual("60%"))
	c.within(2*time.Second, func() { c.send(image("v2")) })
	assert.True(t, c.live().Spec.Paused, "the change is held at once")
	c.pausedAt(1, 2, 1)
	c.approve()
	c.pausedAt(2, -1, 3)
	c.approve()
	c.succeeded()
	c.send(scale(6))
	c.follows()
	c.untilWhole()
}

func TestContract53PartitionDeploymentContinuous(t *testing.T) {
	t.Parallel()
	c := contractCase(t, manual("20%"), manual("60%"), timed("100%", 0))
	c.send(image("v2"))
	c.pausedAt(1, 2, 1)
	c.approve()
	c.pausedAt(2, 3, 3)
	c.send(image("v3"))
	c.untilReleasing("web:v3")
	c.restingAt(1, 2, 1)
	c.approve()
	c.pausedAt(2, 3, 3)
}

func TestContract54PartitionDeploymentRollback(t *testing.T) {
	t.Parallel()
	c := contractCase(t, manual("20%"), manual("60%"), timed("100%", 0))
	c.send(image("v2"))
	c.pausedAt(1, 2, 1)
	c.approve()
	c.pausedAt(2, 3, 3)
	c.send(image("v1"))
	c.untilPhase(v1beta1.RolloutPhaseHealthy)
	c.ended(corev1.ConditionFalse)
	assert.False(t, c.live().Spec.Paused)
	c.untilWhole()
	assert.Equal(t, "web:v1", c.live().Spec.Template.Spec.Containers[0].Image)
	c.plain(c.local)
}

func TestContract55PartitionDeploymentDeleted(t *testing.T) {
	t.Parallel()
	c := contractCase(t, manual("20%"), manual("60%"), timed("100%", 0))
	c.send(image("v2"))
	c.pausedAt(1, 2, 1)
	c.deleteRollout()
	c.plain(c.local)
	assert.Equal(t, "web:v2", c.live().Spec.Template.Spec.Containers[0].Image)
	c.untilWhole()
}

func TestContract56PartitionDeploymentScaling(t *testing.T) {
	t.Parallel()
	c := contractCase(t, manual("20%"), manual("40%"), manual("60%"), timed("100%", 0))
	c.rules.AnySize = true
	c.send(image("v2"))
	c.pausedAt(1, 2, 1)
	for _, size := range []struct{ replicas, updated int32 }{{10, 2}, {5, 1}} {
		c.send(scale(size.replicas))
		c.untilReadyCanary(size.updated)
		assert.Equal(t, v1beta1.CanaryStepStatePaused, c.status().CanaryStatus.CurrentStepState)
	}
	for step, updated := range []int32{1, 2, 3} {
		c.pausedAt(int32(step)+1, int32(step)+2, updated)
		c.approve()
	}
	c.succeeded()
}

// untilReadyCanary waits until so many new pods are ready, and no more are there.
func (s *scenario) untilReadyCanary(n int32) {
	s.Helper()
	s.until("the ready new pods are as many as the step asks for", func(st record.State) bool {
		c := st.Rollout(web).Status.CanaryStatus
		return c != nil && c.CanaryReadyReplicas == n && c.CanaryReplicas == n
	})
}

func TestContract57PartitionDeploymentPlanChanged(t *testing.T) {
	t.Parallel()
	c := contractCase(t, manual("20%"))
	c.send(image("v2"))
	c.pausedAt(1, -1, 1)
	c.edit(func(r *v1beta1.Rollout) { r.Spec.Strategy.Canary.Steps[0].Replicas = new(intstr.FromString("60%")) })
	c.untilReadyCanary(3)
	c.pausedAt(1, -1, 3)
	c.approve()
	c.succeeded()
}
