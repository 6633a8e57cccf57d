// Package e2e proves on a real control plane what users of the operator rely on. Every test has a
// namespace of its own and a recorder that watches it from the first to the last moment; the names
// of contract cases carry their number.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane"
	"github.com/kruise-rollout/kruise-rollout/test/operator"
)

// shared is the operator that all tests use which do not harm it.
var shared *operator.Operator

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	plane, err := controlplane.Start(ctx, controlplane.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := plane.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	if shared, err = operator.Install(ctx, plane, ""); err == nil {
		err = shared.Start(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if code != 0 {
		plane.Keep()
		fmt.Fprintf(os.Stderr, "the logs of the control plane and the operator are in %s\n", plane.Dir())
	}
	return code
}
