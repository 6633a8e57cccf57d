package contract

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// columns are the printer columns of a version: name, type and path.
type columns [][3]string

// served is what a CRD says about one of its kinds.
type served struct {
	Kind, ListKind, Singular string
	Storage                  string
	Columns                  map[string]columns
	Converted                bool
}

func TestKindsAreServedAsPromised(t *testing.T) {
	state := func(step, message string) columns {
		return columns{
			{"STATUS", "string", ".status.phase"},
			{"CANARY_STEP", "integer", step + "currentStepIndex"},
			{"CANARY_STATE", "string", step + "currentStepState"},
			{"MESSAGE", "string", message},
			{"AGE", "date", ".metadata.creationTimestamp"},
		}
	}
	batches := func(workload string) columns {
		return columns{
			{"KIND", "string", workload + ".kind"},
			{"PHASE", "string", ".status.phase"},
			{"BATCH", "integer", ".status.canaryStatus.currentBatch"},
			{"BATCH-STATE", "string", ".status.canaryStatus.batchState"},
			{"AGE", "date", ".metadata.creationTimestamp"},
		}
	}
	want := map[string]served{
		"rollouts": {"Rollout", "RolloutList", "rollout", "v1beta1", map[string]columns{
			"v1alpha1": state(".status.canaryStatus.", ".status.message"),
			"v1beta1":  state(".status.", ".status.message"),
		}, true},
		"batchreleases": {"BatchRelease", "BatchReleaseList", "batchrelease", "v1beta1", map[string]columns{
			"v1alpha1": batches(".spec.targetReference.workloadRef"),
			"v1beta1":  batches(".spec.workloadRef"),
		}, true},
		"trafficroutings": {"TrafficRouting", "TrafficRoutingList", "trafficrouting", "v1alpha1", map[string]columns{
			"v1alpha1": {
				{"STATUS", "string", ".status.phase"},
				{"MESSAGE", "string", ".status.message"},
				{"AGE", "date", ".metadata.creationTimestamp"},
			},
		}, false},
		"rollouthistories": {"RolloutHistory", "RolloutHistoryList", "rollouthistory", "v1alpha1", map[string]columns{
			"v1alpha1": nil,
		}, false},
	}
	got := map[string]served{}
	for plural, crd := range crds(t) {
		if crd.Name != plural+".rollouts.kruise.io" || crd.Spec.Group != "rollouts.kruise.io" || crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
			t.Errorf("%s is %s, of group %s, %s", plural, crd.Name, crd.Spec.Group, crd.Spec.Scope)
		}
		if len(crd.Spec.Names.ShortNames)+len(crd.Spec.Names.Categories) > 0 {
			t.Errorf("%s has other names: %v", plural, crd.Spec.Names)
		}
		got[plural] = servedBy(t, crd)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func servedBy(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) served {
	t.Helper()
	names := crd.Spec.Names
	s := served{Kind: names.Kind, ListKind: names.ListKind, Singular: names.Singular, Columns: map[string]columns{}}
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			s.Storage = v.Name
		}
		if !v.Served || v.Subresources == nil || v.Subresources.Status == nil || v.Subresources.Scale != nil {
			t.Errorf("%s %s is not served with the subresource status alone", names.Plural, v.Name)
		}
		var all columns
		for _, c := range v.AdditionalPrinterColumns {
			all = append(all, [3]string{c.Name, c.Type, c.JSONPath})
		}
		s.Columns[v.Name] = all
	}
	if crd.Spec.Conversion == nil {
		return s
	}
	s.Converted = true
	want := &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{
				Namespace: "kruise-rollout", Name: "kruise-rollout-webhook-service", Path: new("/convert"),
			}},
			ConversionReviewVersions: []string{"v1", "v1beta1"},
		},
	}
	if diff := cmp.Diff(want, crd.Spec.Conversion); diff != "" {
		t.Errorf("conversion of %s: %s", names.Plural, diff)
	}
	return s
}
