package sim

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload/deployment"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload/driver"
)

// Deployment returns a Deployment as the API server defaults it.
func Deployment(replicas int32, surge, unavailable string) *appsv1.Deployment {
	s, u := intstr.Parse(surge), intstr.Parse(unavailable)
	labels := map[string]string{"app": Name}
	d := &appsv1.Deployment{}
	d.Name, d.Namespace = Name, Namespace
	d.Spec = appsv1.DeploymentSpec{
		Replicas:                new(replicas),
		Selector:                &metav1.LabelSelector{MatchLabels: labels},
		ProgressDeadlineSeconds: new(int32(600)),
		RevisionHistoryLimit:    new(int32(10)),
		Strategy: appsv1.DeploymentStrategy{
			Type:          appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &s, MaxUnavailable: &u},
		},
	}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:v1"}}
	return d
}

// Rollout returns a Rollout in partition style with one step for each share of pods; all but the
// last wait for approval.
func Rollout(shares ...string) *v1beta1.Rollout {
	r := &v1beta1.Rollout{}
	r.Name, r.Namespace = Name, Namespace
	r.Spec.WorkloadRef = v1beta1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: Name}
	r.Spec.Strategy.Canary = &v1beta1.CanaryStrategy{}
	for _, s := range shares {
		replicas := intstr.Parse(s)
		r.Spec.Strategy.Canary.Steps = append(r.Spec.Strategy.Canary.Steps, v1beta1.CanaryStep{Replicas: &replicas})
	}
	return r
}

// Create adds an object as a user does.
func (c *Cluster) Create(o plan.Object) error { return c.create(o) }

// Delete removes an object as a user does.
func (c *Cluster) Delete(o plan.Object) error {
	current, ok := c.objects[key(o)]
	if !ok {
		return nil
	}
	return c.drop(current)
}

// UpdateDeployment edits the Deployment as a user does: through admission, when a Rollout refers
// to it.
func (c *Cluster) UpdateDeployment(edit func(*appsv1.Deployment)) error {
	before, ok := get[*appsv1.Deployment](c, Name)
	if !ok {
		return fmt.Errorf("no Deployment %s", Name)
	}
	after := before.DeepCopy()
	edit(after)
	if r, found := get[*v1beta1.Rollout](c, Name); found && r.DeletionTimestamp == nil && r.Status.Phase != v1beta1.RolloutPhaseDisabled {
		_, err := deployment.Partition{}.Hold(driver.Change{Old: before, Updated: after, ReplicaSets: c.owned(before), Rollout: Name})
		if err != nil {
			return err
		}
	}
	return c.replace(before, after)
}

// UpdateRollout edits the Rollout, its status included, as a user does.
func (c *Cluster) UpdateRollout(edit func(*v1beta1.Rollout)) error {
	before, ok := get[*v1beta1.Rollout](c, Name)
	if !ok {
		return fmt.Errorf("no Rollout %s", Name)
	}
	after := before.DeepCopy()
	edit(after)
	return c.replace(before, after)
}

// Approve lets a paused release go on.
func (c *Cluster) Approve() error {
	return c.UpdateRollout(func(r *v1beta1.Rollout) {
		r.Status.CanaryStatus.CurrentStepState = v1beta1.CanaryStepStateReady
	})
}

// Image is an edit that gives the Deployment another image.
func Image(image string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image }
}
