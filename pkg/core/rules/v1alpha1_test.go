package rules

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// weighted is a step with a weight and, if given, pods.
func weighted(weight int32, replicas ...string) v1alpha1.CanaryStep {
	s := v1alpha1.CanaryStep{TrafficRoutingStrategy: v1alpha1.TrafficRoutingStrategy{Weight: &weight}}
	for _, r := range replicas {
		s.Replicas = pods(r)
	}
	return s
}

// alpha is a Rollout of a Deployment with steps of so many pods.
func alpha(style string, replicas ...string) *v1alpha1.Rollout {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ro"}}
	if style != "" {
		ro.Annotations = map[string]string{v1beta1.RollingStyleAnnotation: style}
	}
	ro.Spec.ObjectRef.WorkloadRef = &v1alpha1.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	c := &v1alpha1.CanaryStrategy{TrafficRoutings: []v1alpha1.TrafficRoutingRef{
		{Service: "web", Ingress: &v1alpha1.IngressTrafficRouting{Name: "web"}},
	}}
	for _, r := range replicas {
		c.Steps = append(c.Steps, v1alpha1.CanaryStep{Replicas: pods(r)})
	}
	ro.Spec.Strategy.Canary = c
	return ro
}

func weights(style string, steps ...v1alpha1.CanaryStep) *v1alpha1.Rollout {
	ro := alpha(style)
	ro.Spec.Strategy.Canary.Steps = steps
	return ro
}

func withAlpha(ro *v1alpha1.Rollout, change func(*v1alpha1.Rollout)) *v1alpha1.Rollout {
	change(ro)
	return ro
}

func cloneSet(ro *v1alpha1.Rollout) *v1alpha1.Rollout {
	ro.Spec.ObjectRef.WorkloadRef = &v1alpha1.WorkloadRef{APIVersion: "apps.kruise.io/v1alpha1", Kind: "CloneSet", Name: "web"}
	return ro
}

