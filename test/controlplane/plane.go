package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane/process"
	"github.com/kruise-rollout/kruise-rollout/test/controlplane/programs"
	"github.com/kruise-rollout/kruise-rollout/test/controlplane/stages"
)

// Options say what is special about a plane; the zero value is a plane with one node.
type Options struct {
	// Dir is where the plane writes. Empty means a new folder among the temporary files.
	Dir string
	// KeepLogs leaves the logs in place after Stop. They stay anyway when a program ended by itself.
	KeepLogs bool
	// Nodes is how many nodes there are; 0 means 1.
	Nodes int
	// Flags are added to those of a program, by its name.
	Flags map[string][]string
	// Out gets the progress of builds, for a person to read; nil means standard error.
	Out io.Writer
}

// Plane is a control plane that runs.
type Plane struct {
	options   Options
	paths     map[string]string
	folder    *folder
	authority *authority
	users     map[string]user
	ports     map[string]int
	// failed gets the error of the first program that ends by itself.
	failed chan error

	// Tests may stop programs while a clean-up stops the plane.
	mu      sync.Mutex
	started []*process.Process
	keep    bool
	stopped bool
}

// attempts is how often a plane is started: another program may take a port between its choice and
// its use, which does not happen twice in a row.
const attempts = 2

// Start builds what is missing, starts a plane and waits until its nodes are ready. Ending ctx gives up;
// a plane that has started runs until Stop.
func Start(ctx context.Context, o Options) (*Plane, error) {
	if o.Out == nil {
		o.Out = os.Stderr
	}
	paths, err := findPrograms(ctx, o.Out)
	if err != nil {
		return nil, err
	}
	for attempt := range attempts {
		p, startErr := start(ctx, o, paths)
		if startErr == nil {
			return p, nil
		}
		err = startErr
		if !process.PortTaken(err) || attempt == attempts-1 {
			break
		}
	}
	return nil, err
}

func findPrograms(ctx context.Context, out io.Writer) (map[string]string, error) {
	finder, err := programs.New(out)
	if err != nil {
		return nil, err
	}
	return finder.Find(ctx, Programs()...)
}

// Programs are the names of the programs that a plane needs.
func Programs() []string {
	var names []string
	for _, r := range rows() {
		names = append(names, r.name)
	}
	return names
}

