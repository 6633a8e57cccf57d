// Package observe reads what decisions are made on, once per pass, from the operator's cache.
package observe

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/fact"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload/driver"
)

// Reader reads workloads with what belongs to them.
type Reader struct {
	Client client.Reader
	Clock  clock.PassiveClock
}

// Workload reads a workload and whatever its row of the table needs. found is false when there is
// none.
func (r Reader) Workload(ctx context.Context, key types.NamespacedName, e workload.Entry) (o driver.Objects, found bool, err error) {
	object, ok := e.New().(client.Object)
	if !ok {
		return o, false, fmt.Errorf("reading %s %s: %T is not an API object", e.Kind, key, e.New())
	}
	if err := r.Client.Get(ctx, key, object); apierrors.IsNotFound(err) {
		return o, false, nil
	} else if err != nil {
		return o, false, fmt.Errorf("reading %s %s: %w", e.Kind, key, err)
	}
	o = driver.Objects{Workload: object, Now: r.Clock.Now()}
	if !e.Needs.ReplicaSets {
		return o, true, nil
	}
	if o.ReplicaSets, err = r.ReplicaSets(ctx, object); err != nil || !e.Needs.Pods {
		return o, true, err
	}
	o.Pods, err = r.podsOf(ctx, o.ReplicaSets)
	return o, true, err
}

// Facts asks the workload's driver for what a release must know. A claim of a BatchRelease that is
// gone counts for nothing.
func (r Reader) Facts(ctx context.Context, o driver.Objects, e workload.Entry) (fact.Workload, error) {
	w, err := e.Driver.Facts(o)
	if err != nil || w.Owner == nil {
		return w, err
	}
	var owner v1beta1.BatchRelease
	err = r.Client.Get(ctx, types.NamespacedName{Namespace: o.Workload.GetNamespace(), Name: w.Owner.Name}, &owner)
	switch {
	case apierrors.IsNotFound(err), err == nil && owner.UID != w.Owner.UID:
		w.Owner = nil
		return w, nil
	case err != nil:
		return w, fmt.Errorf("reading BatchRelease %s, which has claimed the workload: %w", w.Owner.Name, err)
	}
	return w, nil
}

// ReplicaSets returns those that a workload controls, whatever their labels say.
func (r Reader) ReplicaSets(ctx context.Context, owner client.Object) ([]*appsv1.ReplicaSet, error) {
	var list appsv1.ReplicaSetList
	if err := r.Client.List(ctx, &list, controlledBy(owner)...); err != nil {
		return nil, fmt.Errorf("listing the ReplicaSets of %s: %w", client.ObjectKeyFromObject(owner), err)
	}
	sets := make([]*appsv1.ReplicaSet, 0, len(list.Items))
	for i := range list.Items {
		sets = append(sets, &list.Items[i])
	}
	return sets, nil
}

func (r Reader) podsOf(ctx context.Context, sets []*appsv1.ReplicaSet) ([]*corev1.Pod, error) {
	var pods []*corev1.Pod
	for _, rs := range sets {
		var list corev1.PodList
		if err := r.Client.List(ctx, &list, controlledBy(rs)...); err != nil {
			return nil, fmt.Errorf("listing the Pods of ReplicaSet %s: %w", client.ObjectKeyFromObject(rs), err)
		}
		for i := range list.Items {
			pods = append(pods, &list.Items[i])
		}
	}
	return pods, nil
}

func controlledBy(owner client.Object) []client.ListOption {
	return []client.ListOption{
		client.InNamespace(owner.GetNamespace()),
		client.MatchingFields{ByController: string(owner.GetUID())},
	}
}
