package rules

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

var usual = Rules{PartitionPercentLimit: DefaultPartitionPercentLimit}

// fault is one wanted error.
type fault struct{ path, fragment string }

func check(t *testing.T, errs field.ErrorList, want ...fault) {
	t.Helper()
	if !assert.Len(t, errs, len(want), "%v", errs.ToAggregate()) {
		return
	}
	for i, w := range want {
		assert.Equal(t, w.path, errs[i].Field)
		assert.Contains(t, errs[i].Error(), w.fragment)
	}
}

func pods(v string) *intstr.IntOrString { return new(intstr.Parse(v)) }

func ref(apiVersion, kind string) v1beta1.ObjectRef {
	return v1beta1.ObjectRef{APIVersion: apiVersion, Kind: kind, Name: "web"}
}

// step takes "pods" or "pods traffic".
func step(text string) v1beta1.CanaryStep {
	s := v1beta1.CanaryStep{}
	for i, part := range strings.Fields(text) {
		if i == 0 {
			s.Replicas = pods(part)
			continue
		}
		s.Traffic = &part
	}
	return s
}

func stepsOf(texts ...string) []v1beta1.CanaryStep {
	var steps []v1beta1.CanaryStep
	for _, t := range texts {
		steps = append(steps, step(t))
	}
	return steps
}

func nginx() v1beta1.TrafficRoutingRef {
	return v1beta1.TrafficRoutingRef{Service: "web", Ingress: &v1beta1.IngressTrafficRouting{Name: "web"}}
}

// inPlace is a valid Rollout in partition style.
func inPlace(texts ...string) *v1beta1.Rollout {
	ro := &v1beta1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ro"}}
	ro.Spec.WorkloadRef = ref("apps/v1", "Deployment")
	ro.Spec.Strategy.Canary = &v1beta1.CanaryStrategy{
		Steps: stepsOf(texts...), TrafficRoutings: []v1beta1.TrafficRoutingRef{nginx()},
	}
	return ro
}

func extra(texts ...string) *v1beta1.Rollout {
	ro := inPlace(texts...)
	ro.Spec.Strategy.Canary.EnableExtraWorkloadForCanary = true
	return ro
}

func bothColors(texts ...string) *v1beta1.Rollout {
	ro := inPlace()
	ro.Spec.Strategy = v1beta1.RolloutStrategy{BlueGreen: &v1beta1.BlueGreenStrategy{
		Steps: stepsOf(texts...), TrafficRoutings: []v1beta1.TrafficRoutingRef{nginx()},
	}}
	return ro
}

func with(ro *v1beta1.Rollout, change func(*v1beta1.RolloutSpec)) *v1beta1.Rollout {
	change(&ro.Spec)
	return ro
}

func of(ro *v1beta1.Rollout, apiVersion, kind string) *v1beta1.Rollout {
	return with(ro, func(s *v1beta1.RolloutSpec) { s.WorkloadRef = ref(apiVersion, kind) })
}

func routed(change func(*v1beta1.TrafficRoutingRef)) *v1beta1.Rollout {
	ro := inPlace("20% 20%")
	change(&ro.Spec.Strategy.Canary.TrafficRoutings[0])
	return ro
}

