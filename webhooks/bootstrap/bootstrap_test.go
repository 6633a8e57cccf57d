package bootstrap

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const crdName = "rollouts.rollouts.kruise.io"

// installation is what a chart brings.
func installation() []client.Object {
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crdName}}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}
	crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	return []client.Object{
		crd, configuration(entry("a", "/a"), entry("b", "/b")),
		&admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: ValidatingConfiguration},
			Webhooks:   []admissionregistrationv1.ValidatingWebhook{{Name: "v", ClientConfig: entry("v", "/v").ClientConfig}},
		},
	}
}

func options(dir string) Options {
	return Options{
		Namespace: "ns", ServiceName: "hook", SecretName: "certs", CertDir: dir,
		Paths: []string{"/a", "/v"}, CRDs: []string{crdName, "absent.rollouts.kruise.io"},
		Clock: clocktesting.NewFakePassiveClock(epoch),
	}
}

// counting returns a client and the number of writes made through it.
func counting(objects ...client.Object) (client.WithWatch, *atomic.Int32) {
	writes := &atomic.Int32{}
	c := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			writes.Add(1)
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			writes.Add(1)
			return c.Update(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			writes.Add(1)
			return c.Patch(ctx, o, p, opts...)
		},
	}).Build()
	return c, writes
}

func get[T client.Object](t *testing.T, c client.Client, into T, namespace, name string) T {
	t.Helper()
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, into))
	return into
}

func served(t *testing.T, dir string) Material {
	t.Helper()
	found, err := readDir(dir)
	require.NoError(t, err)
	require.Len(t, found, 6)
	return fromFiles(found)
}

func TestFirstPassPutsEverythingInOrder(t *testing.T) {
	t.Parallel()
	c, writes := counting(installation()...)
	o := options(t.TempDir())
	require.NoError(t, New(c, o).Prepare(t.Context()))

	m := fromFiles(get(t, c, &corev1.Secret{}, "ns", "certs").Data)
	assert.Empty(t, m.Unfit("hook.ns.svc", epoch))
	assert.Equal(t, m, served(t, o.CertDir))
	hooks := get(t, c, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", MutatingConfiguration).Webhooks
	require.Len(t, hooks, 1, "/b has no handler")
	assert.Equal(t, m.CACert, hooks[0].ClientConfig.CABundle)
	assert.Equal(t, m.CACert, get(t, c, &admissionregistrationv1.ValidatingWebhookConfiguration{}, "", ValidatingConfiguration).Webhooks[0].ClientConfig.CABundle)
	crd := get(t, c, &apiextensionsv1.CustomResourceDefinition{}, "", crdName)
	assert.Equal(t, m.CACert, crd.Spec.Conversion.Webhook.ClientConfig.CABundle)
	assert.Equal(t, apiextensionsv1.NamespaceScoped, crd.Spec.Scope)

	before := writes.Load()
	again, err := New(c, o).Pass(t.Context())
	require.NoError(t, err)
	assert.Equal(t, before, writes.Load(), "everything was in order")
	assert.Equal(t, time.Minute, again)
}

func TestOperatorOnAHostNeedsNoSecret(t *testing.T) {
	t.Parallel()
	c, _ := counting(installation()...)
	o := options(t.TempDir())
	o.Host, o.Port = "127.0.0.1", 9876
	require.NoError(t, New(c, o).Prepare(t.Context()))

	assert.Empty(t, served(t, o.CertDir).Unfit("127.0.0.1", epoch))
	assert.Error(t, c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "certs"}, &corev1.Secret{}))
	hooks := get(t, c, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", MutatingConfiguration).Webhooks
	assert.Equal(t, "https://127.0.0.1:9876/a", *hooks[0].ClientConfig.URL)
	crd := get(t, c, &apiextensionsv1.CustomResourceDefinition{}, "", crdName)
	assert.Equal(t, "https://127.0.0.1:9876/convert", *crd.Spec.Conversion.Webhook.ClientConfig.URL)
}

func TestWhereTheCertificateIsKept(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		host, writer string
		directory    bool
	}{
		"by default":                {"", "", false},
		"on a host":                 {"127.0.0.1", "", true},
		"on a host, asked for":      {"127.0.0.1", "secret", false},
		"in the cluster, asked for": {"", "fs", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.directory, Options{Host: c.host, CertWriter: c.writer}.inDirectory())
		})
	}
}

