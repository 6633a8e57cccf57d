package deployment

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/window"
)

// What the user wrote is in the Deployment until it is held, and in the annotations from then on.

// defaultLimit is what the API server puts in for an absent maxSurge or maxUnavailable.
var defaultLimit = intstr.FromString("25%")

// userRollingUpdate returns the user's maxSurge and maxUnavailable, both set.
func (v view) userRollingUpdate() appsv1.RollingUpdateDeployment {
	u := appsv1.RollingUpdateDeployment{}
	switch {
	case v.original != nil:
		u.MaxSurge, u.MaxUnavailable = v.original.MaxSurge, v.original.MaxUnavailable
	case v.strategy != nil && v.strategy.RollingUpdate != nil:
		u = *v.strategy.RollingUpdate
	case v.d.Spec.Strategy.RollingUpdate != nil:
		u = *v.d.Spec.Strategy.RollingUpdate
	}
	return withDefaults(u)
}

func withDefaults(u appsv1.RollingUpdateDeployment) appsv1.RollingUpdateDeployment {
	if u.MaxSurge == nil {
		u.MaxSurge = new(defaultLimit)
	}
	if u.MaxUnavailable == nil {
		u.MaxUnavailable = new(defaultLimit)
	}
	return u
}

// userLimits resolves the user's limits against the present number of replicas.
func (v view) userLimits() window.Limits {
	u := v.userRollingUpdate()
	return window.Resolve(u.MaxSurge, u.MaxUnavailable, v.replicas())
}

func (v view) userMinReadySeconds() int32 {
	if v.original != nil {
		return v.original.MinReadySeconds
	}
	return v.d.Spec.MinReadySeconds
}

// originals records what the user wrote to the fields that a release borrows.
func originals(d *appsv1.Deployment) *v1beta1.OriginalDeploymentStrategy {
	u := keptByThePeer(d)
	if d.Spec.Strategy.RollingUpdate != nil {
		u = *d.Spec.Strategy.RollingUpdate
	}
	u = withDefaults(u)
	written := v1beta1.OriginalDeploymentStrategy{
		MaxSurge:                u.MaxSurge,
		MaxUnavailable:          u.MaxUnavailable,
		MinReadySeconds:         d.Spec.MinReadySeconds,
		ProgressDeadlineSeconds: d.Spec.ProgressDeadlineSeconds,
		RevisionHistoryLimit:    d.Spec.RevisionHistoryLimit,
	}
	return written.DeepCopy()
}

// keptByThePeer returns the limits that the peer operator took out of the Deployment when it put
// Recreate in, none where it did not.
func keptByThePeer(d *appsv1.Deployment) appsv1.RollingUpdateDeployment {
	var strategy v1beta1.DeploymentStrategy
	text := d.Annotations[v1beta1.DeploymentStrategyAnnotation]
	if text == "" || json.Unmarshal([]byte(text), &strategy) != nil || strategy.RollingUpdate == nil {
		return appsv1.RollingUpdateDeployment{} // what can't be read is reported by whoever looks
	}
	return *strategy.RollingUpdate
}

// giveBack writes what the user wrote to the fields that a release borrows, the pause apart.
func giveBack(d *appsv1.Deployment, o *v1beta1.OriginalDeploymentStrategy) {
	d.Spec.Strategy = appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: new(withDefaults(appsv1.RollingUpdateDeployment{
			MaxSurge:       o.MaxSurge,
			MaxUnavailable: o.MaxUnavailable,
		})),
	}
	d.Spec.MinReadySeconds = o.MinReadySeconds
	d.Spec.ProgressDeadlineSeconds = o.ProgressDeadlineSeconds
	if o.RevisionHistoryLimit != nil { // the peer operator did not borrow it
		d.Spec.RevisionHistoryLimit = o.RevisionHistoryLimit
	}
}
