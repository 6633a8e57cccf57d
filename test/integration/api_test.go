package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

func TestAPIServerFindsNothingWrongWithTheCRDs(t *testing.T) {
	for _, plural := range []string{"rollouts", "batchreleases", "trafficroutings", "rollouthistories"} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		must(t, admin.Get(t.Context(), client.ObjectKey{Name: plural + ".rollouts.kruise.io"}, crd))
		for _, c := range crd.Status.Conditions {
			good := map[apiextensionsv1.CustomResourceDefinitionConditionType]apiextensionsv1.ConditionStatus{
				apiextensionsv1.Established:                           apiextensionsv1.ConditionTrue,
				apiextensionsv1.NamesAccepted:                         apiextensionsv1.ConditionTrue,
				apiextensionsv1.NonStructuralSchema:                   apiextensionsv1.ConditionFalse,
				apiextensionsv1.Terminating:                           apiextensionsv1.ConditionFalse,
				apiextensionsv1.KubernetesAPIApprovalPolicyConformant: apiextensionsv1.ConditionTrue,
			}
			if want, known := good[c.Type]; known && c.Status != want {
				t.Errorf("%s: %s is %s: %s", plural, c.Type, c.Status, c.Message)
			}
		}
	}
}

// table asks as kubectl get does, and waits for a kind that is just being set up.
func table(t *testing.T, version, plural, ns string) *metav1.Table {
	t.Helper()
	c, err := rest.HTTPClientFor(server)
	must(t, err)
	list, err := url.JoinPath(server.Host, "apis", "rollouts.kruise.io", version, "namespaces", ns, plural)
	must(t, err)
	got := &metav1.Table{}
	eventually(t, func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, list, http.NoBody)
		must(t, err)
		req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		resp, err := c.Do(req)
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		must(t, errors.Join(err, resp.Body.Close()))
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the API server answers %s", body)
		}
		return json.Unmarshal(body, got)
	})
	return got
}

func TestKubectlGetShows(t *testing.T) {
	ns := namespace(t)
	release := &v1beta1.BatchRelease{ObjectMeta: named(ns, "web"), Spec: v1beta1.BatchReleaseSpec{
		WorkloadRef: v1beta1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "none"},
		ReleasePlan: v1beta1.ReleasePlan{Batches: []v1beta1.ReleaseBatch{{CanaryReplicas: intstr.FromInt32(1)}}},
	}}
	must(t, admin.Create(t.Context(), release))
	must(t, admin.Create(t.Context(), canary(ns, steps("1")...)))
	rollout := []string{"Name", "STATUS", "CANARY_STEP", "CANARY_STATE", "MESSAGE", "AGE"}
	batchRelease := []string{"Name", "KIND", "PHASE", "BATCH", "BATCH-STATE", "AGE"}
	for _, c := range []struct {
		version, plural string
		columns         []string
	}{
		{"v1beta1", "rollouts", rollout},
		{"v1alpha1", "rollouts", rollout},
		{"v1beta1", "batchreleases", batchRelease},
		{"v1alpha1", "batchreleases", batchRelease},
		{"v1alpha1", "trafficroutings", []string{"Name", "STATUS", "MESSAGE", "AGE"}},
	} {
		t.Run(c.version+" "+c.plural, func(t *testing.T) {
			shown := table(t, c.version, c.plural, ns)
			var columns []string
			for _, column := range shown.ColumnDefinitions {
				columns = append(columns, column.Name)
			}
			if diff := cmp.Diff(c.columns, columns); diff != "" {
				t.Error(diff)
			}
			if kind := slices.Index(columns, "KIND"); kind >= 0 && shown.Rows[0].Cells[kind] != "Deployment" {
				t.Errorf("KIND is %v", shown.Rows[0].Cells[kind])
			}
		})
	}
}

func TestRolloutIsDefaulted(t *testing.T) {
	r := canary(namespace(t), steps("1")...)
	r.Spec.Strategy.Canary.TrafficRoutings = []v1beta1.TrafficRoutingRef{{Service: "web", Ingress: &v1beta1.IngressTrafficRouting{Name: "web"}}}
	must(t, admin.Create(t.Context(), r))
	if got := r.Spec.Strategy.Canary.TrafficRoutings[0].GracePeriodSeconds; got != 3 {
		t.Errorf("the grace period is %d", got)
	}
}

func TestSchemaRefusesARelativePath(t *testing.T) {
	step := steps("1")[0]
	step.Matches = []v1beta1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Value: new("relative")}}}
	err := admin.Create(t.Context(), canary(namespace(t), step))
	if !apierrors.IsInvalid(err) {
		t.Errorf("it answers %v", err)
	}
}
