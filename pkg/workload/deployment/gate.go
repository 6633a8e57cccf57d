package deployment

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/window"
)

// gate is the state of a Deployment, read from its fields alone.
type gate string

const (
	held  gate = "held"
	armed gate = "armed"
	open  gate = "open"
	loose gate = "loose"
)

func gateOf(d *appsv1.Deployment) gate {
	endless := d.Spec.MinReadySeconds == v1beta1.MaxReadySeconds
	switch {
	case d.Spec.Paused && endless:
		return armed
	case d.Spec.Paused:
		return held
	case endless:
		return open
	default:
		return loose
	}
}

// move edits d from one state to another.
type move func(d *appsv1.Deployment, v view)

// shut pauses and changes nothing else: the one move that is safe at any time.
func shut(d *appsv1.Deployment, _ view) { d.Spec.Paused = true }

// arm makes new pods count as unavailable before anything may move.
func arm(d *appsv1.Deployment, v view) {
	d.Spec.Paused = true
	d.Spec.MinReadySeconds = v1beta1.MaxReadySeconds
	d.Spec.ProgressDeadlineSeconds = new(int32(v1beta1.MaxProgressSeconds))
	_, unavailable := window.Write(window.Limits{Unavailable: min(max(1, v.replicas()-v.old()), max(1, v.replicas()))}, v.replicas())
	rollingUpdate(d).MaxUnavailable = &unavailable
}

// openTo lets the native controller move pods within the limits.
func openTo(l window.Limits) move {
	return func(d *appsv1.Deployment, v view) {
		d.Spec.Paused = false
		surge, unavailable := window.Write(l, v.replicas())
		rollingUpdate(d).MaxSurge, rollingUpdate(d).MaxUnavailable = &surge, &unavailable
	}
}

// hold brings the Deployment to rest at its true availability. No surge: a paused Deployment still
// scales to replicas + maxSurge.
func hold(d *appsv1.Deployment, v view) {
	holdKeepingSurge(d, v)
	rollingUpdate(d).MaxSurge = new(intstr.FromString("0%"))
}

// holdKeepingSurge is hold while surplus pods may still be in flight: taking the surge away now
// would race with the scaling of them.
func holdKeepingSurge(d *appsv1.Deployment, v view) {
	d.Spec.Paused = true
	d.Spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	if v.original != nil {
		d.Spec.MinReadySeconds = v.original.MinReadySeconds
		d.Spec.ProgressDeadlineSeconds = v.original.ProgressDeadlineSeconds
		if limit := v.original.RevisionHistoryLimit; limit != nil {
			// Without history the native controller would delete the stable ReplicaSet once N was 0.
			d.Spec.RevisionHistoryLimit = new(max(1, *limit))
		}
	}
	rollingUpdate(d).MaxUnavailable = new(atLeastOne(*v.userRollingUpdate().MaxUnavailable))
}

// atLeastOne returns the user's maxUnavailable, or 1 where they wrote 0: the API server refuses 0
// together with no surge. If somebody resumes a held Deployment with nobody at home, it rolls by
// this value.
func atLeastOne(maxUnavailable intstr.IntOrString) intstr.IntOrString {
	if n, err := intstr.GetScaledValueFromIntOrPercent(&maxUnavailable, maxPercent, true); err != nil || n == 0 {
		return intstr.FromInt32(1)
	}
	return maxUnavailable
}

// maxPercent as a total makes every percentage above 0 count.
const maxPercent = 100

func rollingUpdate(d *appsv1.Deployment) *appsv1.RollingUpdateDeployment {
	if d.Spec.Strategy.RollingUpdate == nil {
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{}
	}
	return d.Spec.Strategy.RollingUpdate
}
