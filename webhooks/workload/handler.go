// Package workload is the admission of workloads: it finds the Rollout that refers to one and has
// the kind's driver hold the update. It decides nothing itself.
package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
	"github.com/kruise-rollout/kruise-rollout/pkg/observe"
	table "github.com/kruise-rollout/kruise-rollout/pkg/workload"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload/driver"
)

// DeploymentPath is where the API server sends updates of Deployments.
const DeploymentPath = "/mutate-apps-v1-deployment"

// Handler answers for workloads of all kinds in the table.
type Handler struct {
	// Cached reads from the operator's cache, Live from the API server: what was created a moment
	// ago may not be in the cache yet.
	Cached, Live client.Reader
	Table        table.Table
	Decoder      admission.Decoder
}

var _ admission.Handler = (*Handler)(nil)

// New returns a handler for objects of the scheme.
func New(cached, live client.Reader, t table.Table, scheme *runtime.Scheme) *Handler {
	return &Handler{Cached: cached, Live: live, Table: t, Decoder: admission.NewDecoder(scheme)}
}

// Handle holds an update of a workload that a Rollout refers to. Anything else passes unchanged.
func (h *Handler) Handle(ctx context.Context, req admission.Request) admission.Response {
	if req.Operation != admissionv1.Update || req.SubResource != "" {
		return admission.Allowed("")
	}
	kind := schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}
	key := types.NamespacedName{Namespace: req.Namespace, Name: req.Name}
	rollout, entry, err := h.match(ctx, kind, key)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if rollout == nil {
		return admission.Allowed("")
	}
	change, err := h.change(ctx, req, entry)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	change.Rollout = rollout.Name
	return h.hold(ctx, rollout, entry, change)
}

// match returns the Rollout that gates a workload, nil when there is none. A Rollout that is not
// in the cache yet is looked for at the API server.
func (h *Handler) match(ctx context.Context, kind schema.GroupKind, key types.NamespacedName) (*v1beta1.Rollout, table.Entry, error) {
	cached, err := observe.RolloutsOf(ctx, h.Cached, kind, key)
	if err != nil {
		return nil, table.Entry{}, err
	}
	if r, e := h.gating(cached); r != nil {
		return r, e, nil
	}
	var live v1beta1.RolloutList
	if err := h.Live.List(ctx, &live, client.InNamespace(key.Namespace)); err != nil {
		return nil, table.Entry{}, fmt.Errorf("listing the Rollouts of namespace %s: %w", key.Namespace, err)
	}
	var ofWorkload []v1beta1.Rollout
	for _, r := range live.Items {
		if observe.Kind(r.Spec.WorkloadRef) == kind && r.Spec.WorkloadRef.Name == key.Name {
			ofWorkload = append(ofWorkload, r)
		}
	}
	r, e := h.gating(ofWorkload)
	return r, e, nil
}

// gating returns the first Rollout that holds updates of its workload.
func (h *Handler) gating(rollouts []v1beta1.Rollout) (*v1beta1.Rollout, table.Entry) {
	for i := range rollouts {
		if !gates(&rollouts[i]) {
			continue
		}
		if e, err := h.Table.ForRollout(&rollouts[i]); err == nil && e.Holder != nil {
			return &rollouts[i], e
		}
	}
	return nil, table.Entry{}
}

func gates(r *v1beta1.Rollout) bool {
	return r.DeletionTimestamp == nil && r.Status.Phase != v1beta1.RolloutPhaseDisabled
}

// change decodes both versions of the workload and reads what runs of it.
func (h *Handler) change(ctx context.Context, req admission.Request, e table.Entry) (driver.Change, error) {
	c := driver.Change{Old: e.New(), Updated: e.New()}
	if err := h.Decoder.DecodeRaw(req.OldObject, c.Old); err != nil {
		return c, fmt.Errorf("decoding the present %s %s/%s: %w", e.Kind, req.Namespace, req.Name, err)
	}
	if err := h.Decoder.DecodeRaw(req.Object, c.Updated); err != nil {
		return c, fmt.Errorf("decoding the updated %s %s/%s: %w", e.Kind, req.Namespace, req.Name, err)
	}
	if !e.Needs.ReplicaSets {
		return c, nil
	}
	var err error
	c.ReplicaSets, err = h.replicaSets(ctx, c.Old)
	return c, err
}

// replicaSets asks the API server where the cache knows none: those of a new Deployment.
func (h *Handler) replicaSets(ctx context.Context, owner plan.Object) ([]*appsv1.ReplicaSet, error) {
	object, ok := owner.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an API object", owner)
	}
	sets, err := observe.Reader{Client: h.Cached}.ReplicaSets(ctx, object)
	if err != nil || len(sets) > 0 {
		return sets, err
	}
	var live appsv1.ReplicaSetList
	if err := h.Live.List(ctx, &live, client.InNamespace(owner.GetNamespace())); err != nil {
		return nil, fmt.Errorf("listing the ReplicaSets of %s: %w", client.ObjectKeyFromObject(object), err)
	}
	for i := range live.Items {
		if metav1.IsControlledBy(&live.Items[i], owner) {
			sets = append(sets, &live.Items[i])
		}
	}
	return sets, nil
}

// hold lets the driver edit the update and answers with what it changed. The answer touches
// nothing else: fields that this build does not know stay as they were sent.
func (h *Handler) hold(ctx context.Context, rollout *v1beta1.Rollout, e table.Entry, c driver.Change) admission.Response {
	before, err := json.Marshal(c.Updated)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	verdict, err := e.Holder.Hold(c)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("holding %s %s/%s: %w", e.Kind, c.Old.GetNamespace(), c.Old.GetName(), err))
	}
	if verdict.Caught {
		still, err := h.stillGates(ctx, rollout)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		if !still {
			return admission.Allowed("")
		}
		ctrl.LoggerFrom(ctx).Info("change caught", "rollout", rollout.Name)
	}
	after, err := json.Marshal(c.Updated)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	patch, err := jsonpatch.CreatePatch(before, after)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("computing the patch: %w", err))
	}
	return admission.Patched("", patch...).WithWarnings(verdict.Warnings...)
}

// stillGates asks the API server before a workload is held: a Rollout that is being let go of would
// leave nobody to release it.
func (h *Handler) stillGates(ctx context.Context, r *v1beta1.Rollout) (bool, error) {
	var live v1beta1.Rollout
	err := h.Live.Get(ctx, client.ObjectKeyFromObject(r), &live)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading Rollout %s: %w", client.ObjectKeyFromObject(r), err)
	}
	return gates(&live), nil
}
