package bootstrap_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kruise-rollout/kruise-rollout/pkg/core/rules"
	"github.com/kruise-rollout/kruise-rollout/webhooks/bootstrap"
	"github.com/kruise-rollout/kruise-rollout/webhooks/rollout"
	"github.com/kruise-rollout/kruise-rollout/webhooks/workload"
)

// documents returns the YAML documents of a file below config/webhook.
func documents(t *testing.T, name string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "webhook", name))
	require.NoError(t, err)
	return bytes.Split(bytes.TrimPrefix(text, []byte("---\n")), []byte("\n---\n"))
}

func decode[T any](t *testing.T, document []byte) *T {
	t.Helper()
	o := new(T)
	require.NoError(t, yaml.UnmarshalStrict(document, o))
	return o
}

func manifests(t *testing.T) (*admissionregistrationv1.MutatingWebhookConfiguration, *admissionregistrationv1.ValidatingWebhookConfiguration) {
	t.Helper()
	d := documents(t, "manifests.yaml")
	require.Len(t, d, 2)
	return decode[admissionregistrationv1.MutatingWebhookConfiguration](t, d[0]), decode[admissionregistrationv1.ValidatingWebhookConfiguration](t, d[1])
}

// served are the paths that have a handler.
func served() []string {
	paths := []string{workload.DeploymentPath}
	for p := range rollout.Handlers(runtime.NewScheme(), nil, rules.Rules{}) {
		paths = append(paths, p)
	}
	return paths
}

func TestEveryHandlerHasAnEntryAndEveryEntryAHandler(t *testing.T) {
	t.Parallel()
	m, v := manifests(t)
	assert.Equal(t, bootstrap.MutatingConfiguration, m.Name)
	assert.Equal(t, bootstrap.ValidatingConfiguration, v.Name)
	var paths []string
	for _, h := range m.Webhooks {
		paths = append(paths, *h.ClientConfig.Service.Path)
	}
	for _, h := range v.Webhooks {
		paths = append(paths, *h.ClientConfig.Service.Path)
	}
	assert.ElementsMatch(t, served(), paths)

	live, err := bootstrap.WantedMutating(m, bootstrap.Address{}, served())
	require.NoError(t, err)
	assert.Len(t, live.Webhooks, len(m.Webhooks))
}

// Charts and patches of existing installations address entries by name.
func TestEntriesAreThoseOfExistingInstallations(t *testing.T) {
	t.Parallel()
	m, v := manifests(t)
	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	service := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
			Namespace: "kruise-rollout", Name: "kruise-rollout-webhook-service", Path: &path,
		}}
	}
	assert.Equal(t, admissionregistrationv1.MutatingWebhook{
		Name: "mdeployment.kb.io", ClientConfig: service("/mutate-apps-v1-deployment"),
		FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1", "v1beta1"},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
		}},
		ObjectSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "rollouts.kruise.io/workload-type", Operator: metav1.LabelSelectorOpExists},
			{Key: "control-plane", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"controller-manager"}},
		}},
	}, m.Webhooks[0])
	assert.Equal(t, []admissionregistrationv1.ValidatingWebhook{{
		Name: "vrollout.kb.io", ClientConfig: service("/validate-rollouts-kruise-io-rollout"),
		FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1", "v1beta1"},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"rollouts.kruise.io"}, APIVersions: []string{"v1alpha1", "v1beta1"}, Resources: []string{"rollouts"}},
		}},
	}}, v.Webhooks)
}

// An entry that only warns must never be why a Rollout can't be changed.
func TestAdviceNeverBlocks(t *testing.T) {
	t.Parallel()
	m, _ := manifests(t)
	for _, h := range m.Webhooks {
		if *h.ClientConfig.Service.Path == rollout.AdvisePath {
			assert.Equal(t, admissionregistrationv1.Ignore, *h.FailurePolicy)
			assert.LessOrEqual(t, *h.TimeoutSeconds, int32(2))
			assert.Len(t, h.MatchConditions, 1)
		}
	}
}

func TestServiceIsTheOneTheEntriesName(t *testing.T) {
	t.Parallel()
	s := decode[corev1.Service](t, documents(t, "service.yaml")[0])
	m, _ := manifests(t)
	ref := m.Webhooks[0].ClientConfig.Service
	assert.Equal(t, ref.Name, s.Name)
	assert.Equal(t, ref.Namespace, s.Namespace)
	assert.Equal(t, int32(443), s.Spec.Ports[0].Port)
	assert.Equal(t, 9876, s.Spec.Ports[0].TargetPort.IntValue())
}
