package controlplane

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane/process"
)

func TestTwoPlanesRunSideBySide(t *testing.T) {
	t.Parallel()
	planes := make([]*Plane, 2)
	t.Run("start", func(t *testing.T) {
		for i := range planes {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				p, err := Start(t.Context(), Options{Nodes: i + 1})
				if err != nil {
					t.Fatal(err)
				}
				planes[i] = p
			})
		}
	})
	if t.Failed() {
		return
	}
	var pids []int
	for i, p := range planes {
		client := kubernetes.NewForConfigOrDie(p.Config())
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(nodes.Items) != i+1 {
			t.Errorf("plane %d has %d nodes, want %d: is it the other?", i, len(nodes.Items), i+1)
		}
		for _, name := range Programs() {
			pids = append(pids, p.Pid(name))
		}
	}
	foreign := planes[0].Config()
	foreign.Host = planes[1].Config().Host
	if _, err := kubernetes.NewForConfigOrDie(foreign).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("a client of one plane may use the other")
	}
	for _, p := range planes {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(p.Dir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("folder %s is left: %v", p.Dir(), err)
		}
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is left: %v", pid, err)
		}
	}
}

func TestAProgramMayStopAndComeBack(t *testing.T) {
	t.Parallel()
	p := ForTest(t, Options{})
	client := kubernetes.NewForConfigOrDie(p.Config())
	if err := p.KillProgram(controllerManager); err != nil {
		t.Fatal(err)
	}
	create(t, client.AppsV1().Deployments("default").Create, deployment("web", "web:v1", 1))
	if err := p.StartProgram(t.Context(), controllerManager); err != nil {
		t.Fatal(err)
	}
	list := cache.NewListWatchFromClient(client.AppsV1().RESTClient(), "deployments", "default", named("web"))
	until(t, list, &appsv1.Deployment{}, func(d *appsv1.Deployment) bool { return d.Status.AvailableReplicas == 1 })
	if err := p.Err(); err != nil {
		t.Errorf("a program that was killed on purpose counts as an error: %v", err)
	}
	if err := p.StopProgram("kubelet"); err == nil {
		t.Error("a program that does not run was stopped")
	}
}

func TestTheOperatorIsKnownToTheAPIServer(t *testing.T) {
	t.Parallel()
	p := ForTest(t, Options{})
	if _, err := clientcmd.BuildConfigFromFlags("", p.OperatorKubeconfig()); err != nil {
		t.Fatal(err)
	}
	client := kubernetes.NewForConfigOrDie(p.OperatorConfig())
	_, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("without role bindings the operator's list of pods gives %v", err)
	}
	_, err = client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("without role bindings the operator's pod gives %v", err)
	}
	log, err := os.ReadFile(p.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), `"username":"`+OperatorUser+`"`) {
		t.Errorf("%s does not name %s", p.AuditLog(), OperatorUser)
	}

	killed := p.Pid(kwok)
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var ended *process.EndedError
	if err := p.Wait(ctx); !errors.As(err, &ended) || ended.Name != kwok || ended.Log != p.Log(kwok) {
		t.Errorf("the end of kwok is told as: %v", err)
	}
	if err := p.KillProgram(kwok); err != nil { // so that the test ends well
		t.Error(err)
	}
}

func TestAProgramThatDiesAtStartIsToldInOneLine(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", loopback+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	cases := map[string]struct{ program, flag, words string }{
		"a flag it does not know": {apiServer, "--no-such-flag", "unknown flag: --no-such-flag"},
		"a port that is in use":   {etcd, "--listen-client-urls=https://" + listener.Addr().String(), "address already in use"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := Start(t.Context(), Options{Dir: dir, Flags: map[string][]string{c.program: {c.flag}}})
			if err == nil {
				t.Fatal("it started")
			}
			text := err.Error()
			log := filepath.Join(dir, "logs", c.program+".log")
			if strings.Contains(text, "\n") || !strings.HasPrefix(text, c.program) ||
				!strings.Contains(text, c.words) || !strings.HasSuffix(text, "log: "+log) {
				t.Errorf("the error is %q", text)
			}
			if _, err := os.Stat(log); err != nil {
				t.Error(err)
			}
		})
	}
}
