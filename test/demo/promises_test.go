package main

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/test/record"
)

// A demo that can't fail proves nothing: each promise is broken here once.
func TestABrokenPromiseIsNoticed(t *testing.T) {
	owner := webOf("v1", nil)
	cases := map[string]struct {
		promise promise
		before  []client.Object
		after   []client.Object
	}{
		"a pod too many":          {pods("v1", 1, "v2", 1), nil, []client.Object{podOf(1, "v1"), podOf(2, "v2"), podOf(3, "v2")}},
		"a pod that is not ready": {pods("v1", 1, "v2", 0), nil, []client.Object{unready(podOf(1, "v1"))}},
		"a change not held":       {held("v2"), []client.Object{owner}, []client.Object{webOf("v2", nil)}},
		"a change nobody saw":     {held("v2"), []client.Object{owner}, nil},
		"a pod replaced":          {untouched, []client.Object{podOf(1, "v1")}, []client.Object{podOf(2, "v1")}},
		"an old pod replaced":     {kept("v1"), []client.Object{podOf(1, "v1")}, []client.Object{podOf(2, "v1")}},
		"a field not given back":  {asWritten, []client.Object{owner}, []client.Object{webOf("v2", func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 5 })}},
		"an annotation left":      {onlyTheLabel, nil, []client.Object{webOf("v1", annotated)}},
		"the label left":          {nothingOfOurs, nil, []client.Object{webOf("v1", labeled)}},
		"a BatchRelease left":     {noRelease, nil, []client.Object{&v1beta1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Name: web}}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.promise.broken(momentOf(c.before, c.after)) == "" {
				t.Errorf("nobody notices that it is not so: %s", c.promise.text)
			}
		})
	}
}

// momentOf is an act that ends with the objects; those with a new state replace the old.
func momentOf(before, after []client.Object) *moment {
	m := &moment{since: int64(len(before))}
	for i, o := range append(before, after...) {
		m.log = append(m.log, record.Entry{Version: int64(i + 1), Object: o})
	}
	for _, part := range []struct {
		objects []client.Object
		state   *record.State
	}{{before, &m.before}, {after, &m.now}} {
		var log []record.Entry
		for _, o := range part.objects {
			log = append(log, record.Entry{Object: o})
		}
		record.Replay(log, func(_ record.Entry, st record.State) { *part.state = st })
	}
	return m
}

func webOf(version string, edit func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: web}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Image: "web:" + version}}
	if edit != nil {
		edit(d)
	}
	return d
}

func annotated(d *appsv1.Deployment) {
	d.Annotations = map[string]string{v1beta1.InProgressingAnnotation: "{}"}
}

func labeled(d *appsv1.Deployment) {
	d.Labels = map[string]string{v1beta1.WorkloadTypeLabel: "deployment"}
}

func podOf(n int, version string) *corev1.Pod {
	name := fmt.Sprintf("web-%d", n)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	pod.Spec.Containers = []corev1.Container{{Image: "web:" + version}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return pod
}

func unready(pod *corev1.Pod) *corev1.Pod {
	pod.Status.Conditions = nil
	return pod
}
