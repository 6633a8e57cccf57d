package conversion

import (
	"encoding/json"
	"testing"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// addSeeds adds objects whose memories do not fit them.
func addSeeds(f *testing.F) {
	f.Helper()
	alpha, beta := full()
	for _, o := range []any{alpha, beta} {
		text, err := json.Marshal(o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		`{}`,
		`{"spec":{"strategy":{"canary":{"steps":[{},null]}}}}`,
		`{"spec":{"strategy":{"blueGreen":{"steps":[{}]}}},"status":{"blueGreenStatus":{}}}`,
		`{"metadata":{"annotations":{"rollouts.kruise.io/v1alpha1-only":"{\"impliedReplicas\":[-1,0,99,0]}"}},` +
			`"spec":{"strategy":{"canary":{"steps":[{"traffic":"1%","weight":1}]}}}}`,
		`{"metadata":{"annotations":{"rollouts.kruise.io/v1beta1-only":"{\"spec\":{\"strategy\":{\"canary\":{\"steps\":[{},{\"matches\":[{},{}]}]},` +
			`\"blueGreen\":{}}},\"status\":{\"canaryStatus\":{}},\"annotations\":{\"rollouts.kruise.io/rolling-style\":null}}"}},` +
			`"spec":{"strategy":{"canary":{"steps":[{"weight":1,"matches":[{},{}]},{},{}]}}}}`,
		`{"metadata":{"annotations":{"rollouts.kruise.io/v1beta1-only":"{\"message\":\"m\",\"updateRevision\":\"u\"}","rollouts.kruise.io/rolling-style":"CANARY"}},` +
			`"spec":{"targetReference":{"workloadRef":null},"workloadRef":{},"releasePlan":{"batches":[{"canaryReplicas":"x"}],"rollingStyle":"odd"}}}`,
	} {
		f.Add([]byte(text))
	}
}

// FuzzRollout: no JSON that decodes makes a conversion fail, and what was stored survives.
func FuzzRollout(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		spoke, hub := &v1alpha1.Rollout{}, &v1beta1.Rollout{}
		if json.Unmarshal(text, spoke) == nil {
			rolloutDown(t, rolloutUp(t, spoke))
		}
		if json.Unmarshal(text, hub) != nil {
			return
		}
		hub = sent(t, hub)
		drop(hub, v1beta1.HubDataAnnotation)
		drop(hub, v1beta1.SpokeDataAnnotation)
		hub = sent(t, hub)
		back := rolloutUp(t, rolloutDown(t, hub))
		back.TypeMeta = hub.TypeMeta
		if a, b := wire(t, hub), wire(t, back); a != b {
			t.Errorf("stored %s, came back %s", a, b)
		}
	})
}

// FuzzBatchRelease is FuzzRollout for the other kind.
func FuzzBatchRelease(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		spoke, hub := &v1alpha1.BatchRelease{}, &v1beta1.BatchRelease{}
		if json.Unmarshal(text, spoke) == nil {
			releaseDown(t, releaseUp(t, spoke))
		}
		if json.Unmarshal(text, hub) != nil {
			return
		}
		hub = sent(t, hub)
		drop(hub, v1beta1.HubDataAnnotation)
		drop(hub, v1beta1.SpokeDataAnnotation)
		hub = sent(t, hub)
		back := releaseUp(t, releaseDown(t, hub))
		back.TypeMeta = hub.TypeMeta
		if a, b := wire(t, hub), wire(t, back); a != b {
			t.Errorf("stored %s, came back %s", a, b)
		}
	})
}
