package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane"
)

// run gives a command a control plane for as long as it runs.
func run(ctx context.Context, o options) error {
	if len(o.command) == 0 {
		return errors.New("run what? name a command after --")
	}
	p, err := controlplane.Start(ctx, controlplane.Options{Dir: o.dir})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, o.command[0], o.command[1:]...) //nolint:gosec // the user's own command
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Kubeconfig())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return errors.Join(cmd.Run(), p.Err(), p.Stop())
}
