package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/revision"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/window"
)

// The native controllers as Kubernetes 1.37 has them, reduced to what a release can see.

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// deploymentPass is one sync of the Deployment controller. It reports whether it wrote.
func (c *Cluster) deploymentPass() (bool, error) {
	d, ok := get[*appsv1.Deployment](c, Name)
	if !ok {
		return false, nil
	}
	sets := byAge(c.owned(d))
	latest, old := split(d, sets)
	if latest != nil && (latest.Spec.MinReadySeconds != d.Spec.MinReadySeconds || !copied(d, latest)) {
		return c.syncLatest(d, latest)
	}
	if !d.Spec.Paused && latest == nil {
		return true, c.create(newSet(d, len(sets)))
	}
	write := c.scaling(d, latest, old)
	if write == nil && !d.Spec.Paused {
		write = rolling(d, latest, old)
	}
	if write != nil {
		return true, c.apply(write)
	}
	return c.deploymentStatus(d, latest, sets)
}

func byAge(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	return slices.SortedFunc(slices.Values(sets), func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(revisionOf(a), revisionOf(b)))
	})
}

func split(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) (latest *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) {
	for _, rs := range sets {
		if latest == nil && revision.SameTemplate(&rs.Spec.Template, &d.Spec.Template) {
			latest = rs
			continue
		}
		old = append(old, rs)
	}
	return latest, old
}

func copied(d *appsv1.Deployment, rs *appsv1.ReplicaSet) bool {
	for k, v := range d.Annotations {
		if rs.Annotations[k] != v {
			return false
		}
	}
	return true
}

func (c *Cluster) syncLatest(d *appsv1.Deployment, latest *appsv1.ReplicaSet) (bool, error) {
	after := latest.DeepCopy()
	after.Spec.MinReadySeconds = d.Spec.MinReadySeconds
	maps.Copy(after.Annotations, d.Annotations)
	return true, c.replace(latest, after)
}

func revisionOf(rs *appsv1.ReplicaSet) int {
	n, _ := strconv.Atoi(rs.Annotations["deployment.kubernetes.io/revision"]) // absent is 0
	return n
}

func newSet(d *appsv1.Deployment, n int) *appsv1.ReplicaSet {
	hash := revision.Hash(&d.Spec.Template, nil)
	rs := &appsv1.ReplicaSet{}
	rs.Name = d.Name + "-" + hash
	rs.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash}
	rs.Annotations = map[string]string{"deployment.kubernetes.io/revision": strconv.Itoa(n + 1)}
	maps.Copy(rs.Annotations, d.Annotations)
	rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	rs.Spec.Template = *d.Spec.Template.DeepCopy()
	rs.Spec.Template.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash}
	maps.Copy(rs.Spec.Template.Labels, d.Spec.Template.Labels)
	rs.Spec.MinReadySeconds = d.Spec.MinReadySeconds
	rs.Spec.Replicas = new(int32)
	desire(d, rs)
	return rs
}

func desire(d *appsv1.Deployment, rs *appsv1.ReplicaSet) {
	rs.Annotations["deployment.kubernetes.io/desired-replicas"] = strconv.Itoa(int(*d.Spec.Replicas))
	rs.Annotations["deployment.kubernetes.io/max-replicas"] = strconv.Itoa(int(*d.Spec.Replicas + limits(d).Surge))
}

func limits(d *appsv1.Deployment) window.Limits {
	u := d.Spec.Strategy.RollingUpdate
	return window.Resolve(u.MaxSurge, u.MaxUnavailable, *d.Spec.Replicas)
}

func scaled(d *appsv1.Deployment, rs *appsv1.ReplicaSet, n int32) plan.Action {
	after := rs.DeepCopy()
	after.Spec.Replicas = new(n)
	desire(d, after)
	return plan.Edit{Before: rs, After: after}
}

// scaling shares a change of spec.replicas out, or what a paused Deployment lacks of its surge.
func (c *Cluster) scaling(d *appsv1.Deployment, latest *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) plan.Action {
	sets := slices.DeleteFunc(append(slices.Clone(old), latest), func(rs *appsv1.ReplicaSet) bool { return rs == nil || *rs.Spec.Replicas == 0 })
	due := d.Spec.Paused
	for _, rs := range sets {
		due = due || rs.Annotations["deployment.kubernetes.io/desired-replicas"] != strconv.Itoa(int(*d.Spec.Replicas))
	}
	if !due {
		return nil
	}
	if len(sets) <= 1 {
		return scaleOnly(d, sets, latest, old)
	}
	total := int32(0)
	for _, rs := range sets {
		total += *rs.Spec.Replicas
	}
	missing := *d.Spec.Replicas + limits(d).Surge - total
	if *d.Spec.Replicas == 0 {
		missing = -total
	}
	return share(d, sets, missing)
}

func scaleOnly(d *appsv1.Deployment, sets []*appsv1.ReplicaSet, latest *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) plan.Action {
	var only *appsv1.ReplicaSet
	switch {
	case len(sets) == 1:
		only = sets[0]
	case latest != nil:
		only = latest
	case len(old) > 0:
		only = old[len(old)-1]
	}
	if only == nil || *only.Spec.Replicas == *d.Spec.Replicas {
		return nil
	}
	return scaled(d, only, *d.Spec.Replicas)
}

