package mechanism

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/share"
	"github.com/kruise-rollout/kruise-rollout/test/operator"
	"github.com/kruise-rollout/kruise-rollout/test/record"
)

const (
	// patience is how long anything may take on a busy machine.
	patience = 90 * time.Second
	// quiet is how long nothing must happen before a cluster counts as settled. The native
	// controllers answer an event within milliseconds.
	quiet = time.Second
	// web is the name of every workload and Rollout here.
	web = "web"
	// readyAfter is the annotation of pods that says when a slow one gets ready.
	readyAfter = "kruise-rollout.test/ready-after"
	// forever is longer than any test.
	forever = "1h"
)

// scenario is one namespace with its recorder.
type scenario struct {
	*testing.T
	ctx      context.Context //nolint:containedctx // it is the test's own
	client   client.WithWatch
	ns       string
	recorder *record.Recorder
	rules    record.Rules
}

// begin opens a namespace on an operator's plane. At the end of the test the invariants must have
// held throughout.
func begin(t *testing.T, op *operator.Operator) *scenario {
	t.Helper()
	s := &scenario{T: t, ctx: t.Context(), client: op.Client}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "mechanism-"}}
	s.must(s.client.Create(s.ctx, ns))
	s.ns = ns.Name
	var err error
	s.recorder, err = record.Start(s.ctx, s.client, s.ns)
	s.must(err)
	t.Cleanup(s.end)
	return s
}

// under shows the same namespace to a subtest.
func (s *scenario) under(t *testing.T) *scenario {
	t.Helper()
	sub := *s
	sub.T = t
	return &sub
}

func (s *scenario) end() {
	for _, violation := range record.Check(s.recorder.Log(), s.rules) {
		s.Error(violation)
	}
	if s.Failed() {
		s.Logf("what happened in %s:\n%s", s.ns, s.story())
	}
	ctx := context.WithoutCancel(s.ctx)
	s.must(client.IgnoreNotFound(s.client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns}})))
}

func (s *scenario) must(err error) {
	s.Helper()
	require.NoError(s.T, err)
}

// until waits for a condition on what is in the namespace; what says in words what is waited for.
func (s *scenario) until(what string, condition func(record.State) bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	if err := s.recorder.Until(ctx, condition); err != nil {
		s.Fatalf("waiting until %s: %v; there is %s", what, err, s.describe())
	}
}

// deployment creates a Deployment and waits until all of it is ready.
func (s *scenario) deployment(n int32, surge, unavailable string, edits ...edit) *appsv1.Deployment {
	s.Helper()
	maxSurge, maxUnavailable := intstr.Parse(surge), intstr.Parse(unavailable)
	labels := map[string]string{"app": web}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: web, Namespace: s.ns}}
	d.Spec.Replicas = &n
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &maxSurge, MaxUnavailable: &maxUnavailable}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:v1"}}
	for _, e := range edits {
		e(d)
	}
	s.must(s.client.Create(s.ctx, d))
	s.untilWhole()
	return d
}

// edit is what somebody writes to a Deployment.
type edit func(*appsv1.Deployment)

func image(tag string) edit {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "web:" + tag }
}

func slow(after string) edit {
	return func(d *appsv1.Deployment) {
		metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, readyAfter, after)
	}
}

func scale(n int32) edit {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &n }
}

func paused(yes bool) edit { return func(d *appsv1.Deployment) { d.Spec.Paused = yes } }

func minReady(seconds int32) edit {
	return func(d *appsv1.Deployment) {
		d.Spec.MinReadySeconds = seconds
		d.Spec.ProgressDeadlineSeconds = new(max(int32(600), seconds+1))
	}
}

func limits(surge, unavailable string) edit {
	return func(d *appsv1.Deployment) {
		s, u := intstr.Parse(surge), intstr.Parse(unavailable)
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &s, MaxUnavailable: &u}
	}
}

// write does what a user does, who tries again when nobody answers admission.
func (s *scenario) write(do func() error) {
	s.Helper()
	again := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.5, Jitter: 0.1, Steps: 20, Cap: time.Second}
	s.must(retry.OnError(again, refused, do))
}

