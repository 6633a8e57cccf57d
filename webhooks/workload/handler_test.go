package workload

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/observe"
	table "github.com/kruise-rollout/kruise-rollout/pkg/workload"
)

func schemeOf(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, v1beta1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	return scheme
}

// reader is a cache or an API server with these objects.
func reader(t *testing.T, objects ...client.Object) client.Reader {
	t.Helper()
	b := fake.NewClientBuilder().WithScheme(schemeOf(t)).WithObjects(objects...)
	b = b.WithIndex(&v1beta1.Rollout{}, observe.ByWorkload, func(o client.Object) []string {
		r, ok := o.(*v1beta1.Rollout)
		if !ok {
			return nil
		}
		return []string{observe.WorkloadKey(observe.Kind(r.Spec.WorkloadRef), r.Spec.WorkloadRef.Name)}
	})
	b = b.WithIndex(&appsv1.ReplicaSet{}, observe.ByController, func(o client.Object) []string {
		return []string{string(o.GetOwnerReferences()[0].UID)}
	})
	return b.Build()
}

func rollout(edits ...func(*v1beta1.Rollout)) *v1beta1.Rollout {
	r := &v1beta1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "r"}}
	r.Spec.WorkloadRef = v1beta1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	r.Spec.Strategy.Canary = &v1beta1.CanaryStrategy{}
	for _, edit := range edits {
		edit(r)
	}
	return r
}

func replicaSet() *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web-1", Labels: map[string]string{"pod-template-hash": "1"},
		OwnerReferences: []metav1.OwnerReference{{UID: "d", Name: "web", Kind: "Deployment", Controller: new(true)}},
	}}
	rs.Spec.Replicas = new(int32(3))
	rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:v1"}}
	return rs
}

// document is a Deployment as it is sent, with a field that this build does not know.
func document(image string) []byte {
	return []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","uid":"d","resourceVersion":"5",
		"labels":{"rollouts.kruise.io/workload-type":"deployment"}},
		"spec":{"replicas":3,"fieldOfTheFuture":{"a":1},"selector":{},"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":0}},
		"template":{"spec":{"nextYear":true,"containers":[{"name":"main","image":"` + image + `"}]}}}}`)
}

func update(image string) admission.Request {
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: admissionv1.Update, Namespace: "shop", Name: "web",
		Kind:      metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		OldObject: runtime.RawExtension{Raw: document("web:v1")},
		Object:    runtime.RawExtension{Raw: document(image)},
	}}
}

func handler(t *testing.T, cached, live client.Reader) *Handler {
	t.Helper()
	return New(cached, live, table.Supported(), schemeOf(t))
}

func TestWhichRolloutGates(t *testing.T) {
	t.Parallel()
	disabled := func(r *v1beta1.Rollout) { r.Status.Phase = v1beta1.RolloutPhaseDisabled }
	disabling := func(r *v1beta1.Rollout) { r.Status.Phase = v1beta1.RolloutPhaseDisabling }
	deleted := func(r *v1beta1.Rollout) {
		r.DeletionTimestamp, r.Finalizers = new(metav1.Now()), []string{"f"}
	}
	other := func(r *v1beta1.Rollout) { r.Spec.WorkloadRef.Name = "other" }
	beta := func(r *v1beta1.Rollout) { r.Spec.WorkloadRef.APIVersion = "apps/v1beta1" }
	routes := func(r *v1beta1.Rollout) {
		r.Spec.Strategy.Canary.TrafficRoutings = []v1beta1.TrafficRoutingRef{{Service: "web"}}
	}
	extra := func(r *v1beta1.Rollout) { r.Spec.Strategy.Canary.EnableExtraWorkloadForCanary = true }
	blueGreen := func(r *v1beta1.Rollout) {
		r.Spec.Strategy = v1beta1.RolloutStrategy{BlueGreen: &v1beta1.BlueGreenStrategy{}}
	}
	cases := map[string]struct {
		cached, live []client.Object
		gated        bool
	}{
		"none":                              {nil, nil, false},
		"one":                               {[]client.Object{rollout()}, []client.Object{rollout()}, true},
		"one that the cache has not seen":   {nil, []client.Object{rollout()}, true},
		"one of another version":            {[]client.Object{rollout(beta)}, []client.Object{rollout(beta)}, true},
		"one that is being disabled":        {[]client.Object{rollout(disabling)}, []client.Object{rollout(disabling)}, true},
		"of another workload":               {[]client.Object{rollout(other)}, []client.Object{rollout(other)}, false},
		"disabled":                          {[]client.Object{rollout(disabled)}, []client.Object{rollout(disabled)}, false},
		"being deleted":                     {[]client.Object{rollout(deleted)}, []client.Object{rollout(deleted)}, false},
		"gone, but still in the cache":      {[]client.Object{rollout()}, nil, false},
		"disabled, the cache does not know": {[]client.Object{rollout()}, []client.Object{rollout(disabled)}, false},
		"moving traffic, not built yet":     {[]client.Object{rollout(routes)}, []client.Object{rollout(routes)}, false},
		"canary style, not built yet":       {[]client.Object{rollout(extra)}, []client.Object{rollout(extra)}, false},
		"blue-green style, not built yet":   {[]client.Object{rollout(blueGreen)}, []client.Object{rollout(blueGreen)}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := handler(t, reader(t, append(c.cached, replicaSet())...), reader(t, append(c.live, replicaSet())...))
			answer := h.Handle(t.Context(), update("web:v2"))
			require.True(t, answer.Allowed, "%v", answer.Result)
			assert.Equal(t, c.gated, len(answer.Patches) > 0)
		})
	}
}

func TestReplicaSetsThatTheCacheHasNotSeenCount(t *testing.T) {
	t.Parallel()
	h := handler(t, reader(t, rollout()), reader(t, rollout(), replicaSet()))
	assert.NotEmpty(t, h.Handle(t.Context(), update("web:v2")).Patches)
}

func TestWhatIsNotAnUpdatePasses(t *testing.T) {
	t.Parallel()
	h := handler(t, reader(t, rollout(), replicaSet()), reader(t, rollout()))
	create, scale := update("web:v2"), update("web:v2")
	create.Operation, scale.SubResource = admissionv1.Create, "scale"
	for name, req := range map[string]admission.Request{"create": create, "scale": scale, "no change": update("web:v1")} {
		answer := h.Handle(t.Context(), req)
		assert.True(t, answer.Allowed, name)
		assert.Empty(t, answer.Patches, name)
	}
}

// The answer is a patch of what is ours. Whatever else was sent stays, also what this build of the
// operator has no field for.
func TestFieldsThatAreNotKnownHereStay(t *testing.T) {
	t.Parallel()
	h := handler(t, reader(t, rollout(), replicaSet()), reader(t, rollout()))
	answer := h.Handle(t.Context(), update("web:v2"))
	text, err := json.Marshal(answer.Patches)
	require.NoError(t, err)
	patch, err := jsonpatch.DecodePatch(text)
	require.NoError(t, err)
	patched, err := patch.Apply(document("web:v2"))
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(patched, &got))
	spec, ok := got["spec"].(map[string]any)
	require.True(t, ok)
	assert.Equal(t, map[string]any{"a": 1.0}, spec["fieldOfTheFuture"])
	assert.Equal(t, true, spec["paused"])
	assert.Contains(t, string(patched), `"nextYear":true`)
}
