package conversion

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

func TestBatchReleaseIsTranslatedFieldByField(t *testing.T) {
	at := metav1.Unix(1700000000, 0)
	threshold := intstr.FromString("10%")
	alpha := &v1alpha1.BatchRelease{
		ObjectMeta: annotated(v1beta1.RollingStyleAnnotation, "canary"),
		Spec: v1alpha1.BatchReleaseSpec{
			TargetRef: v1alpha1.ObjectRef{WorkloadRef: &v1alpha1.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}},
			ReleasePlan: v1alpha1.ReleasePlan{
				Batches:        []v1alpha1.ReleaseBatch{{CanaryReplicas: intstr.FromInt32(2)}},
				BatchPartition: new(int32(0)), RolloutID: "id", FailureThreshold: &threshold, FinalizingPolicy: "WaitResume",
				PatchPodTemplateMetadata: &v1alpha1.PatchPodTemplateMetadata{Annotations: map[string]string{"k": "v"}},
				RollingStyle:             "Canary", EnableExtraWorkloadForCanary: true,
			},
		},
		Status: v1alpha1.BatchReleaseStatus{
			Conditions: []v1alpha1.RolloutCondition{{Type: "Progressing", Status: "True", LastUpdateTime: at, LastTransitionTime: at, Reason: "InRolling", Message: "c"}},
			CanaryStatus: v1alpha1.BatchReleaseCanaryStatus{
				CurrentBatchState: "Ready", CurrentBatch: 1, BatchReadyTime: &at, UpdatedReplicas: 2, UpdatedReadyReplicas: 3, NoNeedUpdateReplicas: new(int32(4)),
			},
			StableRevision: "s", UpdateRevision: "u", ObservedGeneration: 5, ObservedRolloutID: "id", ObservedWorkloadReplicas: 6,
			CollisionCount: new(int32(7)), ObservedReleasePlanHash: "h", Phase: "Progressing",
		},
	}
	beta := &v1beta1.BatchRelease{
		ObjectMeta: annotated(v1beta1.RollingStyleAnnotation, "canary"),
		Spec: v1beta1.BatchReleaseSpec{
			WorkloadRef: v1beta1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			ReleasePlan: v1beta1.ReleasePlan{
				Batches:        []v1beta1.ReleaseBatch{{CanaryReplicas: intstr.FromInt32(2)}},
				BatchPartition: new(int32(0)), RolloutID: "id", FailureThreshold: &threshold, FinalizingPolicy: "WaitResume",
				PatchPodTemplateMetadata: &v1beta1.PatchPodTemplateMetadata{Annotations: map[string]string{"k": "v"}},
				RollingStyle:             "Canary", EnableExtraWorkloadForCanary: true,
			},
		},
		Status: v1beta1.BatchReleaseStatus{
			Conditions: []v1beta1.RolloutCondition{{Type: "Progressing", Status: "True", LastUpdateTime: at, LastTransitionTime: at, Reason: "InRolling", Message: "c"}},
			CanaryStatus: v1beta1.BatchReleaseCanaryStatus{
				CurrentBatchState: "Ready", CurrentBatch: 1, BatchReadyTime: &at, UpdatedReplicas: 2, UpdatedReadyReplicas: 3, NoNeedUpdateReplicas: new(int32(4)),
			},
			StableRevision: "s", UpdateRevision: "u", ObservedGeneration: 5, ObservedRolloutID: "id", ObservedWorkloadReplicas: 6,
			CollisionCount: new(int32(7)), ObservedReleasePlanHash: "h", Phase: "Progressing",
		},
	}
	if diff := cmp.Diff(wire(t, beta), wire(t, releaseUp(t, alpha))); diff != "" {
		t.Error("v1alpha1 to v1beta1", diff)
	}
	if diff := cmp.Diff(wire(t, alpha), wire(t, releaseDown(t, beta))); diff != "" {
		t.Error("v1beta1 to v1alpha1", diff)
	}
}

func TestStyleOfABatchReleaseFromV1alpha1(t *testing.T) {
	cases := map[string]struct {
		spec       v1alpha1.RollingStyleType
		annotation string
		want       v1beta1.RollingStyleType
	}{
		"none":                         {"", "", ""},
		"annotation partition":         {"", "partition", v1beta1.PartitionRollingStyle},
		"annotation canary":            {"", "CANARY", v1beta1.CanaryRollingStyle},
		"annotation bluegreen":         {"", "bluegreen", v1beta1.BlueGreenRollingStyle},
		"annotation of something else": {"", "odd", ""},
		"spec":                         {"BlueGreen", "", v1beta1.BlueGreenRollingStyle},
		"spec wins":                    {"Partition", "canary", v1beta1.PartitionRollingStyle},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spoke := &v1alpha1.BatchRelease{ObjectMeta: annotated(v1beta1.RollingStyleAnnotation, c.annotation)}
			spoke.Spec.ReleasePlan.RollingStyle = c.spec
			hub := releaseUp(t, spoke)
			if got := hub.Spec.ReleasePlan.RollingStyle; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			back := releaseDown(t, hub)
			if got := back.Spec.ReleasePlan.RollingStyle; got != c.spec {
				t.Errorf("reads back as %q, was written as %q", got, c.spec)
			}
			if got := back.Annotations[v1beta1.RollingStyleAnnotation]; got != styleText(c.want) {
				t.Errorf("the annotation is %q", got)
			}
		})
	}
}

func TestAnnotationOfABatchReleaseCanBeEditedAgain(t *testing.T) {
	spoke := &v1alpha1.BatchRelease{ObjectMeta: annotated(v1beta1.RollingStyleAnnotation, "canary")}
	spoke = releaseDown(t, releaseUp(t, spoke))
	write(spoke, v1beta1.RollingStyleAnnotation, "partition")
	if got := releaseUp(t, spoke).Spec.ReleasePlan.RollingStyle; got != v1beta1.PartitionRollingStyle {
		t.Errorf("got %q", got)
	}
}

func TestAnEmptyStyleIsWrittenToTheAnnotation(t *testing.T) {
	spoke := releaseDown(t, &v1beta1.BatchRelease{})
	if value, found := spoke.Annotations[v1beta1.RollingStyleAnnotation]; !found || value != "" {
		t.Errorf("got %q, %t", value, found)
	}
	if hub := releaseUp(t, spoke); hub.Annotations != nil {
		t.Errorf("v1beta1 shows %v", hub.Annotations)
	}
}

func TestStatusOfABatchReleaseThatV1alpha1DoesNotShow(t *testing.T) {
	hub := &v1beta1.BatchRelease{Status: v1beta1.BatchReleaseStatus{Message: "m", PodTemplateHash: "p", UpdateRevision: "u"}}

	spoke := releaseDown(t, hub)
	spoke.Status.CanaryStatus.UpdatedReplicas = 4
	got := releaseUp(t, spoke).Status
	if want := (v1beta1.BatchReleaseStatus{
		Message: "m", PodTemplateHash: "p", UpdateRevision: "u",
		CanaryStatus: v1beta1.BatchReleaseCanaryStatus{UpdatedReplicas: 4},
	}); !same(got, want) {
		t.Error(cmp.Diff(want, got))
	}

	spoke.Status.UpdateRevision = "other"
	if got := releaseUp(t, spoke).Status.PodTemplateHash; got != "" {
		t.Errorf("the hash %q belongs to another revision", got)
	}
}
