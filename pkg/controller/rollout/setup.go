package rollout

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/observe"
)

// Name is the controller's name in metrics, logs and events.
const Name = "rollout-controller"

// +kubebuilder:rbac:groups=rollouts.kruise.io,resources=rollouts,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=rollouts.kruise.io,resources=rollouts/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=rollouts.kruise.io,resources=rollouts/finalizers,verbs=update
// +kubebuilder:rbac:groups=rollouts.kruise.io,resources=batchreleases,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=deployments;replicasets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="";events.k8s.io,resources=events,verbs=create;patch;update

// SetupWithManager registers the controller. It is woken by Rollouts, their BatchReleases and the
// workloads they refer to; nothing is polled.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1beta1.Rollout{}).
		Owns(&v1beta1.BatchRelease{}).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(r.ofDeployment)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

func (r *Reconciler) ofDeployment(ctx context.Context, o client.Object) []reconcile.Request {
	list, err := observe.RolloutsOf(ctx, r.Reader.Client, appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind(), client.ObjectKeyFromObject(o))
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "finding the Rollouts of a Deployment", "deployment", client.ObjectKeyFromObject(o))
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list))
	for i := range list {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list[i])})
	}
	return requests
}
