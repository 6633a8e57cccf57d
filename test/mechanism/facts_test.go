package mechanism

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/test/record"
)

// Facts about the native Deployment controller, in numbers: the mechanism rests on them, so a
// release of Kubernetes that changes one must turn a test red. Where the operator has to act on a
// fact, the second half of the test shows that it does.

const desiredReplicas = "deployment.kubernetes.io/desired-replicas"

// endless is the minReadySeconds of pods that must not count as available.
const endless = int32(v1beta1.MaxReadySeconds)

func TestFact1PausedDeploymentScalesWithItsSurge(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	s.deployment(10, "25%", "25%")
	s.native([]edit{paused(true), image("v2")})
	assert.Nil(t, s.set("v2"), "no ReplicaSet for a new template while paused")
	assert.Equal(t, map[string]int{"v1": 10}, s.pods())

	s.gate("v2", 2)
	assert.Equal(t, map[string]int{"v1": 8, "v2": 2}, s.pods())
	s.native([]edit{limits("2", "1")})
	assert.Equal(t, map[string]int{"v1": 10, "v2": 2}, s.pods(), "up to replicas + maxSurge, in the largest ReplicaSet")
	s.native([]edit{limits("0", "1")})
	assert.Equal(t, map[string]int{"v1": 8, "v2": 2}, s.pods(), "the excess goes, ready old pods too")

	before := s.uids()
	s.native([]edit{minReady(1)}, []edit{minReady(0)})
	assert.Equal(t, before, s.uids(), "stable while the total is where it should be")
	s.native([]edit{scale(20)})
	assert.Equal(t, map[string]int{"v1": 16, "v2": 4}, s.pods(), "a scale event is shared out in proportion")
}

func TestFact2MinReadySecondsGoToTheCurrentReplicaSetOnly(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	s.deployment(10, "25%", "25%")
	s.gate("v2", 2)
	s.native([]edit{minReady(endless)})
	assert.Equal(t, endless, s.set("v2").Spec.MinReadySeconds, "also while paused")
	assert.Equal(t, int32(0), s.set("v2").Status.AvailableReplicas)
	assert.Equal(t, int32(0), s.set("v1").Spec.MinReadySeconds)
	assert.Equal(t, int32(8), s.set("v1").Status.AvailableReplicas, "old pods stay available")
}

// The native controller judges by the statuses of ReplicaSets, which lag. The operator opens only
// once no new pod counts as available any more, and so never lets one through too many.
func TestFact3OpensOnlyOnceNoNewPodIsAvailable(t *testing.T) {
	t.Parallel()
	s := begin(t, shared)
	owner := s.deployment(20, "25%", "25%")
	var shares []string
	for percent := 5; percent <= 100; percent += 5 {
		shares = append(shares, fmt.Sprintf("%d%%", percent))
	}
	s.rollout(shares...)
	s.release(image("v2"))
	s.finish()
	s.plain(wanted(owner, image("v2")))
	opened := 0
	before := ""
	record.Replay(s.recorder.Log(), func(e record.Entry, st record.State) {
		d, ok := e.Object.(*appsv1.Deployment)
		if !ok || e.Deleted {
			return
		}
		if now := gateOf(d); now != before {
			before = now
			if rs := setOf(st, "v2"); now == "open" {
				opened++
				if rs != nil && rs.Status.AvailableReplicas > 0 {
					t.Errorf("version %d is open while %d new pods count as available", e.Version, rs.Status.AvailableReplicas)
				}
			}
		}
	})
	t.Logf("opened %d times", opened)
	assert.GreaterOrEqual(t, opened, len(shares)-1, "every step but the last needs a window")
}

