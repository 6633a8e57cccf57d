package record

import (
	"cmp"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/revision"
)

// State is what is there at one moment.
type State struct{ objects map[string]client.Object }

// Get returns the object of a type and name, or its zero value (nil) when there is none.
func Get[T client.Object](s State, name string) T {
	var zero T
	for _, o := range s.objects {
		if found, ok := o.(T); ok && o.GetName() == name {
			return found
		}
	}
	return zero
}

// All returns the objects of a type, by name.
func All[T client.Object](s State) []T {
	var found []T
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if o, ok := s.objects[key].(T); ok {
			found = append(found, o)
		}
	}
	return found
}

// Rollout returns the Rollout of a name, nil when there is none.
func (s State) Rollout(name string) *v1beta1.Rollout { return Get[*v1beta1.Rollout](s, name) }

// Deployment returns the Deployment of a name, nil when there is none.
func (s State) Deployment(name string) *appsv1.Deployment { return Get[*appsv1.Deployment](s, name) }

// Sets returns the ReplicaSets that a Deployment controls, oldest first, and which of them is that
// of the current template (nil: none yet).
func (s State) Sets(d *appsv1.Deployment) (all []*appsv1.ReplicaSet, latest *appsv1.ReplicaSet) {
	for _, rs := range All[*appsv1.ReplicaSet](s) {
		if metav1.IsControlledBy(rs, d) {
			all = append(all, rs)
		}
	}
	slices.SortStableFunc(all, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, rs := range all {
		if revision.SameTemplate(&rs.Spec.Template, &d.Spec.Template) {
			return all, rs
		}
	}
	return all, nil
}

// Pods returns the live pods of a ReplicaSet.
func (s State) Pods(rs *appsv1.ReplicaSet) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range All[*corev1.Pod](s) {
		if rs != nil && pod.DeletionTimestamp == nil && metav1.IsControlledBy(pod, rs) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// Counts are the live pods of a Deployment.
type Counts struct{ New, NewReady, Old, OldReady int }

// Count counts the live pods of a Deployment by its current template.
func (s State) Count(d *appsv1.Deployment) Counts {
	var c Counts
	if d == nil {
		return c
	}
	all, latest := s.Sets(d)
	for _, rs := range all {
		for _, pod := range s.Pods(rs) {
			switch isNew, ready := rs == latest, Ready(pod); {
			case isNew && ready:
				c.New++
				c.NewReady++
			case isNew:
				c.New++
			case ready:
				c.Old++
				c.OldReady++
			default:
				c.Old++
			}
		}
	}
	return c
}

// Ready reports whether a pod serves.
func Ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}

func sorted(log []Entry) []Entry {
	return slices.SortedStableFunc(slices.Values(log), func(a, b Entry) int { return cmp.Compare(a.Version, b.Version) })
}
