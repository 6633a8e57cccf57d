package integration

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

func TestRolloutsAreRefused(t *testing.T) {
	ns := namespace(t)
	edited := func(r *v1beta1.Rollout, edit func(*v1beta1.Rollout)) client.Object {
		edit(r)
		return r
	}
	style := alpha(ns, 20)
	style.Annotations = map[string]string{v1beta1.RollingStyleAnnotation: "bluegreen"}
	nothing := alpha(ns, 20)
	nothing.Spec.ObjectRef.WorkloadRef = nil
	for name, c := range map[string]struct {
		object client.Object
		reason string
	}{
		"no steps": {canary(ns), "Spec.Strategy.Canary.Steps: Invalid value: 0: The number of Canary.Steps cannot be empty"},
		"no strategy": {
			edited(canary(ns), func(r *v1beta1.Rollout) { r.Spec.Strategy.Canary = nil }),
			"Canary and BlueGreen cannot both be empty",
		},
		"two strategies": {
			edited(canary(ns, steps("1")...), func(r *v1beta1.Rollout) { r.Spec.Strategy.BlueGreen = &v1beta1.BlueGreenStrategy{} }),
			"Canary and BlueGreen cannot both be set",
		},
		"fewer pods than before": {canary(ns, steps("50%", "20%")...), "Steps.CanaryReplicas must be a non decreasing sequence"},
		"more than all pods":     {canary(ns, steps("101%")...), "replicas must be positive number"},
		"unknown kind": {
			edited(canary(ns, steps("1")...), func(r *v1beta1.Rollout) { r.Spec.WorkloadRef.Kind = "Job" }),
			"WorkloadRef kind is not supported",
		},
		"blue-green of a StatefulSet": {
			edited(blueGreen(ns, steps("1")...), func(r *v1beta1.Rollout) { r.Spec.WorkloadRef.Kind = "StatefulSet" }),
			"WorkloadRef kind is not supported for bluegreen style",
		},
		"v1alpha1 with weight 0":         {alpha(ns, 0), "weight must be between 1 and 100"},
		"v1alpha1 without a workload":    {nothing, "WorkloadRef is required"},
		"v1alpha1 with an unknown style": {style, "Rolling style must be 'Canary', 'Partition' or empty"},
	} {
		t.Run(name, func(t *testing.T) {
			err := admin.Create(t.Context(), c.object)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("the answer is %v", err)
			}
		})
	}
}

func TestSecondRolloutOfAWorkloadIsRefusedInEitherVersion(t *testing.T) {
	ns := namespace(t)
	must(t, admin.Create(t.Context(), canary(ns, steps("1")...)))
	newer, older := canary(ns, steps("1")...), alpha(ns, 20)
	newer.Name, older.Name = "newer", "older"
	for _, second := range []client.Object{newer, older} {
		eventually(t, func() error { // the operator has to see the first
			err := admin.Create(t.Context(), second, client.DryRunAll)
			if err == nil {
				return errors.New(second.GetName() + " is not refused")
			}
			if !strings.Contains(err.Error(), "This rollout conflict with Rollout("+ns+"/web)") {
				t.Errorf("the answer is %v", err)
			}
			return nil
		})
	}
}

func TestSpecOfBlueGreenIsNotChangedThroughV1alpha1(t *testing.T) {
	ns := namespace(t)
	must(t, admin.Create(t.Context(), blueGreen(ns, steps("50%", "100%")...)))
	eventually(t, func() error { // v1alpha1 doesn't show what is stored: the operator looks it up
		seen := get[v1alpha1.Rollout](t, ns, "web")
		seen.Spec.Strategy = alpha(ns, 20).Spec.Strategy
		err := admin.Update(t.Context(), seen, client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "change it in rollouts.kruise.io/v1beta1") {
			return errors.Join(errors.New("the answer is"), err)
		}
		return nil
	})
}

// warnings are what kubectl would print.
type warnings struct {
	sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.Lock()
	defer w.Unlock()
	w.texts = append(w.texts, text)
}

func TestApprovalThatWouldBeDroppedIsWarnedAbout(t *testing.T) {
	heard := &warnings{}
	config := rest.CopyConfig(server)
	config.WarningHandler = heard
	c, err := client.New(config, client.Options{Scheme: admin.Scheme()})
	must(t, err)
	ns := namespace(t)
	must(t, c.Create(t.Context(), canary(ns, steps("1")...)))
	r := get[v1beta1.Rollout](t, ns, "web")
	eventually(t, func() error {
		must(t, c.Get(t.Context(), client.ObjectKeyFromObject(r), r))
		if r.Status.Phase == "" {
			return errors.New("there is no status yet")
		}
		return nil
	})
	must(t, c.Patch(t.Context(), r, merge(`{"status":{"message":"approved"}}`)))
	heard.Lock()
	defer heard.Unlock()
	if !slices.ContainsFunc(heard.texts, func(text string) bool { return strings.Contains(text, "status is a subresource") }) {
		t.Errorf("the warnings are %q", heard.texts)
	}
}

// guarded waits until updates of the Deployment go through the operator.
func guarded(t *testing.T, d *appsv1.Deployment) {
	t.Helper()
	eventually(t, func() error {
		must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(d), d))
		if d.Labels[v1beta1.WorkloadTypeLabel] == "" {
			return errors.New("the Deployment has no label yet")
		}
		return nil
	})
}

func TestDryRunShowsWhatAnUpdateIsHeldTo(t *testing.T) {
	ns := namespace(t)
	d := deployment(t, ns)
	must(t, admin.Create(t.Context(), canary(ns, steps("1", "100%")...)))
	guarded(t, d)

	d.Spec.Template.Spec.Containers[0].Image = "web:v2"
	dry, held := d.DeepCopy(), d.DeepCopy()
	must(t, admin.Update(t.Context(), dry, client.DryRunAll))
	must(t, admin.Update(t.Context(), held))

	if diff := cmp.Diff(dry, held, cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ResourceVersion", "ManagedFields")); diff != "" {
		t.Error(diff)
	}
	if !held.Spec.Paused || held.Annotations[v1beta1.InProgressingAnnotation] == "" || held.Labels[v1beta1.StableRevisionLabel] != "1" {
		t.Errorf("it is not held: paused %t, annotations %v, labels %v", held.Spec.Paused, held.Annotations, held.Labels)
	}
	if image := held.Spec.Template.Spec.Containers[0].Image; image != "web:v2" {
		t.Errorf("the image is %s", image)
	}
}

func TestScalingIsNotHeld(t *testing.T) {
	ns := namespace(t)
	d := deployment(t, ns)
	must(t, admin.Create(t.Context(), canary(ns, steps("1", "100%")...)))
	guarded(t, d)
	must(t, admin.Patch(t.Context(), d, merge(`{"spec":{"replicas":7}}`)))
	if d.Spec.Paused || d.Annotations[v1beta1.InProgressingAnnotation] != "" || *d.Spec.Replicas != 7 {
		t.Errorf("it is held: %+v", d.ObjectMeta)
	}
}
