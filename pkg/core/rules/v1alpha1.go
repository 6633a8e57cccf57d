package rules

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// What the rolling-style annotation may say, in lower case; nothing means canary.
const (
	canary    = "canary"
	partition = "partition"
)

var stylePath = field.NewPath("RollingStyle")

// CreateV1alpha1 is Create for a Rollout written in v1alpha1.
func (r Rules) CreateV1alpha1(ro *v1alpha1.Rollout, others []v1beta1.Rollout) field.ErrorList {
	if ro.Spec.ObjectRef.WorkloadRef == nil {
		return field.ErrorList{field.Invalid(workloadPath, "", "WorkloadRef is required")}
	}
	ref := v1beta1.ObjectRef(*ro.Spec.ObjectRef.WorkloadRef)
	errs := r.workload(ref)
	switch declared(ro) {
	case "", canary, partition:
	default:
		errs = append(errs, field.Invalid(stylePath, ro.Annotations[v1beta1.RollingStyleAnnotation],
			"Rolling style must be 'Canary', 'Partition' or empty: see annotation "+v1beta1.RollingStyleAnnotation+"; blue-green needs v1beta1"))
	}
	errs = append(errs, r.canary(ro.Spec.Strategy.Canary, contextStyle(ro, ref))...)
	return append(errs, conflict(ro.Namespace, ro.Name, ref, others)...)
}

// UpdateV1alpha1 is Update for a Rollout written in v1alpha1. The stored one is needed where
// v1alpha1 can't show it: old has no strategy then. It may be nil otherwise.
func (r Rules) UpdateV1alpha1(old, ro *v1alpha1.Rollout, stored *v1beta1.Rollout, others []v1beta1.Rollout) field.ErrorList {
	if stored != nil && stored.Spec.Strategy.BlueGreen != nil {
		return unseen(old, ro)
	}
	same := equality.Semantic.DeepEqual(old.Spec, ro.Spec)
	if same && effective(old) == effective(ro) {
		return nil
	}
	errs := r.CreateV1alpha1(ro, others)
	if inRelease(v1beta1.RolloutPhase(old.Status.Phase)) {
		errs = append(errs, fixedV1alpha1(old, ro)...)
	}
	return errs
}

// unseen refuses to change a blue-green Rollout through v1alpha1: what the client sends was made
// from an empty spec. Labels, annotations and finalizers may change.
func unseen(old, ro *v1alpha1.Rollout) field.ErrorList {
	kept := old.Annotations[v1beta1.HubDataAnnotation] == ro.Annotations[v1beta1.HubDataAnnotation]
	if kept && equality.Semantic.DeepEqual(old.Spec, ro.Spec) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("Spec"),
		"this Rollout has a blue-green strategy, which v1alpha1 can't show: this update would lose it; change it in rollouts.kruise.io/v1beta1")}
}

func (r Rules) canary(c *v1alpha1.CanaryStrategy, style v1beta1.RollingStyleType) field.ErrorList {
	if c == nil {
		return field.ErrorList{field.Invalid(canaryPath, "", "Canary cannot be empty")}
	}
	errs := r.stepsV1alpha1(c.Steps, style)
	if len(c.TrafficRoutings) > 0 {
		errs = append(errs, ascendingWeights(c.Steps)...)
	}
	return append(errs, routings(canaryPath, hubRoutings(c.TrafficRoutings))...)
}

func (r Rules) stepsV1alpha1(steps []v1alpha1.CanaryStep, style v1beta1.RollingStyleType) field.ErrorList {
	path := canaryPath.Child("Steps")
	if len(steps) == 0 {
		return field.ErrorList{field.Invalid(path, 0, "The number of Canary.Steps cannot be empty")}
	}
	var errs field.ErrorList
	pods := make([]*intstr.IntOrString, 0, len(steps))
	for i := range steps {
		errs = append(errs, r.stepV1alpha1(path.Index(i), i, &steps[i], style)...)
		pods = append(pods, podsOf(&steps[i]))
	}
	return append(errs, ascending(canaryPath, pods)...)
}