func TestFact4UnavailableOldPodsGoFirst(t *testing.T) {
	t.Parallel()
	t.Run("oldest first where all are available", func(t *testing.T) {
		t.Parallel()
		s := begin(t, shared)
		s.deployment(20, "25%", "25%")
		s.gate("v2", 10)
		s.gate("v3", 4)
		assert.Equal(t, map[string]int{"v1": 6, "v2": 10, "v3": 4}, s.pods())
	})
	t.Run("of several with unavailable pods the oldest first, ready or not", func(t *testing.T) {
		t.Parallel()
		s := begin(t, shared)
		s.deployment(20, "25%", "25%")
		s.rules.AnyAvailability = true
		s.gate("v2", 5)
		s.gate("v3-failed", 5)
		assert.Equal(t, map[string]int{"v1": 10, "v2": 5, "v3-failed": 5}, s.pods())
		s.editSet("v2", func(rs *appsv1.ReplicaSet) { rs.Spec.MinReadySeconds = endless })
		s.settle()
		s.gate("v4", 4)
		assert.Equal(t, map[string]int{"v1": 10, "v2": 1, "v3-failed": 5, "v4": 4}, s.pods())
	})
	t.Run("the operator takes an unfinished release first", func(t *testing.T) {
		t.Parallel()
		s := begin(t, shared)
		owner := s.deployment(20, "25%", "25%")
		s.rollout("20%", "50%", "100%")
		s.release(image("v2"))
		s.approve()
		s.untilPaused(2)
		assert.Equal(t, map[string]int{"v1": 10, "v2": 10}, s.pods())
		s.release(image("v3"))
		assert.Equal(t, map[string]int{"v1": 10, "v2": 6, "v3": 4}, s.pods())
		for tag, rs := range map[string]*appsv1.ReplicaSet{"v1": s.set("v1"), "v2": s.set("v2"), "v3": s.set("v3")} {
			assert.Equal(t, int32(0), rs.Spec.MinReadySeconds, "%s at rest", tag)
		}
		s.until("all pods are available", func(st record.State) bool { return st.Deployment(web).Status.AvailableReplicas == 20 })
		s.finish()
		s.plain(wanted(owner, image("v3")))
	})
}

func TestFact5WithNobodyAtHome(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]edit{"held": minReady(0), "armed": minReady(endless)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, shared)
			s.deployment(20, "25%", "25%")
			s.gate("v2", 10)
			s.native([]edit{state})
			before := s.uids()
			s.native([]edit{image("v3")}, []edit{image("v1")}, []edit{image("v2"), slow("1ms")})
			assert.Equal(t, before, s.uids(), "an edit, an undo and a restart change nothing")
			s.native([]edit{image("v2"), func(d *appsv1.Deployment) { d.Spec.Template.Annotations = nil }}, []edit{scale(10)})
			assert.Equal(t, map[string]int{"v1": 5, "v2": 5}, s.pods(), "a scale is shared out")
		})
	}
	t.Run("open", func(t *testing.T) {
		t.Parallel()
		s := begin(t, shared)
		s.deployment(20, "25%", "25%")
		s.gate("v2", 18)
		s.native([]edit{minReady(endless)}, []edit{paused(false), limits("0", "18")}, []edit{image("v3")})
		assert.Equal(t, map[string]int{"v1": 2, "v3": 18}, s.pods(), "as many as the window lets through, new ones first")
	})
	t.Run("a held one that is resumed rolls by its own maxUnavailable", func(t *testing.T) {
		t.Parallel()
		s := begin(t, shared)
		s.deployment(20, "25%", "25%")
		s.gate("v2-slow", 4)
		s.native([]edit{limits("0", "2")})
		s.hurry()
		s.native([]edit{paused(false)})
		assert.Equal(t, map[string]int{"v2-slow": 20}, s.pods()) // invariant 4 has watched the way
	})
}

func TestFact6NoReplicasAndBack(t *testing.T) {
	t.Parallel()
	t.Run("all come back in the newest ReplicaSet", func(t *testing.T) {
		t.Parallel()
		s := begin(t, shared)
		s.deployment(10, "25%", "25%")
		s.gate("v2", 2)
		s.native([]edit{scale(0)}, []edit{scale(10)})
		assert.Equal(t, map[string]int{"v2": 10}, s.pods())
	})
	t.Run("without a history the stable ReplicaSet goes", func(t *testing.T) {
		t.Parallel()
		s := begin(t, shared)
		s.deployment(10, "25%", "25%", history(0))
		s.gate("v2", 2)
		s.native([]edit{scale(0)})
		assert.Nil(t, s.set("v1"))
	})
	t.Run("the operator forgets what was released and keeps the stable one", func(t *testing.T) {
		t.Parallel()
		s := begin(t, shared)
		s.rules.AnySize, s.rules.AnyAvailability = true, true
		owner := s.deployment(10, "25%", "25%", history(0))
		s.rollout("20%", "100%")
		s.release(image("v2"))
		assert.Equal(t, int32(1), *s.live().Spec.RevisionHistoryLimit)
		s.update(scale(0))
		s.until("the new ReplicaSet is gone", func(st record.State) bool { return setOf(st, "v2") == nil })
		s.settle()
		assert.NotNil(t, s.set("v1"))
		s.update(scale(10))
		s.until("the batch is there again", func(st record.State) bool { n := tags(st); return n["v1"] == 8 && n["v2"] == 2 })
		s.untilPaused(1)
		s.finish()
		s.plain(wanted(owner, image("v2")))
	})
}

func history(n int32) edit {
	return func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = &n }
}

