package deployment

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/revision"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload/driver"
)

// Hold catches a new template, and keeps a Deployment that is held already as the release wants it.
func (Partition) Hold(c driver.Change) (driver.Verdict, error) {
	old, oldOK := c.Old.(*appsv1.Deployment)
	updated, updatedOK := c.Updated.(*appsv1.Deployment)
	if !oldOK || !updatedOK {
		return driver.Verdict{}, fmt.Errorf("holding an update: %T and %T are not Deployments", c.Old, c.Updated)
	}
	if updated.UID == "" {
		updated.UID = old.UID // agents of multi-cluster tools leave it out
	}
	if operators(old, updated) {
		stripMark(updated)
		return driver.Verdict{}, nil
	}
	keepMarks(old, updated)
	switch {
	case inRelease(old):
		return keep(c, old, updated)
	case marked(updated):
		return catch(c, old, updated)
	case changed(old, updated) && rolls(c, updated):
		return catch(c, old, updated)
	}
	return driver.Verdict{}, nil
}

// operators reports whether the update is the operator's own: only a write that was computed from
// the very object it replaces carries that object's resourceVersion as its mark.
func operators(old, updated *appsv1.Deployment) bool {
	return old.ResourceVersion != "" && updated.Labels[v1beta1.GateWriteLabel] == old.ResourceVersion
}

// stripMark takes the operator's mark off a Deployment that it has given back.
func stripMark(updated *appsv1.Deployment) {
	if !inRelease(updated) {
		delete(updated.Labels, v1beta1.GateWriteLabel)
	}
}

// inRelease reports whether a Deployment is marked for release, claimed or held.
func inRelease(d *appsv1.Deployment) bool {
	if marked(d) {
		return true
	}
	for _, key := range releaseAnnotations {
		if d.Annotations[key] != "" {
			return true
		}
	}
	return false
}

func marked(d *appsv1.Deployment) bool { return d.Annotations[v1beta1.InProgressingAnnotation] != "" }

// keepMarks puts back what a full update or a forced apply left out or overwrote: whoever wrote it
// had not seen our marks, which is not a wish to lose the gate.
func keepMarks(old, updated *appsv1.Deployment) {
	updated.Labels = putBack(old.Labels, updated.Labels, v1beta1.WorkloadTypeLabel)
	if !inRelease(old) {
		return
	}
	for _, key := range append([]string{v1beta1.GateWriteLabel}, releaseLabels...) {
		updated.Labels = putBack(old.Labels, updated.Labels, key)
	}
	for _, key := range copiedAnnotations {
		updated.Annotations = putBack(old.Annotations, updated.Annotations, key)
	}
}

func putBack(old, updated map[string]string, key string) map[string]string {
	value, found := old[key]
	if !found || updated[key] == value {
		return updated
	}
	if updated == nil {
		updated = map[string]string{}
	}
	updated[key] = value
	return updated
}

// keep is for an update in the middle of a release: our values stay in the fields that we hold,
// and what the user wrote there is remembered as what to go back to. A pause, the user's or for a
// new template, pauses and changes nothing else.
func keep(c driver.Change, old, updated *appsv1.Deployment) (driver.Verdict, error) {
	verdict := driver.Verdict{Caught: changed(old, updated)}
	if old.Spec.Strategy.Type != updated.Spec.Strategy.Type && !mended(old, updated) {
		verdict.Warnings = append(verdict.Warnings,
			"spec.strategy.type can't change while a Rollout releases the Deployment; it was left as it is")
	}
	if err := remember(old, updated); err != nil {
		return verdict, err
	}
	updated.Spec.Paused = updated.Spec.Paused || old.Spec.Paused || verdict.Caught
	if !verdict.Caught {
		return verdict, nil
	}
	if err := mark(updated, c.Rollout); err != nil {
		return verdict, err
	}
	return verdict, freezeStrategy(updated)
}

// mark tells the Rollout that there is a change to release.
func mark(updated *appsv1.Deployment, rollout string) error {
	if marked(updated) {
		return nil
	}
	return setAnnotation(updated, v1beta1.InProgressingAnnotation, v1beta1.InProgressing{RolloutName: rollout})
}

