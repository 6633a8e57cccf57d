package observe

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// Fields by which the cache is indexed.
const (
	// ByController finds objects by the UID of their controller.
	ByController = "metadata.controller"
	// ByWorkload finds Rollouts and BatchReleases by what they refer to, as WorkloadKey writes it.
	ByWorkload = "spec.workload"
)

// Index makes the fields above known to the cache. It is called once, before the cache starts.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, row := range []struct {
		object client.Object
		field  string
		values client.IndexerFunc
	}{
		{&appsv1.ReplicaSet{}, ByController, controllerUID},
		{&corev1.Pod{}, ByController, controllerUID},
		{&v1beta1.Rollout{}, ByWorkload, workloadKey},
		{&v1beta1.BatchRelease{}, ByWorkload, workloadKey},
	} {
		if err := indexer.IndexField(ctx, row.object, row.field, row.values); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", row.object, row.field, err)
		}
	}
	return nil
}

func controllerUID(o client.Object) []string {
	if c := metav1.GetControllerOfNoCopy(o); c != nil {
		return []string{string(c.UID)}
	}
	return nil
}

func workloadKey(o client.Object) []string {
	switch o := o.(type) {
	case *v1beta1.Rollout:
		return []string{WorkloadKey(Kind(o.Spec.WorkloadRef), o.Spec.WorkloadRef.Name)}
	case *v1beta1.BatchRelease:
		return []string{WorkloadKey(Kind(o.Spec.WorkloadRef), o.Spec.WorkloadRef.Name)}
	}
	return nil
}

// Kind returns group and kind of a reference. Versions do not count: "apps/v1" and "apps/v1beta1"
// are the same workload.
func Kind(ref v1beta1.ObjectRef) schema.GroupKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
}

// WorkloadKey is the value that ByWorkload indexes.
func WorkloadKey(kind schema.GroupKind, name string) string { return kind.String() + "/" + name }
