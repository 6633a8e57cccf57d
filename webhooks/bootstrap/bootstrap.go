package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// The names of the objects that the installation brings and this package fills in.
const (
	MutatingConfiguration   = "kruise-rollout-mutating-webhook-configuration"
	ValidatingConfiguration = "kruise-rollout-validating-webhook-configuration"
)

// WriterDirectory as Options.CertWriter makes the certificate directory the store.
const WriterDirectory = "fs"

const (
	// patience is how long the first pass may take.
	patience = 20 * time.Second
	// pulse is how often a pass runs although nothing happened: nobody tells when a file is removed
	// from the certificate directory.
	pulse = time.Minute
)

// Options say where the operator is reached and where its certificate lives.
type Options struct {
	// Namespace and ServiceName name the Service in front of the operator.
	Namespace, ServiceName string
	// SecretName names the Secret, in Namespace, that the replicas share the certificate through.
	SecretName string
	// Host, when set, is how API servers reach the operator instead of the Service.
	Host string
	// Port is the port on Host.
	Port int
	// CertDir is where the webhook server reads tls.crt and tls.key.
	CertDir string
	// CertWriter is "fs" for CertDir as the store, anything else for the Secret. When empty, a set
	// Host means "fs": such an operator usually runs where nobody else needs the certificate.
	CertWriter string
	// Paths are the admission paths that have a handler; entries for others are left out.
	Paths []string
	// CRDs are the full names of the CRDs to convert; those not installed are passed over.
	CRDs []string
	// Clock tells when certificates end.
	Clock clock.PassiveClock
}

func (o Options) inDirectory() bool {
	return o.CertWriter == WriterDirectory || o.CertWriter == "" && o.Host != ""
}

// Bootstrap keeps certificate, webhook configurations and CRDs in order.
type Bootstrap struct {
	options  Options
	client   client.Client
	store    store
	patience time.Duration
}

// New returns a Bootstrap that reads and writes through c.
func New(c client.Client, o Options) *Bootstrap {
	b := &Bootstrap{options: o, client: c, patience: patience}
	b.store = secretStore{client: c, key: client.ObjectKey{Namespace: o.Namespace, Name: o.SecretName}}
	if o.inDirectory() {
		b.store = dirStore{dir: o.CertDir}
	}
	return b
}

// Prepare runs passes until one succeeds, and fails when none does in time. A replica that was
// faster with the Secret costs one more pass.
func (b *Bootstrap) Prepare(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, b.patience/40, b.patience, true, func(ctx context.Context) (bool, error) {
		_, err := b.Pass(ctx)
		if err != nil && (last == nil || ctx.Err() == nil) {
			last = err // the deadline itself must not hide what was wrong before it
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("webhooks could not be set up within %s: %w", b.patience, errors.Join(last, ctx.Err()))
	}
	return nil
}

// Pass brings everything in order and returns when to look again. It goes on after an error: a
// missing webhook configuration is no reason to leave CRDs without a CA.
func (b *Bootstrap) Pass(ctx context.Context) (time.Duration, error) {
	m, err := b.store.refresh(ctx, b.renew(ctx))
	if err != nil {
		return 0, err
	}
	if err := writeDir(b.options.CertDir, m.files()); err != nil {
		return 0, fmt.Errorf("writing the webhook certificate to %s: %w", b.options.CertDir, err)
	}
	a := b.address()
	a.CA = m.CACert
	if err := errors.Join(b.mutating(ctx, a), b.validating(ctx, a), b.conversions(ctx, a)); err != nil {
		return 0, err
	}
	return max(time.Second, min(pulse, m.RenewAt().Sub(b.options.Clock.Now()))), nil
}

func (b *Bootstrap) renew(ctx context.Context) renew {
	name, now := b.address().Name(), b.options.Clock.Now()
	return func(old Material) (Material, error) {
		reason := old.Unfit(name, now)
		if reason == "" {
			return old, nil
		}
		log.FromContext(ctx).Info("issuing a webhook certificate", "name", name, "reason", reason)
		return Issue(old, name, now)
	}
}

// address is where the operator is reached; the CA is not known yet.
func (b *Bootstrap) address() Address {
	o := b.options
	return Address{Namespace: o.Namespace, Service: o.ServiceName, Host: o.Host, Port: o.Port}
}

func (b *Bootstrap) mutating(ctx context.Context, a Address) error {
	live := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := b.client.Get(ctx, client.ObjectKey{Name: MutatingConfiguration}, live); err != nil {
		return missing("MutatingWebhookConfiguration", MutatingConfiguration, err)
	}
	wanted, err := WantedMutating(live, a, b.options.Paths)
	if err != nil {
		return err
	}
	return b.write(ctx, live, wanted)
}

func (b *Bootstrap) validating(ctx context.Context, a Address) error {
	live := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := b.client.Get(ctx, client.ObjectKey{Name: ValidatingConfiguration}, live); err != nil {
		return missing("ValidatingWebhookConfiguration", ValidatingConfiguration, err)
	}
	wanted, err := WantedValidating(live, a, b.options.Paths)
	if err != nil {
		return err
	}
	return b.write(ctx, live, wanted)
}

func (b *Bootstrap) conversions(ctx context.Context, a Address) error {
	var errs []error
	for _, name := range b.options.CRDs {
		live := &apiextensionsv1.CustomResourceDefinition{}
		err := b.client.Get(ctx, client.ObjectKey{Name: name}, live)
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("reading CustomResourceDefinition %s: %w", name, err))
		}
		if err != nil {
			continue
		}
		errs = append(errs, b.write(ctx, live, WantedConversion(live, a)))
	}
	return errors.Join(errs...)
}

func missing(kind, name string, err error) error {
	if client.IgnoreNotFound(err) == nil {
		return fmt.Errorf("%s %s must be installed before the operator starts: %w", kind, name, err)
	}
	return fmt.Errorf("reading %s %s: %w", kind, name, err)
}

// write patches live into wanted, unless they are equal. The resourceVersion goes along, so that a
// manifest installed this very moment is never written over unseen.
func (b *Bootstrap) write(ctx context.Context, live, wanted client.Object) error {
	if equality.Semantic.DeepEqual(live, wanted) {
		return nil
	}
	patch := client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{})
	if err := b.client.Patch(ctx, wanted, patch); err != nil {
		return fmt.Errorf("updating %T %s: %w", live, live.GetName(), err)
	}
	log.FromContext(ctx).Info("webhook addressing updated", "type", fmt.Sprintf("%T", live), "name", live.GetName())
	return nil
}