// The numbers are those of the compatibility contract's list of rules.
func TestNewRolloutIsChecked(t *testing.T) {
	t.Parallel()
	const (
		workload = "Spec.ObjectRef.WorkloadRef"
		strategy = "Spec.Strategy"
		canary   = "Spec.Strategy.Canary"
		first    = "Spec.Strategy.Canary.Steps[0].steps"
		pods0    = "Spec.Strategy.Canary.Steps[0].Replicas"
		route    = "Spec.Strategy.Canary.TrafficRouting"

		kind     = "WorkloadRef kind is not supported"
		order    = "Steps.CanaryReplicas must be a non decreasing sequence"
		positive = `replicas must be positive number, or a percentage with "0%" < canaryReplicas <= "100%"`
		limit    = "For partition style rollout: step[x].replicas must not greater than partition-percent-limit if traffic specified"
		share    = `traffic must be percentage with "0%" < traffic <= "100%" in canary strategy`
		shareBG  = `traffic must be percentage with "0%" <= traffic <= "100%" in blueGreen strategy`
	)
	matches := []v1beta1.HTTPRouteMatch{{Headers: []gatewayv1.HTTPHeaderMatch{{Name: "a", Value: "b"}}}}
	cases := map[string]struct {
		ro   *v1beta1.Rollout
		want []fault
	}{
		"in place":            {inPlace("20% 20%", "50% 50%", "100%"), nil},
		"extra Deployment":    {extra("20% 20%", "100% 100%"), nil},
		"blue-green":          {bothColors("100% 0%", "100% 50%", "100% 100%"), nil},
		"without traffic":     {with(inPlace("60%", "100%"), func(s *v1beta1.RolloutSpec) { s.Strategy.Canary.TrafficRoutings = nil }), nil},
		"traffic but no refs": {with(extra("60% 10%"), func(s *v1beta1.RolloutSpec) { s.Strategy.Canary.TrafficRoutings = nil }), nil},
		"traffic goes back":   {extra("20% 50%", "50% 20%"), nil},

		"1 ReplicaSet":         {of(inPlace("1"), "apps/v1", "ReplicaSet"), nil},
		"1 StatefulSet":        {of(inPlace("1"), "apps/v1", "StatefulSet"), nil},
		"1 DaemonSet":          {of(inPlace("1"), "apps/v1", "DaemonSet"), nil},
		"1 CloneSet":           {of(inPlace("1"), "apps.kruise.io/v1alpha1", "CloneSet"), nil},
		"1 Kruise StatefulSet": {of(inPlace("1"), "apps.kruise.io/v1beta1", "StatefulSet"), nil},
		"1 Kruise DaemonSet":   {of(inPlace("1"), "apps.kruise.io/v1alpha1", "DaemonSet"), nil},
		"1 Job":                {of(inPlace("1"), "batch/v1", "Job"), []fault{{workload, kind}}},
		"1 no group":           {of(inPlace("1"), "v1", "Deployment"), []fault{{workload, kind}}},
		"1 nonsense":           {of(inPlace("1"), "a/b/c", "Deployment"), []fault{{workload, kind}}},
		"2 StatefulSet":        {of(bothColors("1"), "apps/v1", "StatefulSet"), []fault{{workload, kind + " for bluegreen style"}}},
		"2 CloneSet":           {of(bothColors("1"), "apps.kruise.io/v1alpha1", "CloneSet"), nil},
		"3 no strategy":        {with(inPlace(), func(s *v1beta1.RolloutSpec) { s.Strategy = v1beta1.RolloutStrategy{} }), []fault{{strategy, "Canary and BlueGreen cannot both be empty"}}},
		"4 both strategies":    {with(inPlace("1"), func(s *v1beta1.RolloutSpec) { s.Strategy.BlueGreen = &v1beta1.BlueGreenStrategy{} }), []fault{{strategy, "Canary and BlueGreen cannot both be set"}}},
		"5 no steps":           {inPlace(), []fault{{canary + ".Steps", "The number of Canary.Steps cannot be empty"}}},
		"5 no blue-green step": {bothColors(), []fault{{"Spec.Strategy.BlueGreen.Steps", "The number of Canary.Steps cannot be empty"}}},
		"6 no replicas":        {inPlace(""), []fault{{first, "replicas cannot be empty"}}},
		"6 second step":        {inPlace("1", ""), []fault{{canary + ".Steps[1].steps", "replicas cannot be empty"}}},
		"7 zero":               {inPlace("0"), []fault{{pods0, positive}}},
		"7 negative":           {inPlace("-1"), []fault{{pods0, positive}}},
		"7 zero percent":       {inPlace("0%"), []fault{{pods0, positive}}},
		"7 above all":          {inPlace("101%"), []fault{{pods0, positive}}},
		"7 nonsense":           {inPlace("many"), []fault{{pods0, positive}}},
		"7 many pods":          {inPlace("1000"), nil},
		"7 blue-green":         {bothColors("0"), []fault{{"Spec.Strategy.BlueGreen.Steps[0].Replicas", positive}}},
		"8 too many pods":      {inPlace("51% 10%"), []fault{{first, limit}}},
		"8 the text helps":     {inPlace("51% 10%"), []fault{{first, "the limit is 50%"}}},
		"8 without traffic":    {inPlace("51%"), nil},
		"8 integers":           {inPlace("51 10%"), nil},
		"8 extra Deployment":   {extra("51% 10%"), nil},
		"8 extra CloneSet":     {of(extra("51% 10%"), "apps.kruise.io/v1alpha1", "CloneSet"), []fault{{first, limit}}},
		"8 by matches":         {with(inPlace("51%"), func(s *v1beta1.RolloutSpec) { s.Strategy.Canary.Steps[0].Matches = matches }), []fault{{first, limit}}},
		"9 zero":               {inPlace("1 0%"), []fault{{first, share}}},
		"9 above all":          {inPlace("1 101%"), []fault{{first, share}}},
		"9 no percentage":      {inPlace("1 20"), []fault{{first, share}}},
		"10 zero":              {bothColors("1 0%"), nil},
		"10 above all":         {bothColors("1 101%"), []fault{{"Spec.Strategy.BlueGreen.Steps[0].steps", shareBG}}},
		"10 negative":          {bothColors("1 -1%"), []fault{{"Spec.Strategy.BlueGreen.Steps[0].steps", shareBG}}},
		"11 fewer pods":        {inPlace("2", "1"), []fault{{canary + ".Steps.CanaryReplicas", order}}},
		"11 smaller share":     {inPlace("50%", "20%"), []fault{{canary + ".Steps.CanaryReplicas", order}}},
		"11 the same":          {inPlace("2", "2"), nil},
		"11 mixed":             {inPlace("50%", "1", "60%"), nil},
		"12 two routings": {with(inPlace("1"), func(s *v1beta1.RolloutSpec) {
			s.Strategy.Canary.TrafficRoutings = append(s.Strategy.Canary.TrafficRoutings, nginx())
		}), []fault{{canary, "Rollout currently only support single TrafficRouting."}}},
		"12 blue-green": {with(bothColors("1"), func(s *v1beta1.RolloutSpec) {
			s.Strategy.BlueGreen.TrafficRoutings = append(s.Strategy.BlueGreen.TrafficRoutings, nginx())
		}), []fault{{"Spec.Strategy.BlueGreen", "Rollout currently only support single TrafficRouting."}}},
		"13 negative grace": {routed(func(r *v1beta1.TrafficRoutingRef) { r.GracePeriodSeconds = -1 }), []fault{{route + ".GracePeriodSeconds", "cannot be negative"}}},
		"14 no service":     {routed(func(r *v1beta1.TrafficRoutingRef) { r.Service = "" }), []fault{{route + ".Service", "TrafficRouting.Service cannot be empty"}}},
		"15 no provider":    {routed(func(r *v1beta1.TrafficRoutingRef) { r.Ingress = nil }), []fault{{route + ".TrafficRoutings", "TrafficRoutings are not set"}}},
		"15 custom only": {routed(func(r *v1beta1.TrafficRoutingRef) {
			r.Ingress, r.CustomNetworkRefs = nil, []v1beta1.ObjectRef{{APIVersion: "a/v1", Kind: "B", Name: "c"}}
		}), nil},
		"16 no Ingress name": {routed(func(r *v1beta1.TrafficRoutingRef) { r.Ingress.Name = "" }), []fault{{route + ".Ingress", "TrafficRouting.Ingress.Ingress cannot be empty"}}},
		"17 no route name":   {routed(func(r *v1beta1.TrafficRoutingRef) { r.Gateway = &v1beta1.GatewayTrafficRouting{} }), []fault{{route + ".Gateway", "TrafficRouting.Gateway must set the name of HTTPRoute or HTTPsRoute"}}},
		"17 empty name": {routed(func(r *v1beta1.TrafficRoutingRef) {
			r.Gateway = &v1beta1.GatewayTrafficRouting{HTTPRouteName: new("")}
		}), []fault{{route + ".Gateway", "TrafficRouting.Gateway must set the name"}}},

		"all at once": {of(inPlace("2 0%", "1"), "v1", "Pod"), []fault{{workload, kind}, {first, share}, {canary + ".Steps.CanaryReplicas", order}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, usual.Create(c.ro, nil), c.want...)
		})
	}
}