// refused reports whether a write may succeed when it is tried again.
func refused(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}

// update writes the Deployment as a user does.
func (s *scenario) update(edits ...edit) {
	s.Helper()
	s.write(func() error {
		var d appsv1.Deployment
		if err := s.client.Get(s.ctx, s.key(), &d); err != nil {
			return err
		}
		before := d.DeepCopy()
		for _, e := range edits {
			e(&d)
		}
		if equality.Semantic.DeepEqual(before, &d) {
			return nil
		}
		return s.client.Update(s.ctx, &d)
	})
}

// native makes writes of the Deployment, one after the other, each once the native controller has
// nothing left to do.
func (s *scenario) native(steps ...[]edit) {
	s.Helper()
	for _, edits := range steps {
		s.update(edits...)
		s.settle()
	}
}

// gate makes a release of n pods by hand: arm, open, hold.
func (s *scenario) gate(tag string, n int32) {
	s.Helper()
	var before appsv1.DeploymentSpec
	s.recorder.Now(func(st record.State) { before = *st.Deployment(web).Spec.DeepCopy() })
	s.native(
		[]edit{paused(true), image(tag), limits("0", "1"), minReady(v1beta1.MaxReadySeconds)},
		[]edit{paused(false), limits("0", fmt.Sprint(n))},
		[]edit{paused(true)},
		[]edit{minReady(before.MinReadySeconds), limits("0", "1")},
	)
}

// settle waits until nothing happens any more, and all that is there is of one piece.
func (s *scenario) settle() {
	s.Helper()
	for {
		s.until("the native controllers have done their work", consistent)
		ctx, cancel := context.WithTimeout(s.ctx, quiet)
		events := -1 // the first question is no event
		err := s.recorder.Until(ctx, func(record.State) bool { events++; return events > 0 })
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return
		}
		s.must(err)
	}
}

// consistent reports whether the native controllers have seen everything that they show.
func consistent(st record.State) bool {
	d := st.Deployment(web)
	if d == nil || d.Status.ObservedGeneration != d.Generation {
		return false
	}
	sets, _ := st.Sets(d)
	total := int32(0)
	for _, rs := range sets {
		if rs.Status.ObservedGeneration != rs.Generation || rs.Status.Replicas != *rs.Spec.Replicas || len(st.Pods(rs)) != int(*rs.Spec.Replicas) {
			return false
		}
		for _, pod := range st.Pods(rs) {
			if !record.Ready(pod) && !neverReady(pod) {
				return false
			}
		}
		total += *rs.Spec.Replicas
	}
	return d.Status.Replicas == total
}

// count counts the live pods by the current template.
func (s *scenario) count() record.Counts {
	var c record.Counts
	s.recorder.Now(func(st record.State) { c = st.Count(st.Deployment(web)) })
	return c
}

// neverReady reports whether a pod does not get ready by itself.
func neverReady(pod *corev1.Pod) bool {
	image := pod.Spec.Containers[0].Image
	return strings.Contains(image, "failed") || strings.Contains(image, "slow") && pod.Annotations[readyAfter] == forever && pod.Status.Phase == corev1.PodRunning
}

// pods counts the live pods of each image tag.
func (s *scenario) pods() map[string]int {
	var byTag map[string]int
	s.recorder.Now(func(st record.State) { byTag = tags(st) })
	return byTag
}

func tags(st record.State) map[string]int {
	byTag := map[string]int{}
	for _, pod := range record.All[*corev1.Pod](st) {
		if pod.DeletionTimestamp == nil {
			byTag[tag(pod.Spec)]++
		}
	}
	return byTag
}

func tag(spec corev1.PodSpec) string { return strings.TrimPrefix(spec.Containers[0].Image, "web:") }

// uids are the live pods.
func (s *scenario) uids() map[types.UID]bool {
	found := map[types.UID]bool{}
	s.recorder.Now(func(st record.State) {
		for _, pod := range record.All[*corev1.Pod](st) {
			if pod.DeletionTimestamp == nil {
				found[pod.UID] = true
			}
		}
	})
	return found
}

