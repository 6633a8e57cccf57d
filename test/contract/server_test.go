package contract

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	crconversion "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/test/controlplane/programs"
	"github.com/kruise-rollout/kruise-rollout/webhooks/conversion"
)

// apiServer starts an API server that knows the kinds and has them converted by us.
func apiServer(t *testing.T) client.Client {
	t.Helper()
	finder, err := programs.New(os.Stderr)
	do(t, err)
	assets, err := finder.Assets(t.Context())
	do(t, err)
	scheme, registry := runtime.NewScheme(), crconversion.NewRegistry()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, v1beta1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	if err := conversion.Register(scheme, registry); err != nil {
		t.Fatal(err)
	}
	webhook := httptest.NewTLSServer(crconversion.NewWebhookHandler(scheme, registry))
	t.Cleanup(webhook.Close)

	var kinds []*apiextensionsv1.CustomResourceDefinition
	for _, crd := range crds(t) {
		if c := crd.Spec.Conversion; c != nil {
			c.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{
				URL:      new(webhook.URL + conversion.Path),
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw}),
			}
		}
		kinds = append(kinds, crd)
	}
	server := envtest.Environment{Scheme: scheme, BinaryAssetsDirectory: assets}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	config, err := server.Start()
	if err != nil {
		t.Fatal(err)
	}
	// Environment would remove the conversion: it knows only types that convert themselves.
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Scheme: scheme, CRDs: kinds}); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOnAnAPIServer(t *testing.T) {
	a := api{apiServer(t)}
	t.Run("a v1alpha1 client loses nothing of a canary", a.updateCanary)
	t.Run("a v1alpha1 client loses nothing of a blue-green", a.updateBlueGreen)
	t.Run("a v1alpha1 client loses nothing of a release", a.updateBatchRelease)
	t.Run("a v1alpha1 client reads what it wrote", a.readBack)
	t.Run("approval through v1alpha1", a.approve)
	t.Run("an applied v1alpha1 manifest stays applied", a.apply)
	t.Run("defaults", a.defaults)
	t.Run("paths that are refused", a.refusedPaths)
}

// api is what the cases share.
type api struct{ client.Client }

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var deployment = v1beta1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}

// untouched compares what a client of v1alpha1 should have left alone.
func untouched(t *testing.T, before, after client.Object) {
	t.Helper()
	ignored := cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ResourceVersion", "Generation", "ManagedFields", "Labels")
	if diff := cmp.Diff(before, after, ignored); diff != "" {
		t.Error(diff)
	}
}

func pathStep(value string) v1beta1.CanaryStep {
	return v1beta1.CanaryStep{
		TrafficRoutingStrategy: v1beta1.TrafficRoutingStrategy{Matches: []v1beta1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Value: &value}}}},
		Replicas:               new(intstr.FromInt32(1)),
	}
}

func (a api) updateCanary(t *testing.T) {
	stored := &v1beta1.Rollout{ObjectMeta: named("canary"), Spec: v1beta1.RolloutSpec{
		WorkloadRef: deployment,
		Strategy: v1beta1.RolloutStrategy{Canary: &v1beta1.CanaryStrategy{
			Steps: []v1beta1.CanaryStep{pathStep("/a"), pathStep("/b")}, DisableGenerateCanaryService: true,
		}},
	}}
	do(t, a.Create(t.Context(), stored))

	seen := &v1alpha1.Rollout{}
	do(t, a.Get(t.Context(), client.ObjectKeyFromObject(stored), seen))
	seen.Labels = map[string]string{"a": "b"}
	do(t, a.Update(t.Context(), seen))

	got := &v1beta1.Rollout{}
	do(t, a.Get(t.Context(), client.ObjectKeyFromObject(stored), got))
	untouched(t, stored, got)
	if got.Labels["a"] != "b" {
		t.Error("the label is lost")
	}
}

