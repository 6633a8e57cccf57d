// Package record watches everything a release touches in one namespace, for the whole of a test. It
// answers two questions: "is it so yet?", by waking up on each event instead of sleeping, and "was
// it ever wrong?", by replaying all that happened in the order in which the API server stored it.
package record

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// Entry is one stored version of one object.
type Entry struct {
	// Version is the resourceVersion. One etcd numbers all objects, so it orders everything.
	Version int64
	// Seen is when the event arrived here.
	Seen    time.Time
	Deleted bool
	Object  client.Object
}

// Recorder holds what happened so far. Its methods may be called from several goroutines.
type Recorder struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each event
	log     []Entry
	now     map[string]client.Object
	err     error
}

// Start watches a namespace until ctx ends.
func Start(ctx context.Context, c client.WithWatch, namespace string) (*Recorder, error) {
	r := &Recorder{changed: make(chan struct{}), now: map[string]client.Object{}}
	for _, list := range []client.ObjectList{
		&v1beta1.RolloutList{}, &v1beta1.BatchReleaseList{}, &appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{},
	} {
		if err := r.follow(ctx, c, list, namespace); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// follow lists one kind and goes on from there. The API server ends a watch whose client is too slow
// for it, as on a busy machine; it is taken up again at the last version that was seen.
func (r *Recorder) follow(ctx context.Context, c client.WithWatch, list client.ObjectList, namespace string) error {
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("listing %T: %w", list, err)
	}
	source := cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		return c.Watch(ctx, list, &client.ListOptions{Namespace: namespace, Raw: &options})
	}}
	w, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &source)
	if err != nil {
		return fmt.Errorf("watching %T: %w", list, err)
	}
	// The goroutine ends with the watch, which ends with ctx.
	go func() {
		defer w.Stop()
		for event := range w.ResultChan() {
			r.take(event)
		}
		if ctx.Err() == nil {
			r.fail(fmt.Errorf("the watch of %T ended", list))
		}
	}()
	return nil
}

func (r *Recorder) take(event watch.Event) {
	if event.Type == watch.Bookmark {
		return
	}
	o, ok := event.Object.(client.Object)
	if !ok {
		r.fail(fmt.Errorf("watching: %w", apierrors.FromObject(event.Object)))
		return
	}
	version, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		r.fail(fmt.Errorf("reading the version of %s: %w", Key(o), err))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	deleted := event.Type == watch.Deleted
	r.log = append(r.log, Entry{Version: version, Seen: time.Now(), Deleted: deleted, Object: o})
	if deleted {
		delete(r.now, Key(o))
	} else {
		r.now[Key(o)] = o
	}
	r.wake()
}

func (r *Recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	r.wake()
}

func (r *Recorder) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// Key names an object within its namespace: "*v1.Pod/web-1".
func Key(o client.Object) string { return fmt.Sprintf("%T/%s", o, o.GetName()) }

// Until waits until the condition holds of what is there now. It is asked again after each event,
// and must not keep what it is shown.
func (r *Recorder) Until(ctx context.Context, condition func(State) bool) error {
	for {
		holds, changed, err := r.ask(condition)
		if holds || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// ask is one look. A condition may panic, as it is a test's.
func (r *Recorder) ask(condition func(State) bool) (holds bool, changed chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if condition(State{r.now}) {
		return true, nil, nil
	}
	return false, r.changed, r.err
}

// UntilVersion waits until a version of an object, or a later one, has been seen.
func (r *Recorder) UntilVersion(ctx context.Context, o client.Object, version int64) error {
	return r.Until(ctx, func(State) bool {
		for _, e := range slices.Backward(r.log) {
			if e.Version >= version && Key(e.Object) == Key(o) {
				return true
			}
		}
		return false
	})
}

// Now shows what is there.
func (r *Recorder) Now(show func(State)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	show(State{r.now})
}

// Log returns all that happened, in the order in which it was stored.
func (r *Recorder) Log() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return sorted(r.log)
}