func TestInstallationChoosesRules(t *testing.T) {
	t.Parallel()
	check(t, Rules{AnyWorkload: true}.Create(of(inPlace("1"), "acme.io/v1", "Game"), nil))
	check(t, Rules{AnyWorkload: true}.Create(of(bothColors("1"), "acme.io/v1", "Game"), nil),
		fault{"Spec.ObjectRef.WorkloadRef", "not supported for bluegreen style"})
	check(t, Rules{PartitionPercentLimit: 60}.Create(inPlace("60% 10%"), nil))
	check(t, Rules{PartitionPercentLimit: 60}.Create(inPlace("61% 10%"), nil), fault{"Spec.Strategy.Canary.Steps[0].steps", "the limit is 60%"})
}

func TestOneWorkloadHasOneRollout(t *testing.T) {
	t.Parallel()
	other := func(change func(*v1beta1.Rollout)) v1beta1.Rollout {
		o := inPlace("1")
		o.Name = "other"
		change(o)
		return *o
	}
	cases := map[string]struct {
		other    v1beta1.Rollout
		conflict bool
	}{
		"same workload":       {other(func(*v1beta1.Rollout) {}), true},
		"by another version":  {other(func(o *v1beta1.Rollout) { o.Spec.WorkloadRef.APIVersion = "apps/v1beta1" }), true},
		"a disabled one":      {other(func(o *v1beta1.Rollout) { o.Spec.Disabled = true }), true},
		"another group":       {other(func(o *v1beta1.Rollout) { o.Spec.WorkloadRef.APIVersion = "acme.io/v1" }), false},
		"another kind":        {other(func(o *v1beta1.Rollout) { o.Spec.WorkloadRef.Kind = "StatefulSet" }), false},
		"another name":        {other(func(o *v1beta1.Rollout) { o.Spec.WorkloadRef.Name = "db" }), false},
		"another namespace":   {other(func(o *v1beta1.Rollout) { o.Namespace = "elsewhere" }), false},
		"one being deleted":   {other(func(o *v1beta1.Rollout) { o.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }), false},
		"the Rollout itself":  {other(func(o *v1beta1.Rollout) { o.Name = "ro" }), false},
		"one without a group": {other(func(o *v1beta1.Rollout) { o.Spec.WorkloadRef = v1beta1.ObjectRef{} }), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want []fault
			if c.conflict {
				want = []fault{{"Conflict Checker", "This rollout conflict with Rollout(ns/other), one workload only have less than one Rollout"}}
			}
			check(t, usual.Create(inPlace("1"), []v1beta1.Rollout{c.other}), want...)
			check(t, usual.CreateV1alpha1(alpha("partition", "1"), []v1beta1.Rollout{c.other}), want...)
		})
	}
}

