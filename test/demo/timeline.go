package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/test/record"
)

// view is what a user sees of a release at one moment.
type view struct {
	// rollout is where the Rollout stands, message what it says about that.
	rollout, message string
	crowd
}

// crowd is what changes in quick succession while a batch goes.
type crowd struct {
	// held says that the native controller is told to wait.
	held bool
	pods string
}

func viewOf(st record.State) view {
	v := view{rollout: "no Rollout"}
	if r := st.Rollout(web); r != nil {
		v.rollout, v.message = place(r), r.Status.Message
	}
	d := st.Deployment(web)
	if d == nil {
		v.pods = "no Deployment"
		return v
	}
	v.crowd = crowd{held: d.Spec.Paused, pods: podsOf(st, tagOf(d))}
	return v
}

// place is the phase of a Rollout, and its step while there is one to go.
func place(r *v1beta1.Rollout) string {
	c := r.Status.CanaryStatus
	switch {
	case r.Status.Phase == "":
		return "new Rollout"
	case c == nil, r.Status.Phase != v1beta1.RolloutPhaseProgressing, c.CurrentStepState == v1beta1.CanaryStepStateCompleted:
		return string(r.Status.Phase)
	}
	return fmt.Sprintf("%s %d/%d %s", r.Status.Phase, c.CurrentStepIndex, len(r.Spec.Strategy.Steps()), c.CurrentStepState)
}

// podsOf counts the pods of the wanted version and of all others: the ready ones of all.
func podsOf(st record.State, wanted string) string {
	var older, newer group
	for _, pod := range record.All[*corev1.Pod](st) {
		if pod.DeletionTimestamp != nil {
			continue
		}
		if tag(pod.Spec.Containers[0].Image) == wanted {
			newer.add(pod)
		} else {
			older.add(pod)
		}
	}
	text := fmt.Sprintf("new %d/%d %s", newer.ready, newer.all, wanted)
	if older.all > 0 {
		text = fmt.Sprintf("old %d/%d %s  %s", older.ready, older.all, strings.Join(older.tags, "+"), text)
	}
	return text
}

// group counts pods.
type group struct {
	ready, all int
	tags       []string
}

func (g *group) add(pod *corev1.Pod) {
	g.all++
	if record.Ready(pod) {
		g.ready++
	}
	if t := tag(pod.Spec.Containers[0].Image); !slices.Contains(g.tags, t) {
		g.tags = append(g.tags, t)
	}
}

// timeline prints a line when what a user sees has changed.
type timeline struct {
	out   *printer
	began time.Time
	// looked is the version of the last change that was looked at.
	looked int64
	// last is the view that was printed, at its time.
	last view
	at   time.Time
}

// pace is how often a change of the crowd alone gets a line: often enough to see pods come and go.
const pace = 250 * time.Millisecond

// follow prints what happened since the last call. A line that the pace keeps back comes with the next
// change, or with settle.
func (t *timeline) follow(log []record.Entry) {
	record.Replay(log, func(e record.Entry, st record.State) {
		if e.Version <= t.looked {
			return
		}
		t.looked = e.Version
		v := viewOf(st)
		rollout := v
		rollout.crowd = t.last.crowd
		if rollout != t.last || e.Seen.Sub(t.at) >= pace {
			t.print(e.Seen, v)
		}
	})
}

// settle prints what there is after all changes, if follow has kept it back.
func (t *timeline) settle(log []record.Entry) {
	record.Replay(log, func(e record.Entry, st record.State) {
		if e.Version == log[len(log)-1].Version {
			t.print(e.Seen, viewOf(st))
		}
	})
}

// print leaves out a message that is still the same.
func (t *timeline) print(at time.Time, v view) {
	if v == t.last {
		return
	}
	shown := v
	if v.message == t.last.message {
		shown.message = ""
	}
	t.last, t.at = v, at
	t.out.line(fmt.Sprintf("%6.1fs  %s", at.Sub(t.began).Seconds(), shown))
}

func (v view) String() string {
	held := ""
	if v.held {
		held = "held"
	}
	return strings.TrimRight(fmt.Sprintf("%-33s  %-4s  %-25s  %s", v.rollout, held, v.pods, v.message), " ")
}
