package observe

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// RolloutsOf returns the Rollouts that refer to a workload, from the indexed cache.
func RolloutsOf(ctx context.Context, cached client.Reader, kind schema.GroupKind, key types.NamespacedName) ([]v1beta1.Rollout, error) {
	var list v1beta1.RolloutList
	err := cached.List(ctx, &list, client.InNamespace(key.Namespace), client.MatchingFields{ByWorkload: WorkloadKey(kind, key.Name)})
	if err != nil {
		return nil, fmt.Errorf("listing the Rollouts of %s %s: %w", kind, key, err)
	}
	return list.Items, nil
}