func (r Rules) stepV1alpha1(path *field.Path, i int, s *v1alpha1.CanaryStep, style v1beta1.RollingStyleType) field.ErrorList {
	pods := podsOf(s)
	if pods == nil {
		return field.ErrorList{field.Invalid(path.Child("steps"), "", "weight and replicas cannot be empty at the same time")}
	}
	var errs field.ErrorList
	switch {
	case s.Replicas != nil:
		errs = replicas(path, *s.Replicas)
	case *s.Weight < 1 || *s.Weight > 100:
		errs = field.ErrorList{field.Invalid(path.Child("steps"), *s.Weight, "weight must be between 1 and 100 if replicas is empty")}
	}
	routes := s.Weight != nil || len(s.Matches) > 0
	if style == v1beta1.PartitionRollingStyle && routes {
		errs = append(errs, r.limit(path, i, *pods)...)
	}
	return errs
}

// podsOf returns how many pods a step updates: weight speaks for absent replicas.
func podsOf(s *v1alpha1.CanaryStep) *intstr.IntOrString {
	if s.Replicas == nil && s.Weight != nil {
		return new(intstr.FromString(fmt.Sprintf("%d%%", *s.Weight)))
	}
	return s.Replicas
}

func ascendingWeights(steps []v1alpha1.CanaryStep) field.ErrorList {
	for i := 1; i < len(steps); i++ {
		before, after := steps[i-1].Weight, steps[i].Weight
		if before != nil && after != nil && *after < *before {
			return field.ErrorList{field.Invalid(canaryPath.Child("Steps", "Weight"), *after, fmt.Sprintf(
				"Steps.Weight must be a non decreasing sequence: step %d has %d after %d", i+1, *after, *before))}
		}
	}
	return nil
}

func fixedV1alpha1(old, ro *v1alpha1.Rollout) field.ErrorList {
	var errs field.ErrorList
	if !equality.Semantic.DeepEqual(old.Spec.ObjectRef, ro.Spec.ObjectRef) {
		errs = append(errs, immutable("Spec.ObjectRef", "Rollout 'ObjectRef' field is immutable", "spec.objectRef differs"))
	}
	if !equality.Semantic.DeepEqual(routingsV1alpha1(old), routingsV1alpha1(ro)) {
		errs = append(errs, immutable("Spec.Strategy.Canary.TrafficRoutings",
			"Rollout 'Strategy.Canary.TrafficRoutings' field is immutable", "trafficRoutings differs"))
	}
	if effective(old) != effective(ro) {
		errs = append(errs, immutable("RollingStyle", "Rollout rolling style is immutable",
			fmt.Sprintf("annotation %s means %s instead of %s", v1beta1.RollingStyleAnnotation, effective(ro), effective(old))))
	}
	return errs
}

func routingsV1alpha1(ro *v1alpha1.Rollout) []v1alpha1.TrafficRoutingRef {
	if ro.Spec.Strategy.Canary == nil {
		return nil
	}
	return ro.Spec.Strategy.Canary.TrafficRoutings
}

func declared(ro *v1alpha1.Rollout) string {
	return strings.ToLower(ro.Annotations[v1beta1.RollingStyleAnnotation])
}

// effective is declared with its default.
func effective(ro *v1alpha1.Rollout) string {
	if style := declared(ro); style != "" {
		return style
	}
	return canary
}

// contextStyle is the style whose rules apply: only Deployments of apps/v1 can have an extra one.
func contextStyle(ro *v1alpha1.Rollout, ref v1beta1.ObjectRef) v1beta1.RollingStyleType {
	if effective(ro) == canary && ref.APIVersion == "apps/v1" && ref.Kind == "Deployment" {
		return v1beta1.CanaryRollingStyle
	}
	return v1beta1.PartitionRollingStyle
}

// hubRoutings returns refs in v1beta1, as far as rules look at them.
func hubRoutings(refs []v1alpha1.TrafficRoutingRef) []v1beta1.TrafficRoutingRef {
	hub := make([]v1beta1.TrafficRoutingRef, 0, len(refs))
	for _, ref := range refs {
		h := v1beta1.TrafficRoutingRef{
			Service: ref.Service, GracePeriodSeconds: ref.GracePeriodSeconds,
			Ingress: (*v1beta1.IngressTrafficRouting)(ref.Ingress), Gateway: (*v1beta1.GatewayTrafficRouting)(ref.Gateway),
		}
		if ref.CustomNetworkRefs != nil {
			h.CustomNetworkRefs = make([]v1beta1.ObjectRef, len(ref.CustomNetworkRefs))
		}
		hub = append(hub, h)
	}
	return hub
}
