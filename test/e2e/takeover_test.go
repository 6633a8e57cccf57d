package e2e

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/test/controlplane"
	"github.com/kruise-rollout/kruise-rollout/test/operator"
	"github.com/kruise-rollout/kruise-rollout/test/record"
	"github.com/kruise-rollout/kruise-rollout/webhooks/bootstrap"
)

// A cluster switches over from the peer operator in the middle of a release: the peer is gone, and
// what it left is taken up. The plane is the test's own, as its operator must not run before.
func TestPeersReleaseIsTakenOver(t *testing.T) {
	op, err := operator.Install(t.Context(), controlplane.ForTest(t, controlplane.Options{}), "")
	require.NoError(t, err)
	// The first start writes to the CRDs, which ends watches.
	require.NoError(t, op.Start(t.Context()))
	require.NoError(t, op.Stop())
	s := begin(t, op)
	s.rules.AnyStrategy = true
	s.ignoreAdmission()
	owner := s.deployment(10, "1", "0").DeepCopy()
	s.leaveAsThePeer()
	counts := record.Counts{New: 2, NewReady: 2, Old: 8, OldReady: 8}
	assert.Equal(t, counts, s.counts())

	s.must(op.Start(s.ctx))
	s.until("the Deployment is held in our way, and the release rests where it was", func(st record.State) bool {
		d, r := st.Deployment(web), st.Rollout(web)
		return d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType && d.Annotations[v1beta1.OriginalDeploymentStrategyAnnotation] != "" &&
			r.Status.CanaryStatus.RolloutHash == r.Annotations[v1beta1.RolloutHashAnnotation] &&
			r.Status.CanaryStatus.CurrentStepIndex == 1 && r.Status.CanaryStatus.CurrentStepState == v1beta1.CanaryStepStatePaused &&
			record.Get[*v1beta1.BatchRelease](st, web).Status.CanaryStatus.CurrentBatchState == v1beta1.ReadyBatchState
	})
	assert.True(t, s.live().Spec.Paused)
	assert.Equal(t, counts, s.counts(), "no pod has moved")
	s.toTheEnd(owner)
	assert.True(t, s.succeeded())

	ours := false
	for _, e := range s.recorder.Log() {
		d, ok := e.Object.(*appsv1.Deployment)
		if !ok {
			continue
		}
		ours = ours || d.Annotations[v1beta1.OriginalDeploymentStrategyAnnotation] != ""
		if ours {
			assert.Equal(t, appsv1.RollingUpdateDeploymentStrategyType, d.Spec.Strategy.Type, "from our first write on")
		}
	}
}

// ignoreAdmission lets updates pass while no operator answers.
func (s *scenario) ignoreAdmission() {
	s.Helper()
	s.must(s.op.SetFailurePolicy(s.ctx, admissionregistrationv1.Ignore))
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	s.must(s.client.Get(s.ctx, client.ObjectKey{Name: bootstrap.ValidatingConfiguration}, &c))
	for i := range c.Webhooks {
		c.Webhooks[i].FailurePolicy = new(admissionregistrationv1.Ignore)
	}
	s.must(s.client.Update(s.ctx, &c))
}

// peersRevision is how the peer had called the new template: it was built with older types.
const peersRevision = "5f6d7c8b9d"

// leaveAsThePeer brings about what the peer has in a cluster while a release of v2 rests at the
// first of three steps.
func (s *scenario) leaveAsThePeer() {
	s.Helper()
	s.update(func(d *appsv1.Deployment) { // a window for two pods
		image("v2")(d)
		d.Spec.MinReadySeconds, d.Spec.ProgressDeadlineSeconds = v1beta1.MaxReadySeconds, new(int32(v1beta1.MaxProgressSeconds))
		d.Spec.Strategy.RollingUpdate.MaxSurge, d.Spec.Strategy.RollingUpdate.MaxUnavailable = new(intstr.FromInt32(0)), new(intstr.FromInt32(2))
	})
	var stable, latest *appsv1.ReplicaSet
	s.until("two pods are new", func(st record.State) bool {
		var all []*appsv1.ReplicaSet
		if all, latest = st.Sets(st.Deployment(web)); latest == nil || latest.Status.ReadyReplicas != 2 {
			return false
		}
		stable = all[0]
		return true
	})
	rollout := s.peersRollout(stable, latest)
	release := s.peersBatchRelease(rollout, stable, latest)
	s.update(func(d *appsv1.Deployment) {
		d.Labels = map[string]string{
			v1beta1.WorkloadTypeLabel:              string(v1beta1.DeploymentType),
			v1beta1.StableRevisionLabel:            rollout.Status.CanaryStatus.StableRevision,
			v1beta1.AdvancedDeploymentControlLabel: "true",
		}
		control, err := json.Marshal(metav1.NewControllerRef(release, v1beta1.SchemeGroupVersion.WithKind("BatchRelease")))
		s.must(err)
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, v1beta1.InProgressingAnnotation, `{"rolloutName":"web"}`)
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, v1beta1.ControlInfoAnnotation, string(control))
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, v1beta1.DeploymentStrategyAnnotation,
			`{"rollingStyle":"Partition","rollingUpdate":{"maxUnavailable":0,"maxSurge":1},"partition":"20%"}`)
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, v1beta1.DeploymentExtraStatusAnnotation, `{"updatedReadyReplicas":2,"expectedUpdatedReplicas":2}`)
		d.Spec.Paused = true
		d.Spec.MinReadySeconds, d.Spec.ProgressDeadlineSeconds = 0, new(int32(600))
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	})
	s.until("the native controller has seen it", func(st record.State) bool {
		d := st.Deployment(web)
		return d.Status.ObservedGeneration == d.Generation
	})
}