// remember moves what the user wrote to held fields into the annotation, and ours back.
func remember(old, updated *appsv1.Deployment) error {
	ours, theirs := originals(old), originals(updated)
	original := ours.DeepCopy()
	if text := old.Annotations[v1beta1.OriginalDeploymentStrategyAnnotation]; text != "" {
		original = &v1beta1.OriginalDeploymentStrategy{}
		if err := json.Unmarshal([]byte(text), original); err != nil {
			return fmt.Errorf("annotation %s is not the JSON it was written as (restore it): %w", v1beta1.OriginalDeploymentStrategyAnnotation, err)
		}
	}
	mends := mended(old, updated)
	if mends || updated.Spec.Strategy.Type == old.Spec.Strategy.Type { // another type has no limits to remember
		adopt(&original.MaxSurge, ours.MaxSurge, theirs.MaxSurge)
		adopt(&original.MaxUnavailable, ours.MaxUnavailable, theirs.MaxUnavailable)
	}
	adopt(&original.MinReadySeconds, ours.MinReadySeconds, theirs.MinReadySeconds)
	adopt(&original.ProgressDeadlineSeconds, ours.ProgressDeadlineSeconds, theirs.ProgressDeadlineSeconds)
	adopt(&original.RevisionHistoryLimit, ours.RevisionHistoryLimit, theirs.RevisionHistoryLimit)
	if !mends {
		updated.Spec.Strategy = *old.Spec.Strategy.DeepCopy()
	}
	updated.Spec.MinReadySeconds = old.Spec.MinReadySeconds
	updated.Spec.ProgressDeadlineSeconds = old.Spec.ProgressDeadlineSeconds
	updated.Spec.RevisionHistoryLimit = old.Spec.RevisionHistoryLimit
	return setAnnotation(updated, v1beta1.OriginalDeploymentStrategyAnnotation, original)
}

// mended reports whether the user does what a Deployment with strategy Recreate is told to be
// released: until it was claimed, nothing of its strategy is ours.
func mended(old, updated *appsv1.Deployment) bool {
	return old.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType &&
		updated.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType &&
		old.Annotations[v1beta1.DeploymentStrategyAnnotation] == ""
}

// adopt takes over a value that the user has changed.
func adopt[T any](original *T, ours, theirs T) {
	if !equality.Semantic.DeepEqual(ours, theirs) {
		*original = theirs
	}
}

// freezeStrategy tells the one who releases the Deployment that its template is not the one it
// claimed: nothing moves until it is claimed again.
func freezeStrategy(updated *appsv1.Deployment) error {
	text := updated.Annotations[v1beta1.DeploymentStrategyAnnotation]
	if text == "" {
		return nil
	}
	var strategy v1beta1.DeploymentStrategy
	if err := json.Unmarshal([]byte(text), &strategy); err != nil {
		return fmt.Errorf("annotation %s is not the JSON it was written as (restore it): %w", v1beta1.DeploymentStrategyAnnotation, err)
	}
	strategy.Paused = true
	return setAnnotation(updated, v1beta1.DeploymentStrategyAnnotation, strategy)
}

// changed is the contract's rule: a rollout-id, where there is one, decides alone.
func changed(old, updated *appsv1.Deployment) bool {
	if id := updated.Annotations[v1beta1.RolloutIDLabel]; id != "" {
		return id != old.Annotations[v1beta1.RolloutIDLabel]
	}
	return !revision.SameTemplate(&old.Spec.Template, &updated.Spec.Template)
}

// rolls reports whether there is anything to release batch by batch: pods that are wanted, and
// some that run already. With traffic they must all be of one revision.
func rolls(c driver.Change, updated *appsv1.Deployment) bool {
	if updated.Spec.Replicas != nil && *updated.Spec.Replicas == 0 {
		return false
	}
	running := 0
	for _, rs := range c.ReplicaSets {
		if active(rs) {
			running++
		}
	}
	return running == 1 || running > 1 && !c.Routed
}

// catch pauses the Deployment, marks it for release and records what the user wrote.
func catch(c driver.Change, old, updated *appsv1.Deployment) (driver.Verdict, error) {
	var others []*appsv1.ReplicaSet
	for _, rs := range c.ReplicaSets {
		if !revision.SameTemplate(&rs.Spec.Template, &updated.Spec.Template) {
			others = append(others, rs)
		}
	}
	if stable := lowestRevision(others); stable != nil {
		if updated.Labels == nil {
			updated.Labels = map[string]string{}
		}
		updated.Labels[v1beta1.StableRevisionLabel] = templateHash(stable)
	}
	original := originals(updated)
	// A Deployment that its user had paused before goes back to paused.
	original.Paused = old.Spec.Paused && updated.Spec.Paused
	if err := setAnnotation(updated, v1beta1.OriginalDeploymentStrategyAnnotation, original); err != nil {
		return driver.Verdict{}, err
	}
	updated.Spec.Paused = true
	return driver.Verdict{Caught: true}, mark(updated, c.Rollout)
}

func setAnnotation(d *appsv1.Deployment, key string, value any) error {
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	return writeJSON(d, key, value)
}
