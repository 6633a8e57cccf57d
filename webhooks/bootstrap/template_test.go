package bootstrap

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	inCluster = Address{Namespace: "ns", Service: "hook", CA: []byte("ca")}
	onHost    = Address{Namespace: "ns", Service: "hook", Host: "127.0.0.1", Port: 9876, CA: []byte("ca")}
)

// entry is a webhook as a manifest has it: addressed at somebody else's Service.
func entry(name, path string) admissionregistrationv1.MutatingWebhook {
	return admissionregistrationv1.MutatingWebhook{
		Name: name,
		ClientConfig: admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: "system", Name: "service", Path: &path},
		},
	}
}

func configuration(entries ...admissionregistrationv1.MutatingWebhook) *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: MutatingConfiguration},
		Webhooks:   entries,
	}
}

func want(t *testing.T, live *admissionregistrationv1.MutatingWebhookConfiguration, a Address, served ...string) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	before := live.DeepCopy()
	w, err := WantedMutating(live, a, served)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(before, live), "the live object was changed")
	again, err := WantedMutating(w, a, served)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(w, again), "a second pass changes something")
	return w
}

func paths(c *admissionregistrationv1.MutatingWebhookConfiguration) []string {
	var all []string
	for _, h := range c.Webhooks {
		all = append(all, pathOf(h.ClientConfig))
	}
	return all
}

func TestEntriesAreAddressedAtTheService(t *testing.T) {
	t.Parallel()
	e := entry("a", "/a")
	e.ClientConfig.Service.Port = new(int32(8443))
	w := want(t, configuration(e, entry("b", "/b")), inCluster, "/a", "/b")
	assert.Equal(t, admissionregistrationv1.WebhookClientConfig{
		CABundle: []byte("ca"),
		Service:  &admissionregistrationv1.ServiceReference{Namespace: "ns", Name: "hook", Path: new("/a"), Port: new(int32(8443))},
	}, w.Webhooks[0].ClientConfig, "the manifest's port is kept")
	assert.Equal(t, int32(443), *w.Webhooks[1].ClientConfig.Service.Port)
}

func TestEntriesAreAddressedAtTheHost(t *testing.T) {
	t.Parallel()
	w := want(t, configuration(entry("a", "/a")), onHost, "/a")
	assert.Equal(t, admissionregistrationv1.WebhookClientConfig{CABundle: []byte("ca"), URL: new("https://127.0.0.1:9876/a")}, w.Webhooks[0].ClientConfig)

	back := want(t, w, inCluster, "/a")
	assert.Equal(t, "/a", *back.Webhooks[0].ClientConfig.Service.Path, "the operator moved into the cluster")
	assert.Nil(t, back.Webhooks[0].ClientConfig.URL)
}

func TestEntriesWithoutAHandlerComeAndGo(t *testing.T) {
	t.Parallel()
	installed := configuration(entry("a", "/a"), entry("b", "/b"), entry("c", ""))
	old := want(t, installed, inCluster, "/a")
	assert.Equal(t, []string{"/a"}, paths(old))
	upgraded := want(t, old, inCluster, "/a", "/b")
	assert.Equal(t, []string{"/a", "/b"}, paths(upgraded), "a later version serves what the manifest always had")
	assert.Equal(t, []string{"/a"}, paths(want(t, upgraded, inCluster, "/a")), "and an earlier one does not")
}

