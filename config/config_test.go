package config_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kruise-rollout/kruise-rollout/pkg/manager"
	"github.com/kruise-rollout/kruise-rollout/test/controlplane/programs"
	"github.com/kruise-rollout/kruise-rollout/webhooks/bootstrap"
)

const (
	kustomization = "kustomization.yaml"
	account       = "kruise-rollout-controller-manager"
)

// installation is what config/default renders to.
type installation []*unstructured.Unstructured

func render(t *testing.T) installation {
	t.Helper()
	finder, err := programs.New(os.Stderr)
	must(t, err)
	found, err := finder.Find(t.Context(), "kubectl")
	must(t, err)
	cmd := exec.CommandContext(t.Context(), found["kubectl"], "kustomize", "default")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(t, err)
	return decode(t, out)
}

func decode(t *testing.T, text []byte) installation {
	t.Helper()
	var all installation
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		o := &unstructured.Unstructured{}
		err := d.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		must(t, err)
		all = append(all, o)
	}
}

// one decodes the object of a kind and a name, of which there must be one. It refuses fields that
// the kind does not have.
func one[T any](t *testing.T, i installation, kind, name string) T {
	t.Helper()
	var typed T
	n := 0
	for _, o := range i {
		if o.GetKind() == kind && o.GetName() == name {
			must(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &typed, true))
			n++
		}
	}
	if n != 1 {
		t.Fatalf("there are %d objects of kind %s with the name %s", n, kind, name)
	}
	return typed
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func options(t *testing.T) *manager.Options {
	t.Helper()
	for _, name := range []string{"POD_NAMESPACE", "SECRET_NAME", "SERVICE_NAME", "WEBHOOK_PORT", "WEBHOOK_HOST"} {
		t.Setenv(name, "")
	}
	o, err := manager.NewOptions()
	must(t, err)
	must(t, o.ReadEnvironment())
	return o
}

// The tests and the demo install these folders one by one.
func TestDefaultHasWhatTheFoldersHave(t *testing.T) {
	rendered := map[string]bool{}
	for _, o := range render(t) {
		rendered[o.GetKind()+" "+o.GetName()] = true
	}
	for _, dir := range []string{"crd", "rbac", "webhook", "manager"} {
		files, err := os.ReadDir(dir)
		must(t, err)
		for _, file := range files {
			if file.Name() == kustomization {
				continue
			}
			text, err := os.ReadFile(path.Join(dir, file.Name()))
			must(t, err)
			for _, o := range decode(t, text) {
				if !rendered[o.GetKind()+" "+o.GetName()] {
					t.Errorf("config/default lacks %s %s of config/%s/%s", o.GetKind(), o.GetName(), dir, file.Name())
				}
			}
		}
	}
}

func TestEverythingIsInOneNamespace(t *testing.T) {
	o := options(t)
	cluster := []string{
		"Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding",
		"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
	}
	i := render(t)
	one[corev1.Namespace](t, i, "Namespace", o.Webhook.Namespace)
	for _, object := range i {
		want := o.Webhook.Namespace
		if slices.Contains(cluster, object.GetKind()) {
			want = ""
		}
		if object.GetNamespace() != want {
			t.Errorf("%s %s is in namespace %q", object.GetKind(), object.GetName(), object.GetNamespace())
		}
	}
}

func TestOperatorTakesItsArguments(t *testing.T) {
	container := deployment(t, render(t)).Spec.Template.Spec.Containers[0]
	want := []string{
		"--health-probe-bind-address=:8081", "--metrics-bind-address=127.0.0.1:8080", "--leader-elect",
		"--feature-gates=AdvancedDeployment=true", "--v=5",
	}
	if diff := cmp.Diff(want, container.Args); diff != "" {
		t.Error(diff)
	}
	o, flags := options(t), pflag.NewFlagSet("manager", pflag.ContinueOnError)
	o.AddFlags(flags)
	flags.Int("v", 0, "of klog, which main adds")
	must(t, flags.Parse(container.Args))
	for name, probe := range map[string]*corev1.Probe{"liveness": container.LivenessProbe, "readiness": container.ReadinessProbe} {
		if port := probe.HTTPGet.Port.String(); ":"+port != o.HealthAddress {
			t.Errorf("%s asks port %s, the operator answers at %s", name, port, o.HealthAddress)
		}
	}
	if !o.LeaderElect {
		t.Error("two replicas would both work")
	}
}

// deployment is the operator's.
func deployment(t *testing.T, i installation) appsv1.Deployment {
	t.Helper()
	return one[appsv1.Deployment](t, i, "Deployment", "kruise-rollout-controller-manager")
}

