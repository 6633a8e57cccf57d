// Package rollout takes a Rollout from the change that admission caught to the end of its release.
package rollout

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/rollout"
	"github.com/kruise-rollout/kruise-rollout/pkg/effect"
	"github.com/kruise-rollout/kruise-rollout/pkg/observe"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload"
)

// Reconciler observes a Rollout with its workload and BatchRelease, asks core/rollout what to do,
// and has it carried out.
type Reconciler struct {
	Reader observe.Reader
	Effect effect.Runner
	Table  workload.Table
}

// Reconcile makes one pass.
func (r *Reconciler) Reconcile(ctx context.Context, ro *v1beta1.Rollout) (ctrl.Result, error) {
	w, err := r.observe(ctx, ro)
	if err != nil {
		return ctrl.Result{}, err
	}
	p := rollout.Decide(w)
	after := ro.DeepCopy()
	after.Status = p.Status
	return effect.Outcome(ctx, p.Again, r.Effect.Run(ctx, ro, after, p.Actions, p.Events))
}

func (r *Reconciler) observe(ctx context.Context, ro *v1beta1.Rollout) (rollout.World, error) {
	w := rollout.World{Rollout: ro, Now: r.Reader.Clock.Now()}
	if err := r.observeRelease(ctx, &w); err != nil {
		return w, err
	}
	entry, err := r.Table.ForRollout(ro)
	var unsupported workload.UnsupportedError
	switch {
	case errors.As(err, &unsupported):
		w.Unsupported = err.Error()
		return w, nil
	case err != nil:
		return w, err
	}
	entry.Needs.Pods = false // the BatchRelease looks at them
	key := types.NamespacedName{Namespace: ro.Namespace, Name: ro.Spec.WorkloadRef.Name}
	objects, found, err := r.Reader.Workload(ctx, key, entry)
	if err != nil || !found {
		return w, err
	}
	facts, err := r.Reader.Facts(ctx, objects, entry)
	if err != nil {
		return w, fmt.Errorf("reading %s %s: %w", entry.Kind, key, err)
	}
	w.Object, w.Workload = objects.Workload, &facts
	return w, nil
}

// observeRelease reads the BatchRelease of the Rollout's name. One that is somebody else's stands
// in the way and is never touched.
func (r *Reconciler) observeRelease(ctx context.Context, w *rollout.World) error {
	var release v1beta1.BatchRelease
	err := r.Reader.Client.Get(ctx, client.ObjectKeyFromObject(w.Rollout), &release)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading BatchRelease %s: %w", client.ObjectKeyFromObject(w.Rollout), err)
	case !metav1.IsControlledBy(&release, w.Rollout):
		w.Unsupported = fmt.Sprintf("BatchRelease %s exists and does not belong to this Rollout; delete or rename it", release.Name)
		return nil
	}
	w.Release = &release
	return nil
}
