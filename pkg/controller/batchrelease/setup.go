package batchrelease

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/observe"
)

// Name is the controller's name in metrics, logs and events.
const Name = "batchrelease-controller"

var deployments = schema.GroupKind{Group: appsv1.GroupName, Kind: "Deployment"}

// +kubebuilder:rbac:groups=rollouts.kruise.io,resources=batchreleases,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=rollouts.kruise.io,resources=batchreleases/status,verbs=get;patch;update
// +kubebuilder:rbac:groups=rollouts.kruise.io,resources=batchreleases/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch

// SetupWithManager registers the controller. It is woken by BatchReleases, by the workloads they
// refer to and by everything that belongs to those; nothing is polled.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, workers int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1beta1.BatchRelease{}).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(r.ofDeployment)).
		Watches(&appsv1.ReplicaSet{}, handler.EnqueueRequestsFromMapFunc(r.ofReplicaSet)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.ofPod)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

func (r *Reconciler) ofDeployment(ctx context.Context, o client.Object) []reconcile.Request {
	return r.of(ctx, o.GetNamespace(), deployments, o.GetName())
}

func (r *Reconciler) ofReplicaSet(ctx context.Context, o client.Object) []reconcile.Request {
	owner := metav1.GetControllerOfNoCopy(o)
	if owner == nil {
		return nil
	}
	return r.of(ctx, o.GetNamespace(), schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind(), owner.Name)
}

func (r *Reconciler) ofPod(ctx context.Context, o client.Object) []reconcile.Request {
	owner := metav1.GetControllerOfNoCopy(o)
	if owner == nil || owner.Kind != "ReplicaSet" {
		return nil
	}
	var rs appsv1.ReplicaSet
	if err := r.Reader.Client.Get(ctx, types.NamespacedName{Namespace: o.GetNamespace(), Name: owner.Name}, &rs); err != nil {
		return nil // a ReplicaSet that is gone has no release either
	}
	return r.ofReplicaSet(ctx, &rs)
}

func (r *Reconciler) of(ctx context.Context, namespace string, kind schema.GroupKind, name string) []reconcile.Request {
	var list v1beta1.BatchReleaseList
	if err := r.Reader.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{observe.ByWorkload: observe.WorkloadKey(kind, name)}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "finding the BatchReleases of a workload", "namespace", namespace, "kind", kind, "name", name)
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}
