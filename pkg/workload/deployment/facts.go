package deployment

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/fact"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/revision"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload/driver"
)

// Facts tells what a release must know of the Deployment.
func (Partition) Facts(o driver.Objects) (fact.Workload, error) {
	v, err := look(o)
	if err != nil {
		return fact.Workload{}, err
	}
	_, caught := v.d.Annotations[v1beta1.InProgressingAnnotation]
	stable := v.d.Labels[v1beta1.StableRevisionLabel]
	w := fact.Workload{
		Fresh:           v.d.Status.ObservedGeneration >= v.d.Generation,
		Generation:      v.d.Generation,
		Replicas:        v.replicas(),
		Moving:          v.moving(),
		KeepsOne:        true,
		StableRevision:  cmp.Or(stable, templateHash(v.stable())),
		UpdateRevision:  revision.Hash(&v.d.Spec.Template, nil),
		PodTemplateHash: templateHash(v.latest),
		InProgress:      caught,
		RolledBack:      caught && stable != "" && stable == templateHash(v.latest),
		Held:            v.traces(),
		Frozen:          v.strategy != nil && v.strategy.Paused || v.peersState(),
		Owner:           v.owner,
		RolloutID:       cmp.Or(v.d.Labels[v1beta1.RolloutIDLabel], v.d.Annotations[v1beta1.RolloutIDLabel]),
		Pods:            v.podFacts(),
		Obstacle:        v.obstacle(),
		Again:           v.again(),
	}
	if v.latest != nil {
		w.Updated = v.latest.Status.Replicas
		w.UpdatedReady = v.latest.Status.ReadyReplicas
	}
	return w, nil
}

// moving reports whether the native controller is at work on a window, has left something that is
// not settled yet, or will be let go on by time alone: ready pods are getting available. An armed
// Deployment that only waits for pods to get ready is not moving.
func (v view) moving() bool {
	settled, _ := v.settled()
	_, ripening := v.available()
	return gateOf(v.d) == open || gateOf(v.d) == armed && (!settled || ripening > 0)
}

// podFacts lists the live pods by name, so that labels are given out in the same order each time.
func (v view) podFacts() []fact.Pod {
	var pods []fact.Pod
	for _, rs := range v.sets() {
		hash := v.revisionOf(rs)
		for _, pod := range v.podsOf(rs) {
			_, ready := readySince(pod)
			pods = append(pods, fact.Pod{
				Name:     pod.Name,
				Object:   pod,
				Revision: hash,
				Updated:  rs == v.latest,
				Ready:    ready,
			})
		}
	}
	slices.SortFunc(pods, func(a, b fact.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}

// revisionOf names a ReplicaSet's revision as the Deployment names its own: without the
// pod-template-hash that the native controller adds, unless the user's template carries one.
func (v view) revisionOf(rs *appsv1.ReplicaSet) string {
	template := rs.Spec.Template.DeepCopy()
	own, found := v.d.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	if found {
		metav1.SetMetaDataLabel(&template.ObjectMeta, appsv1.DefaultDeploymentUniqueLabelKey, own)
	} else {
		delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	}
	return revision.Hash(template, nil)
}
