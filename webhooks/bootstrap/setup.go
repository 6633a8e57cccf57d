package bootstrap

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups="",namespace=kruise-rollout,resources=secrets,verbs=get;list;watch;create;update;patch;delete

const (
	controllerName = "webhook-bootstrap"
	crdSuffix      = ".rollouts.kruise.io"
	// calm is how long events are collected: a new manifest has no CA until the pass, so it is short.
	// It also bounds the quarrel of two versions that serve different paths while one replaces the
	// other.
	calm = 250 * time.Millisecond
)

// Setup makes the first pass, without which nothing else can start, and adds a controller to mgr
// that repeats it whenever something it looked at changes. Call it before mgr.Start.
func Setup(ctx context.Context, mgr manager.Manager, o Options) error {
	scheme := Scheme()
	direct, err := client.New(mgr.GetConfig(), client.Options{Scheme: scheme, HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("making a client for the webhooks: %w", err)
	}
	if err := New(direct, o).Prepare(ctx); err != nil {
		return err
	}
	own, err := cluster.New(mgr.GetConfig(), func(c *cluster.Options) {
		c.Scheme = scheme
		c.HTTPClient = mgr.GetHTTPClient()
		c.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mgr.GetRESTMapper(), nil }
		c.Cache.ByObject = narrow(o)
	})
	if err != nil {
		return fmt.Errorf("making a cache for the webhooks: %w", err)
	}
	if err := mgr.Add(own); err != nil {
		return err
	}
	return watch(mgr, own.GetCache(), New(own.GetClient(), o))
}

// Scheme returns the types this package works with.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(s))
	utilruntime.Must(admissionregistrationv1.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	return s
}

// narrow keeps the cache small: one Secret (the operator may read no other namespace's), the two
// configurations, and of CRDs only what conversion is about.
func narrow(o Options) map[client.Object]cache.ByObject {
	named := func(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}: {
			Namespaces: map[string]cache.Config{o.Namespace: {}},
			Field:      named(o.SecretName),
		},
		&admissionregistrationv1.MutatingWebhookConfiguration{}:   {Field: named(MutatingConfiguration)},
		&admissionregistrationv1.ValidatingWebhookConfiguration{}: {Field: named(ValidatingConfiguration)},
		&apiextensionsv1.CustomResourceDefinition{}:               {Transform: slim},
	}
}

// slim drops the schemas of CRDs, which are most of their size, and everything of foreign ones.
// Writing such a copy is safe because only differences are written.
func slim(o any) (any, error) {
	crd, ok := o.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return o, nil
	}
	crd.ManagedFields = nil
	crd.Annotations = nil
	crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{Group: crd.Spec.Group, Conversion: crd.Spec.Conversion}
	return crd, nil
}

func watch(mgr manager.Manager, from cache.Cache, b *Bootstrap) error {
	c, err := controller.New(controllerName, mgr, controller.Options{
		Reconciler:         reconcile.Func(b.reconcile),
		NeedLeaderElection: new(false),
	})
	if err != nil {
		return fmt.Errorf("adding the webhook controller: %w", err)
	}
	watched := []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{},
		&admissionregistrationv1.ValidatingWebhookConfiguration{},
		&apiextensionsv1.CustomResourceDefinition{},
	}
	if !b.options.inDirectory() {
		watched = append(watched, &corev1.Secret{})
	}
	for _, o := range watched {
		if err := c.Watch(source.Kind(from, o, soon())); err != nil {
			return fmt.Errorf("watching %T: %w", o, err)
		}
	}
	return nil
}

func (b *Bootstrap) reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	next, err := b.Pass(ctx)
	return reconcile.Result{RequeueAfter: next}, err
}

// soon maps every event to the one pass there is.
func soon() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(o client.Object, q queue) {
		if _, crd := o.(*apiextensionsv1.CustomResourceDefinition); crd && !strings.HasSuffix(o.GetName(), crdSuffix) {
			return
		}
		q.AddAfter(reconcile.Request{}, calm)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { enqueue(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { enqueue(e.Object, q) },
	}
}
