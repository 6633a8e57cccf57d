package manager

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	table "github.com/kruise-rollout/kruise-rollout/pkg/workload"
	"github.com/kruise-rollout/kruise-rollout/webhooks/bootstrap"
	"github.com/kruise-rollout/kruise-rollout/webhooks/workload"
)

// addWebhooks serves admission and points the API server at it.
func addWebhooks(ctx context.Context, mgr ctrl.Manager, o *Options) error {
	server := mgr.GetWebhookServer()
	workloads := workload.New(mgr.GetClient(), mgr.GetAPIReader(), table.Supported(), mgr.GetScheme())
	server.Register(workload.DeploymentPath, &webhook.Admission{Handler: workloads})
	return bootstrap.Setup(ctx, mgr, bootstrap.Options{
		Namespace:   o.Webhook.Namespace,
		ServiceName: o.Webhook.ServiceName,
		SecretName:  o.Webhook.SecretName,
		Host:        o.Webhook.Host,
		Port:        o.Webhook.Port,
		CertDir:     o.Webhook.CertDir,
		CertWriter:  o.Webhook.CertWriter,
		Paths:       []string{workload.DeploymentPath},
		Clock:       clock.RealClock{},
	})
}