func TestFact7DesiredReplicasTrap(t *testing.T) {
	t.Parallel()
	trap := func(rs *appsv1.ReplicaSet) { rs.Annotations[desiredReplicas] = "9" }
	t.Run("blocks every rollout", func(t *testing.T) {
		t.Parallel()
		s := begin(t, shared)
		s.deployment(10, "25%", "25%")
		s.native([]edit{paused(true), image("v2")})
		s.editSet("v1", trap)
		s.native([]edit{paused(false)})
		assert.Equal(t, map[string]int{"v1": 10}, s.pods())
		assert.Nil(t, s.set("v2"))
	})
	t.Run("the operator mends it when arming", func(t *testing.T) {
		t.Parallel()
		s := begin(t, shared)
		owner := s.deployment(10, "25%", "25%")
		s.rollout("20%", "100%")
		s.pauseRollout(true)
		s.update(image("v2"))
		s.until("the release is held", func(st record.State) bool {
			return inGate(st, "held") && st.Rollout(web).Status.Phase == v1beta1.RolloutPhaseProgressing && consistent(st)
		})
		s.editSet("v1", trap)
		s.pauseRollout(false)
		s.untilPaused(1)
		assert.Equal(t, map[string]int{"v1": 8, "v2": 2}, s.pods())
		s.finish()
		s.plain(wanted(owner, image("v2")))
	})
}

func TestFact8ScaleByOnesGoesToTheLarger(t *testing.T) {
	t.Parallel()
	t.Run("the native controller", func(t *testing.T) {
		t.Parallel()
		s := begin(t, shared)
		s.deployment(10, "25%", "25%")
		s.gate("v2", 5)
		for n := int32(11); n <= 20; n++ {
			s.update(scale(n))
			s.until("scaled", func(st record.State) bool { return consistent(st) && st.Deployment(web).Status.Replicas == n })
		}
		assert.Equal(t, map[string]int{"v1": 5, "v2": 15}, s.pods())
	})
	for name, unavailable := range map[string]string{"with surge": "0", "with unavailable": "25%"} {
		t.Run("the operator "+name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, shared)
			s.rules.AnySize, s.rules.AnyAvailability = true, true
			owner := s.deployment(10, "25%", unavailable)
			s.rollout("30%", "100%")
			s.release(image("v2"))
			for n := int32(11); n <= 20; n++ {
				s.update(scale(n))
				s.until("scaled", func(st record.State) bool { return consistent(st) && st.Deployment(web).Status.Replicas == n })
			}
			s.until("the step has its pods again", func(st record.State) bool {
				n := tags(st)
				return n["v2"] >= 6 && n["v1"]+n["v2"] == 20 && inGate(st, "held")
			})
			s.settle()
			t.Logf("3 of 10, then 20 by ones: %v", s.pods())
			s.finish()
			s.plain(wanted(owner, image("v2"), scale(20)))
		})
	}
}

func TestFact9BrokenPodsOfAnAbandonedReleaseStayUntilCovered(t *testing.T) {
	t.Parallel()
	t.Run("covered by the first step", func(t *testing.T) {
		t.Parallel()
		s := begin(t, shared)
		owner := s.deployment(10, "25%", "25%")
		s.rollout("50%", "80%", "100%")
		s.update(image("v2-failed"))
		s.until("the broken batch has its window's pods", func(st record.State) bool {
			return tags(st)["v2-failed"] == 5 && inGate(st, "armed") && consistent(st)
		})
		assert.Equal(t, map[string]int{"v1": 8, "v2-failed": 5}, s.pods(), "2 unavailable and 3 surge")
		s.release(image("v3"))
		assert.Equal(t, map[string]int{"v1": 5, "v3": 5}, s.pods())
		s.finish()
		s.plain(wanted(owner, image("v3")))
	})
	t.Run("not covered by the first step", func(t *testing.T) {
		t.Parallel()
		s := begin(t, shared)
		owner := s.deployment(10, "25%", "25%", slow(forever))
		s.rollout("10%", "80%", "100%")
		still := s.hurry()
		s.release(image(v2))
		still()
		s.approve()
		s.until("the second batch has its window's pods, broken", func(st record.State) bool {
			return tags(st)[v2] == 6 && inGate(st, "armed") && consistent(st)
		})
		assert.Equal(t, map[string]int{"v1": 7, v2: 6}, s.pods(), "3 unavailable and 3 surge, 5 of them not ready")
		s.release(image("v3"))
		assert.Equal(t, map[string]int{"v1": 7, v2: 2, "v3": 1}, s.pods())
		assert.Equal(t, int32(1), s.set(v2).Status.ReadyReplicas, "one broken pod stays")
		s.approve()
		s.untilPaused(2)
		assert.Equal(t, map[string]int{"v1": 2, "v3": 8}, s.pods())
		s.finish()
		s.plain(wanted(owner, image("v3")))
	})
}