func TestNewV1alpha1RolloutIsChecked(t *testing.T) {
	t.Parallel()
	const (
		canary = "Spec.Strategy.Canary"
		first  = "Spec.Strategy.Canary.Steps[0].steps"
		limit  = "For partition style rollout: step[x].replicas must not greater than partition-percent-limit if traffic specified"
		order  = "Steps.CanaryReplicas must be a non decreasing sequence"
		rising = "Steps.Weight must be a non decreasing sequence"
	)
	matches := []v1alpha1.HTTPRouteMatch{{Headers: []gatewayv1.HTTPHeaderMatch{{Name: "a", Value: "b"}}}}
	matching := v1alpha1.CanaryStep{TrafficRoutingStrategy: v1alpha1.TrafficRoutingStrategy{Matches: matches}, Replicas: pods("1")}
	cases := map[string]struct {
		ro   *v1alpha1.Rollout
		want []fault
	}{
		"weights":      {weights("", weighted(5), weighted(20), weighted(100)), nil},
		"weights, too": {weights("canary", weighted(20, "1"), weighted(100, "100%")), nil},
		// The end-to-end case of the peer: no annotation, a CloneSet, numbers of pods above the limit.
		"CloneSet with matches": {cloneSet(weights("", matching, v1alpha1.CanaryStep{Replicas: pods("3")})), nil},

		"no workload":            {withAlpha(alpha("", "1"), func(ro *v1alpha1.Rollout) { ro.Spec.ObjectRef.WorkloadRef = nil }), []fault{{"Spec.ObjectRef.WorkloadRef", "WorkloadRef is required"}}},
		"kind":                   {withAlpha(alpha("", "1"), func(ro *v1alpha1.Rollout) { ro.Spec.ObjectRef.WorkloadRef.Kind = "Pod" }), []fault{{"Spec.ObjectRef.WorkloadRef", "WorkloadRef kind is not supported"}}},
		"style in any case":      {alpha("PartiTion", "1"), nil},
		"style unknown":          {alpha("BlueGreen", "1"), []fault{{"RollingStyle", "Rolling style must be 'Canary', 'Partition' or empty"}}},
		"no canary":              {withAlpha(alpha(""), func(ro *v1alpha1.Rollout) { ro.Spec.Strategy.Canary = nil }), []fault{{canary, "Canary cannot be empty"}}},
		"no steps":               {alpha(""), []fault{{canary + ".Steps", "The number of Canary.Steps cannot be empty"}}},
		"neither":                {weights("", v1alpha1.CanaryStep{}), []fault{{first, "weight and replicas cannot be empty at the same time"}}},
		"replicas":               {alpha("", "0%"), []fault{{canary + ".Steps[0].Replicas", "replicas must be positive number"}}},
		"weight 0":               {weights("", weighted(0)), []fault{{first, "weight must be between 1 and 100"}}},
		"weight 101":             {weights("", weighted(101)), []fault{{first, "weight must be between 1 and 100"}}},
		"weight with replicas":   {weights("", weighted(0, "1")), nil},
		"limit of weight":        {weights("partition", weighted(51)), []fault{{first, limit}}},
		"limit met by weight":    {weights("partition", weighted(50)), nil},
		"limit of replicas":      {weights("partition", weighted(10, "51%")), []fault{{first, limit}}},
		"limit, canary":          {weights("canary", weighted(51), weighted(60, "70%")), nil},
		"limit, CloneSet":        {cloneSet(weights("canary", weighted(51))), []fault{{first, limit}}},
		"limit, integer":         {weights("partition", weighted(10, "51")), nil},
		"limit, no traffic":      {alpha("partition", "51%"), nil},
		"limit, matches":         {withAlpha(alpha("partition", "51%"), func(ro *v1alpha1.Rollout) { ro.Spec.Strategy.Canary.Steps[0].Matches = matches }), []fault{{first, limit}}},
		"weights fall":           {weights("", weighted(20, "1"), weighted(10, "2")), []fault{{canary + ".Steps.Weight", rising}}},
		"weights fall, unused":   {withAlpha(weights("", weighted(20, "1"), weighted(10, "2")), func(ro *v1alpha1.Rollout) { ro.Spec.Strategy.Canary.TrafficRoutings = nil }), nil},
		"pods fall":              {alpha("", "2", "1"), []fault{{canary + ".Steps.CanaryReplicas", order}}},
		"weight stands for pods": {weights("", weighted(20), weighted(30, "10%")), []fault{{canary + ".Steps.CanaryReplicas", order}}},
		"mixed":                  {weights("", weighted(20), weighted(30, "1")), nil},
		"two routings": {withAlpha(alpha("", "1"), func(ro *v1alpha1.Rollout) {
			c := ro.Spec.Strategy.Canary
			c.TrafficRoutings = append(c.TrafficRoutings, c.TrafficRoutings[0])
		}), []fault{{canary, "Rollout currently only support single TrafficRouting."}}},
		"routing": {withAlpha(alpha("", "1"), func(ro *v1alpha1.Rollout) {
			ro.Spec.Strategy.Canary.TrafficRoutings[0] = v1alpha1.TrafficRoutingRef{GracePeriodSeconds: -1}
		}), []fault{
			{canary + ".TrafficRouting.GracePeriodSeconds", "cannot be negative"},
			{canary + ".TrafficRouting.Service", "TrafficRouting.Service cannot be empty"},
			{canary + ".TrafficRouting.TrafficRoutings", "TrafficRoutings are not set"},
		}},
		"routing names": {withAlpha(alpha("", "1"), func(ro *v1alpha1.Rollout) {
			ro.Spec.Strategy.Canary.TrafficRoutings[0] = v1alpha1.TrafficRoutingRef{
				Service: "web", Ingress: &v1alpha1.IngressTrafficRouting{}, Gateway: &v1alpha1.GatewayTrafficRouting{},
			}
		}), []fault{
			{canary + ".TrafficRouting.Ingress", "TrafficRouting.Ingress.Ingress cannot be empty"},
			{canary + ".TrafficRouting.Gateway", "TrafficRouting.Gateway must set the name"},
		}},
		"custom route": {withAlpha(alpha("", "1"), func(ro *v1alpha1.Rollout) {
			ro.Spec.Strategy.Canary.TrafficRoutings[0] = v1alpha1.TrafficRoutingRef{Service: "web", CustomNetworkRefs: []v1alpha1.CustomNetworkRef{{}}}
		}), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, usual.CreateV1alpha1(c.ro, nil), c.want...)
		})
	}
}

