package effect

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

// bench is a Rollout and a Pod behind a client that writes down what it was asked to change.
type bench struct {
	runner Runner
	client client.Client
	asked  []string
	fail   string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	require.NoError(t, v1beta1.AddToScheme(scheme))
	b := &bench{}
	ask := func(what string) error {
		b.asked = append(b.asked, what)
		if what == b.fail {
			return errors.New("no")
		}
		return nil
	}
	b.client = fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(
			&v1beta1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}},
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", UID: "p1", Labels: map[string]string{"app": "web"}}}).
		WithStatusSubresource(&v1beta1.Rollout{}).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
				return errors.Join(ask("status"), c.SubResource(sub).Update(ctx, o, opts...))
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if err := ask("patch"); err != nil {
					return err
				}
				return c.Patch(ctx, o, p, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				return errors.Join(ask("delete"), c.Delete(ctx, o, opts...))
			},
		}).Build()
	b.runner = Runner{Client: b.client, Recorder: events.NewFakeRecorder(10), FieldManager: "kruise-rollout"}
	return b
}

func (b *bench) rollout(t *testing.T) *v1beta1.Rollout {
	t.Helper()
	var r v1beta1.Rollout
	require.NoError(t, b.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &r))
	return &r
}

func (b *bench) pod(t *testing.T) *corev1.Pod {
	t.Helper()
	var p corev1.Pod
	require.NoError(t, b.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "p"}, &p))
	return &p
}

func annotated(p *corev1.Pod, value string) plan.Edit {
	after := p.DeepCopy()
	after.Annotations = map[string]string{"a": value}
	return plan.Edit{Before: p, After: after}
}

func TestStatusGoesFirstAndFencesTheRest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stale := b.rollout(t)
	after := stale.DeepCopy()
	after.Status.Phase = v1beta1.RolloutPhaseHealthy
	edit := annotated(b.pod(t), "1")
	require.NoError(t, b.runner.Run(t.Context(), stale, after, []plan.Action{edit}, nil))
	assert.Equal(t, []string{"status", "patch"}, b.asked)

	b.asked = nil
	again := stale.DeepCopy()
	again.Status.Phase = v1beta1.RolloutPhaseProgressing
	err := b.runner.Run(t.Context(), stale, again, []plan.Action{annotated(b.pod(t), "2")}, nil)
	assert.True(t, apierrors.IsConflict(err), "an approval or another leader was faster: %v", err)
	assert.Equal(t, []string{"status"}, b.asked, "nothing is done on outdated grounds")
	assert.Equal(t, v1beta1.RolloutPhaseHealthy, b.rollout(t).Status.Phase)
}

func TestAnUnchangedStatusIsNotWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.rollout(t)
	require.NoError(t, b.runner.Run(t.Context(), r, r.DeepCopy(), nil, nil))
	assert.Empty(t, b.asked)
}

func TestTheFirstFailureEndsAPlan(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fail = "patch"
	r, p := b.rollout(t), b.pod(t)
	recorder, _ := b.runner.Recorder.(*events.FakeRecorder)
	err := b.runner.Run(t.Context(), r, r.DeepCopy(), []plan.Action{annotated(p, "1"), plan.Drop{Object: p}}, []plan.Event{{Reason: "Progressing", Message: "done"}})
	require.ErrorContains(t, err, "editing *v1.Pod shop/p")
	assert.Equal(t, []string{"patch"}, b.asked)
	assert.Empty(t, recorder.Events, "what was not stored is not told")
}

func TestAnEditOfAnOutdatedObjectIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r, p := b.rollout(t), b.pod(t)
	require.NoError(t, b.runner.Run(t.Context(), r, r, []plan.Action{annotated(p, "1")}, nil))
	err := b.runner.Run(t.Context(), r, r, []plan.Action{annotated(p, "2")}, nil)
	assert.True(t, apierrors.IsConflict(err), "%v", err)
}

func TestAMarkOnlyAddsLabelsWhateverElseChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r, p := b.rollout(t), b.pod(t)
	require.NoError(t, b.runner.Run(t.Context(), r, r, []plan.Action{annotated(p, "1")}, nil))
	require.NoError(t, b.runner.Run(t.Context(), r, r, []plan.Action{plan.Mark{Object: p, Labels: map[string]string{"batch": "1"}}}, nil))
	got := b.pod(t)
	assert.Equal(t, map[string]string{"app": "web", "batch": "1"}, got.Labels)
	assert.Equal(t, "1", got.Annotations["a"])
}

func TestDroppingWhatIsGoneIsDone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r, p := b.rollout(t), b.pod(t)
	require.NoError(t, b.client.Delete(t.Context(), p.DeepCopy()))
	require.NoError(t, b.runner.Run(t.Context(), r, r, []plan.Action{plan.Drop{Object: p}, plan.Mark{Object: p, Labels: map[string]string{"a": "b"}}}, nil))
}

func TestAConflictIsNoError(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(v1beta1.Resource("rollouts"), "web", errors.New("changed"))
	result, err := Outcome(t.Context(), 0, conflict)
	require.NoError(t, err)
	assert.Equal(t, fallback, result.RequeueAfter)
	_, err = Outcome(t.Context(), 0, errors.New("down"))
	require.Error(t, err)
}
