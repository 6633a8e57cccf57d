package deployment

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload/driver"
)

// plain is a Deployment as its user wrote it and the API server defaulted it.
func plain() *appsv1.Deployment {
	quarter := intstr.FromString("25%")
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "shop", UID: "d", ResourceVersion: "7",
		Labels: map[string]string{v1beta1.WorkloadTypeLabel: "deployment"},
	}}
	d.Spec.Replicas = new(int32(10))
	d.Spec.MinReadySeconds = 5
	d.Spec.ProgressDeadlineSeconds = new(int32(600))
	d.Spec.RevisionHistoryLimit = new(int32(10))
	d.Spec.Strategy = appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(quarter), MaxUnavailable: new(quarter)},
	}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:v1"}}
	return d
}

// inBatch is the same in the middle of a batch, with the window open.
func inBatch() *appsv1.Deployment {
	d := plain()
	d.Spec.Strategy.RollingUpdate.MaxSurge = new(intstr.FromInt32(3)) // not what anybody defaults to
	original := originals(d)
	v := view{d: d, original: original, strategy: &v1beta1.DeploymentStrategy{RollingStyle: v1beta1.PartitionRollingStyle}}
	arm(d, v)
	openTo(v.userLimits())(d, v)
	d.Annotations = map[string]string{
		v1beta1.InProgressingAnnotation:              `{"rolloutName":"r"}`,
		v1beta1.ControlInfoAnnotation:                `{"uid":"br"}`,
		v1beta1.DeploymentStrategyAnnotation:         `{"rollingStyle":"Partition","partition":"20%"}`,
		v1beta1.OriginalDeploymentStrategyAnnotation: text(original),
	}
	d.Labels[v1beta1.StableRevisionLabel] = "v1hash"
	d.Labels[v1beta1.GateWriteLabel] = "6"
	return d
}

func text(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func set(name, image, hash, number string, replicas int32) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash},
		Annotations: map[string]string{nativeRevision: number},
	}}
	rs.Spec.Replicas = new(replicas)
	rs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: image}}
	return rs
}

func v1Set() []*appsv1.ReplicaSet {
	return []*appsv1.ReplicaSet{set("web-1", "web:v1", "v1hash", "1", 10)}
}

func image(tag string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "web:" + tag }
}

func TestAdmissionCatchesWhatWouldRoll(t *testing.T) {
	t.Parallel()
	two := append(v1Set(), set("web-2", "web:v0", "v0hash", "0", 2))
	cases := map[string]struct {
		edit   func(*appsv1.Deployment)
		sets   []*appsv1.ReplicaSet
		routed bool
		caught bool
		stable string
	}{
		"a new image":                           {image("v2"), v1Set(), false, true, "v1hash"},
		"a new image with traffic":              {image("v2"), v1Set(), true, true, "v1hash"},
		"of two revisions the lowest is stable": {image("v2"), two, false, true, "v0hash"},
		"two revisions with traffic roll on":    {image("v2"), two, true, false, ""},
		"the image that runs":                   {image("v1"), v1Set(), false, false, ""},
		"a scale event":                         {func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(3)) }, v1Set(), false, false, ""},
		"metadata":                              {func(d *appsv1.Deployment) { d.Annotations = map[string]string{"a": "b"} }, v1Set(), false, false, ""},
		"a new image of no replicas": {func(d *appsv1.Deployment) {
			image("v2")(d)
			d.Spec.Replicas = new(int32(0))
		}, v1Set(), false, false, ""},
		"a new image when nothing runs yet": {image("v2"), nil, false, false, ""},
		"a new rollout-id": {func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{v1beta1.RolloutIDLabel: "2"}
		}, v1Set(), false, true, ""},
		"a mark set by hand": {func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{v1beta1.InProgressingAnnotation: "true"}
		}, v1Set(), false, true, ""},
		"a full update without our label": {func(d *appsv1.Deployment) {
			image("v2")(d)
			d.Labels = nil
		}, v1Set(), false, true, "v1hash"},
		"an agent that sends no UID": {func(d *appsv1.Deployment) {
			image("v2")(d)
			d.UID = ""
		}, v1Set(), false, true, "v1hash"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, updated := plain(), plain()
			c.edit(updated)
			wanted := updated.DeepCopy()
			verdict, err := Partition{}.Hold(driver.Change{Old: old, Updated: updated, ReplicaSets: c.sets, Rollout: "r", Routed: c.routed})
			require.NoError(t, err)
			assert.Equal(t, plain(), old, "what was read is not changed")
			assert.Equal(t, c.caught, verdict.Caught)
			assert.Equal(t, c.caught, updated.Spec.Paused)
			assert.Equal(t, c.caught, marked(updated))
			assert.Equal(t, c.stable, updated.Labels[v1beta1.StableRevisionLabel])
			assert.Equal(t, "deployment", updated.Labels[v1beta1.WorkloadTypeLabel])
			assert.Equal(t, wanted.Spec.Template, updated.Spec.Template, "the template is the user's")
			assert.Equal(t, wanted.Spec.Strategy, updated.Spec.Strategy, "nothing but the pause is held yet")
			if c.caught {
				assert.JSONEq(t, `{"maxUnavailable":"25%","maxSurge":"25%","minReadySeconds":5,"progressDeadlineSeconds":600,"revisionHistoryLimit":10}`,
					updated.Annotations[v1beta1.OriginalDeploymentStrategyAnnotation])
			}
		})
	}
}

