package batch

import (
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/fact"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/share"
)

// labelled counts the pods that carry this release's labels; every pod counts where there is no
// rollout-id to label with.
func labelled(w World) int32 {
	id := w.Release.Spec.ReleasePlan.RolloutID
	n := int32(0)
	for _, pod := range w.Workload.Pods {
		if pod.Updated && (id == "" || batchOf(w, pod) >= 0) {
			n++
		}
	}
	return n
}

// batchOf returns the 0-based batch that a pod is labelled with in this release, or -1.
func batchOf(w World, pod fact.Pod) int {
	labels := pod.Object.GetLabels()
	n, err := strconv.Atoi(labels[v1beta1.RolloutBatchIDLabel])
	if err != nil || labels[v1beta1.RolloutIDLabel] != w.Release.Spec.ReleasePlan.RolloutID || n < 1 || n > len(batches(w)) {
		return -1
	}
	return n - 1
}

// labels returns the writes that tell each updated pod its release and batch, and each pod of a
// Deployment its revision. Unlabelled pods are taken from the end of the list and fill the batches
// from the latest back, so that a batch grown by scaling gets its share too.
func labels(w World, s v1beta1.BatchReleaseStatus) []plan.Action {
	if s.Phase != v1beta1.RolloutPhaseProgressing || w.Release.Spec.ReleasePlan.RolloutID == "" ||
		!w.Workload.OwnedBy(w.Release.UID) || !sameRevision(w, s) {
		return nil
	}
	room := w.room(s.CanaryStatus.CurrentBatch)
	var actions []plan.Action
	for _, pod := range slices.Backward(w.Workload.Pods) {
		batch := -1
		if pod.Updated && batchOf(w, pod) < 0 {
			batch = take(room)
		}
		if mark, needed := label(w, pod, batch); needed {
			actions = append(actions, mark)
		}
	}
	return actions
}

// room returns how many more pods each batch up to the current one is to have.
func (w World) room(current int32) []int32 {
	room := make([]int32, current+1)
	before := int32(0)
	for k := range room {
		planned := share.Pods(batches(w)[k].CanaryReplicas, w.Workload.Replicas)
		room[k], before = planned-before, planned
	}
	for _, pod := range w.Workload.Pods {
		if k := batchOf(w, pod); pod.Updated && k >= 0 && k < len(room) {
			room[k]--
		}
	}
	return room
}

// take gives out a place in the latest batch that has one; -1 when all are full.
func take(room []int32) int {
	for k := len(room) - 1; k >= 0; k-- {
		if room[k] > 0 {
			room[k]--
			return k
		}
	}
	return -1
}

func label(w World, pod fact.Pod, batch int) (mark plan.Mark, needed bool) {
	mark = plan.Mark{Object: pod.Object, Labels: map[string]string{}}
	if pod.Revision != "" && pod.Object.GetLabels()[appsv1.ControllerRevisionHashLabelKey] == "" {
		mark.Labels[appsv1.ControllerRevisionHashLabelKey] = pod.Revision
	}
	if batch >= 0 {
		mark.Labels[v1beta1.RolloutIDLabel] = w.Release.Spec.ReleasePlan.RolloutID
		mark.Labels[v1beta1.RolloutBatchIDLabel] = strconv.Itoa(batch + 1)
	}
	return mark, len(mark.Labels) > 0
}
