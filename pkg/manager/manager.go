// Package manager wires the operator: flags and environment, the cache, admission and controllers.
// It is the only package that knows all the others.
package manager

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/controller/batchrelease"
	"github.com/kruise-rollout/kruise-rollout/pkg/controller/rollout"
	"github.com/kruise-rollout/kruise-rollout/pkg/effect"
	"github.com/kruise-rollout/kruise-rollout/pkg/observe"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload"
)

const (
	// userAgent names the operator in audit logs and field managers.
	userAgent = "kruise-rollout"
	// leaderElectionID is the Lease of the peer operator: the two never run side by side.
	leaderElectionID = "71ddec2c.kruise.io"
	// passTimeout ends a pass that hangs; the next one starts from what is there.
	passTimeout = time.Minute
	// clientQPS is far above what the operator needs; the API server's own fairness is the limit.
	clientQPS = 500
)

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=kruise-rollout,resources=leases,verbs=get;list;watch;create;update;patch;delete

// Scheme returns the types the operator works with.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, eventsv1.AddToScheme, v1alpha1.AddToScheme, v1beta1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	return s, nil
}

// New returns an operator that is ready to start: certificates are in place and the webhook
// configurations point here.
func New(ctx context.Context, cfg *rest.Config, o *Options) (ctrl.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	cfg = rest.AddUserAgent(rest.CopyConfig(cfg), userAgent)
	cfg.QPS, cfg.Burst = clientQPS, 2*clientQPS
	mgr, err := ctrl.NewManager(cfg, managerOptions(scheme, o))
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	if err := observe.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	if err := addControllers(mgr, o); err != nil {
		return nil, err
	}
	if err := addWebhooks(ctx, mgr, o); err != nil {
		return nil, err
	}
	return mgr, addProbes(mgr)
}

func managerOptions(scheme *runtime.Scheme, o *Options) ctrl.Options {
	return ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress:        o.HealthAddress,
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionNamespace:       o.Webhook.Namespace,
		LeaderElectionReleaseOnCancel: true,
		Client:                        client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},
		WebhookServer:                 webhook.NewServer(webhook.Options{Port: o.Webhook.Port, CertDir: o.Webhook.CertDir}),
		Controller: config.Controller{
			ReconciliationTimeout: passTimeout,
			EnableWarmup:          new(true),
			// Tests start several operators in one process, one after the other.
			SkipNameValidation: new(true),
		},
	}
}

func addControllers(mgr ctrl.Manager, o *Options) error {
	reader := observe.Reader{Client: mgr.GetClient(), Clock: clock.RealClock{}}
	runner := func(name string) effect.Runner {
		return effect.Runner{Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder(name), FieldManager: userAgent}
	}
	table := workload.Supported()
	rollouts := &rollout.Reconciler{Reader: reader, Effect: runner(rollout.Name), Table: table}
	if err := rollouts.SetupWithManager(mgr, o.RolloutWorkers); err != nil {
		return fmt.Errorf("adding %s: %w", rollout.Name, err)
	}
	releases := &batchrelease.Reconciler{Reader: reader, Effect: runner(batchrelease.Name), Table: table}
	if err := releases.SetupWithManager(mgr, o.BatchReleaseWorkers); err != nil {
		return fmt.Errorf("adding %s: %w", batchrelease.Name, err)
	}
	return nil
}

func addProbes(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("webhook", mgr.GetWebhookServer().StartedChecker())
}
