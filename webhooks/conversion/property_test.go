package conversion

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

var (
	seed   = flag.Int64("seed", 0, "seed of the random objects; 0 takes a new one")
	rounds = flag.Int("rounds", 300, "how many random objects each law is tried on")
)

// filler makes random objects as they come from the API server: times have no fractions, and values
// are often ones that mean something.
func filler(t *testing.T) (*randfill.Filler, *rand.Rand) {
	t.Helper()
	s := *seed
	if s == 0 {
		s = time.Now().UnixNano() //nolint:forbidigo // printed below, so that a failure can be repeated
	}
	t.Logf("repeat with -seed=%d", s)
	r := rand.New(rand.NewPCG(uint64(s), 1))
	oneOf := func(values ...string) string { return values[r.IntN(len(values))] }
	return randfill.NewWithSeed(s).NilChance(0.4).NumElements(0, 4).Funcs(
		func(at *metav1.Time, _ randfill.Continue) { *at = metav1.Unix(r.Int64N(4e9), 0).Rfc3339Copy() },
		func(n *intstr.IntOrString, _ randfill.Continue) {
			*n = intstr.FromInt32(int32(r.IntN(5)))
			if r.IntN(2) == 0 {
				*n = intstr.FromString(oneOf("10%", "20%", "100%", "x"))
			}
		},
		func(s *v1beta1.TrafficRoutingStrategy, c randfill.Continue) {
			c.FillNoCustom(s)
			if s.Traffic != nil {
				s.Traffic = new(oneOf("10%", "20%", "100%", "0%", "020%", "-3%", "12.5%", "99999999999%", "20", "", "many"))
			}
		},
		func(w *v1alpha1.TrafficRoutingStrategy, c randfill.Continue) {
			c.FillNoCustom(w)
			if w.Weight != nil && r.IntN(4) > 0 {
				w.Weight = new([]int32{0, 10, 20, 100, -3}[r.IntN(5)])
			}
		},
		func(w *v1alpha1.WorkloadRef, c randfill.Continue) {
			c.FillNoCustom(w)
			w.Kind = "Deployment" // an empty reference is one that is absent
		},
		func(s *v1beta1.RollingStyleType, _ randfill.Continue) {
			*s = v1beta1.RollingStyleType(oneOf("", "Canary", "Partition", "BlueGreen", "Partition", "partition", "odd"))
		},
		func(s *v1alpha1.RollingStyleType, _ randfill.Continue) {
			*s = v1alpha1.RollingStyleType(oneOf("", "Canary", "Partition", "BlueGreen", "Partition", "partition", "odd"))
		},
		func(m *metav1.ObjectMeta, c randfill.Continue) {
			*m = metav1.ObjectMeta{Name: "web", Namespace: "shop", Generation: r.Int64N(9), UID: "1"}
			c.Fill(&m.Labels)
			c.Fill(&m.Annotations)
			if m.Annotations == nil {
				m.Annotations = map[string]string{}
			}
			if r.IntN(2) == 0 {
				m.Annotations[v1beta1.RollingStyleAnnotation] = oneOf("", "canary", "Canary", "partition", "PARTITION", "bluegreen", "odd")
			}
			if r.IntN(2) == 0 {
				m.Annotations[v1beta1.TrafficRoutingAnnotation] = oneOf("", "a", "b")
			}
		},
		func(s *v1beta1.RolloutStrategy, c randfill.Continue) {
			c.FillNoCustom(s)
			if r.IntN(3) > 0 { // both at once is against the rules, but can be stored
				s.BlueGreen = nil
			}
			if s.Canary != nil {
				s.Canary.TrafficRoutingRef = oneOf("", "a", "b")
			}
		},
	), r
}

