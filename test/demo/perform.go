package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/utils/clock"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane"
	"github.com/kruise-rollout/kruise-rollout/test/operator"
	"github.com/kruise-rollout/kruise-rollout/test/record"
)

// patience is how long an act may take on a busy machine.
const patience = 90 * time.Second

// namespace is where kubectl works when nobody tells it otherwise.
const namespace = "default"

// stage is a cluster with the operator, watched by a recorder.
type stage struct {
	out      *printer
	clock    clock.PassiveClock
	began    time.Time
	plane    *controlplane.Plane
	operator *operator.Operator
	shell    shell
	recorder *record.Recorder
	timeline timeline
}

// perform starts a control plane with the operator, plays the story and takes everything down.
func perform(ctx context.Context, out *printer, binary string) error {
	s := &stage{out: out, clock: clock.RealClock{}}
	s.began = s.clock.Now()
	out.title("Two releases of a Deployment on a real control plane")
	out.say("Starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok, which stands in " +
		"for the kubelets; then the operator.")
	kubectl, err := findKubectl(ctx, out)
	if err != nil {
		return err
	}
	plane, err := controlplane.Start(ctx, controlplane.Options{Out: out})
	if err != nil {
		return err
	}
	s.plane = plane
	s.shell = shell{kubectl: kubectl, plane: plane, out: out}
	err = s.play(ctx, binary)
	if err != nil && ctx.Err() == nil {
		plane.Keep()
		err = fmt.Errorf("%w\n(logs: %s)", err, filepath.Dir(plane.AuditLog()))
	}
	if err := errors.Join(err, plane.Stop()); err != nil {
		return err
	}
	out.say(fmt.Sprintf("Done in %.0f s: everything was as promised. The control plane is taken down again; `make up` starts one that stays.",
		s.clock.Since(s.began).Seconds()))
	return nil
}

// play goes through the story. It ends early when a program of the plane dies.
func (s *stage) play(ctx context.Context, binary string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Ends with ctx.
	go func() { cancel(s.plane.Wait(ctx)) }()
	if err := s.open(ctx, binary); err != nil {
		return err
	}
	for i, a := range story() {
		if err := s.act(ctx, i+1, a); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		}
	}
	return s.wholeStory()
}

// open brings the operator up and begins to watch.
func (s *stage) open(ctx context.Context, binary string) error {
	var err error
	if s.operator, err = operator.Install(ctx, s.plane, binary); err != nil {
		return err
	}
	if err = s.operator.Start(ctx); err != nil {
		return err
	}
	if s.recorder, err = record.Start(ctx, s.operator.Client, namespace); err != nil {
		return err
	}
	s.out.say(fmt.Sprintf("All of it runs after %.0f s. To look at it from a second terminal while this goes on:", s.clock.Since(s.began).Seconds()))
	s.out.line("  export KUBECONFIG=" + s.plane.Kubeconfig())
	s.timeline = timeline{out: s.out, began: s.clock.Now()}
	return nil
}

// act does what the user does, waits for what comes of it and checks what was promised.
func (s *stage) act(ctx context.Context, number int, a act) error {
	s.out.title(fmt.Sprintf("%d. %s", number, a.title))
	s.out.say(a.says)
	m, err := s.before(ctx)
	if err != nil {
		return err
	}
	for _, command := range a.runs {
		if err := s.shell.run(ctx, command); err != nil {
			return err
		}
	}
	if err := s.wait(ctx, a.until); err != nil {
		return err
	}
	if err := s.after(ctx, m); err != nil {
		return err
	}
	for _, p := range a.promises {
		if broken := p.broken(m); broken != "" {
			return fmt.Errorf("not as it should be in act %d: %s? No: %s", number, p.text, broken)
		}
		s.out.kept(p.text)
	}
	return nil
}

// wait follows what happens, in the timeline, until the goal is reached.
func (s *stage) wait(ctx context.Context, g goal) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last view
	reached := false
	for !reached {
		err := s.recorder.Until(limited, func(st record.State) bool {
			now := viewOf(st)
			changed := now != last
			reached, last = g.reached(st), now
			return reached || changed
		})
		s.timeline.follow(s.recorder.Log())
		if err != nil && ctx.Err() == nil && limited.Err() != nil {
			return fmt.Errorf("waited %s until %s; what there is: %s", patience, g.text, last)
		}
		if err != nil {
			return err
		}
	}
	s.timeline.settle(s.recorder.Log())
	return nil
}

// wholeStory checks the invariants of releases over everything that happened.
func (s *stage) wholeStory() error {
	log := s.recorder.Log()
	for _, violation := range record.Check(log, record.Rules{}) {
		return errors.New(violation)
	}
	s.out.title("The end")
	s.out.kept(fmt.Sprintf("in none of the %d changes that were watched were there more new pods than the step allows, or fewer ready pods than maxUnavailable does", len(log)))
	return nil
}
