package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane"
)

// TestMain lets `up` start this test binary as its supervisor.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "supervise" {
		main()
		return
	}
	os.Exit(m.Run())
}

// say runs a command and returns what it says.
func say(ctx context.Context, t *testing.T, does func(context.Context, options) error, dir string) string {
	t.Helper()
	out := &bytes.Buffer{}
	if err := does(ctx, options{dir: dir, out: out}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAPlaneStaysUpUntilItIsTakenDown(t *testing.T) {
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "plane")
	t.Cleanup(func() { say(context.WithoutCancel(ctx), t, down, dir) })

	if said := say(ctx, t, up, dir); !strings.Contains(said, "KUBECONFIG="+dir) {
		t.Errorf("up does not say how to use the plane: %s", said)
	}
	if said := say(ctx, t, up, dir); !strings.Contains(said, "is up already") {
		t.Errorf("a second up says: %s", said)
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	say(ctx, t, down, dir)
	if running, err := controlplane.Running(dir); err != nil || running {
		t.Errorf("after down, running is %v, %v", running, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("after down, the folder is still there: %v", err)
	}
	if said := say(ctx, t, down, dir); !strings.Contains(said, "no control plane runs") {
		t.Errorf("down on nothing says: %s", said)
	}
}

func TestACommandMustBeNamed(t *testing.T) {
	for _, args := range [][]string{nil, {"sideways"}, {"up"}, {"down"}, {"run"}} {
		if err := command(t.Context(), args); err == nil {
			t.Errorf("command %v was accepted", args)
		}
	}
}
