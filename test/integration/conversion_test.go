package integration

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

func get[T any, P interface {
	*T
	client.Object
}](t *testing.T, ns, name string) P {
	t.Helper()
	o := P(new(T))
	must(t, admin.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, o))
	return o
}

func merge(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }

func TestV1alpha1IsReadAndPatchedAsV1beta1(t *testing.T) {
	ns := namespace(t)
	must(t, admin.Create(t.Context(), alpha(ns, 20, 60)))
	r := get[v1beta1.Rollout](t, ns, "web")
	weighted := func(share string) v1beta1.CanaryStep {
		return v1beta1.CanaryStep{
			TrafficRoutingStrategy: v1beta1.TrafficRoutingStrategy{Traffic: &share}, Replicas: new(intstr.FromString(share)),
		}
	}
	if diff := cmp.Diff([]v1beta1.CanaryStep{weighted("20%"), weighted("60%")}, r.Spec.Strategy.Canary.Steps); diff != "" {
		t.Error(diff)
	}
	must(t, admin.Patch(t.Context(), r, merge(`{"spec":{"strategy":{"canary":{"steps":[{"replicas":1},{"traffic":"60%","replicas":"60%"}]}}}}`)))
	got := get[v1alpha1.Rollout](t, ns, "web").Spec.Strategy.Canary.Steps
	if len(got) != 2 || got[0].Weight != nil || *got[0].Replicas != intstr.FromInt32(1) || *got[1].Weight != 60 {
		t.Errorf("v1alpha1 shows %+v", got)
	}
}

func TestV1alpha1Approves(t *testing.T) {
	ns := namespace(t)
	r := canary(ns, steps("1", "2")...)
	r.Spec.WorkloadRef.Kind = "StatefulSet" // which the operator can't release: it leaves the place alone
	must(t, admin.Create(t.Context(), r))
	eventually(t, func() error {
		must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(r), r))
		if r.Status.Message == "" {
			return errors.New("the operator has not seen the Rollout")
		}
		return nil
	})
	const paused, ready = v1beta1.CanaryStepStatePaused, v1beta1.CanaryStepStateReady
	r.Status.CurrentStepIndex, r.Status.CurrentStepState = 1, paused
	r.Status.CanaryStatus = &v1beta1.CanaryStatus{CommonStatus: v1beta1.CommonStatus{CurrentStepIndex: 1, NextStepIndex: 2, CurrentStepState: paused}}
	must(t, admin.Status().Update(t.Context(), r))

	seen := get[v1alpha1.Rollout](t, ns, "web")
	must(t, admin.Status().Patch(t.Context(), seen, merge(`{"status":{"canaryStatus":{"currentStepState":"StepReady"}}}`)))

	got := get[v1beta1.Rollout](t, ns, "web").Status
	if got.CurrentStepState != ready || got.CanaryStatus.CurrentStepState != ready || got.CanaryStatus.NextStepIndex != 2 {
		t.Errorf("v1beta1 shows %+v", got)
	}
}

func TestBlueGreenSurvivesAnUpdateOfV1alpha1(t *testing.T) {
	ns := namespace(t)
	before := blueGreen(ns, steps("50%", "100%")...)
	must(t, admin.Create(t.Context(), before))
	must(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		seen := get[v1alpha1.Rollout](t, ns, "web")
		seen.Labels = map[string]string{"a": "b"}
		return admin.Update(t.Context(), seen)
	}))
	after := get[v1beta1.Rollout](t, ns, "web")
	if diff := cmp.Diff(before.Spec, after.Spec); diff != "" || after.Labels["a"] != "b" {
		t.Errorf("labels %v, spec %s", after.Labels, diff)
	}
}
