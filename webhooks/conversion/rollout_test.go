package conversion

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

func annotated(keysAndValues ...string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: "web"}
	for i := 0; i < len(keysAndValues); i += 2 {
		write(&m, keysAndValues[i], keysAndValues[i+1])
	}
	return m
}

func alphaRollout(meta metav1.ObjectMeta, steps ...v1alpha1.CanaryStep) *v1alpha1.Rollout {
	return &v1alpha1.Rollout{ObjectMeta: meta, Spec: v1alpha1.RolloutSpec{
		Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{Steps: steps}},
	}}
}

func betaRollout(meta metav1.ObjectMeta, steps ...v1beta1.CanaryStep) *v1beta1.Rollout {
	return &v1beta1.Rollout{ObjectMeta: meta, Spec: v1beta1.RolloutSpec{
		Strategy: v1beta1.RolloutStrategy{Canary: &v1beta1.CanaryStrategy{Steps: steps}},
	}}
}

func headers(value string) []gatewayv1.HTTPHeaderMatch {
	return []gatewayv1.HTTPHeaderMatch{{Name: "user", Value: value}}
}

func path(value string) *gatewayv1.HTTPPathMatch {
	return &gatewayv1.HTTPPathMatch{Value: &value}
}

// full holds everything that both versions have a field for.
func full() (*v1alpha1.Rollout, *v1beta1.Rollout) {
	at := metav1.Unix(1700000000, 0)
	modifier := &gatewayv1.HTTPHeaderFilter{Remove: []string{"a"}}
	threshold := intstr.FromInt32(1)
	patch := map[string]string{"k": "v"}
	alpha := alphaRollout(annotated(v1beta1.RollingStyleAnnotation, "canary", v1beta1.TrafficRoutingAnnotation, "tr"),
		v1alpha1.CanaryStep{
			TrafficRoutingStrategy: v1alpha1.TrafficRoutingStrategy{
				Weight: new(int32(20)), RequestHeaderModifier: modifier, Matches: []v1alpha1.HTTPRouteMatch{{Headers: headers("x")}},
			},
			Replicas: new(intstr.FromInt32(3)),
			Pause:    &v1alpha1.RolloutPause{Duration: new(int32(7))},
		})
	alpha.Spec.ObjectRef.WorkloadRef = &v1alpha1.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	alpha.Spec.Disabled, alpha.Spec.Strategy.Paused = true, true
	c := alpha.Spec.Strategy.Canary
	c.FailureThreshold, c.DisableGenerateCanaryService = &threshold, true
	c.PatchPodTemplateMetadata = &v1alpha1.PatchPodTemplateMetadata{Labels: patch}
	c.TrafficRoutings = []v1alpha1.TrafficRoutingRef{{
		Service: "web", GracePeriodSeconds: 5,
		Ingress:           &v1alpha1.IngressTrafficRouting{ClassType: "mse", Name: "in"},
		Gateway:           &v1alpha1.GatewayTrafficRouting{HTTPRouteName: new("route")},
		CustomNetworkRefs: []v1alpha1.CustomNetworkRef{{APIVersion: "a/v1", Kind: "A", Name: "a"}},
	}}
	alpha.Status = v1alpha1.RolloutStatus{
		ObservedGeneration: 2, Phase: "Progressing", Message: "m",
		Conditions: []v1alpha1.RolloutCondition{{Type: "Progressing", Status: "True", LastUpdateTime: at, LastTransitionTime: at, Reason: "InRolling", Message: "c"}},
		CanaryStatus: &v1alpha1.CanaryStatus{
			ObservedWorkloadGeneration: 3, ObservedRolloutID: "id", RolloutHash: "h", StableRevision: "s", CanaryRevision: "r",
			PodTemplateHash: "p", CanaryReplicas: 4, CanaryReadyReplicas: 5, NextStepIndex: -1, CurrentStepIndex: 1,
			CurrentStepState: "StepPaused", Message: "b", LastUpdateTime: &at, FinalisingStep: "END",
		},
	}

	beta := betaRollout(*alpha.ObjectMeta.DeepCopy(), v1beta1.CanaryStep{
		TrafficRoutingStrategy: v1beta1.TrafficRoutingStrategy{
			Traffic: new("20%"), RequestHeaderModifier: modifier, Matches: []v1beta1.HTTPRouteMatch{{Headers: headers("x")}},
		},
		Replicas: new(intstr.FromInt32(3)),
		Pause:    v1beta1.RolloutPause{Duration: new(int32(7))},
	})
	beta.Spec.WorkloadRef = v1beta1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	beta.Spec.Disabled, beta.Spec.Strategy.Paused = true, true
	b := beta.Spec.Strategy.Canary
	b.FailureThreshold, b.DisableGenerateCanaryService = &threshold, true
	b.PatchPodTemplateMetadata = &v1beta1.PatchPodTemplateMetadata{Labels: patch}
	b.EnableExtraWorkloadForCanary, b.TrafficRoutingRef = true, "tr"
	b.TrafficRoutings = []v1beta1.TrafficRoutingRef{{
		Service: "web", GracePeriodSeconds: 5,
		Ingress:           &v1beta1.IngressTrafficRouting{ClassType: "mse", Name: "in"},
		Gateway:           &v1beta1.GatewayTrafficRouting{HTTPRouteName: new("route")},
		CustomNetworkRefs: []v1beta1.ObjectRef{{APIVersion: "a/v1", Kind: "A", Name: "a"}},
	}}
	beta.Status = v1beta1.RolloutStatus{
		ObservedGeneration: 2, Phase: "Progressing", Message: "m", CurrentStepIndex: 1, CurrentStepState: "StepPaused",
		Conditions: []v1beta1.RolloutCondition{{Type: "Progressing", Status: "True", LastUpdateTime: at, LastTransitionTime: at, Reason: "InRolling", Message: "c"}},
		CanaryStatus: &v1beta1.CanaryStatus{
			CommonStatus: v1beta1.CommonStatus{
				ObservedWorkloadGeneration: 3, ObservedRolloutID: "id", RolloutHash: "h", StableRevision: "s", PodTemplateHash: "p",
				CurrentStepIndex: 1, NextStepIndex: -1, FinalisingStep: "END", CurrentStepState: "StepPaused", Message: "b", LastUpdateTime: &at,
			},
			CanaryRevision: "r", CanaryReplicas: 4, CanaryReadyReplicas: 5,
		},
	}
	return alpha, beta
}