// set is the ReplicaSet of an image tag, nil when there is none.
func (s *scenario) set(image string) *appsv1.ReplicaSet {
	var found *appsv1.ReplicaSet
	s.recorder.Now(func(st record.State) { found = setOf(st, image) })
	return found
}

func setOf(st record.State, image string) *appsv1.ReplicaSet {
	for _, rs := range record.All[*appsv1.ReplicaSet](st) {
		if tag(rs.Spec.Template.Spec) == image {
			return rs
		}
	}
	return nil
}

// editSet writes a ReplicaSet.
func (s *scenario) editSet(image string, change func(*appsv1.ReplicaSet)) {
	s.Helper()
	s.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var rs appsv1.ReplicaSet
		if err := s.client.Get(s.ctx, client.ObjectKeyFromObject(s.set(image)), &rs); err != nil {
			return err
		}
		change(&rs)
		return s.client.Update(s.ctx, &rs)
	}))
}

// hurry makes slow pods ready at once, from now until it is told to stop or the test ends.
func (s *scenario) hurry() (stop func()) {
	ctx, stop := context.WithCancel(s.ctx)
	// The goroutine ends with ctx.
	go func() {
		seen := map[string]bool{}
		for {
			var waiting []string
			err := s.recorder.Until(ctx, func(st record.State) bool {
				for _, pod := range record.All[*corev1.Pod](st) {
					if pod.Annotations[readyAfter] != "" && pod.Status.Phase == corev1.PodRunning && !record.Ready(pod) && !seen[pod.Name] {
						waiting = append(waiting, pod.Name)
					}
				}
				return len(waiting) > 0
			})
			if err != nil {
				return
			}
			for _, name := range waiting {
				seen[name] = true
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.ns}}
				patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+readyAfter+`":"1ms"}}}`))
				if err := s.client.Patch(ctx, pod, patch); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
					s.Errorf("hurrying pod %s: %v", name, err)
				}
			}
		}
	}()
	return stop
}

// untilWhole waits until every pod that is wanted runs the current template and is ready, no other
// is left, and the native controller has said so.
func (s *scenario) untilWhole() {
	s.Helper()
	s.until("all pods are new and ready", whole)
}

func whole(st record.State) bool {
	d := st.Deployment(web)
	if d == nil || d.Status.ObservedGeneration != d.Generation {
		return false
	}
	n, c := *d.Spec.Replicas, st.Count(d)
	return c.NewReady == int(n) && c.New == int(n) && c.Old == 0 &&
		d.Status.UpdatedReplicas == n && d.Status.AvailableReplicas == n && d.Status.Replicas == n
}

// rollout attaches a Rollout, one step for each share, all waiting for approval; and waits until it
// is Healthy.
func (s *scenario) rollout(shares ...string) {
	s.Helper()
	r := &v1beta1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: web, Namespace: s.ns}}
	r.Spec.WorkloadRef = v1beta1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: web}
	r.Spec.Strategy.Canary = &v1beta1.CanaryStrategy{}
	for _, share := range shares {
		r.Spec.Strategy.Canary.Steps = append(r.Spec.Strategy.Canary.Steps, v1beta1.CanaryStep{Replicas: new(intstr.Parse(share))})
	}
	s.write(func() error { return s.client.Create(s.ctx, r.DeepCopy()) })
	s.until("the Rollout is Healthy", func(st record.State) bool {
		r := st.Rollout(web)
		return r != nil && r.Status.Phase == v1beta1.RolloutPhaseHealthy && r.Status.ObservedGeneration == r.Generation
	})
}

// release changes the template and waits until the first step rests.
func (s *scenario) release(edits ...edit) {
	s.Helper()
	s.update(edits...)
	s.untilPaused(1)
}

// untilPaused waits until the release of the present template rests at a step.
func (s *scenario) untilPaused(step int32) {
	s.Helper()
	s.until(fmt.Sprintf("step %d rests", step), func(st record.State) bool { return restsAt(st) == step })
}