func TestAdmissionRemembersAPauseOfTheUsers(t *testing.T) {
	t.Parallel()
	old, updated := plain(), plain()
	old.Spec.Paused, updated.Spec.Paused = true, true
	image("v2")(updated)
	_, err := Partition{}.Hold(driver.Change{Old: old, Updated: updated, ReplicaSets: v1Set(), Rollout: "r"})
	require.NoError(t, err)
	var o v1beta1.OriginalDeploymentStrategy
	require.NoError(t, json.Unmarshal([]byte(updated.Annotations[v1beta1.OriginalDeploymentStrategyAnnotation]), &o))
	assert.True(t, o.Paused)
}

// In the middle of a batch nobody but the operator moves the gate: what a user writes to held
// fields is remembered, what they leave out is put back, and only a pause or a new template acts,
// by pausing.
func TestAdmissionKeepsTheGate(t *testing.T) {
	t.Parallel()
	manifest := func(d *appsv1.Deployment) {
		git := plain()
		git.Spec.MinReadySeconds = 9
		git.Spec.Strategy.RollingUpdate.MaxSurge = new(intstr.FromInt32(4))
		d.Labels, d.Annotations, d.Spec = nil, nil, git.Spec
	}
	cases := map[string]struct {
		edit     func(*appsv1.Deployment)
		paused   bool
		frozen   bool
		original string
		warned   bool
	}{
		"nothing": {edit: func(*appsv1.Deployment) {}},
		"the user's pause": {
			edit:   func(d *appsv1.Deployment) { d.Spec.Paused = true },
			paused: true,
		},
		"a new template": {edit: image("v3"), paused: true, frozen: true},
		"a manifest that knows nothing of us": {
			edit:     manifest,
			original: `{"maxUnavailable":"25%","maxSurge":4,"minReadySeconds":9,"progressDeadlineSeconds":600,"revisionHistoryLimit":10}`,
		},
		"the same with a new template": {
			edit: func(d *appsv1.Deployment) {
				manifest(d)
				image("v3")(d)
			},
			paused: true, frozen: true,
			original: `{"maxUnavailable":"25%","maxSurge":4,"minReadySeconds":9,"progressDeadlineSeconds":600,"revisionHistoryLimit":10}`,
		},
		"strategy Recreate": {
			edit: func(d *appsv1.Deployment) {
				d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
			},
			warned: true,
		},
		"our marks taken off one by one": {edit: func(d *appsv1.Deployment) {
			d.Labels = map[string]string{"app": "web"}
			d.Annotations = map[string]string{"team": "shop"}
		}},
		"an old mark of ours written back": {edit: func(d *appsv1.Deployment) {
			d.Labels[v1beta1.GateWriteLabel] = "3"
			d.Spec.MinReadySeconds = 0
		}, original: `{"maxUnavailable":"25%","maxSurge":3,"progressDeadlineSeconds":600,"revisionHistoryLimit":10}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, updated := inBatch(), inBatch()
			c.edit(updated)
			verdict, err := Partition{}.Hold(driver.Change{Old: old, Updated: updated, ReplicaSets: v1Set(), Rollout: "r"})
			require.NoError(t, err)
			assert.Equal(t, inBatch(), old, "what was read is not changed")
			assert.Equal(t, c.paused, updated.Spec.Paused)
			assert.Equal(t, c.warned, len(verdict.Warnings) > 0)
			assert.Equal(t, old.Spec.Strategy, updated.Spec.Strategy)
			assert.Equal(t, old.Spec.MinReadySeconds, updated.Spec.MinReadySeconds)
			assert.Equal(t, old.Spec.ProgressDeadlineSeconds, updated.Spec.ProgressDeadlineSeconds)
			assert.Equal(t, "v1hash", updated.Labels[v1beta1.StableRevisionLabel])
			assert.Equal(t, "6", updated.Labels[v1beta1.GateWriteLabel])
			assert.Equal(t, old.Annotations[v1beta1.ControlInfoAnnotation], updated.Annotations[v1beta1.ControlInfoAnnotation])
			assert.True(t, marked(updated))
			original := c.original
			if original == "" {
				original = old.Annotations[v1beta1.OriginalDeploymentStrategyAnnotation]
			}
			assert.JSONEq(t, original, updated.Annotations[v1beta1.OriginalDeploymentStrategyAnnotation])
			var s v1beta1.DeploymentStrategy
			require.NoError(t, json.Unmarshal([]byte(updated.Annotations[v1beta1.DeploymentStrategyAnnotation]), &s))
			assert.Equal(t, c.frozen, s.Paused)
		})
	}
}

func TestAdmissionLetsTheOperatorMoveTheGate(t *testing.T) {
	t.Parallel()
	old := inBatch()
	updated := inBatch()
	hold(updated, view{d: old, original: originals(plain())})
	updated.Labels[v1beta1.GateWriteLabel] = old.ResourceVersion
	wanted := updated.DeepCopy()
	_, err := Partition{}.Hold(driver.Change{Old: old, Updated: updated, ReplicaSets: v1Set(), Rollout: "r"})
	require.NoError(t, err)
	assert.Equal(t, wanted, updated)

	given := plain()
	given.Labels[v1beta1.GateWriteLabel] = old.ResourceVersion
	_, err = Partition{}.Hold(driver.Change{Old: old, Updated: given, ReplicaSets: v1Set(), Rollout: "r"})
	require.NoError(t, err)
	assert.Equal(t, plain(), given, "the last write takes the operator's mark away")
}
