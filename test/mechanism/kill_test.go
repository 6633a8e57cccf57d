package mechanism

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kruise-rollout/kruise-rollout/test/record"
)

// Whatever dies, and whenever it dies, the Deployment is left frozen (openkruise/rollouts#305). The
// operator is killed in each state, with nobody to answer admission; then people do things to the
// Deployment, and no more pods change than the mechanism promises; and when the operator is back
// the release ends right.

// v2 is the image that is being released: its pods get ready only when the test hurries them.
const v2 = "v2-slow"

// act is what somebody does to the Deployment while nobody is at home.
type act struct {
	name string
	edit edit
	// anew says that the release begins anew with it.
	anew bool
}

var acts = []act{
	{"edit", image("v3"), true},
	{"undo", image("v1"), false},
	{"restart", restart, true},
	{"scale", scale(16), false},
	{"resume", paused(false), false},
}

func restart(d *appsv1.Deployment) {
	slow(forever)(d)
	d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "2026-01-01T00:00:00Z"
}

// left is a Deployment as a dead operator leaves it.
type left struct {
	*scenario
	base  *scenario
	act   act
	owner *appsv1.Deployment
	// then is the Deployment when the operator died, before are its pods.
	then   *appsv1.Deployment
	before map[types.UID]bool
}

func leave(t *testing.T, a act) *left {
	t.Helper()
	s := begin(t, shared)
	// Invariant 3 asks what the operator lets happen. Here others act, with nobody to stop the old
	// order; how many pods that changes is what the tests count.
	s.rules.AnySize = true
	return &left{scenario: s, base: s, act: a}
}

// rest brings 8 of 20 pods to v2, and there the release waits.
func (l *left) rest() {
	l.Helper()
	l.owner = l.deployment(20, "2", "3", slow(forever))
	l.rollout("40%", "80%", "100%")
	still := l.hurry()
	defer still()
	l.release(image(v2))
	l.settle()
	assert.Equal(l, map[string]int{"v1": 12, v2: 8}, l.pods())
}

// wait goes on to the next batch, until it waits for pods to get ready: 3 more are unavailable, 2
// are surge.
func (l *left) wait() {
	l.Helper()
	l.rest()
	l.approve()
	l.until("the batch waits for its pods", func(st record.State) bool {
		return inGate(st, "armed") && tags(st)[v2] == 13 && consistent(st)
	})
	l.settle()
	assert.Equal(l, map[string]int{"v1": 9, v2: 13}, l.pods())
}

// acted does it, and waits for what comes of it, also when all pods have got ready.
func (l *left) acted() {
	l.Helper()
	l.then, l.before = l.live(), l.uids()
	l.update(l.act.edit)
	l.settle()
	l.hurry()
	l.settle()
}

// finished waits for the right end once the operator is back. A release that begins anew has no
// more new pods than its first step, or than there were.
func (l *left) finished() {
	l.Helper()
	there := l.count().New
	if l.act.anew {
		l.untilPaused(1)
		now := l.count()
		l.Logf("begun anew with %+v", now)
		assert.LessOrEqual(l, now.New, max(8, there))
		assert.GreaterOrEqual(l, now.NewReady, 8)
	}
	l.finish()
	l.plain(wanted(l.owner, image(v2), l.act.edit))
}

// together lets every scenario take a step at the same time.
func together(t *testing.T, name string, all []*left, step func(*left)) {
	t.Helper()
	ok := t.Run(name, func(t *testing.T) {
		for _, l := range all {
			t.Run(l.act.name, func(t *testing.T) {
				t.Parallel()
				l.scenario = l.base.under(t)
				step(l)
			})
		}
	})
	require.True(t, ok, "the rest makes no sense without")
}

// nobodyHome kills the operator, and lets updates through that it would have answered. It returns
// how the operator comes back; the end of the test does that too.
func nobodyHome(t *testing.T) (back func()) {
	t.Helper()
	require.NoError(t, shared.SetFailurePolicy(t.Context(), admissionregistrationv1.Ignore))
	return kill(t)
}

func kill(t *testing.T) (back func()) {
	t.Helper()
	require.NoError(t, shared.Kill())
	home := false
	back = func() {
		if home {
			return
		}
		home = true
		ctx := context.WithoutCancel(t.Context())
		require.NoError(t, shared.Start(ctx))
		require.NoError(t, shared.SetFailurePolicy(ctx, admissionregistrationv1.Fail))
	}
	t.Cleanup(back)
	return back
}

func each(t *testing.T) []*left {
	t.Helper()
	var all []*left
	for _, a := range acts {
		all = append(all, leave(t, a))
	}
	return all
}

func TestKilledWhileHeld(t *testing.T) {
	all := each(t)
	together(t, "reach", all, (*left).rest)
	back := nobodyHome(t)
	together(t, "act", all, func(l *left) {
		l.acted()
		require.Equal(l, "held", gateOf(l.then))
		gone, now := gone(l.before, l.uids()), l.pods()
		switch l.act.name {
		case "scale":
			assert.Equal(l, map[string]int{"v1": 10, v2: 6}, now, "shared out")
		case "resume": // by the user's own maxUnavailable, which invariant 4 has watched
			assert.Equal(l, map[string]int{v2: 20}, now)
		default:
			assert.Zero(l, gone, "pods that are gone")
			assert.Equal(l, map[string]int{"v1": 12, v2: 8}, now)
		}
	})
	back()
	together(t, "end", all, (*left).finished)
}

func TestKilledWhileArmed(t *testing.T) {
	all := each(t)
	together(t, "reach", all, (*left).wait)
	back := nobodyHome(t)
	together(t, "act", all, func(l *left) {
		l.acted()
		require.Equal(l, "armed", gateOf(l.then))
		gone, now := gone(l.before, l.uids()), l.pods()
		switch l.act.name {
		case "scale":
			assert.Equal(l, map[string]int{"v1": 7, v2: 11}, now, "shared out")
		default: // also a resume: the window has let through what it lets through
			assert.Zero(l, gone, "pods that are gone")
			assert.Equal(l, map[string]int{"v1": 9, v2: 13}, now)
		}
	})
	back()
	together(t, "end", all, (*left).finished)
}

func TestKilledWhileOpen(t *testing.T) {
	for _, a := range acts {
		t.Run(a.name, func(t *testing.T) {
			l, back := killedOpen(t, a)
			l.rules.AnyAvailability = true // an edit of an open Deployment takes new pods first, ready ones too
			l.acted()
			most := int(allowed(l.then))
			if a.name == "scale" {
				most += 4
			}
			n := gone(l.before, l.uids())
			t.Logf("%d of at most %d pods are gone, now %v", n, most, l.pods())
			assert.LessOrEqual(t, n, most)
			back()
			l.hurry()
			l.finished()
		})
	}
}

// killedOpen kills the operator as soon as it is seen to have opened a window. Where it was faster
// and shut the window first, another release is tried.
func killedOpen(t *testing.T, a act) (l *left, back func()) {
	t.Helper()
	const tries = 10
	for try := range tries {
		l := leave(t, a)
		l.rest()
		require.NoError(t, shared.SetFailurePolicy(t.Context(), admissionregistrationv1.Ignore))
		l.approve()
		l.until("a window is open", func(st record.State) bool { return inGate(st, "open") })
		back := kill(t)
		if gateOf(l.live()) == "open" {
			return l, back
		}
		t.Logf("try %d: shut in time", try)
		back()
	}
	t.Fatalf("no window was open when the operator died, in %d releases", tries)
	return nil, nil
}
