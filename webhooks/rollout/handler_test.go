package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/rules"
)

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(s))
	require.NoError(t, v1beta1.AddToScheme(s))
	return s
}

func ask(t *testing.T, path string, reader client.Reader, req admissionv1.AdmissionRequest) admission.Response {
	t.Helper()
	h := Handlers(scheme(t), reader, rules.Rules{PartitionPercentLimit: rules.DefaultPartitionPercentLimit})
	return h[path].Handle(t.Context(), admission.Request{AdmissionRequest: req})
}

func request(t *testing.T, version string, old, ro any) admissionv1.AdmissionRequest {
	t.Helper()
	req := admissionv1.AdmissionRequest{
		Kind:      metav1.GroupVersionKind{Group: "rollouts.kruise.io", Version: version, Kind: "Rollout"},
		Operation: admissionv1.Create, Namespace: "ns", Name: "ro",
	}
	var err error
	req.Object.Raw, err = json.Marshal(ro)
	require.NoError(t, err)
	if old != nil {
		req.Operation = admissionv1.Update
		req.OldObject.Raw, err = json.Marshal(old)
		require.NoError(t, err)
	}
	return req
}

func in(name string, replicas ...int32) *v1beta1.Rollout {
	ro := &v1beta1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	ro.Spec.WorkloadRef = v1beta1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	ro.Spec.Strategy.Canary = &v1beta1.CanaryStrategy{}
	for _, r := range replicas {
		ro.Spec.Strategy.Canary.Steps = append(ro.Spec.Strategy.Canary.Steps, v1beta1.CanaryStep{Replicas: new(intstr.FromInt32(r))})
	}
	return ro
}

func weighted(weights ...int32) *v1alpha1.Rollout {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ro"}}
	ro.Spec.ObjectRef.WorkloadRef = &v1alpha1.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{}
	for _, w := range weights {
		s := v1alpha1.CanaryStep{}
		s.Weight = &w
		ro.Spec.Strategy.Canary.Steps = append(ro.Spec.Strategy.Canary.Steps, s)
	}
	return ro
}

func running(ro *v1beta1.Rollout) *v1beta1.Rollout {
	ro.Status.Phase = v1beta1.RolloutPhaseProgressing
	return ro
}

func blueGreen() *v1beta1.Rollout {
	ro := in("ro")
	ro.Spec.Strategy = v1beta1.RolloutStrategy{BlueGreen: &v1beta1.BlueGreenStrategy{}}
	return ro
}

func TestVersionOfTheRequestChoosesTheRules(t *testing.T) {
	t.Parallel()
	shown := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ro"}}
	labelled := shown.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	cases := map[string]struct {
		version string
		old, ro any
		stored  []client.Object
		want    string // fragment; "" is allowed
	}{
		"v1beta1, fine":             {"v1beta1", nil, in("ro", 1), nil, ""},
		"v1beta1, refused":          {"v1beta1", nil, in("ro"), nil, "Spec.Strategy.Canary.Steps: Invalid value: 0: The number of Canary.Steps cannot be empty"},
		"v1beta1, conflict":         {"v1beta1", nil, in("ro", 1), []client.Object{in("other", 1)}, "This rollout conflict with Rollout(ns/other)"},
		"v1beta1, fewer steps":      {"v1beta1", running(in("ro", 1, 2)), in("ro", 1), nil, "Amount of Rollout steps are immutable"},
		"v1beta1, idle":             {"v1beta1", in("ro", 1, 2), in("ro", 1), nil, ""},
		"v1alpha1, fine":            {"v1alpha1", nil, weighted(20), nil, ""},
		"v1alpha1, refused":         {"v1alpha1", nil, weighted(0), nil, "weight must be between 1 and 100"},
		"v1alpha1, conflict":        {"v1alpha1", weighted(30), weighted(20), []client.Object{in("other", 1)}, "This rollout conflict with Rollout(ns/other)"},
		"v1alpha1, hides blueGreen": {"v1alpha1", shown, weighted(20), []client.Object{blueGreen()}, "change it in rollouts.kruise.io/v1beta1"},
		"v1alpha1, label":           {"v1alpha1", shown, labelled, []client.Object{blueGreen()}, ""},
		"v1alpha1, shows nothing":   {"v1alpha1", shown, weighted(20), nil, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(c.stored...).Build()
			res := ask(t, ValidatePath, cl, request(t, c.version, c.old, c.ro))
			if c.want == "" {
				assert.True(t, res.Allowed, "%v", res.Result)
				return
			}
			assert.False(t, res.Allowed)
			assert.Equal(t, int32(http.StatusUnprocessableEntity), res.Result.Code)
			assert.Equal(t, metav1.StatusReasonInvalid, res.Result.Reason)
			assert.Contains(t, res.Result.Message, c.want)
		})
	}
}

func TestUnreadableRequestsAreRefused(t *testing.T) {
	t.Parallel()
	cl := fake.NewClientBuilder().WithScheme(scheme(t)).Build()
	res := ask(t, ValidatePath, cl, request(t, "v2", nil, in("ro", 1)))
	assert.Equal(t, int32(http.StatusBadRequest), res.Result.Code)
	assert.Contains(t, res.Result.Message, `version "v2"`)
	assert.False(t, ask(t, ValidatePath, cl, request(t, "v1beta1", nil, []int{1})).Allowed)
}

func TestUnreadableClusterIsNotTheUsersFault(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	cl := fake.NewClientBuilder().WithScheme(scheme(t)).WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return down },
	}).Build()
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		for _, old := range []any{nil, in("ro", 2)} {
			res := ask(t, ValidatePath, cl, request(t, version, old, in("ro", 1)))
			assert.Equal(t, int32(http.StatusInternalServerError), res.Result.Code)
			assert.Contains(t, res.Result.Message, "listing Rollouts in namespace ns: down")
		}
	}
}

func TestDeletionIsNeverRefused(t *testing.T) {
	t.Parallel()
	cl := fake.NewClientBuilder().WithScheme(scheme(t)).Build()
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		req := request(t, version, in("ro"), in("ro"))
		req.Operation = admissionv1.Delete
		assert.True(t, ask(t, ValidatePath, cl, req).Allowed)
	}
}

// Case KR-17 d: an approval by kubectl edit was lost without a word.
func TestStatusInTheWrongRequestIsWarnedAbout(t *testing.T) {
	t.Parallel()
	paused, ready := in("ro", 1), in("ro", 1)
	paused.Status.CanaryStatus = &v1beta1.CanaryStatus{CommonStatus: v1beta1.CommonStatus{CurrentStepState: v1beta1.CanaryStepStatePaused}}
	ready.Status.CanaryStatus = &v1beta1.CanaryStatus{CommonStatus: v1beta1.CommonStatus{CurrentStepState: v1beta1.CanaryStepStateReady}}

	res := ask(t, AdvisePath, nil, request(t, "v1beta1", paused, ready))
	assert.True(t, res.Allowed)
	assert.Empty(t, res.Patches)
	require.Len(t, res.Warnings, 2)
	assert.Contains(t, res.Warnings[0], "status is a subresource")
	assert.Contains(t, res.Warnings[1], "--subresource=status")

	for name, req := range map[string]admissionv1.AdmissionRequest{
		"no change":    request(t, "v1beta1", paused, paused),
		"creation":     request(t, "v1beta1", nil, ready),
		"not a status": request(t, "v1beta1", map[string]any{"status": 1}, ready),
	} {
		res := ask(t, AdvisePath, nil, req)
		assert.True(t, res.Allowed, name)
		assert.Empty(t, res.Warnings, name)
	}
}
