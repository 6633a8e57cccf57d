package rules

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// DefaultPartitionPercentLimit is the usual Rules.PartitionPercentLimit.
const DefaultPartitionPercentLimit = 50

// Rules are what an installation may choose about validity.
type Rules struct {
	// AnyWorkload admits workloads of every kind.
	AnyWorkload bool
	// PartitionPercentLimit is the largest percentage of pods that a step may update in place while
	// it routes traffic: above it too few old pods may be left for the rest of the traffic.
	PartitionPercentLimit int
}

const (
	apps   = "apps"
	kruise = "apps.kruise.io"
)

var workloads = sets.New(
	schema.GroupKind{Group: apps, Kind: "ReplicaSet"},
	schema.GroupKind{Group: apps, Kind: "Deployment"},
	schema.GroupKind{Group: apps, Kind: "StatefulSet"},
	schema.GroupKind{Group: apps, Kind: "DaemonSet"},
	schema.GroupKind{Group: kruise, Kind: "CloneSet"},
	schema.GroupKind{Group: kruise, Kind: "StatefulSet"},
	schema.GroupKind{Group: kruise, Kind: "DaemonSet"},
)

var blueGreenWorkloads = sets.New(
	schema.GroupKind{Group: apps, Kind: "Deployment"},
	schema.GroupKind{Group: kruise, Kind: "CloneSet"},
)

var (
	workloadPath = field.NewPath("Spec", "ObjectRef", "WorkloadRef")
	strategyPath = field.NewPath("Spec", "Strategy")
	conflictPath = field.NewPath("Conflict Checker")
	canaryPath   = strategyPath.Child("Canary")
	blueGreen    = strategyPath.Child("BlueGreen")
)

// workload checks that the kind can be released.
func (r Rules) workload(ref v1beta1.ObjectRef) field.ErrorList {
	if r.AnyWorkload || workloads.Has(groupKind(ref)) {
		return nil
	}
	return field.ErrorList{field.Invalid(workloadPath, describe(ref), "WorkloadRef kind is not supported: "+
		"use a Deployment, StatefulSet, DaemonSet or ReplicaSet of apps, or a CloneSet, StatefulSet or DaemonSet of apps.kruise.io")}
}

// conflict checks that no other Rollout names the same workload, whatever version it names it by.
// One that is being deleted gives its workload back and starts nothing new.
func conflict(namespace, name string, ref v1beta1.ObjectRef, others []v1beta1.Rollout) field.ErrorList {
	for i := range others {
		o := &others[i]
		theirs := o.Spec.WorkloadRef
		if o.Namespace != namespace || o.Name == name || !o.DeletionTimestamp.IsZero() {
			continue
		}
		if theirs.Name == ref.Name && groupKind(theirs) == groupKind(ref) {
			return field.ErrorList{field.Invalid(conflictPath, name, fmt.Sprintf(
				"This rollout conflict with Rollout(%s/%s), one workload only have less than one Rollout: both name %s; delete one of them or let it name another workload",
				o.Namespace, o.Name, describe(ref)))}
		}
	}
	return nil
}

// routings checks what a strategy at path says about Services and routes.
func routings(path *field.Path, refs []v1beta1.TrafficRoutingRef) field.ErrorList {
	var errs field.ErrorList
	if len(refs) > 1 {
		errs = append(errs, field.Invalid(path, len(refs), "Rollout currently only support single TrafficRouting. "+
			"One element may name an Ingress, a Gateway route and custom objects at once."))
	}
	for i := range refs {
		errs = append(errs, routing(path.Child("TrafficRouting"), &refs[i])...)
	}
	return errs
}

func routing(path *field.Path, ref *v1beta1.TrafficRoutingRef) field.ErrorList {
	var errs field.ErrorList
	if ref.GracePeriodSeconds < 0 {
		errs = append(errs, field.Invalid(path.Child("GracePeriodSeconds"), ref.GracePeriodSeconds, "cannot be negative"))
	}
	if ref.Service == "" {
		errs = append(errs, field.Invalid(path.Child("Service"), ref.Service, "TrafficRouting.Service cannot be empty"))
	}
	if ref.Ingress == nil && ref.Gateway == nil && ref.CustomNetworkRefs == nil {
		errs = append(errs, field.Invalid(path.Child("TrafficRoutings"), ref.Service,
			"TrafficRoutings are not set: give at least one of ingress, gateway and customNetworkRefs"))
	}
	if ref.Ingress != nil && ref.Ingress.Name == "" {
		errs = append(errs, field.Invalid(path.Child("Ingress"), ref.Ingress.Name, "TrafficRouting.Ingress.Ingress cannot be empty: give ingress.name"))
	}
	if ref.Gateway != nil && (ref.Gateway.HTTPRouteName == nil || *ref.Gateway.HTTPRouteName == "") {
		errs = append(errs, field.Invalid(path.Child("Gateway"), "", "TrafficRouting.Gateway must set the name of HTTPRoute or HTTPsRoute: give gateway.httpRouteName"))
	}
	return errs
}

// groupKind ignores the version: apps/v1 and apps/v1beta2 Deployments are the same objects. What
// does not parse has no kind at all.
func groupKind(ref v1beta1.ObjectRef) schema.GroupKind {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return schema.GroupKind{}
	}
	return gv.WithKind(ref.Kind).GroupKind()
}

func describe(ref v1beta1.ObjectRef) string {
	return fmt.Sprintf("%s %s %s", ref.APIVersion, ref.Kind, ref.Name)
}

// inRelease reports whether a Rollout in phase has a plan under way that its spec must go on to fit.
func inRelease(phase v1beta1.RolloutPhase) bool {
	return phase == v1beta1.RolloutPhaseProgressing || phase == v1beta1.RolloutPhaseTerminating
}

// goOn ends every text about what is fixed during a release.
const goOn = "complete the release, roll the workload back, or set spec.disabled to true, and change it once status.phase is Healthy or Disabled"

func immutable(path, fragment, change string) *field.Error {
	return field.Forbidden(field.NewPath(path), fmt.Sprintf("%s while a release is under way: %s; %s", fragment, change, goOn))
}
