package rules

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// A Rollout comes from users, and an admission webhook that panics blocks everybody.
func FuzzNoRolloutMakesRulesPanic(f *testing.F) {
	for _, ro := range []any{inPlace("20% 20%", "100%"), bothColors("1 0%"), alpha("partition", "1", "50%"), weights("", weighted(20))} {
		text, err := json.Marshal(ro)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), string(text))
	}
	f.Add(`{"spec":{"strategy":{"canary":{"steps":[{"replicas":"9223372036854775807%","traffic":"%"}]}}}}`, `{}`)
	f.Fuzz(func(_ *testing.T, before, after string) {
		var old, ro v1beta1.Rollout
		if json.Unmarshal([]byte(before), &old) == nil && json.Unmarshal([]byte(after), &ro) == nil {
			everything(&old, &ro)
		}
		var oldAlpha, alpha v1alpha1.Rollout
		if json.Unmarshal([]byte(before), &oldAlpha) == nil && json.Unmarshal([]byte(after), &alpha) == nil {
			_ = usual.UpdateV1alpha1(&oldAlpha, &alpha, nil, nil).ToAggregate()
			_ = usual.UpdateV1alpha1(&oldAlpha, &alpha, &ro, []v1beta1.Rollout{ro}).ToAggregate()
		}
	})
}

func everything(old, ro *v1beta1.Rollout) {
	for _, phase := range []v1beta1.RolloutPhase{"", v1beta1.RolloutPhaseProgressing} {
		old.Status.Phase = phase
		if err := usual.Update(old, ro, []v1beta1.Rollout{*old}).ToAggregate(); err != nil {
			_ = err.Error()
		}
	}
}

// Whatever rules let through can be run: shares are within bounds, pods never shrink among
// comparable neighbors.
func TestAcceptedStepsAreSound(t *testing.T) {
	t.Parallel()
	value := rapid.OneOf(
		rapid.StringMatching(`-?[0-9]{1,3}%?`),
		rapid.SampledFrom([]string{"", "%", "100%", "0", "0%", "ten", "2147483648", "1.5%"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		var texts []string
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			texts = append(texts, value.Draw(t, "pods")+" "+value.Draw(t, "traffic"))
		}
		ro := rapid.SampledFrom([]func(...string) *v1beta1.Rollout{inPlace, extra, bothColors}).Draw(t, "style")(texts...)
		if len(usual.Create(ro, nil)) > 0 {
			return
		}
		for i, s := range ro.Spec.Strategy.Steps() {
			n, ok := number(*s.Replicas)
			assert.True(t, ok && n > 0, "step %d of %v", i, texts)
			if strings.HasSuffix(s.Replicas.String(), "%") {
				assert.LessOrEqual(t, n, 100, "step %d of %v", i, texts)
			}
		}
	})
}

func TestIgnoredStatusIsTold(t *testing.T) {
	t.Parallel()
	paused := map[string]any{"canaryStatus": map[string]any{"currentStepState": "StepPaused"}}
	ready := map[string]any{"canaryStatus": map[string]any{"currentStepState": "StepReady"}}
	blue := map[string]any{"blueGreenStatus": map[string]any{"currentStepState": "StepReady"}}
	assert.Empty(t, IgnoredStatus("ns", "ro", paused, paused))
	assert.Empty(t, IgnoredStatus("ns", "ro", paused, nil), "a manifest without status wants none")
	told := IgnoredStatus("ns", "ro", paused, ready)
	assert.Contains(t, told[0], "status is a subresource")
	assert.LessOrEqual(t, len(told[0]), 120, "longer warnings may be cut")
	assert.Contains(t, told[1], `kubectl patch rollout ro -n ns --subresource=status --type=merge -p '{"status":{"canaryStatus":{"currentStepState":"StepReady"}}}'`)
	assert.Contains(t, IgnoredStatus("ns", "ro", paused, blue)[1], `{"status":{"blueGreenStatus":{`)
}
