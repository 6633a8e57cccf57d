package controlplane

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/watch"
	"sigs.k8s.io/yaml"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane/stages"
)

// patience is how long a test waits for what should be there at once.
const patience = 20 * time.Second

func TestPodsBehaveAsTheirImageSays(t *testing.T) {
	t.Parallel()
	p := ForTest(t, Options{})
	client := kubernetes.NewForConfigOrDie(p.Config())
	cases := map[string]func(*testing.T, kubernetes.Interface){
		"a deployment becomes available":                    deploymentBecomesAvailable,
		"a failed image never becomes ready":                failedStaysUnready,
		"a slow image becomes ready later":                  slowBecomesReady,
		"a crashing image is ready and then is not":         crashBecomesUnready,
		"an image changed in place is reported":             imageChangesInPlace,
		"a readiness gate holds a pod back":                 gateHoldsBack,
		"the pod of a job ends as its image says":           jobEnds,
		"a pod that is deleted is gone, and has an address": deletedIsGone,
	}
	t.Run("pods", func(t *testing.T) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c(t, client)
			})
		}
	})
}

func deploymentBecomesAvailable(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	d := deployment("web", "web:v1", 3)
	create(t, c.AppsV1().Deployments("default").Create, d)
	list := cache.NewListWatchFromClient(c.AppsV1().RESTClient(), "deployments", "default", named(d.Name))
	until(t, list, &appsv1.Deployment{}, func(d *appsv1.Deployment) bool { return d.Status.AvailableReplicas == 3 })
}

func failedStaysUnready(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	create(t, c.CoreV1().Pods("default").Create, pod("bad", "registry:5000/failed/app:v2-failed"))
	got := untilPod(t, c, "bad", running)
	if isTrue(got, corev1.PodReady) || got.Status.ContainerStatuses[0].Ready {
		t.Errorf("a pod of a failed image is ready: %v", got.Status)
	}
	create(t, c.CoreV1().Pods("default").Create, pod("good", "registry:5000/failed/app:v2"))
	untilPod(t, c, "good", podReady)
}

func slowBecomesReady(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	slow := pod("slow", "web:v2-slow")
	slow.Annotations = map[string]string{stages.ReadyAfter: "1500ms"}
	create(t, c.CoreV1().Pods("default").Create, slow)
	first := untilPod(t, c, "slow", running)
	if isTrue(first, corev1.PodReady) {
		t.Error("a pod of a slow image is ready at once")
	}
	untilPod(t, c, "slow", podReady)
}

func crashBecomesUnready(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	crash := pod("crash", "web:v2-crash")
	crash.Annotations = map[string]string{stages.CrashAfter: "500ms"}
	create(t, c.CoreV1().Pods("default").Create, crash)
	untilPod(t, c, "crash", podReady)
	got := untilPod(t, c, "crash", func(p *corev1.Pod) bool { return !isTrue(p, corev1.PodReady) })
	if status := got.Status.ContainerStatuses[0]; status.RestartCount != 1 || status.State.Waiting == nil {
		t.Errorf("a crashed container reports %+v", status)
	}
}

func imageChangesInPlace(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	create(t, c.CoreV1().Pods("default").Create, pod("inplace", "web:v1"))
	before := untilPod(t, c, "inplace", podReady).Status.ContainerStatuses[0]
	setImage(t, c, "inplace", "web:v2")
	after := untilPod(t, c, "inplace", func(p *corev1.Pod) bool {
		return p.Status.ContainerStatuses[0].Image == "web:v2"
	})
	status := after.Status.ContainerStatuses[0]
	if status.ImageID == before.ImageID || status.RestartCount != 1 || !isTrue(after, corev1.PodReady) {
		t.Errorf("after a change of the image the pod reports %+v", after.Status)
	}
	setImage(t, c, "inplace", "web:v3-failed")
	untilPod(t, c, "inplace", func(p *corev1.Pod) bool { return !isTrue(p, corev1.PodReady) })
	setImage(t, c, "inplace", "web:v2")
	untilPod(t, c, "inplace", podReady)
}