func TestWhatAReleaseIsBuiltOnStaysAsItIs(t *testing.T) {
	t.Parallel()
	const either = "Spec.Strategy.Canary|BlueGreen"
	const style = "Rollout style and enableExtraWorkloadForCanary are immutable"
	cases := map[string]struct {
		ro   *v1beta1.Rollout
		want []fault
	}{
		"workload":            {with(inPlace("1", "2"), func(s *v1beta1.RolloutSpec) { s.WorkloadRef.Name = "db" }), []fault{{"Spec.ObjectRef", "Rollout 'ObjectRef' field is immutable"}}},
		"routes":              {with(inPlace("1", "2"), func(s *v1beta1.RolloutSpec) { s.Strategy.Canary.TrafficRoutings[0].Service = "db" }), []fault{{either + ".TrafficRoutings", "Rollout 'Strategy.Canary|BlueGreen.TrafficRoutings' field is immutable"}}},
		"no routes":           {with(inPlace("1", "2"), func(s *v1beta1.RolloutSpec) { s.Strategy.Canary.TrafficRoutings = nil }), []fault{{either + ".TrafficRoutings", "field is immutable"}}},
		"style":               {extra("1", "2"), []fault{{either, style}}},
		"style, field":        {extra("1", "2"), []fault{{either, "spec.strategy.canary.enableExtraWorkloadForCanary changes the style from Partition to Canary"}}},
		"style, what to do":   {extra("1", "2"), []fault{{either, "set spec.disabled to true, and change it once status.phase is Healthy or Disabled"}}},
		"style, blue-green":   {bothColors("1", "2"), []fault{{either, "spec.strategy.blueGreen changes the style from Partition to BlueGreen"}}},
		"one step more":       {inPlace("1", "2", "3"), []fault{{either, "Amount of Rollout steps are immutable"}}},
		"one step less":       {inPlace("1"), []fault{{either, "there would be 1 steps instead of 2"}}},
		"and the other rules": {inPlace("0"), []fault{{"Spec.Strategy.Canary.Steps[0].Replicas", "positive"}, {either, "Amount of Rollout steps"}}},

		"pods, traffic and pauses": {with(inPlace("3 10%", "50% 20%"), func(s *v1beta1.RolloutSpec) {
			s.Strategy.Canary.Steps[0].Pause.Duration = new(int32(1))
			s.Strategy.Canary.FailureThreshold = pods("20%")
			s.Strategy.Paused = true
			s.Disabled = true
		}), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, phase := range []v1beta1.RolloutPhase{v1beta1.RolloutPhaseProgressing, v1beta1.RolloutPhaseTerminating} {
				old := inPlace("1", "2")
				old.Status.Phase = phase
				check(t, usual.Update(old, c.ro, nil), c.want...)
			}
		})
	}
}