func (a api) updateBlueGreen(t *testing.T) {
	stored := &v1beta1.Rollout{ObjectMeta: named("bluegreen"), Spec: v1beta1.RolloutSpec{
		WorkloadRef: deployment,
		Strategy:    v1beta1.RolloutStrategy{BlueGreen: &v1beta1.BlueGreenStrategy{Steps: []v1beta1.CanaryStep{pathStep("/a")}}},
	}}
	do(t, a.Create(t.Context(), stored))
	stored.Status = v1beta1.RolloutStatus{
		Phase: v1beta1.RolloutPhaseProgressing, CurrentStepIndex: 1, CurrentStepState: v1beta1.CanaryStepStatePaused,
		BlueGreenStatus: &v1beta1.BlueGreenStatus{UpdatedRevision: "r", CommonStatus: v1beta1.CommonStatus{
			CurrentStepIndex: 1, NextStepIndex: 2, CurrentStepState: v1beta1.CanaryStepStatePaused,
		}},
	}
	do(t, a.Status().Update(t.Context(), stored))

	seen := &v1alpha1.Rollout{}
	do(t, a.Get(t.Context(), client.ObjectKeyFromObject(stored), seen))
	seen.Labels = map[string]string{"a": "b"}
	do(t, a.Update(t.Context(), seen))
	do(t, a.Patch(t.Context(), seen, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"c":"d"}}}`))))

	got := &v1beta1.Rollout{}
	do(t, a.Get(t.Context(), client.ObjectKeyFromObject(stored), got))
	untouched(t, stored, got)
	if got.Labels["a"] != "b" || got.Labels["c"] != "d" {
		t.Error("a label is lost")
	}
}

func (a api) updateBatchRelease(t *testing.T) {
	stored := &v1beta1.BatchRelease{ObjectMeta: named("release"), Spec: v1beta1.BatchReleaseSpec{
		WorkloadRef: deployment,
		ReleasePlan: v1beta1.ReleasePlan{Batches: []v1beta1.ReleaseBatch{{CanaryReplicas: intstr.FromString("20%")}}},
	}}
	do(t, a.Create(t.Context(), stored))
	stored.Status = v1beta1.BatchReleaseStatus{Message: "m", PodTemplateHash: "h", UpdateRevision: "r"}
	do(t, a.Status().Update(t.Context(), stored))

	seen := &v1alpha1.BatchRelease{}
	do(t, a.Get(t.Context(), client.ObjectKeyFromObject(stored), seen))
	seen.Labels = map[string]string{"a": "b"}
	do(t, a.Update(t.Context(), seen))

	got := &v1beta1.BatchRelease{}
	do(t, a.Get(t.Context(), client.ObjectKeyFromObject(stored), got))
	untouched(t, stored, got)
}

// weighted is a Rollout as a user of v1alpha1 writes it.
func weighted(name string) *v1alpha1.Rollout {
	return &v1alpha1.Rollout{ObjectMeta: named(name), Spec: v1alpha1.RolloutSpec{
		ObjectRef:           v1alpha1.ObjectRef{WorkloadRef: new(v1alpha1.WorkloadRef(deployment))},
		DeprecatedRolloutID: "id",
		Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{Steps: []v1alpha1.CanaryStep{
			{TrafficRoutingStrategy: v1alpha1.TrafficRoutingStrategy{Weight: new(int32(20))}},
		}}},
	}}
}

func (a api) readBack(t *testing.T) {
	written := weighted("weighted")
	do(t, a.Create(t.Context(), weighted("weighted")))

	got := &v1alpha1.Rollout{}
	do(t, a.Get(t.Context(), client.ObjectKeyFromObject(written), got))
	if diff := cmp.Diff(written.Spec, got.Spec); diff != "" {
		t.Error(diff)
	}
	if style := got.Annotations[v1beta1.RollingStyleAnnotation]; style != "canary" {
		t.Errorf("the style is shown as %q", style)
	}

	stored := &v1beta1.Rollout{}
	do(t, a.Get(t.Context(), client.ObjectKeyFromObject(written), stored))
	want := v1beta1.CanaryStep{
		TrafficRoutingStrategy: v1beta1.TrafficRoutingStrategy{Traffic: new("20%")}, Replicas: new(intstr.FromString("20%")),
	}
	if diff := cmp.Diff([]v1beta1.CanaryStep{want}, stored.Spec.Strategy.Canary.Steps); diff != "" {
		t.Error(diff)
	}
}

func (a api) approve(t *testing.T) {
	r := weighted("approved")
	do(t, a.Create(t.Context(), r))
	stored := &v1beta1.Rollout{}
	do(t, a.Get(t.Context(), client.ObjectKeyFromObject(r), stored))
	stored.Status = v1beta1.RolloutStatus{
		CurrentStepIndex: 1, CurrentStepState: v1beta1.CanaryStepStatePaused,
		CanaryStatus: &v1beta1.CanaryStatus{CommonStatus: v1beta1.CommonStatus{
			CurrentStepIndex: 1, NextStepIndex: -1, CurrentStepState: v1beta1.CanaryStepStatePaused,
		}},
	}
	do(t, a.Status().Update(t.Context(), stored))

	patch := []byte(`{"status":{"canaryStatus":{"currentStepState":"StepReady"}}}`)
	do(t, a.Status().Patch(t.Context(), r, client.RawPatch(types.MergePatchType, patch)))

	got := &v1beta1.Rollout{}
	do(t, a.Get(t.Context(), client.ObjectKeyFromObject(r), got))
	want := stored.DeepCopy()
	want.Status.CurrentStepState, want.Status.CanaryStatus.CurrentStepState = v1beta1.CanaryStepStateReady, v1beta1.CanaryStepStateReady
	untouched(t, want, got)
}

func (a api) apply(t *testing.T) {
	manifest := []byte(`{"apiVersion":"rollouts.kruise.io/v1alpha1","kind":"Rollout","metadata":{"namespace":"default","name":"applied"},"spec":{` +
		`"objectRef":{"workloadRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}},` +
		`"strategy":{"canary":{"steps":[{"weight":20},{"weight":40,"pause":{"duration":5}}]}}}}`)
	r := &v1alpha1.Rollout{ObjectMeta: named("applied")}
	var versions []string
	for range 3 {
		do(t, a.Patch(t.Context(), r, client.RawPatch(types.ApplyPatchType, manifest), client.FieldOwner("gitops")))
		versions = append(versions, r.ResourceVersion)
	}
	if versions[0] != versions[2] {
		t.Errorf("applying the same manifest again changes the object: %v", versions)
	}
}

func (a api) defaults(t *testing.T) {
	r := &v1beta1.Rollout{ObjectMeta: named("defaulted"), Spec: v1beta1.RolloutSpec{
		WorkloadRef: deployment,
		Strategy: v1beta1.RolloutStrategy{Canary: &v1beta1.CanaryStrategy{
			Steps: []v1beta1.CanaryStep{{TrafficRoutingStrategy: v1beta1.TrafficRoutingStrategy{Matches: []v1beta1.HTTPRouteMatch{{
				Path:    &gatewayv1.HTTPPathMatch{},
				Headers: []gatewayv1.HTTPHeaderMatch{{Name: "a", Value: "b"}},
			}}}}},
			TrafficRoutings: []v1beta1.TrafficRoutingRef{{Service: "web"}},
		}},
	}}
	do(t, a.Create(t.Context(), r))
	match := r.Spec.Strategy.Canary.Steps[0].Matches[0]
	got := []any{r.Spec.Strategy.Canary.TrafficRoutings[0].GracePeriodSeconds, *match.Path.Type, *match.Path.Value, *match.Headers[0].Type}
	if diff := cmp.Diff([]any{int32(3), gatewayv1.PathMatchPathPrefix, "/", gatewayv1.HeaderMatchExact}, got); diff != "" {
		t.Error(diff)
	}
}

func (a api) refusedPaths(t *testing.T) {
	for value, reason := range map[string]string{
		"a": "must be an absolute path", "/a//b": "must not contain '//'", "/./a": "must not contain '/./'", "/../a": "must not contain '/../'",
		"/%2f": "must not contain '%2f'", "/%2F": "must not contain '%2F'", "/#": "must not contain '#'", "/..": "must not end with '/..'",
		"/.": "must not end with '/.'", "/\"": "must only contain valid characters",
	} {
		r := &v1beta1.Rollout{ObjectMeta: named("refused"), Spec: v1beta1.RolloutSpec{
			WorkloadRef: deployment,
			Strategy:    v1beta1.RolloutStrategy{Canary: &v1beta1.CanaryStrategy{Steps: []v1beta1.CanaryStep{pathStep(value)}}},
		}}
		if err := a.Create(t.Context(), r); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), reason) {
			t.Errorf("path %q: %v", value, err)
		}
	}
}