func gateHoldsBack(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	const gate = "example.com/gate"
	gated := pod("gated", "web:v1")
	gated.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
	create(t, c.CoreV1().Pods("default").Create, gated)
	got := untilPod(t, c, "gated", running)
	if isTrue(got, corev1.PodReady) || !isTrue(got, corev1.ContainersReady) || isTrue(got, gate) {
		t.Errorf("conditions of a pod with a closed gate: %v", got.Status.Conditions)
	}
	for _, step := range []struct {
		status corev1.ConditionStatus
		ready  bool
	}{{corev1.ConditionTrue, true}, {corev1.ConditionFalse, false}} {
		patch := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q}]}}`, gate, step.status)
		_, err := c.CoreV1().Pods("default").Patch(t.Context(), "gated", types.StrategicMergePatchType,
			[]byte(patch), metav1.PatchOptions{}, "status")
		if err != nil {
			t.Fatal(err)
		}
		untilPod(t, c, "gated", func(p *corev1.Pod) bool { return isTrue(p, corev1.PodReady) == step.ready })
	}
}

func jobEnds(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	for tag, end := range map[string]batchv1.JobConditionType{"v1": batchv1.JobComplete, "failed": batchv1.JobFailed} {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job-" + tag}}
		job.Spec.BackoffLimit = new(int32(0))
		job.Spec.Template.Spec = pod("", "check:"+tag).Spec
		job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		create(t, c.BatchV1().Jobs("default").Create, job)
		list := cache.NewListWatchFromClient(c.BatchV1().RESTClient(), "jobs", "default", named(job.Name))
		until(t, list, job, func(j *batchv1.Job) bool {
			return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
				return c.Type == end && c.Status == corev1.ConditionTrue
			})
		})
	}
}

func deletedIsGone(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	create(t, c.CoreV1().Pods("default").Create, pod("brief", "web:v1"))
	if got := untilPod(t, c, "brief", podReady); got.Status.PodIP == "" || got.Status.HostIP == "" {
		t.Errorf("a ready pod has no address: %+v", got.Status)
	}
	if err := c.CoreV1().Pods("default").Delete(t.Context(), "brief", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	untilGone(t, c, "brief")
}

func deployment(name, image string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod("", image).Spec},
		},
	}
}

func pod(name, image string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func create[T any](t *testing.T, with func(context.Context, T, metav1.CreateOptions) (T, error), object T) {
	t.Helper()
	if _, err := with(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func setImage(t *testing.T, c kubernetes.Interface, name, image string) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"containers":[{"name":"main","image":%q}]}}`, image)
	_, err := c.CoreV1().Pods("default").Patch(t.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func running(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }

func podReady(p *corev1.Pod) bool { return isTrue(p, corev1.PodReady) }

func isTrue(p *corev1.Pod, kind corev1.PodConditionType) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func named(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }

func podList(c kubernetes.Interface, name string) cache.ListerWatcher {
	return cache.NewListWatchFromClient(c.CoreV1().RESTClient(), "pods", "default", named(name))
}

func untilPod(t *testing.T, c kubernetes.Interface, name string, is func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	return until(t, podList(c, name), &corev1.Pod{}, is)
}

func untilGone(t *testing.T, c kubernetes.Interface, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	gone := func(store cache.Store) (bool, error) { return len(store.List()) == 0, nil }
	_, err := watch.UntilWithSync(ctx, podList(c, name), &corev1.Pod{}, gone, func(e apiwatch.Event) (bool, error) {
		return e.Type == apiwatch.Deleted, nil
	})
	if err != nil {
		t.Fatalf("pod %s is still there: %v", name, err)
	}
}

// until watches until the object is as wanted.
func until[T runtime.Object](t *testing.T, list cache.ListerWatcher, kind T, is func(T) bool) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	last := kind
	_, err := watch.UntilWithSync(ctx, list, kind, nil, func(e apiwatch.Event) (bool, error) {
		object, ok := e.Object.(T)
		if !ok {
			return false, nil
		}
		last = object
		return is(object), nil
	})
	if err != nil {
		text, _ := yaml.Marshal(last) // it came as JSON
		t.Fatalf("the object is not as wanted after %s: %v:\n%s", patience, err, text)
	}
	return last
}
