package manager

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/kruise-rollout/kruise-rollout/pkg/core/rules"
	table "github.com/kruise-rollout/kruise-rollout/pkg/workload"
	"github.com/kruise-rollout/kruise-rollout/webhooks/bootstrap"
	"github.com/kruise-rollout/kruise-rollout/webhooks/conversion"
	"github.com/kruise-rollout/kruise-rollout/webhooks/rollout"
	"github.com/kruise-rollout/kruise-rollout/webhooks/workload"
)

// converted are the CRDs whose versions are converted by webhook.
var converted = []string{"rollouts.rollouts.kruise.io", "batchreleases.rollouts.kruise.io"}

// addWebhooks serves admission and conversion and points the API server at them.
func addWebhooks(ctx context.Context, mgr ctrl.Manager, o *Options) error {
	server := mgr.GetWebhookServer()
	// The cache, not the client: the client holds reads back until the operator's own writes have
	// been seen, and one of those may be waiting for this very admission.
	cached := mgr.GetCache()
	served := []string{workload.DeploymentPath}
	workloads := workload.New(cached, mgr.GetAPIReader(), table.Supported(), mgr.GetScheme())
	server.Register(workload.DeploymentPath, &webhook.Admission{Handler: workloads})
	rollouts := rollout.Handlers(mgr.GetScheme(), cached, rules.Rules{
		AnyWorkload:           !o.FilterWorkloadType,
		PartitionPercentLimit: o.PartitionPercentLimit,
	})
	for path, handler := range rollouts {
		server.Register(path, handler)
		served = append(served, path)
	}
	if err := conversion.Setup(mgr); err != nil {
		return err
	}
	return bootstrap.Setup(ctx, mgr, bootstrap.Options{
		Namespace:   o.Webhook.Namespace,
		ServiceName: o.Webhook.ServiceName,
		SecretName:  o.Webhook.SecretName,
		Host:        o.Webhook.Host,
		Port:        o.Webhook.Port,
		CertDir:     o.Webhook.CertDir,
		CertWriter:  o.Webhook.CertWriter,
		Paths:       served,
		CRDs:        converted,
		Clock:       clock.RealClock{},
	})
}
