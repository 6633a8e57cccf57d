// Package sim is a cluster in memory that obeys plans. It plays the API server, the native
// Deployment and ReplicaSet controllers and the kubelets, and runs the same decisions as the
// operator, so that a whole release is a film of text that a test can compare. What the film shows
// is proven on the real controllers by test/e2e; here it is fast enough for every case and every
// order of events.
package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
)

// Namespace and Name are those of the one Deployment of a cluster, its Rollout and its BatchRelease.
const (
	Namespace = "shop"
	Name      = "web"
)

// Cluster is the state. The zero value is not usable; see New.
type Cluster struct {
	Now     time.Time
	objects map[string]plan.Object
	version int
	// Writes counts what was written by kind of object.
	Writes map[string]int
}

// New returns an empty cluster.
func New() *Cluster {
	return &Cluster{
		Now:     time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		objects: map[string]plan.Object{},
		Writes:  map[string]int{},
	}
}

func key(o plan.Object) string { return fmt.Sprintf("%T/%s", o, o.GetName()) }

// get returns a copy of a stored object, nil when there is none.
func get[T plan.Object](c *Cluster, name string) (found T, ok bool) {
	var zero T
	stored, ok := c.objects[fmt.Sprintf("%T/%s", zero, name)]
	if !ok {
		return zero, false
	}
	found, ok = stored.DeepCopyObject().(T)
	return found, ok
}

// list returns copies of all objects of a type, by name.
func list[T plan.Object](c *Cluster) []T {
	var found []T
	for _, k := range sortedKeys(c.objects) {
		if o, ok := c.objects[k].(T); ok {
			if copied, ok := o.DeepCopyObject().(T); ok {
				found = append(found, copied)
			}
		}
	}
	return found
}

// apply carries out one action as the API server would.
func (c *Cluster) apply(a plan.Action) error {
	switch a := a.(type) {
	case plan.Edit:
		if a.Before == nil {
			return c.create(a.After)
		}
		return c.replace(a.Before, a.After)
	case plan.Mark:
		return c.mark(a)
	case plan.Drop:
		return c.drop(a.Object)
	}
	return fmt.Errorf("no such action: %T", a)
}

func (c *Cluster) mark(m plan.Mark) error {
	current, exists := c.objects[key(m.Object)]
	if !exists || current.GetUID() != m.Object.GetUID() {
		return nil
	}
	after, ok := current.DeepCopyObject().(plan.Object)
	if !ok {
		return fmt.Errorf("%T is not an object", current)
	}
	labels := map[string]string{}
	maps.Copy(labels, current.GetLabels())
	maps.Copy(labels, m.Labels)
	after.SetLabels(labels)
	return c.replace(current, after)
}

func (c *Cluster) create(o plan.Object) error {
	if _, exists := c.objects[key(o)]; exists {
		return fmt.Errorf("%s exists", key(o))
	}
	stored, ok := o.DeepCopyObject().(plan.Object)
	if !ok {
		return fmt.Errorf("%T is not an object", o)
	}
	c.version++
	stored.SetUID(types.UID(fmt.Sprintf("%s-%d", o.GetName(), c.version)))
	stored.SetCreationTimestamp(metav1.NewTime(c.Now))
	stored.SetGeneration(1)
	stored.SetNamespace(Namespace)
	c.store(stored)
	return nil
}

// replace writes after in the place of before, if before is current. The whole object counts; the
// status of a Deployment or ReplicaSet is written by the native controllers alone.
func (c *Cluster) replace(before, after plan.Object) error {
	current, exists := c.objects[key(after)]
	if !exists {
		return fmt.Errorf("%s is gone", key(after))
	}
	if current.GetResourceVersion() != before.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, after.GetName(), fmt.Errorf("%s has changed", key(after)))
	}
	stored, ok := after.DeepCopyObject().(plan.Object)
	if !ok {
		return fmt.Errorf("%T is not an object", after)
	}
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	stored.SetGeneration(current.GetGeneration())
	if specOf(current) != specOf(stored) {
		stored.SetGeneration(current.GetGeneration() + 1)
	}
	c.store(stored)
	return nil
}

func (c *Cluster) store(o plan.Object) {
	c.version++
	c.Writes[fmt.Sprintf("%T", o)]++
	o.SetResourceVersion(strconv.Itoa(c.version))
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		delete(c.objects, key(o))
		c.collect(o)
		return
	}
	c.objects[key(o)] = o
}

func (c *Cluster) drop(o plan.Object) error {
	current, exists := c.objects[key(o)]
	if !exists || current.GetUID() != o.GetUID() {
		return nil
	}
	stored, ok := current.DeepCopyObject().(plan.Object)
	if !ok {
		return fmt.Errorf("%T is not an object", current)
	}
	if stored.GetDeletionTimestamp() == nil {
		now := metav1.NewTime(c.Now)
		stored.SetDeletionTimestamp(&now)
	}
	c.store(stored)
	return nil
}

// collect deletes what an object that is gone controlled, as the garbage collector does.
func (c *Cluster) collect(owner plan.Object) {
	for _, k := range sortedKeys(c.objects) {
		o, found := c.objects[k]
		if !found || !metav1.IsControlledBy(o, owner) {
			continue
		}
		doomed, ok := o.DeepCopyObject().(plan.Object)
		if !ok {
			continue
		}
		now := metav1.NewTime(c.Now)
		doomed.SetDeletionTimestamp(&now)
		c.store(doomed)
	}
}

func specOf(o plan.Object) string {
	var body struct {
		Spec json.RawMessage `json:"spec"`
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err.Error()
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return err.Error()
	}
	return string(body.Spec)
}

// owned returns the ReplicaSets that the Deployment controls.
func (c *Cluster) owned(d *appsv1.Deployment) []*appsv1.ReplicaSet {
	var sets []*appsv1.ReplicaSet
	for _, rs := range list[*appsv1.ReplicaSet](c) {
		if metav1.IsControlledBy(rs, d) {
			sets = append(sets, rs)
		}
	}
	return sets
}

// podsOf returns the pods that a ReplicaSet controls.
func (c *Cluster) podsOf(rs *appsv1.ReplicaSet) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range list[*corev1.Pod](c) {
		if metav1.IsControlledBy(pod, rs) {
			pods = append(pods, pod)
		}
	}
	return pods
}
