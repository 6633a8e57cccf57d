package batch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// unknownReplicas is observedWorkloadReplicas before the workload was seen.
const unknownReplicas = -1

// syncRule adapts a status to what has changed since it was written. The first rule that applies
// ends the list.
type syncRule struct {
	name    string
	applies func(World, v1beta1.BatchReleaseStatus) bool
	adapt   func(World, *v1beta1.BatchReleaseStatus)
}

var syncRules = []syncRule{
	{"completed releases stay completed", completed, keep},
	{"let go when deleted or told to finish", ending, finalize},
	{"begin", beginning, begin},
	{"let go of a workload that is gone", gone, finalize},
	{"a plan with fewer batches starts over", planShrunk, startOver},
	{"a changed plan", planChanged, takeUpPlan},
	{"a scaled workload", scaled, takeUpScale},
}

// synced returns the status as the present spec and workload make it, before any move.
func synced(w World) v1beta1.BatchReleaseStatus {
	status := *w.Release.Status.DeepCopy()
	status.ObservedGeneration = w.Release.Generation
	for _, rule := range syncRules {
		if rule.applies(w, status) {
			rule.adapt(w, &status)
			break
		}
	}
	if status.ObservedReleasePlanHash == "" {
		status.ObservedReleasePlanHash = PlanHash(w.Release.Spec.ReleasePlan)
		status.ObservedRolloutID = w.Release.Spec.ReleasePlan.RolloutID
	}
	if w.Workload != nil && status.Phase == v1beta1.RolloutPhaseProgressing && sameRevision(w, status) {
		status.CanaryStatus.UpdatedReplicas = w.Workload.Updated
		status.CanaryStatus.UpdatedReadyReplicas = w.Workload.UpdatedReady
		status.UpdateRevision = w.Workload.UpdateRevision
		if w.Workload.PodTemplateHash != "" {
			status.PodTemplateHash = w.Workload.PodTemplateHash
		}
	}
	return status
}

func completed(_ World, s v1beta1.BatchReleaseStatus) bool {
	return s.Phase == v1beta1.RolloutPhaseCompleted
}
func keep(World, *v1beta1.BatchReleaseStatus) {}

func ending(w World, s v1beta1.BatchReleaseStatus) bool {
	return w.Release.DeletionTimestamp != nil || s.Phase == v1beta1.RolloutPhaseFinalizing ||
		w.Release.Spec.ReleasePlan.BatchPartition == nil
}

func finalize(_ World, s *v1beta1.BatchReleaseStatus) { s.Phase = v1beta1.RolloutPhaseFinalizing }

func beginning(_ World, s v1beta1.BatchReleaseStatus) bool {
	return s.Phase != v1beta1.RolloutPhaseProgressing && s.Phase != v1beta1.RolloutPhasePreparing
}

func begin(_ World, s *v1beta1.BatchReleaseStatus) {
	s.Phase = v1beta1.RolloutPhasePreparing
	s.ObservedWorkloadReplicas = unknownReplicas
}

func gone(w World, _ v1beta1.BatchReleaseStatus) bool {
	return w.Workload == nil && w.Unsupported == ""
}

func progressing(s v1beta1.BatchReleaseStatus) bool {
	return s.Phase == v1beta1.RolloutPhaseProgressing
}

// planShrunk also holds for an index that nobody should have stored: statuses can be written by
// users.
func planShrunk(w World, s v1beta1.BatchReleaseStatus) bool {
	current := int(s.CanaryStatus.CurrentBatch)
	return progressing(s) && (current >= len(batches(w)) || current < 0)
}

func startOver(_ World, s *v1beta1.BatchReleaseStatus) {
	*s = v1beta1.BatchReleaseStatus{
		Phase:                    v1beta1.RolloutPhasePreparing,
		ObservedGeneration:       s.ObservedGeneration,
		ObservedWorkloadReplicas: unknownReplicas,
	}
}

func planChanged(w World, s v1beta1.BatchReleaseStatus) bool {
	return progressing(s) && s.ObservedReleasePlanHash != "" && s.ObservedReleasePlanHash != PlanHash(w.Release.Spec.ReleasePlan)
}

// takeUpPlan goes to the batch that the plan allows; a new rollout-id labels from the first one on.
func takeUpPlan(w World, s *v1beta1.BatchReleaseStatus) {
	plan := w.Release.Spec.ReleasePlan
	current := int32(0)
	if plan.RolloutID == s.ObservedRolloutID {
		last := int32(len(plan.Batches)) - 1 //nolint:gosec // the API server admits at most thousands
		current = max(0, min(*plan.BatchPartition, last))
	}
	s.CanaryStatus.CurrentBatch = current
	s.ObservedRolloutID = plan.RolloutID
	s.ObservedReleasePlanHash = PlanHash(plan)
	upgradeAgain(s)
}

func scaled(w World, s v1beta1.BatchReleaseStatus) bool {
	return progressing(s) && w.Workload != nil && w.Workload.Replicas != s.ObservedWorkloadReplicas
}

func takeUpScale(w World, s *v1beta1.BatchReleaseStatus) {
	s.ObservedWorkloadReplicas = w.Workload.Replicas
	upgradeAgain(s)
}

func upgradeAgain(s *v1beta1.BatchReleaseStatus) {
	s.CanaryStatus.CurrentBatchState = v1beta1.UpgradingBatchState
	s.CanaryStatus.BatchReadyTime = nil
}

// PlanHash names a release plan: SHA-256 of its JSON. The plan is read as changed when it differs.
func PlanHash(p v1beta1.ReleasePlan) string {
	text, err := json.Marshal(p)
	if err != nil {
		return "" // a struct of strings and numbers always marshals
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