// restsAt is the step at which the release of the present template waits for approval, 0 for none.
func restsAt(st record.State) int32 {
	r, d := st.Rollout(web), st.Deployment(web)
	if r == nil || d == nil || r.Status.Phase != v1beta1.RolloutPhaseProgressing || r.Status.CanaryStatus == nil {
		return 0
	}
	_, latest := st.Sets(d)
	c := r.Status.CanaryStatus
	if latest == nil || c.CurrentStepState != v1beta1.CanaryStepStatePaused || c.PodTemplateHash != latest.Labels[appsv1.DefaultDeploymentUniqueLabelKey] {
		return 0
	}
	return c.CurrentStepIndex
}

// approve lets the release go on.
func (s *scenario) approve() {
	s.Helper()
	s.must(s.client.Status().Patch(s.ctx, &v1beta1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: web, Namespace: s.ns}},
		client.RawPatch(types.MergePatchType, []byte(`{"status":{"canaryStatus":{"currentStepState":"StepReady"}}}`))))
}

// pauseRollout pauses or resumes the release.
func (s *scenario) pauseRollout(yes bool) {
	s.Helper()
	s.write(func() error {
		var r v1beta1.Rollout
		if err := s.client.Get(s.ctx, s.key(), &r); err != nil {
			return err
		}
		r.Spec.Strategy.Paused = yes
		return s.client.Update(s.ctx, &r)
	})
}

// live reads the Deployment from the API server.
func (s *scenario) live() *appsv1.Deployment {
	s.Helper()
	var d appsv1.Deployment
	s.must(s.client.Get(s.ctx, s.key(), &d))
	return &d
}

// finish approves every step until the release has ended with all pods new. The last one, of all
// pods, goes on by itself.
func (s *scenario) finish() {
	s.Helper()
	for {
		step := int32(0)
		s.until("the release goes on or has ended", func(st record.State) bool {
			r := st.Rollout(web)
			if step = restsAt(st); int(step) == len(r.Spec.Strategy.Canary.Steps) {
				step = 0
			}
			return step > 0 || r.Status.Phase == v1beta1.RolloutPhaseHealthy && whole(st) && !ours(st.Deployment(web).Annotations)
		})
		if step == 0 {
			return
		}
		s.approve()
		s.until("the approval is taken up", func(st record.State) bool { return restsAt(st) != step })
	}
}

// plain checks that the Deployment is what its owner wrote, with nothing of ours on it or its
// ReplicaSets (invariant 6).
func (s *scenario) plain(owner *appsv1.Deployment) {
	s.Helper()
	var d appsv1.Deployment
	swept := func(st record.State) bool {
		for _, rs := range record.All[*appsv1.ReplicaSet](st) {
			if ours(rs.Annotations) || ours(rs.Labels) {
				return false
			}
		}
		return st.Rollout(web) == nil || len(record.All[*v1beta1.BatchRelease](st)) == 0
	}
	s.until("nothing of ours is left on ReplicaSets", swept)
	s.must(s.client.Get(s.ctx, s.key(), &d))
	if ours(d.Annotations) || ours(d.Labels) {
		s.Errorf("the Deployment still has annotations %v, labels %v", d.Annotations, d.Labels)
	}
	want := owner.Spec.DeepCopy() // as stored, with the API server's defaults
	want.RevisionHistoryLimit = revisionHistory(owner)
	if want.ProgressDeadlineSeconds == nil {
		want.ProgressDeadlineSeconds = new(int32(600))
	}
	defaulted := d.Spec.Template.Spec // the API server's defaults, with the owner's containers
	image := want.Template.Spec.Containers[0].Image
	want.Template.Spec = *defaulted.DeepCopy()
	want.Template.Spec.Containers[0].Image = image
	if !equality.Semantic.DeepEqual(*want, d.Spec) {
		s.Errorf("the Deployment is not as its owner wrote it:\nwant %+v\ngot  %+v", *want, d.Spec)
	}
}

func revisionHistory(d *appsv1.Deployment) *int32 {
	if d.Spec.RevisionHistoryLimit != nil {
		return d.Spec.RevisionHistoryLimit
	}
	return new(int32(10))
}

