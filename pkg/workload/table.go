// Package workload lists which workload kinds can be released in which styles. A new kind is a
// folder beside this file and a row in it.
package workload

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload/deployment"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload/driver"
)

// Entry is one row: a kind in a style.
type Entry struct {
	Kind  schema.GroupKind
	Style v1beta1.RollingStyleType
	// New returns an empty object of the kind to read into.
	New    func() plan.Object
	Needs  driver.Needs
	Driver driver.Driver
	Holder driver.Holder
}

var deployments = schema.GroupKind{Group: appsv1.GroupName, Kind: "Deployment"}

// Table is every supported combination. Nothing else is supported.
type Table []Entry

// Supported returns the table of this build.
func Supported() Table {
	return Table{
		{
			deployments, v1beta1.PartitionRollingStyle,
			func() plan.Object { return &appsv1.Deployment{} },
			driver.Needs{ReplicaSets: true, Pods: true},
			deployment.Partition{},
			deployment.Partition{},
		},
	}
}

// ForRollout returns the row that serves a Rollout. The error is an UnsupportedError where there is
// none.
func (t Table) ForRollout(r *v1beta1.Rollout) (Entry, error) {
	if routed(r) {
		return Entry{}, UnsupportedError{"moving traffic is not part of this version of kruise-rollout; " +
			"take trafficRoutings out of the Rollout, or updates roll as if there were no Rollout"}
	}
	return t.For(r.Spec.WorkloadRef, r.EffectiveStyle())
}

// routed reports whether a Rollout moves traffic, by whatever means.
func routed(r *v1beta1.Rollout) bool {
	if r.Annotations[v1beta1.TrafficRoutingAnnotation] != "" {
		return true
	}
	s := &r.Spec.Strategy
	return len(s.TrafficRoutings()) > 0 || s.TrafficRoutingRef() != ""
}

// For returns the row of a kind in a style; "" means partition. Versions do not count. The error is
// an UnsupportedError where there is no such row.
func (t Table) For(ref v1beta1.ObjectRef, style v1beta1.RollingStyleType) (Entry, error) {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
	if style == "" {
		style = v1beta1.PartitionRollingStyle
	}
	for _, e := range t {
		if e.Kind == kind && e.Style == style {
			return e, nil
		}
	}
	return Entry{}, UnsupportedError{fmt.Sprintf("a %s can't be released in the %s style by this version of kruise-rollout; "+
		"its updates roll as if there were no Rollout", kind, style)}
}

// UnsupportedError says, in the user's words, why nothing here serves a workload.
type UnsupportedError struct{ Text string }

// Error returns the text.
func (e UnsupportedError) Error() string { return e.Text }