func start(ctx context.Context, o Options, paths map[string]string) (*Plane, error) {
	p, err := prepare(ctx, o, paths)
	if err != nil {
		return nil, err
	}
	if err := p.up(ctx); err != nil {
		p.Keep()
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// prepare writes everything that the programs read.
func prepare(ctx context.Context, o Options, paths map[string]string) (*Plane, error) {
	ports, err := choosePorts(ctx)
	if err != nil {
		return nil, err
	}
	f, err := openFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	p := &Plane{options: o, paths: paths, folder: f, ports: ports, failed: make(chan error, 1), keep: o.KeepLogs}
	if err := p.write(); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return p, nil
}

func (p *Plane) write() error {
	authority, err := newAuthority(p.folder)
	if err != nil {
		return err
	}
	p.authority = authority
	p.users = newUsers(p.folder)
	if err := writeUsers(p.folder, p.users, p.url(apiServer), authority.pem); err != nil {
		return err
	}
	if err := p.folder.write(policyFile, []byte(auditPolicy)); err != nil {
		return err
	}
	return p.folder.write(stagesFile, stages.Config())
}

// up starts the programs. What comes after the API server needs only that, so it starts together.
func (p *Plane) up(ctx context.Context) error {
	all := rows()
	client := slices.IndexFunc(all, func(r row) bool { return r.name == apiServer }) + 1
	for _, r := range all[:client] {
		if err := p.Run(ctx, p.spec(r)); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range all[client:] {
		group.Go(func() error { return p.Run(ctx, p.spec(r)) })
	}
	group.Go(func() error { return p.nodes(ctx) })
	return group.Wait()
}

// Run starts one more program beside the plane's own, and waits until it is ready. Stop ends it first.
func (p *Plane) Run(ctx context.Context, spec process.Spec) error {
	started, err := process.Start(ctx, spec)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = append(p.started, started)
	go p.guard(started) // it ends with the program, so Stop ends it
	return nil
}

func (p *Plane) guard(started *process.Process) {
	<-started.Ended()
	if err := started.Err(); err != nil {
		select {
		case p.failed <- err:
		default: // an earlier one tells more
		}
	}
}

// Wait returns the error of the first program that ends by itself, or nil when ctx ends.
func (p *Plane) Wait(ctx context.Context) error {
	select {
	case err := <-p.failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// Err tells which programs ended although nobody asked them to.
func (p *Plane) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err()
}

func (p *Plane) err() error {
	var errs []error
	for _, started := range p.started {
		errs = append(errs, started.Err())
	}
	return errors.Join(errs...)
}

// StartProgram starts a program of the plane that StopProgram or KillProgram ended.
func (p *Plane) StartProgram(ctx context.Context, name string) error {
	for _, r := range rows() {
		if r.name == name {
			return p.Run(ctx, p.spec(r))
		}
	}
	return fmt.Errorf("starting %s: it is none of the plane's programs %v; use Run", name, Programs())
}

// StopProgram asks a program to end and waits until it has.
func (p *Plane) StopProgram(name string) error { return p.end(name, (*process.Process).Stop) }

// KillProgram ends a program as a crash would.
func (p *Plane) KillProgram(name string) error { return p.end(name, (*process.Process).Kill) }

func (p *Plane) end(name string, how func(*process.Process)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.started, func(s *process.Process) bool { return s.Name() == name })
	if at < 0 {
		return fmt.Errorf("stopping %s: it does not run", name)
	}
	how(p.started[at])
	p.started = slices.Delete(p.started, at, at+1)
	return nil
}

// Pid is the process id of a running program, or 0.
func (p *Plane) Pid(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, started := range p.started {
		if started.Name() == name {
			return started.Pid()
		}
	}
	return 0
}

// Keep leaves the logs in place after Stop.
func (p *Plane) Keep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep = true
}

// Stop takes the programs down, the last first, and removes the plane's folder. More calls do nothing.
func (p *Plane) Stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return nil
	}
	p.stopped = true
	keep := p.keep || p.err() != nil
	for _, started := range slices.Backward(p.started) {
		started.Stop()
	}
	p.started = nil
	if keep {
		return p.folder.leave()
	}
	return p.folder.close()
}

// Config is the configuration of a client that may do everything.
func (p *Plane) Config() *rest.Config { return p.config(admin) }

// OperatorConfig is the configuration of a client that is OperatorUser: it may do what the role bindings
// in the cluster let it, which is nothing at first.
func (p *Plane) OperatorConfig() *rest.Config { return p.config(OperatorUser) }

func (p *Plane) config(name string) *rest.Config {
	return restConfig(p.users[name], p.url(apiServer), p.authority.pem)
}

// Kubeconfig is the path of the kubeconfig of one who may do everything.
func (p *Plane) Kubeconfig() string { return p.users[admin].kubeconfig }

// OperatorKubeconfig is the path of the kubeconfig of OperatorUser.
func (p *Plane) OperatorKubeconfig() string { return p.users[OperatorUser].kubeconfig }

// Dir is the plane's folder.
func (p *Plane) Dir() string { return p.folder.path }

// File is a path for a file that goes with the plane, for the programs that Run starts.
func (p *Plane) File(name string) string { return p.folder.data(name) }

// Log is the path of the log of a program, also of one that Run is to start.
func (p *Plane) Log(name string) string { return p.folder.log(name) }

// AuditLog is the path of the API server's log of requests: one JSON object per line, without contents.
func (p *Plane) AuditLog() string { return p.folder.log(auditLog) }
