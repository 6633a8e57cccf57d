package mechanism

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/test/record"
)

// defaultRuns take about a minute.
const defaultRuns = 12

// Random releases: sizes, limits, how long pods take to get ready, what people do meanwhile and
// when; and all the time the operator is killed and comes back. The invariants hold throughout, and
// in the end everything is as its owner wrote it.
//
// SEED=… begins with the run of that seed, RUNS=… says how many there are. A seed chooses what
// people do; what they meet is up to the machine.
func TestRandomReleases(t *testing.T) {
	seed, runs := uint64(time.Now().UnixNano()%1_000_000), defaultRuns
	if text := os.Getenv("SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	if text := os.Getenv("RUNS"); text != "" {
		var err error
		runs, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	stop := killing(t, rand.New(rand.NewPCG(seed, 1)))
	defer stop()
	t.Run("runs", func(t *testing.T) {
		for i := range runs {
			t.Run(fmt.Sprintf("SEED=%d", seed+uint64(i)), func(t *testing.T) {
				t.Parallel()
				(&random{scenario: begin(t, shared), rng: rand.New(rand.NewPCG(seed+uint64(i), 0))}).run()
			})
		}
	})
}

// killing kills the operator again and again at random moments, until it is told to stop.
func killing(t *testing.T, rng *rand.Rand) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	// The goroutine ends with ctx, and stop waits for it.
	go func() {
		defer close(done)
		kills := 0
		for pass(ctx, rng, 4*time.Second) {
			err := shared.Kill()
			pass(ctx, rng, 500*time.Millisecond)
			if err == nil {
				err = shared.Start(context.WithoutCancel(ctx))
			}
			if err != nil {
				t.Error(err)
				return
			}
			kills++
		}
		t.Logf("the operator was killed %d times", kills)
	}()
	return func() {
		cancel()
		<-done
	}
}

// pass lets a random time go by, and reports whether there is to be more.
func pass(ctx context.Context, rng *rand.Rand, most time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Duration(rng.Int64N(int64(most)))):
		return true
	}
}

// random is one release, or several that interrupt each other.
type random struct {
	*scenario
	rng   *rand.Rand
	owner *appsv1.Deployment
	// images counts those that were released.
	images int
	// sick are pods that the test made unready for good.
	sick []types.NamespacedName
}

func (r *random) run() {
	surge, unavailable := r.limit(), r.limit()
	if n := r.rng.IntN(4); n == 0 {
		surge = "0"
	} else if n == 1 {
		unavailable = "0"
	}
	if zero(surge) && zero(unavailable) {
		unavailable = "1"
	}
	n := 1 + r.rng.Int32N(30)
	r.owner = r.deployment(n, surge, unavailable, minReady(r.rng.Int32N(2)), history(r.rng.Int32N(3)))
	shares := r.shares(n)
	r.Logf("%d pods, surge %s, unavailable %s, minReadySeconds %d, steps %v", n, surge, unavailable, r.owner.Spec.MinReadySeconds, shares)
	r.rollout(shares...)
	r.change(r.next("v"))
	for range 1 + r.rng.IntN(5) {
		r.moment()
		r.move()
	}
	r.moment()
	r.end()
}

// limit is a random maxSurge or maxUnavailable.
func (r *random) limit() string {
	if r.rng.IntN(2) == 0 {
		return strconv.Itoa(r.rng.IntN(5))
	}
	return []string{"0%", "10%", "25%", "50%", "100%"}[r.rng.IntN(5)]
}

func zero(limit string) bool { return limit == "0" || limit == "0%" }

// shares are the steps of a release, the last of all pods.
func (r *random) shares(n int32) []string {
	var shares []string
	percent := 0
	pods := int32(0)
	for range r.rng.IntN(4) {
		if r.rng.IntN(3) > 0 || len(shares) > 0 && pods == 0 {
			percent += 1 + r.rng.IntN(30)
			shares = append(shares, fmt.Sprintf("%d%%", percent))
		} else if pods < n {
			pods += 1 + r.rng.Int32N(n-pods)
			shares = append(shares, strconv.Itoa(int(pods)))
			break // a percentage after it might be fewer
		}
	}
	return append(shares, "100%")
}