func (s *scenario) peersRollout(stable, latest *appsv1.ReplicaSet) *v1beta1.Rollout {
	s.Helper()
	r := s.newRollout("20%", "50%", "100%")
	r.Finalizers = []string{v1beta1.RolloutFinalizer}
	r.Annotations = map[string]string{v1beta1.RolloutHashAnnotation: "peers"}
	s.must(s.client.Create(s.ctx, r))
	r.Status.Phase, r.Status.ObservedGeneration = v1beta1.RolloutPhaseProgressing, r.Generation
	r.Status.CurrentStepIndex, r.Status.CurrentStepState = 1, v1beta1.CanaryStepStatePaused
	r.Status.Conditions = []v1beta1.RolloutCondition{{
		Type: v1beta1.RolloutConditionProgressing, Status: corev1.ConditionTrue, Reason: v1beta1.ProgressingReasonInRolling,
		LastUpdateTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}}
	c := &v1beta1.CanaryStatus{CanaryRevision: peersRevision, CanaryReplicas: 2, CanaryReadyReplicas: 2}
	c.CurrentStepIndex, c.NextStepIndex, c.CurrentStepState = 1, 2, v1beta1.CanaryStepStatePaused
	c.RolloutHash, c.ObservedRolloutID, c.LastUpdateTime = "peers", peersRevision, new(metav1.Now())
	c.StableRevision = stable.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	c.PodTemplateHash = latest.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	r.Status.CanaryStatus = c
	s.must(s.client.Status().Update(s.ctx, r))
	return r
}

func (s *scenario) peersBatchRelease(owner *v1beta1.Rollout, stable, latest *appsv1.ReplicaSet) *v1beta1.BatchRelease {
	s.Helper()
	b := &v1beta1.BatchRelease{ObjectMeta: metav1.ObjectMeta{
		Name: web, Namespace: s.ns, Finalizers: []string{v1beta1.BatchReleaseFinalizer},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1beta1.SchemeGroupVersion.WithKind("Rollout"))},
	}}
	b.Spec.WorkloadRef = owner.Spec.WorkloadRef
	b.Spec.ReleasePlan.BatchPartition, b.Spec.ReleasePlan.RolloutID = new(int32(0)), peersRevision
	b.Spec.ReleasePlan.RollingStyle = v1beta1.PartitionRollingStyle
	for _, step := range owner.Spec.Strategy.Canary.Steps {
		b.Spec.ReleasePlan.Batches = append(b.Spec.ReleasePlan.Batches, v1beta1.ReleaseBatch{CanaryReplicas: *step.Replicas})
	}
	s.must(s.client.Create(s.ctx, b))
	b.Status = v1beta1.BatchReleaseStatus{
		Phase: v1beta1.RolloutPhaseProgressing, ObservedGeneration: b.Generation, ObservedRolloutID: peersRevision,
		ObservedReleasePlanHash: "peers", ObservedWorkloadReplicas: 10,
		StableRevision: stable.Labels[appsv1.DefaultDeploymentUniqueLabelKey], UpdateRevision: peersRevision,
		PodTemplateHash: latest.Labels[appsv1.DefaultDeploymentUniqueLabelKey],
	}
	b.Status.CanaryStatus = v1beta1.BatchReleaseCanaryStatus{
		CurrentBatchState: v1beta1.ReadyBatchState, BatchReadyTime: new(metav1.Now()), UpdatedReplicas: 2, UpdatedReadyReplicas: 2,
	}
	s.must(s.client.Status().Update(s.ctx, b))
	return b
}
