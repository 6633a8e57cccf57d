package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
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
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/test/operator"
	"github.com/kruise-rollout/kruise-rollout/test/record"
)

// patience is how long anything may take on a busy machine. Tests that promise a time measure it.
const patience = 60 * time.Second

// web is the name of every workload and Rollout here.
const web = "web"

// scenario is one namespace with its recorder.
type scenario struct {
	*testing.T
	ctx      context.Context //nolint:containedctx // it is the test's own
	op       *operator.Operator
	client   client.WithWatch
	ns       string
	recorder *record.Recorder
	rules    record.Rules
}

// begin opens a namespace on an operator's plane. At the end of the test the invariants must have
// held throughout.
func begin(t *testing.T, op *operator.Operator) *scenario {
	t.Helper()
	s := &scenario{T: t, ctx: t.Context(), op: op, client: op.Client}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "rollout-"}}
	s.must(s.client.Create(s.ctx, ns))
	s.ns = ns.Name
	var err error
	s.recorder, err = record.Start(s.ctx, s.client, s.ns)
	s.must(err)
	started := time.Now()
	t.Cleanup(func() { s.end(started) })
	return s
}

// end checks the invariants and takes the namespace away, which nothing of ours may block.
func (s *scenario) end(started time.Time) {
	ctx := context.WithoutCancel(s.ctx)
	log := s.recorder.Log()
	for _, violation := range record.Check(log, s.rules) {
		s.Error(violation)
	}
	writes, err := operator.Writes(s.op.Plane.AuditLog(), s.ns, started)
	s.must(err)
	for _, violation := range record.TooMany(writes, log) {
		s.Error(violation)
	}
	if s.Failed() {
		s.Log("what happened:\n" + s.story())
	}
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
func (s *scenario) deployment(replicas int32, surge, unavailable string, edits ...func(*appsv1.Deployment)) *appsv1.Deployment {
	s.Helper()
	d := s.newDeployment(replicas, surge, unavailable, edits...)
	s.must(s.client.Create(s.ctx, d))
	s.untilWhole()
	return d
}

// newDeployment is what deployment creates.
func (s *scenario) newDeployment(replicas int32, surge, unavailable string, edits ...func(*appsv1.Deployment)) *appsv1.Deployment {
	maxSurge, maxUnavailable := intstr.Parse(surge), intstr.Parse(unavailable)
	labels := map[string]string{"app": web}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: web, Namespace: s.ns}}
	d.Spec.Replicas = &replicas
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &maxSurge, MaxUnavailable: &maxUnavailable}
	d.Spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:v1"}}
	for _, edit := range edits {
		edit(d)
	}
	return d
}

// untilWhole waits until every pod that is wanted runs the current template and is ready, no other
// is left, and the native controller has said so.
func (s *scenario) untilWhole() {
	s.Helper()
	s.until("all pods are new and ready", func(st record.State) bool {
		d := st.Deployment(web)
		if d == nil || d.Status.ObservedGeneration != d.Generation {
			return false
		}
		n, c := *d.Spec.Replicas, st.Count(d)
		return c.NewReady == int(n) && c.New == int(n) && c.Old == 0 &&
			d.Status.UpdatedReplicas == n && d.Status.AvailableReplicas == n && d.Status.Replicas == n
	})
}

// rollout attaches a Rollout in partition style, one step for each share, all waiting for approval;
// and waits until it is Healthy.
func (s *scenario) rollout(shares ...string) {
	s.Helper()
	s.rolloutOf(stepsOf(shares...)...)
}

// rolloutOf is rollout for any kind of steps.
func (s *scenario) rolloutOf(steps ...v1beta1.CanaryStep) {
	s.Helper()
	r := s.newRollout()
	r.Spec.Strategy.Canary.Steps = steps
	s.must(s.client.Create(s.ctx, r))
	s.untilPhase(v1beta1.RolloutPhaseHealthy)
}

func (s *scenario) newRollout(shares ...string) *v1beta1.Rollout {
	r := &v1beta1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: web, Namespace: s.ns}}
	r.Spec.WorkloadRef = v1beta1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: web}
	r.Spec.Strategy.Canary = &v1beta1.CanaryStrategy{Steps: stepsOf(shares...)}
	return r
}

