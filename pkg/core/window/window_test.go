package window

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// native is one ReplicaSet pair under the real controller's rules (rolling.go and sync.go of
// Kubernetes 1.37), with endless minReadySeconds: new pods exist but never count as available.
type native struct{ wanted, old, young int32 }

// settle runs the native controller until it has nothing left to do.
func (n native) settle(l Limits) native {
	for {
		next := n.pass(l)
		if next == n {
			return n
		}
		n = next
	}
}

func (n native) pass(l Limits) native {
	total := n.old + n.young
	if n.young > n.wanted {
		n.young = n.wanted
		return n
	}
	if n.young < n.wanted && total < n.wanted+l.Surge {
		n.young += min(n.wanted+l.Surge-total, n.wanted-n.young)
		return n
	}
	// All old pods are available here, so the clean-up of unhealthy ones never takes part.
	minAvailable := n.wanted - l.Unavailable
	if total-minAvailable-n.young > 0 && n.old > minAvailable {
		n.old = max(0, minAvailable)
	}
	return n
}

func (n native) pods(target, available int32) Pods {
	return Pods{Wanted: n.wanted, Target: target, New: n.young, Old: n.old, Available: available}
}

// For every size, every pair of limits, every target and every way in which pods get ready (and
// unready again) between windows, the native controller stays within the batch, keeps enough pods
// serving, and gets to the target when they are all ready.
func TestEveryReleaseStaysWithinItsBatch(t *testing.T) {
	t.Parallel()
	largest := int32(30)
	if testing.Short() {
		largest = 12
	}
	for wanted := int32(1); wanted <= largest; wanted++ {
		for surge := range wanted + 1 {
			for unavailable := range wanted + 1 {
				if surge == 0 && unavailable == 0 {
					continue
				}
				for target := range wanted + 1 {
					exploreBatch(t, wanted, target, Limits{Surge: surge, Unavailable: unavailable})
				}
			}
		}
	}
}

func exploreBatch(t *testing.T, wanted, target int32, user Limits) {
	t.Helper()
	start := native{wanted: wanted, old: wanted}
	seen := map[native]bool{start: true}
	for queue := []native{start}; len(queue) > 0; queue = queue[1:] {
		state := queue[0]
		for available := range state.young + 1 {
			l := Open(state.pods(target, available), user)
			if l.Shut() {
				continue
			}
			next := state.settle(l)
			if next.young > target {
				t.Fatalf("%+v target %d available %d: %d new pods under %+v of %+v", state, target, available, next.young, l, user)
			}
			if serving := next.old + available; serving < wanted-user.Unavailable && next.old < state.old {
				t.Fatalf("%+v target %d available %d: only %d pods serve under %+v of %+v", state, target, available, serving, l, user)
			}
			if !Idle(next.pods(target, available), l) {
				t.Fatalf("%+v settled to %+v under %+v but does not count as idle", state, next, l)
			}
			if available == state.young && next == state && !Reached(state.pods(target, available)) {
				t.Fatalf("%+v target %d, all ready: stuck under %+v of %+v", state, target, l, user)
			}
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
}

func TestWrittenLimitsResolveToThemselvesAndScale(t *testing.T) {
	t.Parallel()
	for wanted := int32(1); wanted <= 300; wanted++ {
		for n := range wanted + 1 {
			want := Limits{Surge: wanted - n, Unavailable: n}
			s, u := Write(want, wanted)
			assert.Equal(t, want, Resolve(&s, &u, wanted), "%d of %d as %s and %s", n, wanted, s.String(), u.String())
		}
	}
	s, u := Write(Limits{Unavailable: 15}, 20)
	assert.Equal(t, Limits{Unavailable: 6}, Resolve(&s, &u, 8), "a gate of 15 in 20 pods is one of 6 in 8")
}

func TestLimitsResolveAsTheNativeControllerResolvesThem(t *testing.T) {
	t.Parallel()
	quarter, zero, bad := intstr.FromString("25%"), intstr.FromInt32(0), intstr.FromString("many")
	cases := map[string]struct {
		surge, unavailable *intstr.IntOrString
		replicas           int32
		want               Limits
	}{
		"surge rounds up, unavailable down": {&quarter, &quarter, 10, Limits{3, 2}},
		"both zero becomes one unavailable": {&zero, &zero, 10, Limits{0, 1}},
		"rounded to nothing becomes one":    {&zero, &quarter, 3, Limits{0, 1}},
		"absent counts as zero":             {nil, nil, 4, Limits{0, 1}},
		"nonsense counts as zero":           {&bad, &bad, 4, Limits{0, 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, Resolve(c.surge, c.unavailable, c.replicas))
		})
	}
}

func TestBatchIsReached(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		pods Pods
		want bool
	}{
		"exactly":                                {Pods{Wanted: 10, Target: 2, New: 2, Old: 8}, true},
		"with surplus still running":             {Pods{Wanted: 10, Target: 2, New: 2, Old: 9}, false},
		"not yet":                                {Pods{Wanted: 10, Target: 2, New: 1, Old: 9}, false},
		"a scale event left more than the batch": {Pods{Wanted: 10, Target: 2, New: 4, Old: 6}, true},
		"everything new and scaled down since":   {Pods{Wanted: 10, Target: 10, New: 12, Old: 0}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, Reached(c.pods))
		})
	}
}
