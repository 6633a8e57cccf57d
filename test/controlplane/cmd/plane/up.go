package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane"
	"github.com/kruise-rollout/kruise-rollout/test/controlplane/programs"
	"github.com/kruise-rollout/kruise-rollout/test/operator"
)

const (
	// pidFile names the supervisor, in the plane's folder.
	pidFile = "plane.pid"
	// supervisorLog is beside it: it must outlive the plane's own logs.
	supervisorLog = "plane.log"
	// report is the file on which the supervisor tells how the start went: the first after the three
	// standard ones.
	report = 3
	// endPoll is how often to look whether the supervisor is gone.
	endPoll = 50 * time.Millisecond
	// endPatience is how long it may take to take everything down.
	endPatience = time.Minute
)

var errNoDir = errors.New("where? name a folder with --dir")

// up starts a supervisor and waits for its report.
func up(ctx context.Context, o options) error {
	if o.dir == "" {
		return errNoDir
	}
	running, err := controlplane.Running(o.dir)
	if err != nil {
		return err
	}
	if running {
		_, _ = fmt.Fprintf(o.out, "the control plane in %s is up already\n", o.dir)
		return welcome(ctx, o)
	}
	// Here, where a person sees the progress.
	finder, err := programs.New(o.out)
	if err != nil {
		return err
	}
	if _, err := finder.Find(ctx, append(controlplane.Programs(), "kubectl")...); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(o.out, "starting the control plane")
	if err := startSupervisor(ctx, o); err != nil {
		return err
	}
	return welcome(ctx, o)
}

// startSupervisor runs this program again, in a session of its own, so that it stays when the terminal
// goes.
func startSupervisor(ctx context.Context, o options) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("starting a supervisor: %w", err)
	}
	if err := os.MkdirAll(o.dir, 0o750); err != nil {
		return fmt.Errorf("starting a supervisor: %w", err)
	}
	log, err := os.Create(filepath.Join(o.dir, supervisorLog))
	if err != nil {
		return fmt.Errorf("starting a supervisor: %w", err)
	}
	defer func() { _ = log.Close() }() // the supervisor has a copy of its own
	mine, its, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("starting a supervisor: %w", err)
	}
	defer func() { _ = mine.Close() }() // only read

	args := []string{"supervise", "--dir", o.dir, "--operator", o.operator}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self, args...) //nolint:gosec // it is this program
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{its}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = its.Close() // the supervisor has a copy of its own; the report ends when that is closed
	if err != nil {
		return fmt.Errorf("starting a supervisor: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) }) // Ctrl-C: it reports that
	defer stop()
	told, err := io.ReadAll(mine)
	if err != nil {
		return fmt.Errorf("waiting for the supervisor's report: %w", err)
	}
	switch string(told) {
	case started:
		return cmd.Process.Release()
	case "":
		return fmt.Errorf("the supervisor ended and said nothing; log: %s", log.Name())
	}
	return errors.New(string(told))
}

// started is the report of a supervisor whose plane is up; any other is an error.
const started = "started"

// supervise starts a plane and stays until it is told to end or a program ends by itself.
func supervise(ctx context.Context, o options) error {
	// The programs must not get it: whoever reads the report waits until the last copy is closed.
	syscall.CloseOnExec(report)
	reporter := os.NewFile(report, "report")
	defer func() { _ = os.Remove(filepath.Join(o.dir, pidFile)) }() // it may not have come to be
	p, err := startAll(ctx, o)
	word := started
	if err != nil {
		word = err.Error()
	}
	_, _ = reporter.WriteString(word) // who started this may be gone, which is no reason to end
	_ = reporter.Close()
	if err != nil {
		return err
	}
	err = p.Wait(ctx)
	return errors.Join(err, p.Stop())
}

func startAll(ctx context.Context, o options) (*controlplane.Plane, error) {
	p, err := controlplane.Start(ctx, controlplane.Options{Dir: o.dir})
	if err != nil {
		return nil, err
	}
	pid := strconv.Itoa(os.Getpid())
	if err := os.WriteFile(filepath.Join(o.dir, pidFile), []byte(pid+"\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("writing the supervisor's process id: %w", err), p.Stop())
	}
	if err := startOperator(ctx, p, o.operator); err != nil {
		p.Keep()
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

func startOperator(ctx context.Context, p *controlplane.Plane, binary string) error {
	if binary == "" {
		return nil
	}
	installed, err := operator.Install(ctx, p, binary)
	if err != nil {
		return err
	}
	return installed.Start(ctx)
}

// down takes down what up started, and waits until it is gone.
func down(ctx context.Context, o options) error {
	if o.dir == "" {
		return errNoDir
	}
	running, err := controlplane.Running(o.dir)
	if err != nil {
		return err
	}
	if !running {
		_, _ = fmt.Fprintf(o.out, "no control plane runs in %s\n%s", o.dir, lastWords(o.dir))
		return nil
	}
	supervisor, err := supervisor(o.dir)
	if err != nil {
		return err
	}
	if err := supervisor.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping the supervisor: %w", err)
	}
	err = wait.PollUntilContextTimeout(ctx, endPoll, endPatience, true, func(context.Context) (bool, error) {
		running, err := controlplane.Running(o.dir)
		return !running, err
	})
	if err != nil {
		return fmt.Errorf("waiting for supervisor %d to end (see %s): %w", supervisor.Pid, filepath.Join(o.dir, supervisorLog), err)
	}
	_, _ = fmt.Fprintf(o.out, "took down the control plane in %s\n", o.dir)
	tidy(o.dir)
	return nil
}

// tidy removes what is left if there is nothing to read in it.
func tidy(dir string) {
	log := filepath.Join(dir, supervisorLog)
	if info, err := os.Stat(log); err == nil && info.Size() == 0 {
		_ = os.Remove(log) // an empty file does no harm
	}
	_ = os.Remove(dir) // fails if something is in it, as it should
}

// lastWords is why the plane that was up in the folder is not, if it ended by itself.
func lastWords(dir string) string {
	content, err := os.ReadFile(filepath.Join(dir, supervisorLog)) //nolint:gosec // in the folder that the user chose
	if err != nil {
		return "" // none ever ran there, or it was taken down
	}
	return string(content)
}

// supervisor is the process that holds the plane. Its id is right because the lock is held: whoever
// holds it wrote the id.
func supervisor(dir string) (*os.Process, error) {
	content, err := os.ReadFile(filepath.Join(dir, pidFile)) //nolint:gosec // in the folder that the user chose
	if err != nil {
		return nil, fmt.Errorf("finding the supervisor (is it still starting?): %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return nil, fmt.Errorf("finding the supervisor: %s holds no process id: %w", filepath.Join(dir, pidFile), err)
	}
	return os.FindProcess(pid)
}
