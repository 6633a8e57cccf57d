package conversion

import (
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// hubStatus translates a status; the step that v1beta1 repeats for kubectl get is filled in.
func hubStatus(s v1alpha1.RolloutStatus) v1beta1.RolloutStatus {
	hub := v1beta1.RolloutStatus{
		ObservedGeneration: s.ObservedGeneration,
		Conditions:         each(s.Conditions, hubCondition),
		Phase:              v1beta1.RolloutPhase(s.Phase),
		Message:            s.Message,
	}
	if c := s.CanaryStatus; c != nil {
		hub.CanaryStatus = &v1beta1.CanaryStatus{
			CommonStatus: v1beta1.CommonStatus{
				ObservedWorkloadGeneration: c.ObservedWorkloadGeneration,
				ObservedRolloutID:          c.ObservedRolloutID,
				RolloutHash:                c.RolloutHash,
				StableRevision:             c.StableRevision,
				PodTemplateHash:            c.PodTemplateHash,
				CurrentStepIndex:           c.CurrentStepIndex,
				NextStepIndex:              c.NextStepIndex,
				FinalisingStep:             v1beta1.FinalisingStepType(c.FinalisingStep),
				CurrentStepState:           v1beta1.CanaryStepState(c.CurrentStepState),
				Message:                    c.Message,
				LastUpdateTime:             c.LastUpdateTime,
			},
			CanaryRevision:      c.CanaryRevision,
			CanaryReplicas:      c.CanaryReplicas,
			CanaryReadyReplicas: c.CanaryReadyReplicas,
		}
		hub.CurrentStepIndex = hub.CanaryStatus.CurrentStepIndex
		hub.CurrentStepState = hub.CanaryStatus.CurrentStepState
	}
	return hub
}

func spokeStatus(s v1beta1.RolloutStatus) v1alpha1.RolloutStatus {
	spoke := v1alpha1.RolloutStatus{
		ObservedGeneration: s.ObservedGeneration,
		Conditions:         each(s.Conditions, spokeCondition),
		Phase:              v1alpha1.RolloutPhase(s.Phase),
		Message:            s.Message,
	}
	if c := s.CanaryStatus; c != nil {
		spoke.CanaryStatus = &v1alpha1.CanaryStatus{
			ObservedWorkloadGeneration: c.ObservedWorkloadGeneration,
			ObservedRolloutID:          c.ObservedRolloutID,
			RolloutHash:                c.RolloutHash,
			StableRevision:             c.StableRevision,
			CanaryRevision:             c.CanaryRevision,
			PodTemplateHash:            c.PodTemplateHash,
			CanaryReplicas:             c.CanaryReplicas,
			CanaryReadyReplicas:        c.CanaryReadyReplicas,
			NextStepIndex:              c.NextStepIndex,
			CurrentStepIndex:           c.CurrentStepIndex,
			CurrentStepState:           v1alpha1.CanaryStepState(c.CurrentStepState),
			Message:                    c.Message,
			LastUpdateTime:             c.LastUpdateTime,
			FinalisingStep:             v1alpha1.FinalisingStepType(c.FinalisingStep),
		}
	}
	return spoke
}

func hubCondition(c v1alpha1.RolloutCondition) v1beta1.RolloutCondition {
	return v1beta1.RolloutCondition{
		Type:               v1beta1.RolloutConditionType(c.Type),
		Status:             c.Status,
		LastUpdateTime:     c.LastUpdateTime,
		LastTransitionTime: c.LastTransitionTime,
		Reason:             c.Reason,
		Message:            c.Message,
	}
}

func spokeCondition(c v1beta1.RolloutCondition) v1alpha1.RolloutCondition {
	return v1alpha1.RolloutCondition{
		Type:               v1alpha1.RolloutConditionType(c.Type),
		Status:             c.Status,
		LastUpdateTime:     c.LastUpdateTime,
		LastTransitionTime: c.LastTransitionTime,
		Reason:             c.Reason,
		Message:            c.Message,
	}
}
