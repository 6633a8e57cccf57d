package integration

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// namespace makes a namespace of the test's own.
func namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	must(t, admin.Create(t.Context(), ns))
	return ns.Name
}

func named(ns, name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }

var web = v1beta1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}

// steps have the given numbers of pods.
func steps(replicas ...string) []v1beta1.CanaryStep {
	all := make([]v1beta1.CanaryStep, 0, len(replicas))
	for _, r := range replicas {
		all = append(all, v1beta1.CanaryStep{Replicas: new(intstr.Parse(r))})
	}
	return all
}

func canary(ns string, s ...v1beta1.CanaryStep) *v1beta1.Rollout {
	return &v1beta1.Rollout{ObjectMeta: named(ns, "web"), Spec: v1beta1.RolloutSpec{
		WorkloadRef: web, Strategy: v1beta1.RolloutStrategy{Canary: &v1beta1.CanaryStrategy{Steps: s}},
	}}
}

func blueGreen(ns string, s ...v1beta1.CanaryStep) *v1beta1.Rollout {
	return &v1beta1.Rollout{ObjectMeta: named(ns, "web"), Spec: v1beta1.RolloutSpec{
		WorkloadRef: web, Strategy: v1beta1.RolloutStrategy{BlueGreen: &v1beta1.BlueGreenStrategy{Steps: s}},
	}}
}

// alpha is a Rollout as a user of v1alpha1 writes it, with the given weights.
func alpha(ns string, weights ...int32) *v1alpha1.Rollout {
	r := &v1alpha1.Rollout{ObjectMeta: named(ns, "web")}
	r.Spec.ObjectRef.WorkloadRef = new(v1alpha1.WorkloadRef(web))
	r.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{}
	for _, w := range weights {
		step := v1alpha1.CanaryStep{TrafficRoutingStrategy: v1alpha1.TrafficRoutingStrategy{Weight: &w}}
		r.Spec.Strategy.Canary.Steps = append(r.Spec.Strategy.Canary.Steps, step)
	}
	return r
}

// deployment makes a Deployment that runs, by the look of it: with its ReplicaSet.
func deployment(t *testing.T, ns string) *appsv1.Deployment {
	t.Helper()
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{ObjectMeta: named(ns, "web"), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(4)),
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:v1"}}},
		},
	}}
	must(t, admin.Create(t.Context(), d))
	rs := &appsv1.ReplicaSet{ObjectMeta: named(ns, "web-1"), Spec: appsv1.ReplicaSetSpec{
		Replicas: d.Spec.Replicas, Template: *d.Spec.Template.DeepCopy(),
	}}
	rs.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "1"
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: rs.Spec.Template.Labels}
	rs.Labels = rs.Spec.Template.Labels
	rs.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1"}
	rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	must(t, admin.Create(t.Context(), rs))
	return d
}