func wire(t *testing.T, o any) string {
	t.Helper()
	b, err := json.MarshalIndent(o, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sent is what the other side reads: nothing is shared with o.
func sent[T any](t *testing.T, o *T) *T {
	t.Helper()
	out := new(T)
	if err := json.Unmarshal([]byte(wire(t, o)), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func rolloutDown(t *testing.T, hub *v1beta1.Rollout) *v1alpha1.Rollout {
	t.Helper()
	spoke := &v1alpha1.Rollout{}
	if err := rolloutToSpoke(t.Context(), hub, spoke); err != nil {
		t.Fatal(err)
	}
	if value, found := spoke.Annotations[v1beta1.SpokeDataAnnotation]; found {
		t.Errorf("a v1alpha1 object shows %s", value)
	}
	return sent(t, spoke)
}

func rolloutUp(t *testing.T, spoke *v1alpha1.Rollout) *v1beta1.Rollout {
	t.Helper()
	hub := &v1beta1.Rollout{}
	if err := rolloutToHub(t.Context(), spoke, hub); err != nil {
		t.Fatal(err)
	}
	if value, found := hub.Annotations[v1beta1.HubDataAnnotation]; found {
		t.Errorf("a v1beta1 object shows %s", value)
	}
	return sent(t, hub)
}

func releaseDown(t *testing.T, hub *v1beta1.BatchRelease) *v1alpha1.BatchRelease {
	t.Helper()
	spoke := &v1alpha1.BatchRelease{}
	if err := batchReleaseToSpoke(t.Context(), hub, spoke); err != nil {
		t.Fatal(err)
	}
	return sent(t, spoke)
}

func releaseUp(t *testing.T, spoke *v1alpha1.BatchRelease) *v1beta1.BatchRelease {
	t.Helper()
	hub := &v1beta1.BatchRelease{}
	if err := batchReleaseToHub(t.Context(), spoke, hub); err != nil {
		t.Fatal(err)
	}
	return sent(t, hub)
}

// visible removes what a conversion to v1alpha1 always writes.
func visible[O metav1.Object](o O) O {
	drop(o, v1beta1.RollingStyleAnnotation)
	drop(o, v1beta1.HubDataAnnotation)
	return o
}

func TestStoredRolloutSurvivesAClientOfV1alpha1(t *testing.T) {
	fill, _ := filler(t)
	for i := range *rounds {
		hub := &v1beta1.Rollout{}
		fill.Fill(hub)
		hub.TypeMeta = metav1.TypeMeta{}
		hub = sent(t, hub)
		spoke := rolloutDown(t, hub)
		if diff := cmp.Diff(wire(t, hub), wire(t, rolloutUp(t, spoke))); diff != "" {
			t.Fatalf("object %d, shown as %s: %s", i, wire(t, spoke), diff)
		}
	}
}

func TestV1alpha1RolloutReadsBackAsWritten(t *testing.T) {
	fill, _ := filler(t)
	for i := range *rounds {
		spoke := &v1alpha1.Rollout{}
		fill.Fill(spoke)
		spoke.TypeMeta = metav1.TypeMeta{}
		spoke = sent(t, spoke)
		hub := rolloutUp(t, spoke)
		back := rolloutDown(t, hub)
		if diff := cmp.Diff(wire(t, visible(spoke)), wire(t, visible(back))); diff != "" {
			t.Fatalf("object %d, stored as %s: %s", i, wire(t, hub), diff)
		}
		again := rolloutUp(t, rolloutDown(t, hub))
		if diff := cmp.Diff(wire(t, hub), wire(t, again)); diff != "" {
			t.Fatalf("object %d is stored differently when written back: %s", i, diff)
		}
	}
}

func TestStoredBatchReleaseSurvivesAClientOfV1alpha1(t *testing.T) {
	fill, _ := filler(t)
	for i := range *rounds {
		hub := &v1beta1.BatchRelease{}
		fill.Fill(hub)
		hub.TypeMeta = metav1.TypeMeta{}
		hub = sent(t, hub)
		spoke := releaseDown(t, hub)
		if diff := cmp.Diff(wire(t, hub), wire(t, releaseUp(t, spoke))); diff != "" {
			t.Fatalf("object %d, shown as %s: %s", i, wire(t, spoke), diff)
		}
	}
}

func TestV1alpha1BatchReleaseReadsBackAsWritten(t *testing.T) {
	fill, _ := filler(t)
	for i := range *rounds {
		spoke := &v1alpha1.BatchRelease{}
		fill.Fill(spoke)
		spoke.TypeMeta = metav1.TypeMeta{}
		spoke = sent(t, spoke)
		hub := releaseUp(t, spoke)
		back := releaseDown(t, hub)
		if diff := cmp.Diff(wire(t, visible(spoke)), wire(t, visible(back))); diff != "" {
			t.Fatalf("object %d, stored as %s: %s", i, wire(t, hub), diff)
		}
	}
}

// edits are what a client of v1alpha1 may do to what it was shown; other is a random object to take
// values from.
var edits = []func(r *rand.Rand, seen, other *v1alpha1.Rollout){
	func(_ *rand.Rand, seen, other *v1alpha1.Rollout) { seen.Labels = other.Labels },
	func(_ *rand.Rand, seen, other *v1alpha1.Rollout) { seen.Spec.ObjectRef = other.Spec.ObjectRef },
	func(_ *rand.Rand, seen, _ *v1alpha1.Rollout) { seen.Spec.Disabled = !seen.Spec.Disabled },
	func(_ *rand.Rand, seen, _ *v1alpha1.Rollout) { seen.Spec.Strategy.Paused = !seen.Spec.Strategy.Paused },
	func(_ *rand.Rand, seen, other *v1alpha1.Rollout) {
		seen.Spec.Strategy.Canary = other.Spec.Strategy.Canary
	},
	func(_ *rand.Rand, seen, other *v1alpha1.Rollout) { seen.Status = other.Status },
	func(_ *rand.Rand, seen, other *v1alpha1.Rollout) {
		seen.Status.CanaryStatus = other.Status.CanaryStatus
	},
	func(_ *rand.Rand, seen, other *v1alpha1.Rollout) {
		seen.Spec.DeprecatedRolloutID = other.Spec.DeprecatedRolloutID
	},
	func(_ *rand.Rand, seen, _ *v1alpha1.Rollout) {
		write(seen, v1beta1.TrafficRoutingAnnotation, "edited")
	},
	func(_ *rand.Rand, seen, _ *v1alpha1.Rollout) { drop(seen, v1beta1.TrafficRoutingAnnotation) },
	func(r *rand.Rand, seen, other *v1alpha1.Rollout) {
		c, o := seen.Spec.Strategy.Canary, other.Spec.Strategy.Canary
		if c == nil || o == nil || len(c.Steps) == 0 || len(o.Steps) == 0 {
			return
		}
		i := r.IntN(len(c.Steps))
		switch step := o.Steps[0]; r.IntN(7) {
		case 0:
			c.Steps = append(c.Steps[:i:i], append([]v1alpha1.CanaryStep{step}, c.Steps[i:]...)...)
		case 1:
			c.Steps = append(c.Steps[:i:i], c.Steps[i+1:]...)
		case 2:
			c.Steps[i].Weight = step.Weight
		case 3:
			c.Steps[i].Replicas = step.Replicas
		case 4:
			c.Steps[i].Matches = step.Matches
		case 5:
			c.Steps[i].RequestHeaderModifier = step.RequestHeaderModifier
		default:
			c.Steps[i].Pause = step.Pause
		}
	},
}

func TestEditsOfAV1alpha1ClientSurvive(t *testing.T) {
	fill, r := filler(t)
	for i := range *rounds {
		hub, other := &v1beta1.Rollout{}, &v1alpha1.Rollout{}
		fill.Fill(hub)
		fill.Fill(other)
		hub.TypeMeta = metav1.TypeMeta{}
		if hub.Spec.Strategy.Canary == nil {
			hub.Spec.Strategy.BlueGreen = nil // whose spec v1alpha1 does not show
		}
		edited := rolloutDown(t, sent(t, hub))
		for range 1 + r.IntN(3) {
			edits[r.IntN(len(edits))](r, edited, other)
		}
		edited = sent(t, edited)
		if edited.Spec.Strategy.Canary == nil && edited.Annotations[v1beta1.HubDataAnnotation] != "" {
			continue // no canary any more: nothing to be compared
		}
		back := rolloutDown(t, rolloutUp(t, edited))
		if diff := cmp.Diff(wire(t, visible(edited)), wire(t, visible(back))); diff != "" {
			t.Fatalf("object %d was edited and reads back otherwise: %s", i, diff)
		}
	}
}

func TestApprovalThroughV1alpha1IsNotUndone(t *testing.T) {
	fill, _ := filler(t)
	for i := range *rounds {
		hub := &v1beta1.Rollout{}
		fill.Fill(hub)
		hub.Spec.Strategy.Canary = &v1beta1.CanaryStrategy{Steps: []v1beta1.CanaryStep{{}}}
		hub.Spec.Strategy.BlueGreen = nil
		hub.Status.CanaryStatus = &v1beta1.CanaryStatus{CommonStatus: v1beta1.CommonStatus{
			CurrentStepState: v1beta1.CanaryStepStatePaused, CurrentStepIndex: 1, NextStepIndex: 2,
		}}
		spoke := rolloutDown(t, hub)
		spoke.Status.CanaryStatus.CurrentStepState = v1alpha1.CanaryStepState(v1beta1.CanaryStepStateReady)
		spoke.Status.CanaryStatus.NextStepIndex = 4
		got := rolloutUp(t, spoke).Status
		want := sent(t, &hub.Status)
		want.CanaryStatus.CurrentStepState, want.CanaryStatus.NextStepIndex = v1beta1.CanaryStepStateReady, 4
		want.CurrentStepState, want.CurrentStepIndex = v1beta1.CanaryStepStateReady, 1
		if diff := cmp.Diff(wire(t, want), wire(t, got)); diff != "" {
			t.Fatalf("object %d: %s", i, diff)
		}
	}
}

func TestNoMemoryBreaksAConversion(t *testing.T) {
	fill, r := filler(t)
	for range *rounds {
		spoke, hub, only := &v1alpha1.Rollout{}, &v1beta1.Rollout{}, rolloutHubOnly{}
		fill.Fill(spoke)
		fill.Fill(hub)
		fill.Fill(&only)
		keep(spoke, v1beta1.HubDataAnnotation, only)
		keep(hub, v1beta1.SpokeDataAnnotation, rolloutSpokeOnly{RolloutID: "x", ImpliedReplicas: []int{r.IntN(9) - 4, r.IntN(9), r.Int()}})
		stored := rolloutUp(t, rolloutDown(t, rolloutUp(t, spoke)))
		rolloutDown(t, stored)
		rolloutDown(t, hub)
	}
}