func TestWhatBothVersionsHaveIsTranslatedFieldByField(t *testing.T) {
	alpha, beta := full()
	if diff := cmp.Diff(wire(t, beta), wire(t, rolloutUp(t, alpha))); diff != "" {
		t.Error("v1alpha1 to v1beta1", diff)
	}
	if diff := cmp.Diff(wire(t, alpha), wire(t, rolloutDown(t, beta))); diff != "" {
		t.Error("v1beta1 to v1alpha1", diff)
	}
}

func TestRulesFromV1alpha1(t *testing.T) {
	weighted := v1alpha1.CanaryStep{TrafficRoutingStrategy: v1alpha1.TrafficRoutingStrategy{Weight: new(int32(20))}}
	style := func(value string) *v1alpha1.Rollout {
		return alphaRollout(annotated(v1beta1.RollingStyleAnnotation, value))
	}
	extra := func(r *v1beta1.Rollout) any { return r.Spec.Strategy.Canary.EnableExtraWorkloadForCanary }
	cases := map[string]struct {
		spoke *v1alpha1.Rollout
		get   func(*v1beta1.Rollout) any
		want  any
	}{
		"no style means an extra Deployment": {alphaRollout(annotated()), extra, true},
		"style canary":                       {style("canary"), extra, true},
		"style partition":                    {style("partition"), extra, false},
		"style partition in capitals":        {style("Partition"), extra, false},
		"any other style":                    {style("odd"), extra, true},
		"annotations are left alone": {
			style("Partition"), func(r *v1beta1.Rollout) any { return r.Annotations[v1beta1.RollingStyleAnnotation] }, "Partition",
		},
		"the trafficrouting annotation becomes the field": {
			alphaRollout(annotated(v1beta1.TrafficRoutingAnnotation, "tr")),
			func(r *v1beta1.Rollout) any { return r.Spec.Strategy.Canary.TrafficRoutingRef }, "tr",
		},
		"weight becomes traffic": {
			alphaRollout(annotated(), weighted), func(r *v1beta1.Rollout) any { return *r.Spec.Strategy.Canary.Steps[0].Traffic }, "20%",
		},
		"weight stands in for replicas": {
			alphaRollout(annotated(), weighted),
			func(r *v1beta1.Rollout) any { return *r.Spec.Strategy.Canary.Steps[0].Replicas }, intstr.FromString("20%"),
		},
		"neither weight nor replicas": {
			alphaRollout(annotated(), v1alpha1.CanaryStep{}), func(r *v1beta1.Rollout) any { return r.Spec.Strategy.Canary.Steps[0] }, v1beta1.CanaryStep{},
		},
		"no workload, no strategy": {
			&v1alpha1.Rollout{}, func(r *v1beta1.Rollout) any { return r.Spec }, v1beta1.RolloutSpec{},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.get(rolloutUp(t, c.spoke))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRulesFromV1beta1(t *testing.T) {
	traffic := func(value string) *v1beta1.Rollout {
		return betaRollout(annotated(), v1beta1.CanaryStep{TrafficRoutingStrategy: v1beta1.TrafficRoutingStrategy{Traffic: &value}})
	}
	weightOf := func(r *v1alpha1.Rollout) any { return r.Spec.Strategy.Canary.Steps[0].Weight }
	annotation := func(key string) func(r *v1alpha1.Rollout) any {
		return func(r *v1alpha1.Rollout) any {
			value, found := r.Annotations[key]
			return []any{value, found}
		}
	}
	extra := betaRollout(annotated())
	extra.Spec.Strategy.Canary.EnableExtraWorkloadForCanary = true
	routed := betaRollout(annotated(v1beta1.TrafficRoutingAnnotation, "other"))
	routed.Spec.Strategy.Canary.TrafficRoutingRef = "tr"
	_, blueGreen := full()
	blueGreen.Spec.Strategy = v1beta1.RolloutStrategy{BlueGreen: &v1beta1.BlueGreenStrategy{TrafficRoutingRef: "tr"}}
	blueGreen.Annotations = nil

	cases := map[string]struct {
		hub  *v1beta1.Rollout
		get  func(*v1alpha1.Rollout) any
		want any
	}{
		"traffic becomes weight":             {traffic("20%"), weightOf, new(int32(20))},
		"traffic 0% is not absent":           {traffic("0%"), weightOf, new(int32(0))},
		"traffic that is no percentage":      {traffic("20"), weightOf, (*int32)(nil)},
		"traffic that is too big a number":   {traffic("3000000000%"), weightOf, (*int32)(nil)},
		"the style is written, partition":    {betaRollout(annotated()), annotation(v1beta1.RollingStyleAnnotation), []any{"partition", true}},
		"the style is written, canary":       {extra, annotation(v1beta1.RollingStyleAnnotation), []any{"canary", true}},
		"the style replaces what was there":  {betaRollout(annotated(v1beta1.RollingStyleAnnotation, "canary")), annotation(v1beta1.RollingStyleAnnotation), []any{"partition", true}},
		"the field becomes an annotation":    {routed, annotation(v1beta1.TrafficRoutingAnnotation), []any{"tr", true}},
		"no field leaves the annotation":     {betaRollout(annotated(v1beta1.TrafficRoutingAnnotation, "own")), annotation(v1beta1.TrafficRoutingAnnotation), []any{"own", true}},
		"no field, no annotation":            {betaRollout(annotated()), annotation(v1beta1.TrafficRoutingAnnotation), []any{"", false}},
		"of blue-green only metadata: style": {blueGreen, annotation(v1beta1.RollingStyleAnnotation), []any{"", false}},
		"of blue-green only metadata: spec":  {blueGreen, func(r *v1alpha1.Rollout) any { return r.Spec }, v1alpha1.RolloutSpec{}},
		"of blue-green only metadata: status": {
			blueGreen, func(r *v1alpha1.Rollout) any { return r.Status }, v1alpha1.RolloutStatus{},
		},
		"a path is not shown": {
			betaRollout(annotated(), matching(v1beta1.HTTPRouteMatch{Path: path("/a"), Headers: headers("x")})),
			func(r *v1alpha1.Rollout) any { return r.Spec.Strategy.Canary.Steps[0].Matches },
			[]v1alpha1.HTTPRouteMatch{{Headers: headers("x")}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.get(rolloutDown(t, c.hub))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func matching(m ...v1beta1.HTTPRouteMatch) v1beta1.CanaryStep {
	return v1beta1.CanaryStep{TrafficRoutingStrategy: v1beta1.TrafficRoutingStrategy{Matches: m}}
}

func pausing(s v1beta1.CanaryStep, seconds int32) v1beta1.CanaryStep {
	s.Pause.Duration = &seconds
	return s
}

func TestStepsKeepWhatV1alpha1DoesNotShow(t *testing.T) {
	a := matching(v1beta1.HTTPRouteMatch{Path: path("/a"), Headers: headers("a")})
	b := matching(v1beta1.HTTPRouteMatch{Path: path("/b"), Headers: headers("b")}, v1beta1.HTTPRouteMatch{Path: path("/c")})
	c, d := matching(v1beta1.HTTPRouteMatch{Path: path("/c")}), matching(v1beta1.HTTPRouteMatch{Path: path("/d")})
	odd := v1beta1.CanaryStep{TrafficRoutingStrategy: v1beta1.TrafficRoutingStrategy{Traffic: new("020%")}}
	added := v1alpha1.CanaryStep{TrafficRoutingStrategy: v1alpha1.TrafficRoutingStrategy{Matches: []v1alpha1.HTTPRouteMatch{{Headers: headers("new")}}}}
	plainAdded := matching(v1beta1.HTTPRouteMatch{Headers: headers("new")})

	type steps = []v1alpha1.CanaryStep
	cases := map[string]struct {
		was  []v1beta1.CanaryStep
		edit func(steps) steps
		want []v1beta1.CanaryStep
	}{
		"nothing is edited": {
			[]v1beta1.CanaryStep{a, b, odd}, func(s steps) steps { return s }, []v1beta1.CanaryStep{a, b, odd},
		},
		"a step is added in front": {
			[]v1beta1.CanaryStep{a, b}, func(s steps) steps { return append(steps{added}, s...) }, []v1beta1.CanaryStep{plainAdded, a, b},
		},
		"a step is added at the end": {
			[]v1beta1.CanaryStep{a, b}, func(s steps) steps { return append(s, added) }, []v1beta1.CanaryStep{a, b, plainAdded},
		},
		"a step is removed": {
			[]v1beta1.CanaryStep{a, b}, func(s steps) steps { return s[1:] }, []v1beta1.CanaryStep{b},
		},
		"steps change places": {
			[]v1beta1.CanaryStep{a, b}, func(s steps) steps { return steps{s[1], s[0]} }, []v1beta1.CanaryStep{b, a},
		},
		"a pause is edited": {
			[]v1beta1.CanaryStep{a, b}, func(s steps) steps { s[0].Pause = &v1alpha1.RolloutPause{Duration: new(int32(9))}; return s }, []v1beta1.CanaryStep{pausing(a, 9), b},
		},
		"the headers are edited: the path goes with them": {
			[]v1beta1.CanaryStep{a, b}, func(s steps) steps { s[0].Matches = added.Matches; return s }, []v1beta1.CanaryStep{plainAdded, b},
		},
		"one of two matches is removed": {
			[]v1beta1.CanaryStep{b},
			func(s steps) steps { s[0].Matches = s[0].Matches[1:]; return s },
			[]v1beta1.CanaryStep{matching(v1beta1.HTTPRouteMatch{Path: path("/c")})},
		},
		"a step is replaced": {
			[]v1beta1.CanaryStep{a, b}, func(s steps) steps { s[1] = added; return s }, []v1beta1.CanaryStep{a, plainAdded},
		},
		"a weight is edited": {
			[]v1beta1.CanaryStep{odd},
			func(s steps) steps { s[0].Weight = new(int32(30)); return s },
			[]v1beta1.CanaryStep{{
				TrafficRoutingStrategy: v1beta1.TrafficRoutingStrategy{Traffic: new("30%")}, Replicas: new(intstr.FromString("30%")),
			}},
		},
		"of steps that look alike another one is removed": {
			[]v1beta1.CanaryStep{c, a, d}, func(s steps) steps { return s[1:] }, []v1beta1.CanaryStep{a, d},
		},
		"steps that look alike keep their order": {
			[]v1beta1.CanaryStep{odd, c, d, a}, func(s steps) steps { return steps{s[3], s[1], s[2], s[0]} }, []v1beta1.CanaryStep{a, c, d, odd},
		},
		"all steps are removed": {
			[]v1beta1.CanaryStep{a, b}, func(steps) steps { return nil }, nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spoke := rolloutDown(t, betaRollout(annotated(), c.was...))
			spoke.Spec.Strategy.Canary.Steps = c.edit(spoke.Spec.Strategy.Canary.Steps)
			if diff := cmp.Diff(c.want, rolloutUp(t, spoke).Spec.Strategy.Canary.Steps); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBlueGreenSurvivesAClientOfV1alpha1(t *testing.T) {
	hub := betaRollout(annotated("user", "1"))
	hub.Spec.WorkloadRef = v1beta1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	hub.Spec.Strategy = v1beta1.RolloutStrategy{Paused: true, BlueGreen: &v1beta1.BlueGreenStrategy{Steps: []v1beta1.CanaryStep{matching(v1beta1.HTTPRouteMatch{Path: path("/a")})}}}
	hub.Status = v1beta1.RolloutStatus{
		Phase: v1beta1.RolloutPhaseProgressing, CurrentStepIndex: 1, CurrentStepState: v1beta1.CanaryStepStatePaused,
		BlueGreenStatus: &v1beta1.BlueGreenStatus{UpdatedRevision: "r", CommonStatus: v1beta1.CommonStatus{
			CurrentStepIndex: 1, NextStepIndex: 2, CurrentStepState: v1beta1.CanaryStepStatePaused,
		}},
	}
	cases := map[string]struct {
		edit func(*v1alpha1.Rollout)
		want func(*v1beta1.Rollout)
	}{
		"metadata is edited": {
			func(r *v1alpha1.Rollout) { r.Annotations["user"], r.Labels = "2", map[string]string{"a": "b"} },
			func(r *v1beta1.Rollout) { r.Annotations["user"], r.Labels = "2", map[string]string{"a": "b"} },
		},
		"it is disabled": {
			func(r *v1alpha1.Rollout) { r.Spec.Disabled = true },
			func(r *v1beta1.Rollout) { r.Spec.Disabled = true },
		},
		"it points to another workload": {
			func(r *v1alpha1.Rollout) { r.Spec.ObjectRef.WorkloadRef = &v1alpha1.WorkloadRef{Name: "x"} },
			func(r *v1beta1.Rollout) { r.Spec.WorkloadRef = v1beta1.ObjectRef{Name: "x"} },
		},
		"it becomes a canary": {
			func(r *v1alpha1.Rollout) { r.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{} },
			func(r *v1beta1.Rollout) {
				r.Spec.Strategy.BlueGreen = nil
				r.Spec.Strategy.Canary = &v1beta1.CanaryStrategy{EnableExtraWorkloadForCanary: true}
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := hub.DeepCopy()
			c.want(want)
			spoke := rolloutDown(t, hub)
			c.edit(spoke)
			if diff := cmp.Diff(want, rolloutUp(t, spoke)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEditedAnnotationsOfV1alpha1WinOverFields(t *testing.T) {
	hub := betaRollout(annotated())
	hub.Spec.Strategy.Canary.TrafficRoutingRef = "tr"
	hub.Spec.Strategy.Canary.Steps = []v1beta1.CanaryStep{matching(v1beta1.HTTPRouteMatch{Path: path("/a")})} // so that the spec is remembered
	spoke := rolloutDown(t, hub)
	write(spoke, v1beta1.RollingStyleAnnotation, "canary")
	write(spoke, v1beta1.TrafficRoutingAnnotation, "other")

	hub.Spec.Strategy.Canary.EnableExtraWorkloadForCanary = true
	hub.Spec.Strategy.Canary.TrafficRoutingRef = "other"
	if diff := cmp.Diff(hub, rolloutUp(t, spoke)); diff != "" {
		t.Error(diff)
	}
}

func TestAMemoryThatCannotBeReadIsIgnored(t *testing.T) {
	for _, text := range []string{"", "null", "{", "[]", `{"spec":7}`, `{"spec":null,"annotations":{"a":null}}`} {
		spoke, want := full()
		write(spoke, v1beta1.HubDataAnnotation, text)
		if diff := cmp.Diff(want, rolloutUp(t, spoke)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
		shown, hub := full()
		write(hub, v1beta1.SpokeDataAnnotation, text)
		if diff := cmp.Diff(shown, rolloutDown(t, hub)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestWhatOnlyV1alpha1HasIsKept(t *testing.T) {
	spoke := alphaRollout(annotated(v1beta1.RollingStyleAnnotation, "canary"),
		v1alpha1.CanaryStep{TrafficRoutingStrategy: v1alpha1.TrafficRoutingStrategy{Weight: new(int32(20))}})
	spoke.Spec.DeprecatedRolloutID = "r1"
	hub := rolloutUp(t, spoke)
	hub.Spec.Strategy.Paused = true // somebody edits v1beta1 in between
	hub.Spec.Strategy.Canary.Steps = append(hub.Spec.Strategy.Canary.Steps, v1beta1.CanaryStep{Replicas: new(intstr.FromInt32(5))})

	spoke.Spec.Strategy.Paused = true
	spoke.Spec.Strategy.Canary.Steps = append(spoke.Spec.Strategy.Canary.Steps,
		v1alpha1.CanaryStep{Replicas: new(intstr.FromInt32(5)), Pause: &v1alpha1.RolloutPause{}})
	if diff := cmp.Diff(spoke, rolloutDown(t, hub)); diff != "" {
		t.Error(diff)
	}
}

func TestImpliedReplicasAreShownOnceTheyDiffer(t *testing.T) {
	spoke := alphaRollout(annotated(), v1alpha1.CanaryStep{TrafficRoutingStrategy: v1alpha1.TrafficRoutingStrategy{Weight: new(int32(20))}})
	hub := rolloutUp(t, spoke)
	if got := rolloutDown(t, hub).Spec.Strategy.Canary.Steps[0].Replicas; got != nil {
		t.Errorf("replicas %v were never written", got)
	}
	hub.Spec.Strategy.Canary.Steps[0].Replicas = new(intstr.FromString("50%"))
	want := new(intstr.FromString("50%"))
	if diff := cmp.Diff(want, rolloutDown(t, hub).Spec.Strategy.Canary.Steps[0].Replicas); diff != "" {
		t.Error(diff)
	}
}
