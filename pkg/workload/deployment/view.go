package deployment

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/revision"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/window"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload/driver"
)

// Keys that the native Deployment controller writes to ReplicaSets.
const (
	nativeRevision    = "deployment.kubernetes.io/revision"
	nativeDesired     = "deployment.kubernetes.io/desired-replicas"
	nativeMaxReplicas = "deployment.kubernetes.io/max-replicas"
)

// view is a Deployment with what belongs to it, sorted into what a release asks about.
type view struct {
	d *appsv1.Deployment
	// latest is the ReplicaSet of the current template, nil until the native controller makes it.
	latest *appsv1.ReplicaSet
	// others are all other ReplicaSets, oldest first.
	others []*appsv1.ReplicaSet
	pods   []*corev1.Pod
	now    time.Time

	strategy *v1beta1.DeploymentStrategy         // nil: not claimed
	original *v1beta1.OriginalDeploymentStrategy // nil: not held
	owner    *metav1.OwnerReference              // nil: not claimed
}

func look(o driver.Objects) (view, error) {
	d, ok := o.Workload.(*appsv1.Deployment)
	if !ok {
		return view{}, fmt.Errorf("reading the workload: %T is not a Deployment", o.Workload)
	}
	v := view{d: d, pods: o.Pods, now: o.Now}
	for _, rs := range byAge(o.ReplicaSets) {
		if v.latest == nil && revision.SameTemplate(&rs.Spec.Template, &d.Spec.Template) {
			v.latest = rs
			continue
		}
		v.others = append(v.others, rs)
	}
	return v, v.decode()
}

// decode reads what earlier passes wrote to the Deployment.
func (v *view) decode() error {
	for key, into := range map[string]any{
		v1beta1.DeploymentStrategyAnnotation:         &v.strategy,
		v1beta1.OriginalDeploymentStrategyAnnotation: &v.original,
		v1beta1.ControlInfoAnnotation:                &v.owner,
	} {
		text := v.d.Annotations[key]
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), into); err != nil {
			return fmt.Errorf("annotation %s of Deployment %s/%s is not the JSON it was written as (restore or delete it): %w",
				key, v.d.Namespace, v.d.Name, err)
		}
	}
	return nil
}

// byAge sorts oldest first, as the native controller does to tell which ReplicaSet is the current
// template's.
func byAge(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	return slices.SortedFunc(slices.Values(sets), func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

func (v view) sets() []*appsv1.ReplicaSet {
	if v.latest == nil {
		return v.others
	}
	return append(slices.Clone(v.others), v.latest)
}

func active(rs *appsv1.ReplicaSet) bool { return rs.DeletionTimestamp == nil && wants(rs) > 0 }

func wants(rs *appsv1.ReplicaSet) int32 {
	if rs == nil || rs.Spec.Replicas == nil {
		return 0
	}
	return *rs.Spec.Replicas
}

func (v view) replicas() int32 {
	if v.d.Spec.Replicas == nil {
		return 1
	}
	return *v.d.Spec.Replicas
}

func (v view) old() int32 {
	n := int32(0)
	for _, rs := range v.others {
		n += wants(rs)
	}
	return n
}

// counts returns what the window is computed from.
func (v view) counts(target int32) window.Pods {
	available, _ := v.available()
	return window.Pods{
		Wanted:    v.replicas(),
		Target:    target,
		New:       wants(v.latest),
		Old:       v.old(),
		Available: min(available, wants(v.latest)),
	}
}

// available counts the new pods that are available by the user's own minReadySeconds, and tells
// when the next one will be (zero: only a change can tell). The native controller can't: it works
// with the endless value.
func (v view) available() (n int32, again time.Duration) {
	wait := time.Duration(v.userMinReadySeconds()) * time.Second
	for _, pod := range v.podsOf(v.latest) {
		since, ready := readySince(pod)
		if !ready {
			continue
		}
		left := wait - v.now.Sub(since)
		switch {
		case wait == 0 || left <= 0:
			n++
		case again == 0 || left < again:
			again = left
		}
	}
	return n, again
}

func readySince(pod *corev1.Pod) (time.Time, bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

// podsOf returns the live pods of a ReplicaSet.
func (v view) podsOf(rs *appsv1.ReplicaSet) []*corev1.Pod {
	if rs == nil {
		return nil
	}
	var pods []*corev1.Pod
	for _, pod := range v.pods {
		if alive(pod) && metav1.IsControlledBy(pod, rs) {
			pods = append(pods, pod)
		}
	}
	return pods
}

func alive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// stable returns the ReplicaSet that served before the release: the one that was named when the
// change was caught, else the one of the lowest revision that still has pods, else the current one.
func (v view) stable() *appsv1.ReplicaSet {
	if hash := v.d.Labels[v1beta1.StableRevisionLabel]; hash != "" {
		for _, rs := range v.sets() {
			if templateHash(rs) == hash {
				return rs
			}
		}
	}
	if rs := lowestRevision(v.others); rs != nil {
		return rs
	}
	return v.latest
}

// lowestRevision returns the ReplicaSet with pods that has the smallest revision number.
func lowestRevision(sets []*appsv1.ReplicaSet) *appsv1.ReplicaSet {
	var lowest *appsv1.ReplicaSet
	for _, rs := range sets {
		if active(rs) && (lowest == nil || revisionNumber(rs) < revisionNumber(lowest)) {
			lowest = rs
		}
	}
	return lowest
}

func revisionNumber(rs *appsv1.ReplicaSet) int64 {
	n, err := strconv.ParseInt(rs.Annotations[nativeRevision], 10, 64)
	if err != nil {
		return 0 // not numbered yet: the native controller is about to
	}
	return n
}

func templateHash(rs *appsv1.ReplicaSet) string {
	if rs == nil {
		return ""
	}
	return rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}
