package rules

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// Create checks a new Rollout; others are the Rollouts of its namespace.
func (r Rules) Create(ro *v1beta1.Rollout, others []v1beta1.Rollout) field.ErrorList {
	errs := r.workload(ro.Spec.WorkloadRef)
	errs = append(errs, r.strategy(ro)...)
	return append(errs, conflict(ro.Namespace, ro.Name, ro.Spec.WorkloadRef, others)...)
}

// Update checks a Rollout that replaces old, which is the stored one with its status.
func (r Rules) Update(old, ro *v1beta1.Rollout, others []v1beta1.Rollout) field.ErrorList {
	if equality.Semantic.DeepEqual(old.Spec, ro.Spec) {
		return nil
	}
	errs := r.Create(ro, others)
	if inRelease(old.Status.Phase) {
		errs = append(errs, fixed(&old.Spec, &ro.Spec)...)
	}
	return errs
}

func (r Rules) strategy(ro *v1beta1.Rollout) field.ErrorList {
	s := &ro.Spec.Strategy
	switch {
	case s.Canary == nil && s.BlueGreen == nil:
		return field.ErrorList{field.Invalid(strategyPath, "", "Canary and BlueGreen cannot both be empty: give canary or blueGreen")}
	case s.Canary != nil && s.BlueGreen != nil:
		return field.ErrorList{field.Invalid(strategyPath, "", "Canary and BlueGreen cannot both be set: a Rollout has one strategy")}
	}
	path := canaryPath
	var errs field.ErrorList
	if s.BlueGreen != nil {
		path = blueGreen
		errs = blueGreenWorkload(ro.Spec.WorkloadRef)
	}
	errs = append(errs, r.steps(path, s.Steps(), ro.EffectiveStyle())...)
	return append(errs, routings(path, s.TrafficRoutings())...)
}

// blueGreenWorkload holds even when workloads of every kind are admitted: only these can be kept
// from removing old pods.
func blueGreenWorkload(ref v1beta1.ObjectRef) field.ErrorList {
	if blueGreenWorkloads.Has(groupKind(ref)) {
		return nil
	}
	return field.ErrorList{field.Invalid(workloadPath, describe(ref),
		"WorkloadRef kind is not supported for bluegreen style: use a Deployment of apps or a CloneSet of apps.kruise.io, or strategy.canary")}
}

func (r Rules) steps(path *field.Path, steps []v1beta1.CanaryStep, style v1beta1.RollingStyleType) field.ErrorList {
	if len(steps) == 0 {
		return field.ErrorList{field.Invalid(path.Child("Steps"), 0, "The number of Canary.Steps cannot be empty")}
	}
	var errs field.ErrorList
	pods := make([]*intstr.IntOrString, 0, len(steps))
	for i := range steps {
		errs = append(errs, r.step(path.Child("Steps").Index(i), i, &steps[i], style)...)
		pods = append(pods, steps[i].Replicas)
	}
	return append(errs, ascending(path, pods)...)
}

func (r Rules) step(path *field.Path, i int, s *v1beta1.CanaryStep, style v1beta1.RollingStyleType) field.ErrorList {
	errs := traffic(path, s.Traffic, style)
	if s.Replicas == nil {
		return append(errs, field.Invalid(path.Child("steps"), "", fmt.Sprintf(
			"replicas cannot be empty: step %d must say how many pods run the new revision", i+1)))
	}
	errs = append(errs, replicas(path, *s.Replicas)...)
	routes := s.Traffic != nil || len(s.Matches) > 0
	if style == v1beta1.PartitionRollingStyle && routes {
		errs = append(errs, r.limit(path, i, *s.Replicas)...)
	}
	return errs
}

// traffic checks the share of requests. Blue-green may send none: all new pods run before any
// traffic moves.
func traffic(path *field.Path, share *string, style v1beta1.RollingStyleType) field.ErrorList {
	if share == nil {
		return nil
	}
	least, text := 1, `traffic must be percentage with "0%" < traffic <= "100%" in canary strategy`
	if style == v1beta1.BlueGreenRollingStyle {
		least, text = 0, `traffic must be percentage with "0%" <= traffic <= "100%" in blueGreen strategy`
	}
	n, ok := number(intstr.FromString(*share))
	if ok && n >= least && n <= 100 {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("steps"), *share, text)}
}

// fixed checks what must not change while a release is under way: the release would go on with
// another workload, leave routes behind, or lose its place among the steps.
func fixed(old, spec *v1beta1.RolloutSpec) field.ErrorList {
	var errs field.ErrorList
	if old.WorkloadRef != spec.WorkloadRef {
		errs = append(errs, immutable("Spec.ObjectRef", "Rollout 'ObjectRef' field is immutable",
			fmt.Sprintf("spec.workloadRef names %s instead of %s", describe(spec.WorkloadRef), describe(old.WorkloadRef))))
	}
	was, is := &old.Strategy, &spec.Strategy
	if !equality.Semantic.DeepEqual(was.TrafficRoutings(), is.TrafficRoutings()) {
		errs = append(errs, immutable("Spec.Strategy.Canary|BlueGreen.TrafficRoutings",
			"Rollout 'Strategy.Canary|BlueGreen.TrafficRoutings' field is immutable", "trafficRoutings differs"))
	}
	const either = "Spec.Strategy.Canary|BlueGreen"
	if was.RollingStyle() != is.RollingStyle() {
		errs = append(errs, immutable(either, "Rollout style and enableExtraWorkloadForCanary are immutable",
			fmt.Sprintf("%s changes the style from %s to %s", styleField(was, is), was.RollingStyle(), is.RollingStyle())))
	}
	if len(was.Steps()) != len(is.Steps()) {
		errs = append(errs, immutable(either, "Amount of Rollout steps are immutable",
			fmt.Sprintf("there would be %d steps instead of %d", len(is.Steps()), len(was.Steps()))))
	}
	return errs
}

// styleField is the field whose change changed the style.
func styleField(was, is *v1beta1.RolloutStrategy) string {
	if was.BlueGreen == nil && is.BlueGreen == nil {
		return "spec.strategy.canary.enableExtraWorkloadForCanary"
	}
	return "spec.strategy.blueGreen"
}
