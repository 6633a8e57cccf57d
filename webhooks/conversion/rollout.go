package conversion

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// hubRollout translates as if v1beta1 had nothing that v1alpha1 has no field for.
func hubRollout(r *v1alpha1.Rollout) *v1beta1.Rollout {
	hub := &v1beta1.Rollout{ObjectMeta: *r.ObjectMeta.DeepCopy()}
	if ref := r.Spec.ObjectRef.WorkloadRef; ref != nil {
		hub.Spec.WorkloadRef = v1beta1.ObjectRef(*ref)
	}
	hub.Spec.Disabled = r.Spec.Disabled
	hub.Spec.Strategy.Paused = r.Spec.Strategy.Paused
	if c := r.Spec.Strategy.Canary; c != nil {
		hub.Spec.Strategy.Canary = &v1beta1.CanaryStrategy{
			Steps:                        each(c.Steps, hubStep),
			TrafficRoutings:              each(c.TrafficRoutings, hubRoutingRef),
			FailureThreshold:             c.FailureThreshold,
			PatchPodTemplateMetadata:     (*v1beta1.PatchPodTemplateMetadata)(c.PatchPodTemplateMetadata),
			EnableExtraWorkloadForCanary: !strings.EqualFold(r.Annotations[v1beta1.RollingStyleAnnotation], styleText(v1beta1.PartitionRollingStyle)),
			TrafficRoutingRef:            r.Annotations[v1beta1.TrafficRoutingAnnotation],
			DisableGenerateCanaryService: c.DisableGenerateCanaryService,
		}
	}
	hub.Status = hubStatus(r.Status)
	return hub
}

// spokeRollout translates and leaves out what v1alpha1 has no field for. Of a blue-green Rollout only
// the metadata is left.
func spokeRollout(r *v1beta1.Rollout) *v1alpha1.Rollout {
	spoke := &v1alpha1.Rollout{ObjectMeta: *r.ObjectMeta.DeepCopy()}
	if r.Spec.Strategy.Canary == nil && r.Spec.Strategy.BlueGreen != nil {
		return spoke
	}
	if r.Spec.WorkloadRef != (v1beta1.ObjectRef{}) {
		spoke.Spec.ObjectRef.WorkloadRef = new(v1alpha1.WorkloadRef(r.Spec.WorkloadRef))
	}
	spoke.Spec.Disabled = r.Spec.Disabled
	spoke.Spec.Strategy.Paused = r.Spec.Strategy.Paused
	if c := r.Spec.Strategy.Canary; c != nil {
		spoke.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{
			Steps:                        each(c.Steps, spokeStep),
			TrafficRoutings:              each(c.TrafficRoutings, spokeRoutingRef),
			FailureThreshold:             c.FailureThreshold,
			PatchPodTemplateMetadata:     (*v1alpha1.PatchPodTemplateMetadata)(c.PatchPodTemplateMetadata),
			DisableGenerateCanaryService: c.DisableGenerateCanaryService,
		}
	}
	for key, value := range shown(r) {
		write(spoke, key, value)
	}
	spoke.Status = spokeStatus(r.Status)
	return spoke
}

// shown are the annotations by which v1alpha1 shows fields of v1beta1.
func shown(r *v1beta1.Rollout) map[string]string {
	if r.Spec.Strategy.Canary == nil {
		return nil
	}
	values := map[string]string{v1beta1.RollingStyleAnnotation: styleText(v1beta1.PartitionRollingStyle)}
	if r.Spec.Strategy.Canary.EnableExtraWorkloadForCanary {
		values[v1beta1.RollingStyleAnnotation] = styleText(v1beta1.CanaryRollingStyle)
	}
	if name := r.Spec.Strategy.Canary.TrafficRoutingRef; name != "" {
		values[v1beta1.TrafficRoutingAnnotation] = name
	}
	return values
}

func styleText(s v1beta1.RollingStyleType) string { return strings.ToLower(string(s)) }

func hubStep(s v1alpha1.CanaryStep) v1beta1.CanaryStep {
	step := v1beta1.CanaryStep{
		TrafficRoutingStrategy: v1beta1.TrafficRoutingStrategy{
			RequestHeaderModifier: s.RequestHeaderModifier,
			Matches:               each(s.Matches, hubMatch),
		},
		Replicas: s.Replicas,
	}
	if s.Pause != nil {
		step.Pause = v1beta1.RolloutPause(*s.Pause)
	}
	if s.Weight != nil {
		step.Traffic = new(percent(*s.Weight))
	}
	if s.Weight != nil && s.Replicas == nil {
		step.Replicas = new(intstr.FromString(percent(*s.Weight)))
	}
	return step
}

func spokeStep(s v1beta1.CanaryStep) v1alpha1.CanaryStep {
	return v1alpha1.CanaryStep{
		TrafficRoutingStrategy: v1alpha1.TrafficRoutingStrategy{
			Weight:                weight(s.Traffic),
			RequestHeaderModifier: s.RequestHeaderModifier,
			Matches:               each(s.Matches, spokeMatch),
		},
		Replicas: s.Replicas,
		Pause:    new(v1alpha1.RolloutPause(s.Pause)),
	}
}

func percent(n int32) string { return strconv.FormatInt(int64(n), 10) + "%" }

// weight is the number in a percentage; nil if there is none.
func weight(traffic *string) *int32 {
	if traffic == nil {
		return nil
	}
	digits, isPercentage := strings.CutSuffix(*traffic, "%")
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || !isPercentage {
		return nil
	}
	return new(int32(n))
}

func hubMatch(m v1alpha1.HTTPRouteMatch) v1beta1.HTTPRouteMatch {
	return v1beta1.HTTPRouteMatch{Headers: m.Headers}
}

func spokeMatch(m v1beta1.HTTPRouteMatch) v1alpha1.HTTPRouteMatch {
	return v1alpha1.HTTPRouteMatch{Headers: m.Headers}
}

func hubRoutingRef(r v1alpha1.TrafficRoutingRef) v1beta1.TrafficRoutingRef {
	return v1beta1.TrafficRoutingRef{
		Service:            r.Service,
		GracePeriodSeconds: r.GracePeriodSeconds,
		Ingress:            (*v1beta1.IngressTrafficRouting)(r.Ingress),
		Gateway:            (*v1beta1.GatewayTrafficRouting)(r.Gateway),
		CustomNetworkRefs: each(r.CustomNetworkRefs, func(c v1alpha1.CustomNetworkRef) v1beta1.ObjectRef {
			return v1beta1.ObjectRef(c)
		}),
	}
}

func spokeRoutingRef(r v1beta1.TrafficRoutingRef) v1alpha1.TrafficRoutingRef {
	return v1alpha1.TrafficRoutingRef{
		Service:            r.Service,
		GracePeriodSeconds: r.GracePeriodSeconds,
		Ingress:            (*v1alpha1.IngressTrafficRouting)(r.Ingress),
		Gateway:            (*v1alpha1.GatewayTrafficRouting)(r.Gateway),
		CustomNetworkRefs: each(r.CustomNetworkRefs, func(c v1beta1.ObjectRef) v1alpha1.CustomNetworkRef {
			return v1alpha1.CustomNetworkRef(c)
		}),
	}
}

// each translates a list; what was absent stays absent.
func each[A, B any](list []A, translate func(A) B) []B {
	if list == nil {
		return nil
	}
	out := make([]B, len(list))
	for i := range list {
		out[i] = translate(list[i])
	}
	return out
}
