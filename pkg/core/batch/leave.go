package batch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/share"
)

// leave moves the status on as far as the workload lets it. It is asked only when the driver needs
// no more writes.
func leave(w World, s v1beta1.BatchReleaseStatus) v1beta1.BatchReleaseStatus {
	switch s.Phase {
	case v1beta1.RolloutPhasePreparing:
		return claimed(w, s)
	case v1beta1.RolloutPhaseProgressing:
		return advanced(w, s)
	case v1beta1.RolloutPhaseFinalizing:
		// What is given back counts once the workload's own controller has seen it.
		if w.Workload == nil || w.Workload.Fresh {
			s.Phase = v1beta1.RolloutPhaseCompleted
		}
		return s
	default:
		return s
	}
}

func claimed(w World, s v1beta1.BatchReleaseStatus) v1beta1.BatchReleaseStatus {
	if w.Workload == nil || !w.Workload.Fresh || !w.Workload.OwnedBy(w.Release.UID) || len(batches(w)) == 0 {
		return s
	}
	s.Phase = v1beta1.RolloutPhaseProgressing
	s.StableRevision = w.Workload.StableRevision
	s.UpdateRevision = w.Workload.UpdateRevision
	s.PodTemplateHash = w.Workload.PodTemplateHash
	s.ObservedWorkloadReplicas = w.Workload.Replicas
	s.CanaryStatus.CurrentBatch = 0
	upgradeAgain(&s)
	return s
}

// advanced passes Upgrading and Verifying in one go when the pods are there and ready already.
func advanced(w World, s v1beta1.BatchReleaseStatus) v1beta1.BatchReleaseStatus {
	if w.Workload == nil || !w.Workload.Fresh || !w.Workload.OwnedBy(w.Release.UID) || !sameRevision(w, s) {
		return s
	}
	current := s.CanaryStatus.CurrentBatch
	switch {
	case ready(w, s):
		if s.CanaryStatus.CurrentBatchState != v1beta1.ReadyBatchState {
			s.CanaryStatus.CurrentBatchState = v1beta1.ReadyBatchState
			s.CanaryStatus.BatchReadyTime = new(metav1.NewTime(w.Now))
		} else if *w.Release.Spec.ReleasePlan.BatchPartition > current && int(current)+1 < len(batches(w)) {
			s.CanaryStatus.CurrentBatch++
			upgradeAgain(&s)
		}
	case w.Workload.Updated >= desired(w, current) && s.CanaryStatus.CurrentBatchState != v1beta1.ReadyBatchState:
		s.CanaryStatus.CurrentBatchState = v1beta1.VerifyingBatchState
	default:
		upgradeAgain(&s)
	}
	return s
}

// desired is how many updated pods batch k asks for.
func desired(w World, k int32) int32 {
	size := batches(w)[k].CanaryReplicas
	if w.Workload.KeepsOne {
		return share.KeepingOne(size, w.Workload.Replicas)
	}
	return share.Pods(size, w.Workload.Replicas)
}

// ready reports whether the current batch is complete: pods updated, ready up to the threshold of
// failures, labelled, and nothing in flight.
func ready(w World, s v1beta1.BatchReleaseStatus) bool {
	if w.Workload.Replicas == 0 {
		return true
	}
	want := desired(w, s.CanaryStatus.CurrentBatch)
	tolerated := share.Tolerated(w.Release.Spec.ReleasePlan.FailureThreshold, w.Workload.Updated)
	return !w.Workload.Moving &&
		w.Workload.Updated >= want &&
		w.Workload.UpdatedReady+tolerated >= want &&
		(want == 0 || w.Workload.UpdatedReady > 0) &&
		labelled(w) >= want
}
