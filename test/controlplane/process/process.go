package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// poll is how often a starting program is asked whether it is ready.
	poll = 50 * time.Millisecond
	// patience is how long a program may take to become ready; a busy machine needs some.
	patience = 2 * time.Minute
	// grace is how long a program may take to end when it is asked to.
	grace = 5 * time.Second
)

// Spec says what to run, and how to know that it is ready.
type Spec struct {
	// Name is what the program is called in errors.
	Name string
	// Path is the program, Args its arguments.
	Path string
	Args []string
	// Env is added to the environment of this process.
	Env []string
	// Log is the file that gets what the program prints; it is appended to.
	Log string
	// Ready returns nil when the program does its work. Without it a program is ready when it runs.
	Ready func(context.Context) error
}

// Process is a program that was started.
type Process struct {
	spec   Spec
	cmd    *exec.Cmd
	offset int64         // where in the log this run begins
	asked  atomic.Bool   // it was told to end
	ended  chan struct{} // closed when it has ended and state may be read
	state  error
}

// EndedError says that a program ended although nobody asked it to.
type EndedError struct {
	// Name is the program, How the way it ended.
	Name, How string
	// Words is the line of its log that tells most, Log the whole.
	Words, Log string
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("%s ended by itself (%s): %s; log: %s", e.Name, e.How, e.Words, e.Log)
}

// PortTaken tells whether err is about a program that found its port in use.
func PortTaken(err error) bool {
	var ended *EndedError
	return errors.As(err, &ended) && strings.Contains(ended.Words, syscall.EADDRINUSE.Error())
}

// Start runs the program and waits until it is ready. Ending ctx gives up waiting; it does not end a
// program that is ready.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	p, err := launch(ctx, spec)
	if err != nil {
		return nil, err
	}
	if err := p.await(ctx); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

func launch(ctx context.Context, spec Spec) (*Process, error) {
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	defer func() { _ = log.Close() }() // the program has a copy of its own
	offset, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), spec.Path, spec.Args...) //nolint:gosec // running what the caller names is the purpose
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes()
	p := &Process{spec: spec, cmd: cmd, offset: offset, ended: make(chan struct{})}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	return p, nil
}

// run lives as long as the program. It keeps its thread, because Linux takes the death of the thread
// that started a program for the death of the parent (prctl(2), PR_SET_PDEATHSIG).
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.state = p.cmd.Wait()
	close(p.ended)
}

func (p *Process) await(ctx context.Context) error {
	if p.spec.Ready == nil {
		return p.Err()
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		last = p.spec.Ready(ctx)
		// Asked after the answer: the answer is of a neighbour if this one is dead.
		return last == nil, p.Err()
	})
	if err == nil || p.Err() != nil {
		return p.Err()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("waiting for %s: %w", p.spec.Name, ctx.Err())
	}
	return fmt.Errorf("waiting for %s: not ready after %s (%w): %s; log: %s", p.spec.Name, patience, last, p.words(), p.spec.Log)
}

// Name is the name that the Spec gave.
func (p *Process) Name() string { return p.spec.Name }

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Ended is closed when the program has ended, for whatever reason.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err is nil while the program runs and when it was asked to end, else an *EndedError.
func (p *Process) Err() error {
	select {
	case <-p.ended:
	default:
		return nil
	}
	if p.asked.Load() {
		return nil
	}
	how := "exit status 0"
	if p.state != nil {
		how = p.state.Error()
	}
	return &EndedError{Name: p.spec.Name, How: how, Words: p.words(), Log: p.spec.Log}
}

// Stop asks the program to end, kills it if it does not, and waits until it is gone.
func (p *Process) Stop() {
	p.asked.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		p.Kill()
	}
}

// Kill ends the program as a crash would, and waits until it is gone.
func (p *Process) Kill() {
	p.asked.Store(true)
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.ended
}

func (p *Process) words() string { return words(p.spec.Log, p.offset) }

// Answers is a Ready that is satisfied when the address answers 200.
func Answers(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }() // only the status counts
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, response.Status)
		}
		return nil
	}
}
