package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/test/record"
)

func TestReleaseInApprovedBatches(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(10, "25%", "25%")
	s.rollout("20%", "50%", "100%")
	s.release("v2")
	assert.Equal(t, record.Counts{New: 2, NewReady: 2, Old: 8, OldReady: 8}, s.counts())
	s.approve()
	s.untilPaused(2)
	assert.Equal(t, record.Counts{New: 5, NewReady: 5, Old: 5, OldReady: 5}, s.counts())
	s.approve()
	s.untilPhase(v1beta1.RolloutPhaseHealthy)
	s.untilWhole()
	s.plain(owner)
}
