package batch

import (
	"slices"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

// housekeeping returns the write of the finalizer, which has a pass of its own: it must be there
// before anything is claimed, and may go only once the workload was let go.
func housekeeping(w World) []plan.Action {
	have := slices.Contains(w.Release.Finalizers, v1beta1.BatchReleaseFinalizer)
	deleting := w.Release.DeletionTimestamp != nil
	after := w.Release.DeepCopy()
	switch {
	case !have && !deleting:
		after.Finalizers = append(after.Finalizers, v1beta1.BatchReleaseFinalizer)
	case have && deleting && w.Release.Status.Phase == v1beta1.RolloutPhaseCompleted:
		after.Finalizers = slices.DeleteFunc(after.Finalizers, func(f string) bool { return f == v1beta1.BatchReleaseFinalizer })
	default:
		return nil
	}
	return []plan.Action{plan.Edit{Before: w.Release, After: after}}
}
