package batch

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/fact"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

// releasing returns a world in the middle of batch current (from 0) of a release with this id.
func releasing(id string, replicas, current int32, pods []fact.Pod, sizes ...string) World {
	r := &v1beta1.BatchRelease{ObjectMeta: metav1.ObjectMeta{UID: "br"}}
	r.Spec.ReleasePlan.RolloutID = id
	for _, s := range sizes {
		r.Spec.ReleasePlan.Batches = append(r.Spec.ReleasePlan.Batches, v1beta1.ReleaseBatch{CanaryReplicas: intstr.Parse(s)})
	}
	r.Status.Phase = v1beta1.RolloutPhaseProgressing
	r.Status.UpdateRevision = "v2"
	r.Status.CanaryStatus.CurrentBatch = current
	return World{Release: r, Workload: &fact.Workload{
		Replicas: replicas, UpdateRevision: "v2", Owner: &metav1.OwnerReference{UID: "br"}, Pods: pods,
	}}
}

// pods returns pods of the new revision with these batch labels ("" for none) of release id.
func pods(id string, batches ...string) []fact.Pod {
	var pods []fact.Pod
	for i, b := range batches {
		labels := map[string]string{"controller-revision-hash": "v2"}
		if b != "" {
			labels[v1beta1.RolloutIDLabel], labels[v1beta1.RolloutBatchIDLabel] = id, b
		}
		name := fmt.Sprintf("web-%02d", i)
		pods = append(pods, fact.Pod{
			Name: name, Updated: true, Revision: "v2",
			Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}},
		})
	}
	return pods
}

// count applies the label writes and counts the pods of each batch, as clients select them.
func count(w World) map[string]int {
	written := map[string]map[string]string{}
	for _, pod := range w.Workload.Pods {
		written[pod.Name] = maps.Clone(pod.Object.GetLabels())
	}
	for _, a := range labels(w, w.Release.Status) {
		if m, ok := a.(plan.Mark); ok {
			maps.Copy(written[m.Object.GetName()], m.Labels)
		}
	}
	got := map[string]int{}
	for _, l := range written {
		if l[v1beta1.RolloutIDLabel] == w.Release.Spec.ReleasePlan.RolloutID && l[v1beta1.RolloutBatchIDLabel] != "" {
			got[l[v1beta1.RolloutBatchIDLabel]]++
		}
	}
	return got
}

func TestPodsAreLabelledBatchByBatch(t *testing.T) {
	t.Parallel()
	fifths := []string{"20%", "40%", "60%", "80%", "100%"}
	cases := map[string]struct {
		world World
		want  map[string]int
	}{
		"first batch":                {releasing("1", 5, 0, pods("1", ""), fifths...), map[string]int{"1": 1}},
		"second batch":               {releasing("1", 5, 1, pods("1", "1", ""), fifths...), map[string]int{"1": 1, "2": 1}},
		"all at once":                {releasing("1", 5, 4, pods("1", "", "", "", "", ""), fifths...), map[string]int{"1": 1, "2": 1, "3": 1, "4": 1, "5": 1}},
		"scaled from 5 to 10":        {releasing("1", 10, 1, pods("1", "1", "2", "", ""), fifths...), map[string]int{"1": 2, "2": 2}},
		"a lost pod's place":         {releasing("1", 5, 2, pods("1", "1", "3", ""), fifths...), map[string]int{"1": 1, "2": 1, "3": 1}},
		"another release's labels":   {releasing("2", 5, 2, pods("1", "1", "2", "3"), fifths...), map[string]int{"1": 1, "2": 1, "3": 1}},
		"a batch that is not in it":  {releasing("1", 5, 0, pods("1", "9"), fifths...), map[string]int{"1": 1}},
		"a batch that is no number":  {releasing("1", 5, 0, pods("1", "x"), fifths...), map[string]int{"1": 1}},
		"more pods than the batch":   {releasing("1", 5, 0, pods("1", "", "", ""), fifths...), map[string]int{"1": 1}},
		"gone back to an early step": {releasing("1", 5, 0, pods("1", "1", "2", "3"), fifths...), map[string]int{"1": 1, "2": 1, "3": 1}},
		"no release id":              {releasing("", 5, 0, pods("", ""), fifths...), map[string]int{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, count(c.world))
		})
	}
}

func TestEveryPodOfADeploymentIsToldItsRevision(t *testing.T) {
	t.Parallel()
	old := fact.Pod{Name: "old", Revision: "v1", Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "old"}}}
	w := releasing("1", 2, 0, append(pods("1", "1"), old), "50%")
	actions := labels(w, w.Release.Status)
	if assert.Len(t, actions, 1) {
		mark, ok := actions[0].(plan.Mark)
		assert.True(t, ok)
		assert.Equal(t, map[string]string{"controller-revision-hash": "v1"}, mark.Labels)
	}
}
