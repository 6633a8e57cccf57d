// Package mechanism proves what partition releases rest on: the facts about the native Deployment
// controller, and that a Deployment stays frozen when the operator dies, whenever it does. It kills
// its operator, so it has a control plane of its own. Tests that stop the operator run one after the
// other; all others run together after them.
package mechanism

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

// shared is the operator of all tests here.
var shared *operator.Operator

func TestMain(m *testing.M) {
	// Tests wait much more than they work, so more may run together than there are processors.
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
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
