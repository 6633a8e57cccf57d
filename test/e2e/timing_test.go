package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/test/record"
)

// restsWithin is how long after its last pod got ready a step rests at the latest.
const restsWithin = 300 * time.Millisecond

// attempts is how often a release is measured before what else runs on the machine is no excuse.
const attempts = 3

// Nothing waits for a poll: a step rests as soon as its pods are ready. Not parallel, as other tests
// would be measured too.
func TestStepRestsAsSoonAsItsPodsAreReady(t *testing.T) {
	cases := map[string]struct {
		replicas           int32
		surge, unavailable string
		steps              []string
	}{
		"25% and 25% of 10":           {10, "25%", "25%", []string{"10%", "20%", "40%", "60%", "80%", "90%"}},
		"surge 1, unavailable 0 of 5": {5, "1", "0", []string{"20%", "40%", "60%", "80%"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var rests []time.Duration
			for range attempts {
				s := begin(t, shared)
				s.deployment(c.replicas, c.surge, c.unavailable)
				s.rollout(c.steps...)
				s.release("v2")
				for step := int32(2); int(step) <= len(c.steps); step++ {
					s.approve()
					s.untilPaused(step)
				}
				rests = s.rests()
				require.Len(t, rests, len(c.steps))
				t.Logf("steps rested %v after their last pod was ready", rests)
				if slices.Max(rests) < restsWithin {
					break
				}
			}
			assert.Less(t, slices.Max(rests), restsWithin)
		})
	}
}

// rests returns, for each step, how long it took from the last new pod's getting ready until the step
// rested.
func (s *scenario) rests() []time.Duration {
	var took []time.Duration
	var ready time.Time
	known := map[string]bool{}
	step := int32(0)
	record.Replay(s.recorder.Log(), func(e record.Entry, st record.State) {
		switch o := e.Object.(type) {
		case *corev1.Pod:
			if record.Ready(o) && !known[o.Name] && s.isNew(o, st) {
				known[o.Name], ready = true, e.Seen
			}
		case *v1beta1.Rollout:
			if c := o.Status.CanaryStatus; c != nil && o.Status.Phase == v1beta1.RolloutPhaseProgressing &&
				c.CurrentStepState == v1beta1.CanaryStepStatePaused && c.CurrentStepIndex > step {
				step = c.CurrentStepIndex
				took = append(took, e.Seen.Sub(ready))
			}
		}
	})
	return took
}

func (s *scenario) isNew(pod *corev1.Pod, st record.State) bool {
	_, latest := st.Sets(st.Deployment(web))
	return latest != nil && metav1.IsControlledBy(pod, latest) && latest.Annotations["deployment.kubernetes.io/revision"] != "1"
}
