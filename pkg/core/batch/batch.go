package batch

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/fact"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/pace"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

// World is all a decision may look at. It is read once per pass.
type World struct {
	Release *v1beta1.BatchRelease
	// Workload is nil when there is none.
	Workload *fact.Workload
	// Unsupported says why no driver can be asked; "" when one can.
	Unsupported string
	Now         time.Time
}

// Verb is what a driver is asked to do.
type Verb string

// The verbs; Rest asks for nothing.
const (
	Rest    Verb = "Rest"
	Claim   Verb = "Claim"
	Advance Verb = "Advance"
	Restore Verb = "Restore"
)

// Order is what a driver should bring about.
type Order struct {
	Verb Verb
	// Share is how far to advance.
	Share intstr.IntOrString
	// Promote says that a restored workload is let go rather than left held.
	Promote bool
	// From is the BatchRelease whose claim ends; "" where the one that claimed is gone.
	From types.UID
}

// Want returns the order of the present phase.
func Want(w World) Order {
	if w.Workload == nil || w.Unsupported != "" {
		return Order{Verb: Rest}
	}
	status := synced(w)
	switch status.Phase {
	case v1beta1.RolloutPhasePreparing:
		return Order{Verb: Claim}
	case v1beta1.RolloutPhaseProgressing:
		return progress(w, status)
	case v1beta1.RolloutPhaseFinalizing:
		return Order{Verb: Restore, Promote: w.Release.Spec.ReleasePlan.BatchPartition == nil, From: claimant(w)}
	default:
		return Order{Verb: Rest}
	}
}

// claimant is the BatchRelease whose claim a restore ends.
func claimant(w World) types.UID {
	if w.Workload.Owner == nil {
		return ""
	}
	return w.Release.UID
}

// progress advances the workload while it is ours and still at the revision that we release. A
// newer revision is left held: whoever asked for it starts a new release.
func progress(w World, status v1beta1.BatchReleaseStatus) Order {
	ours := w.Workload.OwnedBy(w.Release.UID)
	switch {
	case !sameRevision(w, status) && ours:
		return Order{Verb: Restore, From: claimant(w)}
	case !sameRevision(w, status) || !ours && w.Workload.Owner != nil:
		return Order{Verb: Rest}
	case !ours || w.Workload.Frozen:
		return Order{Verb: Claim}
	default:
		return Order{Verb: Advance, Share: batches(w)[status.CanaryStatus.CurrentBatch].CanaryReplicas}
	}
}

func sameRevision(w World, status v1beta1.BatchReleaseStatus) bool {
	return w.Workload.SameRevision(status.UpdateRevision, status.PodTemplateHash)
}

func batches(w World) []v1beta1.ReleaseBatch { return w.Release.Spec.ReleasePlan.Batches }

// Decide returns what to write, given the writes that the driver still needs for the order.
func Decide(w World, needed []plan.Action) plan.Plan[v1beta1.BatchReleaseStatus] {
	before := w.Release.Status
	if own := housekeeping(w); len(own) > 0 {
		return plan.Plan[v1beta1.BatchReleaseStatus]{Status: before, Actions: own}
	}
	p := plan.Plan[v1beta1.BatchReleaseStatus]{Status: synced(w), Actions: needed}
	if w.Workload != nil {
		p.Again = w.Workload.Again
		p.Actions = append(p.Actions, labels(w, p.Status)...)
	}
	if w.Unsupported != "" && before.Message != w.Unsupported {
		p.Events = append(p.Events, plan.Event{Warning: true, Reason: "UnsupportedWorkload", Message: w.Unsupported})
	}
	if len(p.Actions) == 0 {
		p.Status = leave(w, p.Status)
	}
	p.Status.Message = message(w, p.Status)
	if onlyCounters(before, p.Status) {
		if wait := pace.Counters(w.Release, w.Now); wait > 0 {
			p.Status, p.Again = before, sooner(p.Again, wait)
		}
	}
	return p
}

func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// onlyCounters reports whether two statuses differ in nothing but numbers of pods.
func onlyCounters(before, after v1beta1.BatchReleaseStatus) bool {
	if equality.Semantic.DeepEqual(before, after) {
		return false
	}
	after.CanaryStatus.UpdatedReplicas = before.CanaryStatus.UpdatedReplicas
	after.CanaryStatus.UpdatedReadyReplicas = before.CanaryStatus.UpdatedReadyReplicas
	return equality.Semantic.DeepEqual(before, after)
}

// message tells the user what the release waits for, "" when it only waits for pods.
func message(w World, status v1beta1.BatchReleaseStatus) string {
	switch {
	case w.Unsupported != "":
		return w.Unsupported
	case w.Workload == nil || status.Phase == v1beta1.RolloutPhaseCompleted:
		return ""
	case w.Workload.Obstacle != "":
		return w.Workload.Obstacle
	case status.Phase != v1beta1.RolloutPhaseProgressing:
		return ""
	case w.Workload.Owner != nil && !w.Workload.OwnedBy(w.Release.UID):
		return fmt.Sprintf("the workload is being released by BatchRelease %s; delete one of the two", w.Workload.Owner.Name)
	case !sameRevision(w, status):
		return "the workload's template has changed since this release began; it is held until a new release takes it up"
	}
	return ""
}