// Issue 201: switching the style of an idle Rollout was refused.
func TestIdleRolloutMayChangeEverything(t *testing.T) {
	t.Parallel()
	for _, phase := range []v1beta1.RolloutPhase{"", v1beta1.RolloutPhaseInitial, v1beta1.RolloutPhaseHealthy, v1beta1.RolloutPhaseDisabled, v1beta1.RolloutPhaseDisabling} {
		old := inPlace("1", "2")
		old.Status.Phase = phase
		check(t, usual.Update(old, extra("1"), nil))
		check(t, usual.Update(old, bothColors("1", "2", "3"), nil))
		check(t, usual.Update(old, of(inPlace("1", "2"), "apps/v1", "StatefulSet"), nil))
		check(t, usual.Update(old, inPlace("0"), nil), fault{"Spec.Strategy.Canary.Steps[0].Replicas", "positive"})
	}
}

func TestInvalidRolloutCanStillLoseItsFinalizer(t *testing.T) {
	t.Parallel()
	old := of(inPlace(), "v1", "Pod")
	old.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	old.Finalizers = []string{v1beta1.RolloutFinalizer}
	old.Status.Phase = v1beta1.RolloutPhaseTerminating
	ro := old.DeepCopy()
	ro.Finalizers = nil
	check(t, usual.Update(old, ro, []v1beta1.Rollout{*inPlace("1")}))
}
