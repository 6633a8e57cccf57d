// Package batchrelease moves the workload of a BatchRelease from batch to batch, whether a Rollout
// or a user has made it.
package batchrelease

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/batch"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
	"github.com/kruise-rollout/kruise-rollout/pkg/effect"
	"github.com/kruise-rollout/kruise-rollout/pkg/observe"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload/driver"
)

// Reconciler observes a BatchRelease and its workload, asks core/batch and the workload's driver
// what to do, and has it carried out.
type Reconciler struct {
	Reader observe.Reader
	Effect effect.Runner
	Table  workload.Table
}

// Reconcile makes one pass.
func (r *Reconciler) Reconcile(ctx context.Context, release *v1beta1.BatchRelease) (ctrl.Result, error) {
	w := batch.World{Release: release, Now: r.Reader.Clock.Now()}
	entry, err := r.Table.For(release.Spec.WorkloadRef, release.Spec.ReleasePlan.RollingStyle)
	var unsupported workload.UnsupportedError
	switch {
	case errors.As(err, &unsupported):
		w.Unsupported = err.Error()
		return r.carryOut(ctx, release, batch.Decide(w, nil))
	case err != nil:
		return ctrl.Result{}, err
	}
	key := types.NamespacedName{Namespace: release.Namespace, Name: release.Spec.WorkloadRef.Name}
	objects, found, err := r.Reader.Workload(ctx, key, entry)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !found {
		return r.carryOut(ctx, release, batch.Decide(w, nil))
	}
	facts, err := r.Reader.Facts(ctx, objects, entry)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading %s %s: %w", entry.Kind, key, err)
	}
	w.Workload = &facts
	needed, err := ask(entry.Driver, objects, release, batch.Want(w))
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("planning the release of %s %s: %w", entry.Kind, key, err)
	}
	return r.carryOut(ctx, release, batch.Decide(w, needed))
}

// ask puts an order to the driver.
func ask(d driver.Driver, o driver.Objects, release *v1beta1.BatchRelease, order batch.Order) ([]plan.Action, error) {
	switch order.Verb {
	case batch.Claim:
		return d.Claim(o, *metav1.NewControllerRef(release, v1beta1.SchemeGroupVersion.WithKind("BatchRelease")))
	case batch.Advance:
		return d.Advance(o, driver.Target{Share: order.Share})
	case batch.Restore:
		return d.Restore(o, driver.Ending{Owner: order.From, Promote: order.Promote})
	case batch.Rest:
	}
	return nil, nil
}

func (r *Reconciler) carryOut(ctx context.Context, release *v1beta1.BatchRelease, p plan.Plan[v1beta1.BatchReleaseStatus]) (ctrl.Result, error) {
	after := release.DeepCopy()
	after.Status = p.Status
	return effect.Outcome(ctx, p.Again, r.Effect.Run(ctx, release, after, p.Actions, p.Events))
}