func stepsOf(shares ...string) []v1beta1.CanaryStep {
	var steps []v1beta1.CanaryStep
	for _, share := range shares {
		replicas := intstr.Parse(share)
		steps = append(steps, v1beta1.CanaryStep{Replicas: &replicas})
	}
	return steps
}

func (s *scenario) untilPhase(phase v1beta1.RolloutPhase) {
	s.Helper()
	s.until("the Rollout is "+string(phase), func(st record.State) bool {
		r := st.Rollout(web)
		return r != nil && r.Status.Phase == phase && r.Status.ObservedGeneration == r.Generation
	})
}

// untilPaused waits until the release rests at a step, of the Deployment's present template.
func (s *scenario) untilPaused(step int32) {
	s.Helper()
	s.untilStep(step, v1beta1.CanaryStepStatePaused)
}

func (s *scenario) untilStep(step int32, state v1beta1.CanaryStepState) {
	s.Helper()
	s.until(fmt.Sprintf("step %d is %s", step, state), func(st record.State) bool {
		r := st.Rollout(web)
		return r != nil && r.Status.CanaryStatus != nil && r.Status.Phase == v1beta1.RolloutPhaseProgressing &&
			r.Status.CanaryStatus.CurrentStepIndex == step && r.Status.CanaryStatus.CurrentStepState == state
	})
}

// update edits the Deployment as a user does, and returns what was stored.
func (s *scenario) update(edit func(*appsv1.Deployment)) *appsv1.Deployment {
	s.Helper()
	var d appsv1.Deployment
	s.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		d = appsv1.Deployment{}
		if err := s.client.Get(s.ctx, s.key(), &d); err != nil {
			return err
		}
		before := d.DeepCopy()
		edit(&d)
		if equality.Semantic.DeepEqual(before, &d) {
			return nil
		}
		return s.client.Update(s.ctx, &d)
	}))
	s.seen(&d)
	return &d
}

// seen waits until the recorder knows what was stored, so that no wait ends on what was before.
func (s *scenario) seen(o client.Object) {
	s.Helper()
	stored, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	s.must(err)
	s.must(s.recorder.UntilVersion(s.ctx, o, stored))
}

// within checks that something takes no longer than promised.
func (s *scenario) within(limit time.Duration, act func()) {
	s.Helper()
	start := time.Now()
	act()
	if took := time.Since(start); took > limit {
		s.Errorf("it took %s, more than %s", took, limit)
	}
}

func (s *scenario) key() types.NamespacedName {
	return types.NamespacedName{Namespace: s.ns, Name: web}
}

func image(tag string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "web:" + tag }
}

func scale(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &n }
}

// release changes the image and waits until the first step rests.
func (s *scenario) release(tag string) {
	s.Helper()
	s.update(image(tag))
	s.untilReleasing("web:" + tag)
}

// untilReleasing waits until the release of an image rests at its first step.
func (s *scenario) untilReleasing(image string) {
	s.Helper()
	s.until("the release of "+image+" rests at its first step", func(st record.State) bool {
		r, d := st.Rollout(web), st.Deployment(web)
		_, latest := st.Sets(d)
		return latest != nil && d.Spec.Template.Spec.Containers[0].Image == image &&
			r.Status.CanaryStatus != nil && r.Status.CanaryStatus.CurrentStepIndex == 1 &&
			r.Status.CanaryStatus.CurrentStepState == v1beta1.CanaryStepStatePaused &&
			r.Status.CanaryStatus.PodTemplateHash == latest.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	})
}

// approval is the very patch that users send.
var approval = client.RawPatch(types.MergePatchType, []byte(`{"status":{"canaryStatus":{"currentStepState":"StepReady"}}}`))

// approve lets the release go on.
func (s *scenario) approve() {
	s.Helper()
	r := &v1beta1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: web, Namespace: s.ns}}
	s.must(s.client.Status().Patch(s.ctx, r, approval))
	s.seen(r)
}

// patchStatus sends a merge patch to the status of the Rollout.
func (s *scenario) patchStatus(body string) {
	s.Helper()
	r := &v1beta1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: web, Namespace: s.ns}}
	s.must(s.client.Status().Patch(s.ctx, r, client.RawPatch(types.MergePatchType, []byte(body))))
	s.seen(r)
}

// edit changes the Rollout as a user does.
func (s *scenario) edit(change func(*v1beta1.Rollout)) {
	s.Helper()
	var r v1beta1.Rollout
	s.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		r = v1beta1.Rollout{}
		if err := s.client.Get(s.ctx, s.key(), &r); err != nil {
			return err
		}
		change(&r)
		return s.client.Update(s.ctx, &r)
	}))
	s.seen(&r)
}

