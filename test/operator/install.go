package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/kruise-rollout/kruise-rollout/config"
	"github.com/kruise-rollout/kruise-rollout/webhooks/bootstrap"
)

// kustomization says, in each folder of manifests, which there are.
const kustomization = "kustomization.yaml"

// owner is the field manager of an installation.
const owner = client.FieldOwner("install")

// Apply installs what an administrator would (CRDs, rights, webhook configurations) and waits until
// the API server at to serves the CRDs.
func Apply(ctx context.Context, to *rest.Config, c client.Client) error {
	ns := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
	}}
	objects := []*unstructured.Unstructured{ns}
	for _, dir := range []string{"crd", "rbac", "webhook"} {
		found, err := Manifests(dir)
		if err != nil {
			return err
		}
		objects = append(objects, found...)
	}
	for _, object := range objects {
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), owner, client.ForceOwnership); err != nil {
			return fmt.Errorf("installing %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return established(to)
}

// established waits for the CRDs.
func established(on *rest.Config) error {
	manifests, err := Manifests("crd")
	if err != nil {
		return err
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, m := range manifests {
		group, _, _ := unstructured.NestedString(m.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(m.Object, "spec", "names", "plural")
		crd := &apiextensionsv1.CustomResourceDefinition{}
		crd.Spec.Group, crd.Spec.Names.Plural = group, plural
		crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1", Served: true}}
		crds = append(crds, crd)
	}
	wait := envtest.CRDInstallOptions{MaxTime: time.Minute, PollInterval: 50 * time.Millisecond} // by default it looks once
	if err := envtest.WaitForCRDs(on, crds, wait); err != nil {
		return fmt.Errorf("waiting for the CRDs to be served: %w", err)
	}
	return nil
}

// Manifests returns the objects of a folder of config, in the order of its files.
func Manifests(dir string) ([]*unstructured.Unstructured, error) {
	files, err := fs.ReadDir(config.Files, dir)
	if err != nil {
		return nil, fmt.Errorf("reading config/%s: %w", dir, err)
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		if file.Name() == kustomization {
			continue
		}
		text, err := fs.ReadFile(config.Files, path.Join(dir, file.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading config/%s/%s: %w", dir, file.Name(), err)
		}
		found, err := decode(text)
		if err != nil {
			return nil, fmt.Errorf("decoding config/%s/%s: %w", dir, file.Name(), err)
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

func decode(text []byte) ([]*unstructured.Unstructured, error) {
	const lookAhead = 4096
	var objects []*unstructured.Unstructured
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), lookAhead); ; {
		object := &unstructured.Unstructured{}
		err := d.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

// SetFailurePolicy says what becomes of updates of Deployments while nobody answers admission.
func (o *Operator) SetFailurePolicy(ctx context.Context, policy admissionregistrationv1.FailurePolicyType) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var c admissionregistrationv1.MutatingWebhookConfiguration
		if err := o.Client.Get(ctx, client.ObjectKey{Name: bootstrap.MutatingConfiguration}, &c); err != nil {
			return err
		}
		for i := range c.Webhooks {
			c.Webhooks[i].FailurePolicy = &policy
		}
		return o.Client.Update(ctx, &c)
	})
}