// next is a new image; its pods get ready after a random time, short enough for one after the other.
func (r *random) next(prefix string) edit {
	r.images++
	name := fmt.Sprintf("%s%d", prefix, r.images+1)
	if prefix != "v" || r.rng.IntN(2) == 0 {
		return image(name)
	}
	const longest, altogether = 2000, 20_000
	after := slow(fmt.Sprintf("%dms", min(r.rng.IntN(longest), altogether*max(1, int(allowed(r.owner)))/max(1, int(*r.owner.Spec.Replicas)))))
	return func(d *appsv1.Deployment) {
		image(name + "-slow")(d)
		after(d)
	}
}

// change writes the Deployment, and remembers what its owner wants.
func (r *random) change(e edit) {
	e(r.owner)
	r.update(e)
}

// moment lets a random number of things happen.
func (r *random) moment() {
	left := r.rng.IntN(80)
	ctx, cancel := context.WithTimeout(r.ctx, quiet)
	defer cancel()
	// Where less happens, that was it.
	_ = r.recorder.Until(ctx, func(record.State) bool { left--; return left < 0 })
}

func (r *random) move() {
	switch n := r.rng.IntN(10); n {
	case 0, 1, 2:
		r.Log("approve")
		if step := r.resting(); step > 0 {
			r.approve()
		}
	case 3, 4:
		r.scaled(1 + r.rng.Int32N(30))
	case 5:
		r.scaled(0)
	case 6:
		r.Log("a new image")
		r.change(r.next("v"))
	case 7:
		r.Log("a broken image")
		r.change(r.next("failed"))
	case 8:
		r.Log("back to v1")
		r.change(func(d *appsv1.Deployment) {
			image("v1")(d)
			d.Spec.Template.Annotations = nil
		})
	case 9:
		r.fallIll()
	}
}

func (r *random) resting() (step int32) {
	r.recorder.Now(func(st record.State) {
		if step = restsAt(st); int(step) == len(st.Rollout(web).Spec.Strategy.Canary.Steps) {
			step = 0
		}
	})
	return step
}

func (r *random) scaled(n int32) {
	r.Logf("scale to %d", n)
	// Pods that one scale event takes may still be counted when the next one wants them.
	r.rules.AnyAvailability = r.rules.AnyAvailability || r.rules.AnySize || n == 0
	r.rules.AnySize = true
	r.change(scale(n))
}

// fallIll makes a ready pod unready for good.
func (r *random) fallIll() {
	var name string
	r.recorder.Now(func(st record.State) {
		for _, pod := range record.All[*corev1.Pod](st) {
			if record.Ready(pod) && r.rng.IntN(3) == 0 {
				name = pod.Name
			}
		}
	})
	if name == "" {
		return
	}
	r.Logf("pod %s falls ill", name)
	r.rules.AnyAvailability = true
	r.sick = append(r.sick, types.NamespacedName{Namespace: r.ns, Name: name})
	patch := client.RawPatch(types.StrategicMergePatchType, []byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`))
	r.must(client.IgnoreNotFound(r.client.Status().Patch(r.ctx, r.pod(name), patch)))
}

func (r *random) pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: r.ns}}
}

// end brings the release to its end with pods that can get ready.
func (r *random) end() {
	r.Log("to the end")
	if *r.owner.Spec.Replicas == 0 {
		r.scaled(7)
	}
	if tag(r.owner.Spec.Template.Spec)[0] == 'f' {
		r.change(r.next("v"))
	}
	for _, key := range r.sick {
		r.must(client.IgnoreNotFound(r.client.Delete(r.ctx, r.pod(key.Name))))
	}
	r.finish()
	r.plain(r.owner)
}
