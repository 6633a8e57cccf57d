// Package effect carries out plans. No other package of the operator writes workloads, routes or
// statuses to the API server; a linter holds that.
//
// The status goes first and is guarded by the resourceVersion that the decision was made on. That
// is the fence: a pass that decided on an outdated object, because a user has approved meanwhile or
// another leader is at work, stops there and has touched nothing.
package effect

import (
	"context"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

// Runner carries out plans on behalf of one controller.
type Runner struct {
	Client   client.Client
	Recorder events.EventRecorder
	// FieldManager is the name under which the controller writes.
	FieldManager string
}

// Run writes after's status if it differs from before's, then the actions in order, then the
// events. The first failure ends it. Conflicts come back as they are: the pass is to be repeated on
// what is there now, never forced.
func (r Runner) Run(ctx context.Context, before, after client.Object, actions []plan.Action, evs []plan.Event) error {
	if err := r.status(ctx, before, after); err != nil {
		return err
	}
	for _, a := range actions {
		if err := r.act(ctx, a); err != nil {
			return err
		}
	}
	for _, e := range evs {
		kind := "Normal"
		if e.Warning {
			kind = "Warning"
		}
		r.Recorder.Eventf(after, nil, kind, e.Reason, e.Reason, "%s", e.Message)
	}
	return nil
}

// status replaces the status as a whole. A patch of the difference would leave out required fields
// whose value is zero, and the API server would refuse it.
func (r Runner) status(ctx context.Context, before, after client.Object) error {
	body, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return fmt.Errorf("comparing the status of %s: %w", name(after), err)
	}
	if string(body) == "{}" {
		return nil
	}
	after.SetResourceVersion(before.GetResourceVersion())
	if err := r.Client.Status().Update(ctx, after, client.FieldOwner(r.FieldManager)); err != nil {
		return fmt.Errorf("writing the status of %s: %w", name(after), err)
	}
	log.FromContext(ctx).V(1).Info("status written", "difference", string(body))
	return nil
}

func (r Runner) act(ctx context.Context, a plan.Action) error {
	switch a := a.(type) {
	case plan.Edit:
		return r.edit(ctx, a)
	case plan.Mark:
		return r.mark(ctx, a)
	case plan.Drop:
		return r.drop(ctx, a)
	}
	return fmt.Errorf("carrying out a plan: no such action: %T", a)
}

func (r Runner) edit(ctx context.Context, e plan.Edit) error {
	after, ok := e.After.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("editing %T: it is not an API object", e.After)
	}
	if e.Before == nil {
		if err := r.Client.Create(ctx, after, client.FieldOwner(r.FieldManager)); err != nil {
			return fmt.Errorf("creating %s: %w", name(after), err)
		}
		log.FromContext(ctx).Info("created", "object", name(after))
		return nil
	}
	guarded := client.MergeFromWithOptions(e.Before, client.MergeFromWithOptimisticLock{})
	body, err := guarded.Data(after)
	if err != nil {
		return fmt.Errorf("comparing two versions of %s: %w", name(after), err)
	}
	if err := r.Client.Patch(ctx, after, guarded, client.FieldOwner(r.FieldManager)); err != nil {
		return fmt.Errorf("editing %s: %w", name(after), err)
	}
	log.FromContext(ctx).Info("edited", "object", name(after), "patch", string(body))
	return nil
}

// mark leaves the resourceVersion out but keeps the UID in: the API server refuses to label another
// object of the same name. An object that is gone needs no label.
func (r Runner) mark(ctx context.Context, m plan.Mark) error {
	before, ok := m.Object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("labelling %T: it is not an API object", m.Object)
	}
	after, ok := before.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("labelling %T: it is not an API object", m.Object)
	}
	labels := map[string]string{}
	maps.Copy(labels, before.GetLabels())
	maps.Copy(labels, m.Labels)
	after.SetLabels(labels)
	before.SetUID("") // so that the difference names it
	if err := r.Client.Patch(ctx, after, client.MergeFrom(before), client.FieldOwner(r.FieldManager)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("labelling %s: %w", name(after), err)
	}
	log.FromContext(ctx).V(1).Info("labelled", "object", name(after), "labels", m.Labels)
	return nil
}

func (r Runner) drop(ctx context.Context, d plan.Drop) error {
	object, ok := d.Object.(client.Object)
	if !ok {
		return fmt.Errorf("deleting %T: it is not an API object", d.Object)
	}
	uid := client.Preconditions{UID: new(object.GetUID())}
	if err := r.Client.Delete(ctx, object, uid); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %s: %w", name(object), err)
	}
	log.FromContext(ctx).Info("deleted", "object", name(object))
	return nil
}

// fallback is when a pass that met a conflict is repeated if no event does it sooner.
const fallback = time.Second

// Outcome is the end of a pass: when to look again, and the error if it is one. A conflict is none:
// whoever was faster has caused an event, and the pass is repeated on what they wrote.
func Outcome(ctx context.Context, again time.Duration, err error) (reconcile.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		log.FromContext(ctx).V(1).Info("somebody was faster", "reason", err.Error())
		return reconcile.Result{RequeueAfter: fallback}, nil
	case err != nil:
		return reconcile.Result{}, err
	default:
		return reconcile.Result{RequeueAfter: again}, nil
	}
}

// name is how logs and errors call an object: "*v1.Deployment shop/web".
func name(o client.Object) string { return fmt.Sprintf("%T %s", o, client.ObjectKeyFromObject(o)) }