func TestNewerManifestReplacesTheTemplate(t *testing.T) {
	t.Parallel()
	written := want(t, configuration(entry("a", "/a"), entry("b", "/b")), inCluster, "/a", "/b", "/c")
	peers := func(entries ...admissionregistrationv1.MutatingWebhook) *admissionregistrationv1.MutatingWebhookConfiguration {
		c := written.DeepCopy()
		delete(c.Annotations, writtenAnnotation)
		c.Webhooks = entries
		return c
	}
	changed := func(change func(*admissionregistrationv1.MutatingWebhookConfiguration)) *admissionregistrationv1.MutatingWebhookConfiguration {
		c := written.DeepCopy()
		change(c)
		return c
	}
	strict := entry("a", "/a")
	strict.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"x": "y"}}
	cases := map[string]struct {
		live *admissionregistrationv1.MutatingWebhookConfiguration
		want []string
	}{
		"an entry more": {changed(func(c *admissionregistrationv1.MutatingWebhookConfiguration) {
			c.Webhooks = append(c.Webhooks, entry("c", "/c"))
		}), []string{"/a", "/b", "/c"}},
		"an entry less": {changed(func(c *admissionregistrationv1.MutatingWebhookConfiguration) { c.Webhooks = c.Webhooks[:1] }), []string{"/a"}},
		"a path changed": {changed(func(c *admissionregistrationv1.MutatingWebhookConfiguration) {
			c.Webhooks[0].ClientConfig.Service.Path = new("/c")
		}), []string{"/c", "/b"}},
		"only the CA was lost": {changed(func(c *admissionregistrationv1.MutatingWebhookConfiguration) {
			c.Webhooks[0].ClientConfig.CABundle = nil
		}), []string{"/a", "/b"}},
		"the template is not JSON":    {changed(func(c *admissionregistrationv1.MutatingWebhookConfiguration) { c.Annotations[templateAnnotation] = "{" }), []string{"/a", "/b"}},
		"from the peer, one left out": {peers(entry("b", "/b")), []string{"/a", "/b"}},
		"from the peer, one more":     {peers(entry("a", "/a"), entry("c", "/c")), []string{"/a", "/c"}},
		"from the peer, new selector": {peers(strict), []string{"/a"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := want(t, c.live, inCluster, "/a", "/b", "/c")
			assert.Equal(t, c.want, paths(w))
			assert.Equal(t, []byte("ca"), w.Webhooks[0].ClientConfig.CABundle)
		})
	}
}

func TestTemplateIsTheInstalledList(t *testing.T) {
	t.Parallel()
	installed := configuration(entry("a", "/a"), entry("b", "/b"))
	var kept []admissionregistrationv1.MutatingWebhook
	require.NoError(t, json.Unmarshal([]byte(want(t, installed, inCluster, "/a").Annotations["template"]), &kept))
	assert.Equal(t, installed.Webhooks, kept)
}

func TestValidatingEntriesAreTreatedAlike(t *testing.T) {
	t.Parallel()
	live := &admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: []admissionregistrationv1.ValidatingWebhook{
		{Name: "a", ClientConfig: entry("a", "/a").ClientConfig},
		{Name: "b", ClientConfig: entry("b", "/b").ClientConfig},
	}}
	w, err := WantedValidating(live, inCluster, []string{"/b"})
	require.NoError(t, err)
	require.Len(t, w.Webhooks, 1)
	assert.Equal(t, inCluster.admission("/b", live.Webhooks[1].ClientConfig), w.Webhooks[0].ClientConfig)
}

func TestConversionIsAddressed(t *testing.T) {
	t.Parallel()
	crd := func(c *apiextensionsv1.CustomResourceConversion) *apiextensionsv1.CustomResourceDefinition {
		return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Conversion: c}}
	}
	webhook := crd(&apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter})
	none := crd(&apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter})

	c := WantedConversion(webhook, inCluster).Spec.Conversion.Webhook
	assert.Equal(t, []string{"v1", "v1beta1"}, c.ConversionReviewVersions)
	assert.Equal(t, &apiextensionsv1.WebhookClientConfig{
		CABundle: []byte("ca"),
		Service:  &apiextensionsv1.ServiceReference{Namespace: "ns", Name: "hook", Path: new("/convert"), Port: new(int32(443))},
	}, c.ClientConfig)
	assert.Equal(t, &apiextensionsv1.WebhookClientConfig{CABundle: []byte("ca"), URL: new("https://127.0.0.1:9876/convert")},
		WantedConversion(webhook, onHost).Spec.Conversion.Webhook.ClientConfig)
	assert.Nil(t, webhook.Spec.Conversion.Webhook, "the live object was changed")
	assert.Same(t, none, WantedConversion(none, inCluster))
	bare := crd(nil)
	assert.Same(t, bare, WantedConversion(bare, inCluster))
}
