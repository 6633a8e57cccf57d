package rollout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// Hash names the plan of a Rollout: what changes it makes a running release find its place anew.
// Pauses and the threshold of failures are left out, so editing them does not. SHA-256 of the
// strategy's JSON, in the alphabet of Kubernetes' safe names.
func Hash(r *v1beta1.Rollout) string {
	strategy := r.Spec.Strategy.DeepCopy()
	var plan any
	switch {
	case strategy.Canary != nil:
		strategy.Canary.FailureThreshold = nil
		withoutPauses(strategy.Canary.Steps)
		plan = strategy.Canary
	case strategy.BlueGreen != nil:
		strategy.BlueGreen.FailureThreshold = nil
		withoutPauses(strategy.BlueGreen.Steps)
		plan = strategy.BlueGreen
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return "" // a struct of strings and numbers always marshals
	}
	sum := sha256.Sum256(text)
	return rand.SafeEncodeString(hex.EncodeToString(sum[:]))
}

func withoutPauses(steps []v1beta1.CanaryStep) {
	for i := range steps {
		steps[i].Pause = v1beta1.RolloutPause{}
	}
}
