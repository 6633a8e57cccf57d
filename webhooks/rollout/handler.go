package rollout

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/rules"
)

// The paths that the webhook configurations name.
const (
	ValidatePath = "/validate-rollouts-kruise-io-rollout"
	AdvisePath   = "/mutate-rollouts-kruise-io-rollout"
)

// Handlers returns the handler of every path of this package. Reads go through reader; stale ones
// only delay what the rules say about other Rollouts.
func Handlers(scheme *runtime.Scheme, reader client.Reader, r rules.Rules) map[string]*admission.Webhook {
	v := validator{reader: reader, rules: r}
	return map[string]*admission.Webhook{
		ValidatePath: {Handler: byVersion{
			v1alpha1.SchemeGroupVersion.Version: admission.WithValidator(scheme, alpha{v}).Handler,
			v1beta1.SchemeGroupVersion.Version:  admission.WithValidator(scheme, beta{v}).Handler,
		}},
		AdvisePath: {Handler: admission.HandlerFunc(advise)},
	}
}

// byVersion lets the version of a request choose its handler.
type byVersion map[string]admission.Handler

// Handle passes req on.
func (h byVersion) Handle(ctx context.Context, req admission.Request) admission.Response {
	if handler, ok := h[req.Kind.Version]; ok {
		return handler.Handle(ctx, req)
	}
	return admission.Errored(http.StatusBadRequest, fmt.Errorf("%s of version %q can't be validated", req.Kind.Kind, req.Kind.Version))
}

// validator reads what the rules want to know besides the object.
type validator struct {
	reader client.Reader
	rules  rules.Rules
}

func (v validator) others(ctx context.Context, namespace string) ([]v1beta1.Rollout, error) {
	list := &v1beta1.RolloutList{}
	if err := v.reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("listing Rollouts in namespace %s: %w", namespace, err))
	}
	return list.Items, nil
}

// stored returns the Rollout as it is kept; nil if it can't be found.
func (v validator) stored(ctx context.Context, key client.ObjectKey) (*v1beta1.Rollout, error) {
	ro := &v1beta1.Rollout{}
	err := v.reader.Get(ctx, key, ro)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // absence is an answer the rules know
	case err != nil:
		return nil, apierrors.NewInternalError(fmt.Errorf("reading Rollout %s: %w", key, err))
	}
	return ro, nil
}

// answer is errs as the API server would report them itself.
func answer(gk schema.GroupKind, name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(gk, name, errs)
}

var kind = v1beta1.Kind("Rollout")

// beta validates requests of version v1beta1.
type beta struct{ validator }

// ValidateCreate implements admission.Validator.
func (v beta) ValidateCreate(ctx context.Context, ro *v1beta1.Rollout) (admission.Warnings, error) {
	others, err := v.others(ctx, ro.Namespace)
	if err != nil {
		return nil, err
	}
	return nil, answer(kind, ro.Name, v.rules.Create(ro, others))
}

// ValidateUpdate implements admission.Validator.
func (v beta) ValidateUpdate(ctx context.Context, old, ro *v1beta1.Rollout) (admission.Warnings, error) {
	others, err := v.others(ctx, ro.Namespace)
	if err != nil {
		return nil, err
	}
	return nil, answer(kind, ro.Name, v.rules.Update(old, ro, others))
}

// ValidateDelete implements admission.Validator.
func (v beta) ValidateDelete(context.Context, *v1beta1.Rollout) (admission.Warnings, error) {
	return nil, nil
}

// alpha validates requests of version v1alpha1.
type alpha struct{ validator }

// ValidateCreate implements admission.Validator.
func (v alpha) ValidateCreate(ctx context.Context, ro *v1alpha1.Rollout) (admission.Warnings, error) {
	others, err := v.others(ctx, ro.Namespace)
	if err != nil {
		return nil, err
	}
	return nil, answer(kind, ro.Name, v.rules.CreateV1alpha1(ro, others))
}

// ValidateUpdate implements admission.Validator.
func (v alpha) ValidateUpdate(ctx context.Context, old, ro *v1alpha1.Rollout) (admission.Warnings, error) {
	others, err := v.others(ctx, ro.Namespace)
	if err != nil {
		return nil, err
	}
	var stored *v1beta1.Rollout
	if old.Spec.Strategy.Canary == nil { // v1alpha1 does not show what is there
		if stored, err = v.stored(ctx, client.ObjectKeyFromObject(ro)); err != nil {
			return nil, err
		}
	}
	return nil, answer(kind, ro.Name, v.rules.UpdateV1alpha1(old, ro, stored, others))
}

// ValidateDelete implements admission.Validator.
func (v alpha) ValidateDelete(context.Context, *v1alpha1.Rollout) (admission.Warnings, error) {
	return nil, nil
}
