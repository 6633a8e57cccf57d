// Package integration proves what only a real API server can tell: that it accepts the CRDs, and
// that it reaches admission and conversion of an operator that runs in this process. No workload
// controller runs; a test that needs one plays its part.
package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/manager"
	"github.com/kruise-rollout/kruise-rollout/test/controlplane"
	"github.com/kruise-rollout/kruise-rollout/test/controlplane/programs"
	"github.com/kruise-rollout/kruise-rollout/test/operator"
)

// identity is the ServiceAccount that an installation runs the operator as, with its rights.
const identity = "system:serviceaccount:kruise-rollout:kruise-rollout-controller-manager"

// patience is far more than anything here takes on a busy machine.
const patience = 30 * time.Second

var (
	// admin is the client of a cluster administrator, at the API server that all tests use.
	admin client.Client
	// server is how to reach it.
	server *rest.Config
	// certDir is where the operator serves its certificate from.
	certDir string
)

func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, m)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(ctx context.Context, m *testing.M) (code int, err error) {
	ctrl.SetLogger(logr.Discard())
	finder, err := programs.New(os.Stderr)
	if err != nil {
		return 1, err
	}
	assets, err := finder.Assets(ctx)
	if err != nil {
		return 1, err
	}
	environment := &envtest.Environment{BinaryAssetsDirectory: assets}
	if server, err = environment.Start(); err != nil {
		return 1, errors.Join(err, environment.Stop())
	}
	defer func() { err = errors.Join(err, environment.Stop()) }()
	if err := install(ctx); err != nil {
		return 1, err
	}
	stop, err := startOperator(ctx)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return m.Run(), nil
}

func install(ctx context.Context) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme, v1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	var err error
	if admin, err = client.New(server, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	return operator.Apply(ctx, server, admin)
}

// startOperator runs an operator in this process that keeps its certificate in the Secret, as an
// installation does, and answers on loopback.
func startOperator(ctx context.Context) (stop func() error, err error) {
	o, err := manager.NewOptions()
	if err != nil {
		return nil, err
	}
	if err := o.ReadEnvironment(); err != nil {
		return nil, err
	}
	ports, err := controlplane.FreePorts(ctx, 1)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "kruise-rollout-integration-")
	if err != nil {
		return nil, err
	}
	certDir = filepath.Join(folder, "certs")
	o.MetricsAddress, o.HealthAddress = "0", "0"
	o.Webhook.Host, o.Webhook.Port = "127.0.0.1", ports[0]
	o.Webhook.CertDir, o.Webhook.CertWriter = certDir, "secret"

	as := rest.CopyConfig(server)
	as.Impersonate = rest.ImpersonationConfig{UserName: identity}
	mgr, err := manager.New(ctx, as, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the operator: %w", err), os.RemoveAll(folder))
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }() // the tests run meanwhile
	stop = func() error {
		cancel()
		return errors.Join(<-done, os.RemoveAll(folder))
	}
	if err := poll(ctx, func() error { return mgr.GetWebhookServer().StartedChecker()(nil) }); err != nil {
		return nil, errors.Join(fmt.Errorf("waiting for the operator: %w", err), stop())
	}
	return stop, nil
}

// poll asks until there is no error any more, and returns the last one when patience ends.
func poll(ctx context.Context, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// eventually fails the test unless what is asked for comes true.
func eventually(t *testing.T, ask func() error) {
	t.Helper()
	if err := poll(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
