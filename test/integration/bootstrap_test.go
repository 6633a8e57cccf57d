package integration

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/test/operator"
	"github.com/kruise-rollout/kruise-rollout/webhooks/bootstrap"
)

var secretKey = client.ObjectKey{Namespace: "kruise-rollout", Name: "kruise-rollout-webhook-certs"}

func validating(t *testing.T) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	return get[admissionregistrationv1.ValidatingWebhookConfiguration](t, "", bootstrap.ValidatingConfiguration)
}

// trusted are the authorities that the API server believes the operator by, by what it calls.
func trusted(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, w := range get[admissionregistrationv1.MutatingWebhookConfiguration](t, "", bootstrap.MutatingConfiguration).Webhooks {
		all[w.Name] = w.ClientConfig.CABundle
	}
	for _, w := range validating(t).Webhooks {
		all[w.Name] = w.ClientConfig.CABundle
	}
	for _, name := range []string{"rollouts.rollouts.kruise.io", "batchreleases.rollouts.kruise.io"} {
		crd := get[apiextensionsv1.CustomResourceDefinition](t, "", name)
		all[name] = crd.Spec.Conversion.Webhook.ClientConfig.CABundle
	}
	return all
}

// coherent tells whether what is stored, served and trusted belong together.
func coherent(t *testing.T) error {
	t.Helper()
	secret := &corev1.Secret{}
	if err := admin.Get(t.Context(), secretKey, secret); err != nil {
		return err
	}
	served, err := os.ReadFile(filepath.Join(certDir, "tls.crt"))
	if err != nil {
		return err
	}
	if !bytes.Equal(served, secret.Data["tls.crt"]) {
		return errors.New("another certificate is served than stored")
	}
	for name, bundle := range trusted(t) {
		if len(bundle) == 0 || !bytes.Equal(bundle, secret.Data["ca-cert.pem"]) {
			return errors.New("another authority is trusted for " + name + " than stored")
		}
	}
	return nil
}

// answering tells whether the API server gets answers from validation and, for the version that is
// not stored, conversion.
func answering(t *testing.T, ns string) error {
	t.Helper()
	return admin.Create(t.Context(), alpha(ns, 20), client.DryRunAll)
}

func TestCertificateIsIssued(t *testing.T) {
	eventually(t, func() error { return coherent(t) })
	must(t, answering(t, namespace(t)))
	secret := get[corev1.Secret](t, secretKey.Namespace, secretKey.Name)
	for _, name := range []string{"ca-key.pem", "ca-cert.pem", "key.pem", "cert.pem", "tls.key", "tls.crt"} {
		if len(secret.Data[name]) == 0 {
			t.Errorf("the Secret has no %s", name)
		}
	}
}

func TestDeletedSecretIsMadeAgain(t *testing.T) {
	before := get[corev1.Secret](t, secretKey.Namespace, secretKey.Name)
	must(t, admin.Delete(t.Context(), before))
	eventually(t, func() error {
		after := &corev1.Secret{}
		if err := admin.Get(t.Context(), secretKey, after); err != nil {
			return err
		}
		if after.UID == before.UID {
			return errors.New("the Secret is still there")
		}
		return coherent(t)
	})
	ns := namespace(t)
	eventually(t, func() error { return answering(t, ns) })
}

func TestForeignAuthorityIsReplaced(t *testing.T) {
	foreign, err := bootstrap.Issue(bootstrap.Material{}, "elsewhere", time.Now())
	must(t, err)
	live := validating(t)
	edited := live.DeepCopy()
	for i := range edited.Webhooks {
		edited.Webhooks[i].ClientConfig.CABundle = foreign.CACert
	}
	must(t, admin.Patch(t.Context(), edited, client.MergeFrom(live)))
	eventually(t, func() error { return coherent(t) })
}

// An upgrade brings addresses that do not lead here, and no authority.
func TestReplacedManifestsAreAddressedAgain(t *testing.T) {
	for _, dir := range []string{"webhook", "crd"} {
		manifests, err := operator.Manifests(dir)
		must(t, err)
		for _, m := range manifests {
			replace(t, m)
		}
	}
	eventually(t, func() error { return coherent(t) })
	for _, w := range validating(t).Webhooks {
		if w.ClientConfig.URL == nil || w.ClientConfig.Service != nil {
			t.Errorf("%s is sent to %+v", w.Name, w.ClientConfig)
		}
	}
	ns := namespace(t)
	eventually(t, func() error { return answering(t, ns) })
}

// replace is kubectl replace.
func replace(t *testing.T, with *unstructured.Unstructured) {
	t.Helper()
	must(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live := with.DeepCopy()
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(with), live); err != nil {
			return err
		}
		next := with.DeepCopy()
		next.SetResourceVersion(live.GetResourceVersion())
		return admin.Update(t.Context(), next)
	}))
}