// share gives each ReplicaSet its proportion, the rest to the largest; one write a pass.
func share(d *appsv1.Deployment, sets []*appsv1.ReplicaSet, missing int32) plan.Action {
	slices.SortStableFunc(sets, func(a, b *appsv1.ReplicaSet) int {
		order := cmp.Compare(revisionOf(b), revisionOf(a))
		if missing < 0 {
			order = -order
		}
		return cmp.Or(cmp.Compare(*b.Spec.Replicas, *a.Spec.Replicas), order)
	})
	sizes, added := make([]int32, len(sets)), int32(0)
	for i, rs := range sets {
		before, _ := strconv.Atoi(rs.Annotations["deployment.kubernetes.io/max-replicas"]) // written by desire
		fraction := (float64(*rs.Spec.Replicas)*float64(*d.Spec.Replicas+limits(d).Surge))/float64(max(before, 1)) - float64(*rs.Spec.Replicas)
		portion := int32(fraction + 0.5)
		if fraction < 0 {
			portion = int32(fraction - 0.5)
		}
		if missing > 0 {
			portion = max(0, min(portion, missing-added))
		} else {
			portion = min(0, max(portion, missing-added))
		}
		sizes[i], added = *rs.Spec.Replicas+portion, added+portion
	}
	sizes[0] = max(0, sizes[0]+missing-added)
	for i, rs := range sets {
		if sizes[i] != *rs.Spec.Replicas || rs.Annotations["deployment.kubernetes.io/desired-replicas"] != strconv.Itoa(int(*d.Spec.Replicas)) {
			return scaled(d, rs, sizes[i])
		}
	}
	return nil
}

// rolling is one step of a rolling update.
func rolling(d *appsv1.Deployment, latest *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) plan.Action {
	l, wanted := limits(d), *d.Spec.Replicas
	total, available := *latest.Spec.Replicas, latest.Status.AvailableReplicas
	for _, rs := range old {
		total += *rs.Spec.Replicas
		available += rs.Status.AvailableReplicas
	}
	if n := *latest.Spec.Replicas; n > wanted || n < wanted && total < wanted+l.Surge {
		return scaled(d, latest, min(wanted, n+max(0, wanted+l.Surge-total)))
	}
	takeable := total - (wanted - l.Unavailable) - (*latest.Spec.Replicas - latest.Status.AvailableReplicas)
	if takeable <= 0 {
		return nil
	}
	for _, rs := range old {
		if sick := *rs.Spec.Replicas - rs.Status.AvailableReplicas; sick > 0 {
			return scaled(d, rs, *rs.Spec.Replicas-min(sick, takeable))
		}
	}
	spare := available - (wanted - l.Unavailable)
	for _, rs := range old {
		if *rs.Spec.Replicas > 0 && spare > 0 {
			return scaled(d, rs, *rs.Spec.Replicas-min(*rs.Spec.Replicas, spare))
		}
	}
	return nil
}

func (c *Cluster) deploymentStatus(d *appsv1.Deployment, latest *appsv1.ReplicaSet, sets []*appsv1.ReplicaSet) (bool, error) {
	after := d.DeepCopy()
	s := appsv1.DeploymentStatus{ObservedGeneration: d.Generation}
	wanted := int32(0)
	for _, rs := range sets {
		s.Replicas += rs.Status.Replicas
		s.ReadyReplicas += rs.Status.ReadyReplicas
		s.AvailableReplicas += rs.Status.AvailableReplicas
		wanted += *rs.Spec.Replicas
	}
	s.UnavailableReplicas = max(0, wanted-s.AvailableReplicas)
	if latest != nil {
		s.UpdatedReplicas = latest.Status.Replicas
	}
	after.Status = s
	return after.Status.String() != d.Status.String(), c.replace(d, after)
}

// replicaSetPass is one sync of every ReplicaSet.
func (c *Cluster) replicaSetPass() (bool, error) {
	for _, rs := range list[*appsv1.ReplicaSet](c) {
		pods := c.podsOf(rs)
		switch n := int(*rs.Spec.Replicas) - len(pods); {
		case n > 0:
			return true, c.create(newPod(rs, c.version))
		case n < 0:
			slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(rank(a), rank(b)) })
			return true, c.drop(pods[0])
		}
		after := rs.DeepCopy()
		after.Status = appsv1.ReplicaSetStatus{ObservedGeneration: rs.Generation, Replicas: int32(len(pods))} //nolint:gosec // few
		for _, pod := range pods {
			if ready(pod) {
				after.Status.ReadyReplicas++
				since := pod.Status.Conditions[0].LastTransitionTime.Time
				if c.Now.Sub(since).Seconds() >= float64(rs.Spec.MinReadySeconds) {
					after.Status.AvailableReplicas++
				}
			}
		}
		if after.Status.String() != rs.Status.String() {
			return true, c.replace(rs, after)
		}
	}
	return false, nil
}

func rank(pod *corev1.Pod) int {
	if ready(pod) {
		return 1
	}
	return 0
}

func newPod(rs *appsv1.ReplicaSet, n int) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Name = fmt.Sprintf("%s-%05d", rs.Name, n)
	pod.Labels = maps.Clone(rs.Spec.Template.Labels)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	pod.Spec = *rs.Spec.Template.Spec.DeepCopy()
	return pod
}

func ready(pod *corev1.Pod) bool {
	return len(pod.Status.Conditions) > 0 && pod.Status.Conditions[0].Status == corev1.ConditionTrue
}

// kubeletPass makes one pod ready; those whose image says failed never are.
func (c *Cluster) kubeletPass() (bool, error) {
	for _, pod := range list[*corev1.Pod](c) {
		if ready(pod) || strings.Contains(pod.Spec.Containers[0].Image, "failed") {
			continue
		}
		after := pod.DeepCopy()
		after.Status.Phase = corev1.PodRunning
		after.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(c.Now)}}
		return true, c.replace(pod, after)
	}
	return false, nil
}