// ours reports whether something of a release is among labels or annotations. The kind of the
// workload stays while a Rollout refers to it.
func ours(keys map[string]string) bool {
	for key := range keys {
		if strings.Contains(key, "rollouts.kruise.io") && key != v1beta1.WorkloadTypeLabel {
			return true
		}
	}
	return false
}

// wanted returns the owner's Deployment with the edits.
func wanted(owner *appsv1.Deployment, edits ...edit) *appsv1.Deployment {
	d := owner.DeepCopy()
	for _, e := range edits {
		e(d)
	}
	return d
}

func (s *scenario) key() types.NamespacedName {
	return types.NamespacedName{Namespace: s.ns, Name: web}
}

// gateOf names the state of a Deployment as the driver does.
func gateOf(d *appsv1.Deployment) string {
	endless := d.Spec.MinReadySeconds == v1beta1.MaxReadySeconds
	switch {
	case d.Spec.Paused && endless:
		return "armed"
	case d.Spec.Paused:
		return "held"
	case endless:
		return "open"
	default:
		return "loose"
	}
}

// untilGate waits until the operator has brought the Deployment into a state, in the middle of a
// batch where that state is armed.
func inGate(st record.State, gate string) bool {
	d := st.Deployment(web)
	return d != nil && gateOf(d) == gate
}

func (s *scenario) describe() string {
	text := "nothing"
	s.recorder.Now(func(st record.State) { text = line(st) })
	return text
}

// line is the state of a release in one line.
func line(st record.State) string {
	var b strings.Builder
	if r := st.Rollout(web); r != nil {
		fmt.Fprintf(&b, "Rollout %s", r.Status.Phase)
		if c := r.Status.CanaryStatus; c != nil {
			fmt.Fprintf(&b, " step %d %s", c.CurrentStepIndex, c.CurrentStepState)
		}
		fmt.Fprintf(&b, " %q", r.Status.Message)
	}
	if r := record.Get[*v1beta1.BatchRelease](st, web); r != nil {
		fmt.Fprintf(&b, "; BatchRelease %s batch %d %s %q", r.Status.Phase, r.Status.CanaryStatus.CurrentBatch,
			r.Status.CanaryStatus.CurrentBatchState, r.Status.Message)
	}
	if d := st.Deployment(web); d != nil {
		fmt.Fprintf(&b, "; Deployment %s %d of %s", gateOf(d), *d.Spec.Replicas, tag(d.Spec.Template.Spec))
		if u := d.Spec.Strategy.RollingUpdate; u != nil {
			fmt.Fprintf(&b, " surge %s unavailable %s", u.MaxSurge, u.MaxUnavailable)
		}
		fmt.Fprintf(&b, " generation %d/%d;", d.Status.ObservedGeneration, d.Generation)
		sets, _ := st.Sets(d)
		for _, rs := range sets {
			ready := 0
			for _, pod := range st.Pods(rs) {
				if record.Ready(pod) {
					ready++
				}
			}
			fmt.Fprintf(&b, " %s[%s] %d/%d/%d", tag(rs.Spec.Template.Spec), rs.Name, ready, len(st.Pods(rs)), *rs.Spec.Replicas)
		}
	}
	return b.String()
}

// story replays the log in one line for each change of the state.
func (s *scenario) story() string {
	var b strings.Builder
	last := ""
	var first time.Time
	record.Replay(s.recorder.Log(), func(e record.Entry, st record.State) {
		if first.IsZero() {
			first = e.Seen
		}
		if now := line(st); now != last {
			last = now
			fmt.Fprintf(&b, "%6d ms  %s\n", e.Seen.Sub(first).Milliseconds(), now)
		}
	})
	return b.String()
}

// gone is how many of the pods that were there are not any more.
func gone(before, now map[types.UID]bool) int {
	n := 0
	for uid := range maps.Keys(before) {
		if !now[uid] {
			n++
		}
	}
	return n
}

// allowed are the pods that a Deployment's own limits let change at once.
func allowed(d *appsv1.Deployment) int32 {
	u := d.Spec.Strategy.RollingUpdate
	return share.Pods(*u.MaxSurge, *d.Spec.Replicas) + share.Pods(*u.MaxUnavailable, *d.Spec.Replicas)
}