func TestV1alpha1ReleaseKeepsItsGround(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		ro   *v1alpha1.Rollout
		want []fault
	}{
		"workload":      {withAlpha(alpha("canary", "1", "2"), func(ro *v1alpha1.Rollout) { ro.Spec.ObjectRef.WorkloadRef.Name = "db" }), []fault{{"Spec.ObjectRef", "Rollout 'ObjectRef' field is immutable"}}},
		"routes":        {withAlpha(alpha("canary", "1", "2"), func(ro *v1alpha1.Rollout) { ro.Spec.Strategy.Canary.TrafficRoutings = nil }), []fault{{"Spec.Strategy.Canary.TrafficRoutings", "field is immutable"}}},
		"style":         {alpha("partition", "1", "2"), []fault{{"RollingStyle", "means partition instead of canary"}}},
		"style in case": {alpha("Canary", "1", "3"), nil},
		"style absent":  {alpha("", "1", "3"), nil},
		// Unlike v1beta1; an end-to-end case of the peer goes from 5 to 3 steps.
		"fewer steps": {alpha("canary", "1"), nil},
		"more steps":  {alpha("canary", "1", "2", "3"), nil},
		"no canary": {withAlpha(alpha("canary"), func(ro *v1alpha1.Rollout) { ro.Spec.Strategy.Canary = nil }), []fault{
			{"Spec.Strategy.Canary", "Canary cannot be empty"}, {"Spec.Strategy.Canary.TrafficRoutings", "immutable"},
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := alpha("canary", "1", "2")
			old.Status.Phase = v1alpha1.RolloutPhase(v1beta1.RolloutPhaseProgressing)
			check(t, usual.UpdateV1alpha1(old, c.ro, nil, nil), c.want...)
		})
	}
	idle := alpha("canary", "1", "2")
	check(t, usual.UpdateV1alpha1(idle, alpha("partition", "1"), nil, nil))
	check(t, usual.UpdateV1alpha1(idle, alpha("partition", "0"), nil, nil), fault{"Spec.Strategy.Canary.Steps[0].Replicas", "positive"})
	check(t, usual.UpdateV1alpha1(idle, alpha("blue", "1", "2"), nil, nil), fault{"RollingStyle", "Rolling style must be"})
	invalid := alpha("canary")
	check(t, usual.UpdateV1alpha1(invalid, withAlpha(invalid.DeepCopy(), func(ro *v1alpha1.Rollout) { ro.Finalizers = []string{"x"} }), nil, nil))
}

func TestBlueGreenIsNotLostThroughV1alpha1(t *testing.T) {
	t.Parallel()
	shown := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "ro", Annotations: map[string]string{v1beta1.HubDataAnnotation: "{}"}}}
	cases := map[string]struct {
		change func(*v1alpha1.Rollout)
		lost   bool
	}{
		"a label":              {func(ro *v1alpha1.Rollout) { ro.Labels = map[string]string{"a": "b"} }, false},
		"a finalizer":          {func(ro *v1alpha1.Rollout) { ro.Finalizers = []string{"x"} }, false},
		"paused":               {func(ro *v1alpha1.Rollout) { ro.Spec.Strategy.Paused = true }, true},
		"a canary strategy":    {func(ro *v1alpha1.Rollout) { ro.Spec = alpha("", "1").Spec }, true},
		"the hidden part gone": {func(ro *v1alpha1.Rollout) { ro.Annotations = nil }, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want []fault
			if c.lost {
				want = []fault{{"Spec", "change it in rollouts.kruise.io/v1beta1"}}
			}
			check(t, usual.UpdateV1alpha1(shown, withAlpha(shown.DeepCopy(), c.change), bothColors("1"), nil), want...)
		})
	}
}
