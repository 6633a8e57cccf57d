package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/batch"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/rollout"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload/deployment"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload/driver"
)

// observed is what the operator's caches hold of the Deployment.
func (c *Cluster) observed() (driver.Objects, bool) {
	d, ok := get[*appsv1.Deployment](c, Name)
	if !ok {
		return driver.Objects{}, false
	}
	o := driver.Objects{Workload: d, ReplicaSets: c.owned(d), Now: c.Now}
	for _, rs := range o.ReplicaSets {
		o.Pods = append(o.Pods, c.podsOf(rs)...)
	}
	return o, true
}

// releasePass is one pass of the BatchRelease controller.
func (c *Cluster) releasePass() (bool, time.Duration, error) {
	r, ok := get[*v1beta1.BatchRelease](c, Name)
	if !ok {
		return false, 0, nil
	}
	w := batch.World{Release: r, Now: c.Now}
	o, found := c.observed()
	var needed []plan.Action
	if found {
		facts, err := deployment.Partition{}.Facts(o)
		if err != nil {
			return false, 0, err
		}
		w.Workload = &facts
		if needed, err = ask(o, r, batch.Want(w)); err != nil {
			return false, 0, err
		}
	}
	p := batch.Decide(w, needed)
	after := r.DeepCopy()
	after.Status = p.Status
	return c.carryOut(r, after, p.Actions, p.Again)
}

func ask(o driver.Objects, r *v1beta1.BatchRelease, order batch.Order) ([]plan.Action, error) {
	d := deployment.Partition{}
	switch order.Verb {
	case batch.Claim:
		return d.Claim(o, *metav1.NewControllerRef(r, v1beta1.SchemeGroupVersion.WithKind("BatchRelease")))
	case batch.Advance:
		return d.Advance(o, driver.Target{Share: order.Share})
	case batch.Restore:
		return d.Restore(o, driver.Ending{Owner: order.From, Promote: order.Promote})
	case batch.Rest:
	}
	return nil, nil
}

// rolloutPass is one pass of the Rollout controller.
func (c *Cluster) rolloutPass() (bool, time.Duration, error) {
	ro, ok := get[*v1beta1.Rollout](c, Name)
	if !ok {
		return false, 0, nil
	}
	w := rollout.World{Rollout: ro, Now: c.Now}
	if r, found := get[*v1beta1.BatchRelease](c, Name); found {
		w.Release = r
	}
	if o, found := c.observed(); found {
		facts, err := deployment.Partition{}.Facts(o)
		if err != nil {
			return false, 0, err
		}
		w.Object, w.Workload = o.Workload, &facts
	}
	p := rollout.Decide(w)
	after := ro.DeepCopy()
	after.Status = p.Status
	return c.carryOut(ro, after, p.Actions, p.Again)
}

// carryOut writes a plan as package effect does: status first, then the actions in order.
func (c *Cluster) carryOut(before, after plan.Object, actions []plan.Action, again time.Duration) (bool, time.Duration, error) {
	version := c.version
	if err := c.replace(before, after); err != nil {
		return false, 0, err
	}
	for _, a := range actions {
		if err := c.apply(a); err != nil {
			return false, 0, err
		}
	}
	return c.version != version, again, nil
}

// errNeverRests is a cluster in which writes follow writes.
var errNeverRests = errors.New("the cluster does not come to rest")

// maxPasses is far above what any release of a few steps takes.
const maxPasses = 5000

// Settle runs everybody until nobody has anything left to do, and tells frame after each pass of
// the operator that wrote.
func (c *Cluster) Settle(frame func(who string)) error {
	for range maxPasses {
		busy, err := c.native()
		if err != nil {
			return err
		}
		wrote, again, err := c.releasePass()
		if err != nil {
			return fmt.Errorf("BatchRelease: %w", err)
		}
		if wrote {
			frame("release")
		}
		wroteToo, againToo, err := c.rolloutPass()
		if err != nil {
			return fmt.Errorf("Rollout: %w", err)
		}
		if wroteToo {
			frame("rollout")
		}
		if busy || wrote || wroteToo {
			continue
		}
		if again == 0 && againToo == 0 {
			return nil
		}
		c.Now = c.Now.Add(sooner(again, againToo))
	}
	return errNeverRests
}

func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// native lets each native controller make one pass.
func (c *Cluster) native() (busy bool, err error) {
	for _, pass := range []func() (bool, error){c.deploymentPass, c.replicaSetPass, c.kubeletPass} {
		wrote, err := pass()
		if err != nil {
			return false, err
		}
		busy = busy || wrote
	}
	return busy, nil
}

// Describe is one line on where a release stands.
func (c *Cluster) Describe() string {
	var b strings.Builder
	if ro, ok := get[*v1beta1.Rollout](c, Name); ok {
		fmt.Fprintf(&b, "%s", ro.Status.Phase)
		if s := ro.Status.CanaryStatus; s != nil {
			fmt.Fprintf(&b, " %d/%s", s.CurrentStepIndex, s.CurrentStepState)
		}
	}
	if r, ok := get[*v1beta1.BatchRelease](c, Name); ok {
		fmt.Fprintf(&b, " | %s %d/%s", r.Status.Phase, r.Status.CanaryStatus.CurrentBatch, r.Status.CanaryStatus.CurrentBatchState)
	}
	if d, ok := get[*appsv1.Deployment](c, Name); ok {
		u := d.Spec.Strategy.RollingUpdate
		fmt.Fprintf(&b, " | %s surge %s unavailable %s |", state(d), u.MaxSurge.String(), u.MaxUnavailable.String())
		for _, rs := range byAge(c.owned(d)) {
			image := rs.Spec.Template.Spec.Containers[0].Image
			fmt.Fprintf(&b, " %s %d", image, *rs.Spec.Replicas)
		}
	}
	return b.String()
}

func state(d *appsv1.Deployment) string {
	switch endless := d.Spec.MinReadySeconds == v1beta1.MaxReadySeconds; {
	case d.Spec.Paused && endless:
		return "armed"
	case d.Spec.Paused:
		return "held"
	case endless:
		return "open"
	default:
		return "free"
	}
}
