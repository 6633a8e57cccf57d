package conversion

import (
	"context"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// rolloutToSpoke shows a stored Rollout to a client of v1alpha1.
func rolloutToSpoke(_ context.Context, hub *v1beta1.Rollout, spoke *v1alpha1.Rollout) error {
	hub = hub.DeepCopy()
	only := take[rolloutSpokeOnly](hub, v1beta1.SpokeDataAnnotation)
	drop(hub, v1beta1.HubDataAnnotation)

	shownRollout := spokeRollout(hub)
	only.restore(shownRollout)
	keep(shownRollout, v1beta1.HubDataAnnotation, rolloutHubOnlyOf(hub, shownRollout))

	shownRollout.TypeMeta = spoke.TypeMeta
	*spoke = *shownRollout
	return nil
}

// rolloutToHub takes what a client of v1alpha1 wrote, or the API server merged into it.
func rolloutToHub(_ context.Context, spoke *v1alpha1.Rollout, hub *v1beta1.Rollout) error {
	spoke = spoke.DeepCopy()
	only := take[rolloutHubOnly](spoke, v1beta1.HubDataAnnotation)
	drop(spoke, v1beta1.SpokeDataAnnotation)

	stored := hubRollout(spoke)
	only.restore(stored, spoke)
	keep(stored, v1beta1.SpokeDataAnnotation, rolloutSpokeOnlyOf(spoke, stored))

	stored.TypeMeta = hub.TypeMeta
	*hub = *stored
	return nil
}

// rolloutSpokeOnly is what v1beta1 has no field for.
type rolloutSpokeOnly struct {
	RolloutID string `json:"rolloutID,omitempty"`
	// ImpliedReplicas are the steps, from 0, whose replicas were not given: they follow from weight.
	ImpliedReplicas []int `json:"impliedReplicas,omitempty"`
	// ImpliedPauses are the steps, from 0, whose pause was not given: v1beta1 always has one. Without
	// it every apply of a v1alpha1 manifest would find, and write, a difference.
	ImpliedPauses []int `json:"impliedPauses,omitempty"`
}

func rolloutSpokeOnlyOf(spoke *v1alpha1.Rollout, hub *v1beta1.Rollout) rolloutSpokeOnly {
	only := rolloutSpokeOnly{RolloutID: spoke.Spec.DeprecatedRolloutID}
	if spoke.Spec.Strategy.Canary == nil || hub.Spec.Strategy.Canary == nil {
		return only
	}
	for i, step := range spoke.Spec.Strategy.Canary.Steps {
		if step.Replicas == nil && hub.Spec.Strategy.Canary.Steps[i].Replicas != nil {
			only.ImpliedReplicas = append(only.ImpliedReplicas, i)
		}
		if step.Pause == nil {
			only.ImpliedPauses = append(only.ImpliedPauses, i)
		}
	}
	return only
}

// restore brings it back. What is implied anyway can be left out without harm, so it does not matter
// that steps may have moved.
func (o rolloutSpokeOnly) restore(spoke *v1alpha1.Rollout) {
	spoke.Spec.DeprecatedRolloutID = o.RolloutID
	if spoke.Spec.Strategy.Canary == nil {
		return
	}
	steps := spoke.Spec.Strategy.Canary.Steps
	omit(steps, o.ImpliedReplicas, func(s *v1alpha1.CanaryStep) { s.Replicas = nil })
	omit(steps, o.ImpliedPauses, func(s *v1alpha1.CanaryStep) { s.Pause = nil })
}

// omit clears something of some steps where that makes no difference.
func omit(steps []v1alpha1.CanaryStep, which []int, cut func(*v1alpha1.CanaryStep)) {
	for _, i := range which {
		if i < 0 || i >= len(steps) {
			continue
		}
		without := steps[i]
		cut(&without)
		if same(hubStep(without), hubStep(steps[i])) {
			steps[i] = without
		}
	}
}

// rolloutHubOnly is what v1alpha1 has no field for. A spec or status is there as a whole, so that
// it can be told what the client saw of it.
type rolloutHubOnly struct {
	Annotations annotations            `json:"annotations,omitempty"`
	Spec        *v1beta1.RolloutSpec   `json:"spec,omitempty"`
	Status      *v1beta1.RolloutStatus `json:"status,omitempty"`
}

func rolloutHubOnlyOf(hub *v1beta1.Rollout, spoke *v1alpha1.Rollout) rolloutHubOnly {
	back := hubRollout(spoke)
	only := rolloutHubOnly{Annotations: hidden(hub, shown(hub))}
	if !same(back.Spec, hub.Spec) {
		only.Spec = &hub.Spec
	}
	if !same(back.Status, hub.Status) {
		only.Status = &hub.Status
	}
	return only
}

func (o rolloutHubOnly) restore(hub *v1beta1.Rollout, now *v1alpha1.Rollout) {
	was := &v1beta1.Rollout{}
	if o.Spec != nil {
		was.Spec = *o.Spec
	}
	if o.Status != nil {
		was.Status = *o.Status
	}
	seen := spokeRollout(was)
	if o.Spec != nil {
		restoreSpec(&hub.Spec, *o.Spec, now.Spec, seen.Spec)
		restoreRoutingRef(hub, was, now)
	}
	if o.Status != nil {
		restoreStatus(&hub.Status, *o.Status, now.Status, seen.Status)
	}
	o.Annotations.restore(hub, shown(hub))
}

func restoreSpec(hub *v1beta1.RolloutSpec, was v1beta1.RolloutSpec, now, seen v1alpha1.RolloutSpec) {
	if same(now.ObjectRef, seen.ObjectRef) {
		hub.WorkloadRef = was.WorkloadRef
	}
	if now.Disabled == seen.Disabled {
		hub.Disabled = was.Disabled
	}
	if now.Strategy.Paused == seen.Strategy.Paused {
		hub.Strategy.Paused = was.Strategy.Paused
	}
	if (now.Strategy.Canary == nil) != (seen.Strategy.Canary == nil) {
		return // another strategy was chosen
	}
	hub.Strategy.BlueGreen = was.Strategy.BlueGreen
	if hub.Strategy.Canary != nil {
		hub.Strategy.Canary.Steps = restoreSteps(was.Strategy.Canary.Steps, now.Strategy.Canary.Steps)
	}
}

// restoreRoutingRef keeps the field empty if it was and the annotation was the user's own: v1alpha1
// shows both alike.
func restoreRoutingRef(hub, was *v1beta1.Rollout, now *v1alpha1.Rollout) {
	if hub.Spec.Strategy.Canary == nil || was.Spec.Strategy.Canary == nil {
		return
	}
	if name := was.Spec.Strategy.Canary.TrafficRoutingRef; name == "" || name == now.Annotations[v1beta1.TrafficRoutingAnnotation] {
		hub.Spec.Strategy.Canary.TrafficRoutingRef = name
	}
}

// restoreSteps gives every step what v1alpha1 did not show of it. A step is known by what was
// shown; one that was edited by its place, and then only what was not edited is taken over.
func restoreSteps(was []v1beta1.CanaryStep, now []v1alpha1.CanaryStep) []v1beta1.CanaryStep {
	steps := each(now, hubStep)
	for i, j := range pair(each(now, shownStep), each(was, spokeStep)) {
		if j < 0 && i < len(was) {
			j = i
		}
		if j >= 0 {
			steps[i] = restoreStep(was[j], now[i])
		}
	}
	return steps
}

// shownStep is a step as it is shown after it was stored.
func shownStep(s v1alpha1.CanaryStep) v1alpha1.CanaryStep {
	if s.Pause == nil {
		s.Pause = &v1alpha1.RolloutPause{}
	}
	return s
}

func restoreStep(was v1beta1.CanaryStep, now v1alpha1.CanaryStep) v1beta1.CanaryStep {
	seen, step := spokeStep(was), hubStep(now)
	if same(now.Weight, seen.Weight) {
		step.Traffic = was.Traffic
	}
	if same(now.Weight, seen.Weight) && same(now.Replicas, seen.Replicas) {
		step.Replicas = was.Replicas
	}
	for i, j := range pair(now.Matches, seen.Matches) {
		if j >= 0 {
			step.Matches[i] = was.Matches[j]
		}
	}
	return step
}

func restoreStatus(hub *v1beta1.RolloutStatus, was v1beta1.RolloutStatus, now, seen v1alpha1.RolloutStatus) {
	if now.ObservedGeneration == seen.ObservedGeneration {
		hub.ObservedGeneration = was.ObservedGeneration
	}
	if now.Phase == seen.Phase {
		hub.Phase = was.Phase
	}
	if now.Message == seen.Message {
		hub.Message = was.Message
	}
	if same(now.Conditions, seen.Conditions) {
		hub.Conditions = was.Conditions
	}
	if same(now.CanaryStatus, seen.CanaryStatus) {
		hub.CanaryStatus = was.CanaryStatus
		hub.CurrentStepIndex, hub.CurrentStepState = was.CurrentStepIndex, was.CurrentStepState
	}
	hub.BlueGreenStatus = was.BlueGreenStatus
}
