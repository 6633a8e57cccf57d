package programs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane/filelock"
)

const (
	// beat is how often a running build says that it is still alive.
	beat = 15 * time.Second
	// lockPoll is how often to look whether another process has finished its builds.
	lockPoll = 200 * time.Millisecond
	// quitDelay is how long an interrupted compiler may take to tidy up.
	quitDelay = 5 * time.Second
)

// flags make the programs small, and equal wherever they are built.
func flags() []string { return []string{"-trimpath", "-ldflags", "-s -w"} }

// built returns the program from the cache, after building it there if it is missing.
func (f *Finder) built(ctx context.Context, p Program) (string, error) {
	dir, err := f.folder(p.Module)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, p.Name)
	if executable(path) == nil {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("making the cache folder of programs: %w", err)
	}
	unlock, err := f.lock(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return "", fmt.Errorf("waiting to build %s: %w", p.Name, err)
	}
	defer unlock()
	if executable(path) == nil {
		return path, nil // another process built it while this one waited for the lock
	}
	return path, f.build(ctx, p, path)
}

// build compiles to a temporary name first: a path in the cache is a whole program or is not there.
func (f *Finder) build(ctx context.Context, p Program, path string) error {
	compiler, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("building %s: there is no `go` in PATH; install Go, or name a ready program with %s=/path/to/%s",
			p.Name, Variable(p.Name), p.Name)
	}
	log, err := os.Create(path + ".build.log") //nolint:gosec // the path is made of our own names
	if err != nil {
		return fmt.Errorf("building %s: %w", p.Name, err)
	}
	defer func() { _ = log.Close() }() // it is read by people only

	temporary := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	defer func() { _ = os.Remove(temporary) }() // gone already when the build was good

	args := append([]string{"build"}, flags()...)
	cmd := exec.CommandContext(ctx, compiler, append(args, "-o", temporary, p.Package)...) //nolint:gosec // arguments come from the table of programs
	cmd.Dir = filepath.Join(f.Modules, p.Module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = quitDelay
	if err := f.timed(p, cmd.Run); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("building %s: %w", p.Name, ctx.Err())
		}
		return fmt.Errorf("building %s: %w: %s; log: %s", p.Name, err, lastLine(log.Name()), log.Name())
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("building %s: %w", p.Name, err)
	}
	return nil
}

// timed runs a build and tells the person in front of it how it goes.
func (f *Finder) timed(p Program, run func() error) error {
	f.say("building %s, once per machine (about %s if nothing of it was ever compiled here)", p.Name, p.Cold)
	start := f.Clock.Now()
	ticker := f.Clock.NewTicker(beat)
	defer ticker.Stop()
	done := make(chan error, 1)
	go func() { done <- run() }() // so that the ticker can be listened to meanwhile
	for {
		elapsed := func() time.Duration { return f.Clock.Since(start).Round(time.Second) }
		select {
		case err := <-done:
			if err == nil {
				f.say("built %s in %s", p.Name, elapsed())
			}
			return err
		case <-ticker.C():
			f.say("  still building %s: %s", p.Name, elapsed())
		}
	}
}

func (f *Finder) say(format string, args ...any) {
	_, _ = fmt.Fprintf(f.Out, format+"\n", args...) // progress that nobody can read is no error
}

// lock lets one process at a time build into a folder.
func (f *Finder) lock(ctx context.Context, path string) (unlock func(), err error) {
	var held *os.File
	told := false
	err = wait.PollUntilContextCancel(ctx, lockPoll, true, func(context.Context) (bool, error) {
		held, err = filelock.Try(path)
		if errors.Is(err, filelock.ErrHeld) {
			if !told {
				f.say("another process is building programs in %s; waiting for it", filepath.Dir(path))
				told = true
			}
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = held.Close() }, nil // closing drops the lock
}

// lastLine is what a failed compiler said last.
func lastLine(path string) string {
	content, err := os.ReadFile(path) //nolint:gosec // our own log
	if err != nil {
		return "its log is gone"
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
