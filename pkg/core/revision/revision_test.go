package revision

import (
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func template(edit ...func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "web:v1",
			Env:       []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		}}},
	}
	for _, e := range edit {
		e(t)
	}
	return t
}

func TestTemplatesAreComparedByMeaning(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		edit func(*corev1.PodTemplateSpec)
		same bool
	}{
		"nothing changed":            {func(*corev1.PodTemplateSpec) {}, true},
		"only the pod-template-hash": {func(p *corev1.PodTemplateSpec) { p.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "x" }, true},
		"an empty map is no map":     {func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{} }, true},
		"one CPU written as 1000m": {func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1000m")
		}, true},
		"another image":                      {func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "web:v2" }, false},
		"a label of the user":                {func(p *corev1.PodTemplateSpec) { p.Labels["tier"] = "front" }, false},
		"the order of environment variables": {func(p *corev1.PodTemplateSpec) { e := p.Spec.Containers[0].Env; e[0], e[1] = e[1], e[0] }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := template(c.edit)
			kept := before.DeepCopy()
			assert.Equal(t, c.same, SameTemplate(template(), before))
			assert.Equal(t, kept, before, "comparing changes nothing")
		})
	}
}

func TestHashNamesATemplate(t *testing.T) {
	t.Parallel()
	assert.Equal(t, Hash(template(), nil), Hash(template(), nil))
	assert.NotEqual(t, Hash(template(), nil), Hash(template(), new(int32(1))))
	assert.Regexp(t, "^[bcdfghjklmnpqrstvwxz2456789]+$", Hash(template(), nil))
}

func TestPodIsAtARevision(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		labels   map[string]string
		revision string
		want     bool
	}{
		"by template hash":          {map[string]string{"pod-template-hash": "6b4d"}, "6b4d", true},
		"by full revision name":     {map[string]string{"controller-revision-hash": "6b4d"}, "web-6b4d", true},
		"either label is enough":    {map[string]string{"pod-template-hash": "old", "controller-revision-hash": "6b4d"}, "6b4d", true},
		"another revision":          {map[string]string{"pod-template-hash": "6b4d"}, "7c5e", false},
		"an empty label is no hash": {map[string]string{"pod-template-hash": ""}, "6b4d", false},
		"no labels":                 {nil, "6b4d", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, Of(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: c.labels}}, c.revision))
		})
	}
}