func TestReplicasRacingForTheSecretShareOneCertificate(t *testing.T) {
	t.Parallel()
	c, _ := counting(installation()...)
	dirs := make([]string, 3)
	errs := make([]error, len(dirs))
	var all sync.WaitGroup
	for i := range dirs {
		dirs[i] = t.TempDir()
		all.Go(func() { errs[i] = New(c, options(dirs[i])).Prepare(t.Context()) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))

	m := fromFiles(get(t, c, &corev1.Secret{}, "ns", "certs").Data)
	for _, d := range dirs {
		assert.Equal(t, m, served(t, d))
	}
	assert.Equal(t, m.CACert, get(t, c, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", MutatingConfiguration).Webhooks[0].ClientConfig.CABundle)
}

func TestFasterReplicaWins(t *testing.T) {
	t.Parallel()
	theirs := issue(t, Material{}, "hook.ns.svc", epoch)
	cases := map[string]struct {
		stored   []client.Object
		overtake func(ctx context.Context, c client.WithWatch) error
	}{
		"creating": {nil, func(ctx context.Context, c client.WithWatch) error {
			return c.Create(ctx, secret(theirs))
		}},
		"replacing": {[]client.Object{secret(issue(t, Material{}, "old", epoch))}, func(ctx context.Context, c client.WithWatch) error {
			return c.Update(ctx, secret(theirs))
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var once sync.Once
			overtaken := func(ctx context.Context, cl client.WithWatch) (err error) {
				once.Do(func() { err = c.overtake(ctx, cl) })
				return err
			}
			cl := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(append(installation(), c.stored...)...).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(ctx context.Context, cl client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					return errors.Join(overtaken(ctx, cl), cl.Create(ctx, o, opts...))
				},
				Update: func(ctx context.Context, cl client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
					return errors.Join(overtaken(ctx, cl), cl.Update(ctx, o, opts...))
				},
			}).Build()
			o := options(t.TempDir())
			require.NoError(t, New(cl, o).Prepare(t.Context()))
			assert.Equal(t, theirs, served(t, o.CertDir))
		})
	}
}

func secret(m Material) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "certs"}, Data: m.files()}
}

func TestDriftIsRepaired(t *testing.T) {
	t.Parallel()
	c, _ := counting(installation()...)
	o := options(t.TempDir())
	b := New(c, o)
	require.NoError(t, b.Prepare(t.Context()))
	m := served(t, o.CertDir)

	lost := get(t, c, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", MutatingConfiguration)
	lost.Webhooks[0].ClientConfig.CABundle = nil
	require.NoError(t, c.Update(t.Context(), lost))
	require.NoError(t, c.Update(t.Context(), secret(Material{CACert: m.CACert, CAKey: m.CAKey})))
	_, err := b.Pass(t.Context())
	require.NoError(t, err)

	renewed := served(t, o.CertDir)
	assert.NotEqual(t, m.Cert, renewed.Cert)
	assert.Equal(t, m.CACert, renewed.CACert, "API servers go on trusting the same CA")
	assert.Equal(t, m.CACert, get(t, c, &admissionregistrationv1.MutatingWebhookConfiguration{}, "", MutatingConfiguration).Webhooks[0].ClientConfig.CABundle)
}

func TestCertificateIsRenewedInTime(t *testing.T) {
	t.Parallel()
	c, _ := counting(installation()...)
	o := options(t.TempDir())
	now := clocktesting.NewFakePassiveClock(epoch)
	o.Clock = now
	b := New(c, o)
	require.NoError(t, b.Prepare(t.Context()))
	old := served(t, o.CertDir)

	now.SetTime(old.RenewAt().Add(-10 * time.Second))
	next, err := b.Pass(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 10*time.Second, next)
	now.SetTime(now.Now().Add(next + time.Second))
	_, err = b.Pass(t.Context())
	require.NoError(t, err)
	assert.NotEqual(t, old.Cert, served(t, o.CertDir).Cert)
}

func TestMissingConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	c, _ := counting(installation()[:2]...)
	o := options(t.TempDir())
	b := New(c, o)
	b.patience = 200 * time.Millisecond
	err := b.Prepare(t.Context())
	require.Error(t, err)
	assert.Contains(t, err.Error(), "within 200ms")
	assert.Contains(t, err.Error(), ValidatingConfiguration+" must be installed before the operator starts")
	assert.NotContains(t, err.Error(), "deadline")
	crd := get(t, c, &apiextensionsv1.CustomResourceDefinition{}, "", crdName)
	assert.NotNil(t, crd.Spec.Conversion.Webhook, "the rest is set up nevertheless")
}

func TestCachedCRDsAreSlimAndStillPatchOnlyTheConversion(t *testing.T) {
	t.Parallel()
	whole := installation()[0].(*apiextensionsv1.CustomResourceDefinition)
	whole.Spec.Names.Kind = "Rollout"
	whole.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1"}}
	c, _ := counting(whole)
	thin, err := slim(get(t, c, &apiextensionsv1.CustomResourceDefinition{}, "", crdName))
	require.NoError(t, err)
	live := thin.(*apiextensionsv1.CustomResourceDefinition)
	assert.Empty(t, live.Spec.Versions)

	require.NoError(t, New(c, options("")).write(t.Context(), live, WantedConversion(live, inCluster)))
	after := get(t, c, &apiextensionsv1.CustomResourceDefinition{}, "", crdName)
	assert.Equal(t, whole.Spec.Versions, after.Spec.Versions)
	assert.Equal(t, whole.Spec.Names, after.Spec.Names)
	assert.Equal(t, []byte("ca"), after.Spec.Conversion.Webhook.ClientConfig.CABundle)
}