func TestOperatorKnowsItsNamespace(t *testing.T) {
	for _, v := range deployment(t, render(t)).Spec.Template.Spec.Containers[0].Env {
		if v.Name == "POD_NAMESPACE" && v.ValueFrom.FieldRef.FieldPath == "metadata.namespace" {
			return
		}
	}
	t.Error("POD_NAMESPACE is not set")
}

func TestServiceReachesTheOperator(t *testing.T) {
	o, i := options(t), render(t)
	service, template := one[corev1.Service](t, i, "Service", o.Webhook.ServiceName), deployment(t, i).Spec.Template
	for key, value := range service.Spec.Selector {
		if template.Labels[key] != value {
			t.Errorf("the Service selects %s=%s, pods have %v", key, value, template.Labels)
		}
	}
	port := service.Spec.Ports[0]
	if port.Port != 443 || port.TargetPort.IntValue() != o.Webhook.Port || int(template.Spec.Containers[0].Ports[0].ContainerPort) != o.Webhook.Port {
		t.Errorf("the Service sends %d to %s, the operator listens on %d", port.Port, port.TargetPort.String(), o.Webhook.Port)
	}
}

func TestAdmissionGoesToTheService(t *testing.T) {
	o, i := options(t), render(t)
	var clients []admissionregistrationv1.WebhookClientConfig
	for _, w := range one[admissionregistrationv1.MutatingWebhookConfiguration](t, i, "MutatingWebhookConfiguration", bootstrap.MutatingConfiguration).Webhooks {
		clients = append(clients, w.ClientConfig)
	}
	for _, w := range one[admissionregistrationv1.ValidatingWebhookConfiguration](t, i, "ValidatingWebhookConfiguration", bootstrap.ValidatingConfiguration).Webhooks {
		clients = append(clients, w.ClientConfig)
	}
	for _, c := range clients {
		if c.Service == nil || c.Service.Namespace != o.Webhook.Namespace || c.Service.Name != o.Webhook.ServiceName {
			t.Errorf("a webhook is sent to %+v", c.Service)
		}
	}
}

func TestConversionGoesToTheService(t *testing.T) {
	o, i := options(t), render(t)
	for _, plural := range []string{"rollouts", "batchreleases"} {
		crd := one[apiextensionsv1.CustomResourceDefinition](t, i, "CustomResourceDefinition", plural+".rollouts.kruise.io")
		s := crd.Spec.Conversion.Webhook.ClientConfig.Service
		if s.Namespace != o.Webhook.Namespace || s.Name != o.Webhook.ServiceName || *s.Path != bootstrap.ConversionPath {
			t.Errorf("%s are converted by %s/%s%s", plural, s.Namespace, s.Name, *s.Path)
		}
	}
}

func TestOperatorHasItsRights(t *testing.T) {
	i := render(t)
	if name := deployment(t, i).Spec.Template.Spec.ServiceAccountName; name != account {
		t.Errorf("the operator runs as %s", name)
	}
	one[corev1.ServiceAccount](t, i, "ServiceAccount", account)
	const binding = "kruise-rollout-manager-rolebinding"
	everywhere := one[rbacv1.ClusterRoleBinding](t, i, "ClusterRoleBinding", binding)
	inside := one[rbacv1.RoleBinding](t, i, "RoleBinding", binding)
	one[rbacv1.ClusterRole](t, i, everywhere.RoleRef.Kind, everywhere.RoleRef.Name)
	one[rbacv1.Role](t, i, inside.RoleRef.Kind, inside.RoleRef.Name)
	want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: options(t).Webhook.Namespace}}
	if diff := cmp.Diff([][]rbacv1.Subject{want, want}, [][]rbacv1.Subject{everywhere.Subjects, inside.Subjects}); diff != "" {
		t.Error(diff)
	}
}

// The operator's own Deployment must pass while its admission is down.
func TestAdmissionLeavesTheOperatorAlone(t *testing.T) {
	i := render(t)
	labels := deployment(t, i).Labels
	for _, w := range one[admissionregistrationv1.MutatingWebhookConfiguration](t, i, "MutatingWebhookConfiguration", bootstrap.MutatingConfiguration).Webhooks {
		if w.ObjectSelector == nil || !slices.Contains(w.Rules[0].Resources, "deployments") {
			continue
		}
		for _, r := range w.ObjectSelector.MatchExpressions {
			if r.Operator == "NotIn" && slices.Contains(r.Values, labels[r.Key]) {
				return
			}
		}
	}
	t.Errorf("an update of the operator's Deployment, with labels %v, would wait for the operator", labels)
}
