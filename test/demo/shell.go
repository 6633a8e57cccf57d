package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane"
	"github.com/kruise-rollout/kruise-rollout/test/controlplane/programs"
)

// shell runs commands as a user would type them at the root of the checkout.
type shell struct {
	kubectl tool
	plane   *controlplane.Plane
	out     *printer
}

// tool is a program, and the checkout that it comes from.
type tool struct{ path, checkout string }

// findKubectl builds kubectl if it is missing.
func findKubectl(ctx context.Context, out io.Writer) (tool, error) {
	finder, err := programs.New(out)
	if err != nil {
		return tool{}, err
	}
	paths, err := finder.Find(ctx, "kubectl")
	if err != nil {
		return tool{}, err
	}
	return tool{paths["kubectl"], filepath.Dir(filepath.Dir(finder.Modules))}, nil
}

// run prints a command, runs exactly that text and prints what it says.
func (s shell) run(ctx context.Context, command string) error {
	s.out.command(command)
	env, err := s.environment()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // the commands of the story
	cmd.Dir, cmd.Env = s.kubectl.checkout, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches only the demo, which ends it
	cmd.WaitDelay = patience
	output, err := cmd.CombinedOutput()
	for text := range strings.Lines(string(output)) {
		_, _ = io.WriteString(s.out, "  "+text) // for a person to read
	}
	if err != nil {
		return fmt.Errorf("running `%s`: %w", command, err)
	}
	return nil
}

// environment makes kubectl the plane's, and keeps what it remembers out of the user's home.
func (s shell) environment() ([]string, error) {
	bin := s.plane.File("bin")
	if err := os.MkdirAll(bin, 0o750); err != nil {
		return nil, fmt.Errorf("making a folder for kubectl: %w", err)
	}
	// A link, because the program that the environment offers may have any name.
	err := os.Symlink(s.kubectl.path, filepath.Join(bin, "kubectl"))
	if err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("linking kubectl: %w", err)
	}
	return append(os.Environ(),
		"KUBECONFIG="+s.plane.Kubeconfig(),
		"KUBECACHEDIR="+s.plane.File("kubectl-cache"),
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH")), nil
}