// deleteRollout takes the Rollout away and waits until it is gone.
func (s *scenario) deleteRollout() {
	s.Helper()
	s.must(s.client.Delete(s.ctx, &v1beta1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: web, Namespace: s.ns}}))
	s.until("the Rollout is gone", func(st record.State) bool { return st.Rollout(web) == nil })
}

// counts are the live pods by template.
func (s *scenario) counts() record.Counts {
	var c record.Counts
	s.recorder.Now(func(st record.State) { c = st.Count(st.Deployment(web)) })
	return c
}

// live reads the Deployment from the API server.
func (s *scenario) live() *appsv1.Deployment {
	s.Helper()
	var d appsv1.Deployment
	s.must(s.client.Get(s.ctx, s.key(), &d))
	return &d
}

// status reads the Rollout's from the API server.
func (s *scenario) status() v1beta1.RolloutStatus {
	s.Helper()
	var r v1beta1.Rollout
	s.must(s.client.Get(s.ctx, s.key(), &r))
	return r.Status
}

// plain checks that the Deployment is what its owner wrote, the template and replicas apart, with
// nothing of ours on it or its ReplicaSets (invariant 6).
func (s *scenario) plain(owner *appsv1.Deployment) {
	s.Helper()
	d := s.live()
	want, got := owner.Spec.DeepCopy(), d.Spec.DeepCopy()
	want.Template, want.Replicas = got.Template, got.Replicas
	if !equality.Semantic.DeepDerivative(*want, *got) {
		s.Errorf("the Deployment is not as its owner wrote it:\nwant %+v\ngot  %+v", *want, *got)
	}
	if d.Spec.Paused != owner.Spec.Paused || d.Spec.MinReadySeconds != owner.Spec.MinReadySeconds {
		s.Errorf("paused %t, minReadySeconds %d; the owner wrote %t, %d", d.Spec.Paused, d.Spec.MinReadySeconds, owner.Spec.Paused, owner.Spec.MinReadySeconds)
	}
	s.recorder.Now(func(st record.State) {
		all, _ := st.Sets(d)
		for _, rs := range all {
			s.nothingOfOurs(record.Key(rs), rs.Annotations, rs.Labels)
		}
	})
	s.nothingOfOurs("Deployment", d.Annotations, d.Labels)
}

func (s *scenario) nothingOfOurs(object string, maps ...map[string]string) {
	s.Helper()
	for _, m := range maps {
		for key := range m {
			if strings.Contains(key, "rollouts.kruise.io") && key != v1beta1.WorkloadTypeLabel {
				s.Errorf("%s still has %s", object, key)
			}
		}
	}
}

// gone reports whether an object is not there.
func (s *scenario) gone(o client.Object) bool {
	s.Helper()
	err := s.client.Get(s.ctx, client.ObjectKeyFromObject(o), o)
	if err != nil && !apierrors.IsNotFound(err) {
		s.Fatal(err)
	}
	return apierrors.IsNotFound(err)
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
			fmt.Fprintf(&b, " step %d %s next %d", c.CurrentStepIndex, c.CurrentStepState, c.NextStepIndex)
		}
		fmt.Fprintf(&b, " %q", r.Status.Message)
	}
	if r := record.Get[*v1beta1.BatchRelease](st, web); r != nil {
		fmt.Fprintf(&b, "; BatchRelease %s batch %d %s %d/%d %q", r.Status.Phase, r.Status.CanaryStatus.CurrentBatch,
			r.Status.CanaryStatus.CurrentBatchState, r.Status.CanaryStatus.UpdatedReadyReplicas, r.Status.CanaryStatus.UpdatedReplicas, r.Status.Message)
	}
	if d := st.Deployment(web); d != nil {
		fmt.Fprintf(&b, "; Deployment paused %t minReady %d %s", d.Spec.Paused, d.Spec.MinReadySeconds, d.Spec.Strategy.Type)
		if u := d.Spec.Strategy.RollingUpdate; u != nil {
			fmt.Fprintf(&b, " surge %s unavailable %s", u.MaxSurge, u.MaxUnavailable)
		}
		fmt.Fprintf(&b, " pods %+v", st.Count(d))
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

func contains(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}
