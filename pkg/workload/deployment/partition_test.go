package deployment

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/plan"
	"github.com/kruise-rollout/kruise-rollout/pkg/core/window"
	"github.com/kruise-rollout/kruise-rollout/pkg/workload/driver"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const endless = int32(v1beta1.MaxReadySeconds)

var owner = metav1.OwnerReference{UID: "br", Name: "r", Kind: "BatchRelease"}

// scene is a Deployment of 10 pods that BatchRelease br releases from v1 to v2, as the native
// controller shows it once it has done its work.
type scene struct {
	d    *appsv1.Deployment
	sets []*appsv1.ReplicaSet
	pods []*corev1.Pod
}

// releasing has old pods of v1 and new ones of v2, all ready, in a state of the gate. No new
// ReplicaSet without new pods.
func releasing(g gate, old, fresh int32) *scene {
	d := plain()
	image("v2")(d)
	d.Generation = 4
	d.Labels[v1beta1.StableRevisionLabel] = "v1hash"
	original := originals(d)
	d.Annotations = map[string]string{
		v1beta1.InProgressingAnnotation:              `{"rolloutName":"r"}`,
		v1beta1.ControlInfoAnnotation:                text(owner),
		v1beta1.DeploymentStrategyAnnotation:         `{"rollingStyle":"Partition","partition":"20%"}`,
		v1beta1.OriginalDeploymentStrategyAnnotation: text(original),
	}
	s := &scene{d: d, sets: []*appsv1.ReplicaSet{setOf("v1", 1, old)}}
	if fresh > 0 {
		s.sets = append(s.sets, setOf("v2", 2, fresh))
	}
	hold(d, s.view())
	switch g {
	case armed:
		arm(d, s.view())
	case open:
		arm(d, s.view())
		openTo(window.Limits{Unavailable: 2})(d, s.view())
	case loose:
		d.Spec.Paused = false
	case held:
	}
	s.shown()
	return s
}

// setOf is the ReplicaSet of an image, number n in age and revision, with that many ready pods.
func setOf(tag string, n int, replicas int32) *appsv1.ReplicaSet {
	rs := set("web-"+tag, "web:"+tag, tag+"hash", fmt.Sprint(n), replicas)
	rs.UID = types.UID(rs.Name)
	rs.CreationTimestamp = metav1.NewTime(noon.Add(time.Duration(n-100) * time.Minute))
	rs.Annotations[nativeDesired] = "10"
	rs.Spec.MinReadySeconds = 5
	rs.Status.Replicas, rs.Status.ReadyReplicas = replicas, replicas
	return rs
}

// shown makes the statuses and the pods what they are when everything has been seen.
func (s *scene) shown() {
	s.d.Status = appsv1.DeploymentStatus{ObservedGeneration: s.d.Generation}
	s.pods = nil
	wanted, latest := int32(0), s.view().latest
	for _, rs := range s.sets {
		if rs == latest {
			rs.Spec.MinReadySeconds = s.d.Spec.MinReadySeconds
			s.d.Status.UpdatedReplicas = rs.Status.Replicas
		}
		rs.Status.AvailableReplicas = rs.Status.ReadyReplicas
		if rs.Spec.MinReadySeconds == endless {
			rs.Status.AvailableReplicas = 0
		}
		wanted += wants(rs)
		s.d.Status.Replicas += rs.Status.Replicas
		s.d.Status.ReadyReplicas += rs.Status.ReadyReplicas
		s.d.Status.AvailableReplicas += rs.Status.AvailableReplicas
		for i := range rs.Status.Replicas {
			s.pods = append(s.pods, podOf(rs, i, i < rs.Status.ReadyReplicas))
		}
	}
	s.d.Status.UnavailableReplicas = wanted - s.d.Status.AvailableReplicas
}

// podOf is a pod that has been ready for longer than the user's minReadySeconds, or is not ready.
func podOf(rs *appsv1.ReplicaSet, i int32, ready bool) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", rs.Name, i)}}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	condition := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(noon.Add(-time.Minute))}
	if ready {
		condition.Status = corev1.ConditionTrue
	}
	pod.Status.Conditions = []corev1.PodCondition{condition}
	return pod
}

func (s *scene) objects() driver.Objects {
	return driver.Objects{Workload: s.d, ReplicaSets: s.sets, Pods: s.pods, Now: noon}
}

func (s *scene) view() view {
	v, _ := look(s.objects())
	return v
}

// with changes a scene.
func (s *scene) with(change func(*scene)) *scene {
	change(s)
	return s
}

func touched(ago time.Duration) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{Time: new(metav1.NewTime(noon.Add(-ago)))}}
}

func TestBarrier(t *testing.T) {
	t.Parallel()
	// lacking is one pod short, last written to some time ago.
	lacking := func(ago time.Duration) func(*scene) {
		return func(s *scene) {
			s.sets[1].Status.Replicas, s.sets[1].Status.ReadyReplicas = 1, 1
			s.shown()
			s.d.ManagedFields = touched(time.Hour)
			s.sets[1].ManagedFields = touched(ago)
		}
	}
	cases := map[string]struct {
		change  func(*scene)
		settled bool
		again   time.Duration
	}{
		"all of one piece":                          {change: func(*scene) {}, settled: true},
		"the Deployment's generation is not seen":   {change: func(s *scene) { s.d.Generation++ }},
		"a ReplicaSet's generation is not seen":     {change: func(s *scene) { s.sets[0].Generation++ }},
		"the Deployment counts other pods":          {change: func(s *scene) { s.d.Status.Replicas++ }},
		"it counts other new pods":                  {change: func(s *scene) { s.d.Status.UpdatedReplicas-- }},
		"it counts other ready pods":                {change: func(s *scene) { s.d.Status.ReadyReplicas-- }},
		"it counts other available pods":            {change: func(s *scene) { s.d.Status.AvailableReplicas-- }},
		"it knows other sizes of ReplicaSets":       {change: func(s *scene) { s.d.Status.UnavailableReplicas++ }},
		"a scale event is not shared out":           {change: func(s *scene) { s.sets[0].Annotations[nativeDesired] = "9" }},
		"an empty ReplicaSet knows another number":  {change: emptySet, settled: true},
		"a ReplicaSet that knows no number":         {change: func(s *scene) { delete(s.sets[0].Annotations, nativeDesired) }, settled: true},
		"a pod is missing, written now":             {change: lacking(0), again: silence},
		"a pod is missing, written a second ago":    {change: lacking(time.Second), again: silence - time.Second},
		"a pod is missing, all is silent":           {change: lacking(silence), settled: true},
		"silence does not excuse an unseen version": {change: func(s *scene) { lacking(silence)(s); s.d.Generation++ }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settled, again := releasing(armed, 8, 2).with(c.change).view().settled()
			assert.Equal(t, c.settled, settled)
			assert.Equal(t, c.again, again)
		})
	}
}

func emptySet(s *scene) {
	rs := setOf("v0", 0, 0)
	rs.Annotations[nativeDesired] = "3"
	s.sets = append(s.sets, rs)
	s.shown()
}

// fields are those that a release borrows.
type fields struct {
	paused             bool
	minReady, deadline int32
	surge, unavailable string
	history            int32
}

func borrowed(d *appsv1.Deployment) fields {
	u := d.Spec.Strategy.RollingUpdate
	return fields{
		d.Spec.Paused, d.Spec.MinReadySeconds, *d.Spec.ProgressDeadlineSeconds,
		u.MaxSurge.String(), u.MaxUnavailable.String(), *d.Spec.RevisionHistoryLimit,
	}
}

func TestMovesOfTheGate(t *testing.T) {
	t.Parallel()
	user := func(unavailable string, history int32) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Spec.Strategy.RollingUpdate.MaxUnavailable = new(intstr.Parse(unavailable))
			d.Spec.RevisionHistoryLimit = &history
		}
	}
	as := func(*appsv1.Deployment) {}
	cases := map[string]struct {
		user func(*appsv1.Deployment)
		move move
		want fields
	}{
		"shut":                                  {as, shut, fields{true, 5, 600, "25%", "25%", 10}},
		"hold":                                  {as, hold, fields{true, 5, 600, "0%", "25%", 10}},
		"hold, surge stays":                     {as, holdKeepingSurge, fields{true, 5, 600, "25%", "25%", 10}},
		"hold where the user takes none":        {user("0", 10), hold, fields{true, 5, 600, "0%", "1", 10}},
		"hold where the user takes 0%":          {user("0%", 10), hold, fields{true, 5, 600, "0%", "1", 10}},
		"hold where the user takes pods":        {user("3", 10), hold, fields{true, 5, 600, "0%", "3", 10}},
		"hold where the user keeps no history":  {user("25%", 0), hold, fields{true, 5, 600, "0%", "25%", 1}},
		"arm with what is taken already":        {as, arm, fields{true, endless, endless + 1, "25%", "20%", 10}},
		"open to some pods":                     {as, openTo(window.Limits{Surge: 1, Unavailable: 4}), fields{false, 5, 600, "10%", "40%", 10}},
		"open to all pods":                      {as, openTo(window.Limits{Unavailable: 10}), fields{false, 5, 600, "0%", "100%", 10}},
		"open after a rest":                     {as, func(d *appsv1.Deployment, v view) { hold(d, v); arm(d, v); openTo(window.Limits{Surge: 2})(d, v) }, fields{false, endless, endless + 1, "20%", "0%", 10}},
		"hold after a window, the user's again": {as, func(d *appsv1.Deployment, v view) { arm(d, v); openTo(window.Limits{Surge: 2})(d, v); hold(d, v) }, fields{true, 5, 600, "0%", "25%", 10}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := plain()
			c.user(d)
			c.move(d, view{d: d, original: originals(d), others: []*appsv1.ReplicaSet{setOf("v1", 1, 8)}})
			assert.Equal(t, c.want, borrowed(d))
			assert.Equal(t, appsv1.RollingUpdateDeploymentStrategyType, d.Spec.Strategy.Type)
		})
	}
}

func TestArmTakesAtLeastOne(t *testing.T) {
	t.Parallel()
	for old, want := range map[int32]string{10: "10%", 12: "10%", 9: "10%", 5: "50%", 0: "100%"} {
		d := plain()
		arm(d, view{d: d, others: []*appsv1.ReplicaSet{setOf("v1", 1, old)}})
		assert.Equal(t, want, d.Spec.Strategy.RollingUpdate.MaxUnavailable.String(), "%d old pods", old)
	}
}

// Each row is one pass: what is written to ReplicaSets, and the state in which it leaves the gate.
func TestAdvanceMovesTheGateByOne(t *testing.T) {
	t.Parallel()
	unready := func(n int32) func(*scene) {
		return func(s *scene) { s.sets[1].Status.ReadyReplicas = n; s.shown() }
	}
	window := func(surge, unavailable string) func(*scene) {
		return func(s *scene) {
			u := s.d.Spec.Strategy.RollingUpdate
			u.MaxSurge, u.MaxUnavailable = new(intstr.Parse(surge)), new(intstr.Parse(unavailable))
		}
	}
	cases := map[string]struct {
		scene  *scene
		share  string
		sets   []string // ReplicaSets that are written
		gate   gate     // "" for no write of the Deployment
		limits string   // surge and unavailable after it
	}{
		"held and short of the batch: arm":     {releasing(held, 10, 0), "20%", nil, armed, "0% 10%"},
		"held with all of the batch: rest":     {releasing(held, 8, 2), "20%", nil, "", ""},
		"held with more: rest":                 {releasing(held, 5, 5), "20%", nil, "", ""},
		"held, with surge left: take it away":  {releasing(held, 8, 2).with(window("2", "25%")), "20%", nil, held, "0% 25%"},
		"held, surge left, pods not there yet": {releasing(held, 8, 2).with(window("2", "25%")).with(func(s *scene) { s.d.Generation++ }), "20%", nil, "", ""},
		"held, the trap: mend it and arm":      {releasing(held, 10, 0).with(trap), "20%", []string{"web-v1"}, armed, "0% 10%"},
		"held, no pods wanted: forget":         {releasing(held, 0, 0).with(noReplicas), "20%", []string{"web-v2"}, "", ""},

		"armed: open":                              {releasing(armed, 10, 0), "20%", nil, open, "0% 20%"},
		"armed for more: open with surge":          {releasing(armed, 10, 0), "50%", nil, open, "30% 20%"},
		"armed, next window":                       {releasing(armed, 8, 2), "60%", nil, open, "20% 40%"},
		"armed, not of one piece: wait":            {releasing(armed, 10, 0).with(func(s *scene) { s.d.Generation++ }), "20%", nil, "", ""},
		"armed, new pods still available: wait":    {releasing(armed, 8, 2).with(stillAvailable), "60%", nil, "", ""},
		"armed, the window is used up: wait":       {releasing(armed, 8, 5).with(unready(0)), "50%", nil, "", ""},
		"armed, the batch is there: hold":          {releasing(armed, 8, 2), "20%", nil, held, "0% 25%"},
		"armed, the batch is there unready: hold":  {releasing(armed, 8, 2).with(unready(0)), "20%", nil, held, "0% 25%"},
		"armed, more new pods than asked for":      {releasing(armed, 4, 8), "50%", nil, held, "0% 25%"},
		"armed, more new pods, not ready yet":      {releasing(armed, 4, 8).with(unready(7)), "50%", nil, "", ""},
		"armed, the trap: mend it first":           {releasing(armed, 10, 0).with(trap), "20%", []string{"web-v1"}, "", ""},
		"armed, an abandoned release: mark it":     {releasing(armed, 8, 0).with(abandoned), "20%", []string{"web-v1b"}, "", ""},
		"open, pods are to be taken: leave it":     {releasing(open, 10, 0), "20%", nil, "", ""},
		"open, used up, batch there: hold":         {releasing(open, 8, 2), "20%", nil, held, "0% 25%"},
		"open, used up, more to come: shut":        {releasing(open, 8, 2), "50%", nil, armed, "0% 20%"},
		"open, used up, not of one piece: wait":    {releasing(open, 8, 2).with(func(s *scene) { s.d.Status.Replicas-- }), "50%", nil, "", ""},
		"loose, somebody has resumed it: shut":     {releasing(loose, 8, 2), "20%", nil, held, "0% 25%"},
		"frozen by a newer template: nothing":      {releasing(armed, 10, 0).with(frozen), "20%", nil, "", ""},
		"frozen by a newer template, open: shut":   {releasing(open, 10, 0).with(frozen), "20%", nil, armed, "0% 20%"},
		"frozen by a newer template, loose: shut":  {releasing(loose, 10, 0).with(frozen), "20%", nil, held, "0% 25%"},
		"not claimed by anybody: nothing to do":    {releasing(loose, 10, 0).with(unclaimed), "20%", nil, "", ""},
		"90% of 10 keeps one: 9 are all of it":     {releasing(held, 1, 9), "90%", nil, "", ""},
		"99% of 10 keeps one: 9 are all of it too": {releasing(held, 1, 9), "99%", nil, "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := c.scene.d.DeepCopy()
			actions, err := Partition{}.Advance(c.scene.objects(), driver.Target{Share: intstr.Parse(c.share)})
			require.NoError(t, err)
			assert.Equal(t, before, c.scene.d, "what was read is not changed")
			sets, d := writes(actions)
			assert.Equal(t, c.sets, sets)
			state, limits := gate(""), ""
			if d != nil && (gateOf(d) != gateOf(before) || borrowed(d) != borrowed(before)) {
				u := d.Spec.Strategy.RollingUpdate
				state, limits = gateOf(d), u.MaxSurge.String()+" "+u.MaxUnavailable.String()
			}
			assert.Equal(t, c.gate, state)
			assert.Equal(t, c.limits, limits)
		})
	}
}

// writes are the names of the ReplicaSets that are written, and the Deployment if it is.
func writes(actions []plan.Action) (sets []string, d *appsv1.Deployment) {
	for _, action := range actions {
		var o plan.Object
		switch a := action.(type) {
		case plan.Edit:
			o = a.After
		case plan.Drop:
			o = a.Object
		}
		if found, ok := o.(*appsv1.Deployment); ok {
			d = found
			continue
		}
		sets = append(sets, o.GetName())
	}
	return sets, d
}

func trap(s *scene) { s.sets[0].Annotations[nativeDesired] = "9" }

func noReplicas(s *scene) {
	s.d.Spec.Replicas = new(int32(0))
	s.sets = append(s.sets, setOf("v2", 2, 0))
	s.shown()
}

func stillAvailable(s *scene) {
	s.sets[1].Status.AvailableReplicas = 1
	s.d.Status.AvailableReplicas++
	s.d.Status.UnavailableReplicas--
}

// abandoned adds two pods of a release that came between v1 and v2.
func abandoned(s *scene) {
	s.sets = append(s.sets, setOf("v1b", 2, 2))
	s.shown()
}

func frozen(s *scene) {
	s.d.Annotations[v1beta1.DeploymentStrategyAnnotation] = `{"rollingStyle":"Partition","partition":"20%","paused":true}`
}

func unclaimed(s *scene) { delete(s.d.Annotations, v1beta1.DeploymentStrategyAnnotation) }

// The share that a Deployment was told stays at its widest: a release takes no pods back.
func TestAdvanceNeverNarrowsTheOrder(t *testing.T) {
	t.Parallel()
	for share, want := range map[string]string{"10%": "20%", "50%": "50%", "100%": "100%"} {
		actions, err := Partition{}.Advance(releasing(held, 8, 2).objects(), driver.Target{Share: intstr.Parse(share)})
		require.NoError(t, err)
		_, d := writes(actions)
		if d == nil {
			d = releasing(held, 8, 2).d
		}
		v, err := look(driver.Objects{Workload: d})
		require.NoError(t, err)
		assert.Equal(t, want, v.strategy.Partition.String(), share)
	}
}

// Fact 4: pods of an abandoned release go before the stable ones, which the endless value brings
// about; but with several, the native controller takes from the oldest, ready or not.
func TestTakenFirst(t *testing.T) {
	t.Parallel()
	unready := func(rs *appsv1.ReplicaSet) *appsv1.ReplicaSet {
		rs.Status.ReadyReplicas--
		return rs
	}
	cases := map[string]struct {
		sets []*appsv1.ReplicaSet // by age; v1 is stable, v2 the current template
		want []int32              // minReadySeconds of all but v2
	}{
		"only the stable one":               {[]*appsv1.ReplicaSet{setOf("v1", 1, 8)}, []int32{5}},
		"one abandoned":                     {[]*appsv1.ReplicaSet{setOf("v1", 1, 8), setOf("a", 2, 2)}, []int32{5, endless}},
		"one abandoned with unready pods":   {[]*appsv1.ReplicaSet{setOf("v1", 1, 8), unready(setOf("a", 2, 2))}, []int32{5, endless}},
		"one abandoned without pods":        {[]*appsv1.ReplicaSet{setOf("v1", 1, 8), setOf("a", 2, 0)}, []int32{5, 5}},
		"one abandoned that is older":       {[]*appsv1.ReplicaSet{setOf("a", 0, 2), setOf("v1", 1, 8)}, []int32{endless, 5}},
		"an older one, the stable is ill":   {[]*appsv1.ReplicaSet{setOf("a", 0, 2), unready(setOf("v1", 1, 8))}, []int32{5, 5}},
		"two abandoned, all ready":          {[]*appsv1.ReplicaSet{setOf("v1", 1, 6), setOf("a", 2, 2), setOf("b", 3, 2)}, []int32{5, endless, endless}},
		"two abandoned, the younger is ill": {[]*appsv1.ReplicaSet{setOf("v1", 1, 6), setOf("a", 2, 2), unready(setOf("b", 3, 2))}, []int32{5, 5, endless}},
		"two abandoned, the older is ill":   {[]*appsv1.ReplicaSet{setOf("v1", 1, 6), unready(setOf("a", 2, 2)), setOf("b", 3, 2)}, []int32{5, endless, endless}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := releasing(armed, 8, 2)
			s.sets = append(slices.Clone(c.sets), s.sets[1])
			v := s.view()
			var got []int32
			for i := range v.others {
				got = append(got, v.takenFirst(i))
			}
			assert.Equal(t, c.want, got)
			for _, rs := range c.sets { // and given back at rest
				rs.Spec.MinReadySeconds = endless
			}
			for i := range v.others {
				assert.Equal(t, int32(5), v.ownMinReadySeconds(i))
			}
		})
	}
}

func TestRepairsOnlyTheTrap(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		scene  *scene
		repair bool
	}{
		"the trap":                                {releasing(armed, 10, 0).with(trap), true},
		"the right number":                        {releasing(armed, 10, 0), false},
		"two with pods share the scaling out":     {releasing(armed, 8, 2).with(trap), false},
		"a scale event that is still to come":     {releasing(armed, 9, 0).with(trap), false},
		"one with pods, another without":          {releasing(armed, 10, 0).with(emptySet).with(trap), true},
		"a ReplicaSet that was never told is let": {releasing(armed, 10, 0).with(func(s *scene) { delete(s.sets[0].Annotations, nativeDesired) }), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := c.scene.view()
			actions := v.repairs(v.counts(2))
			require.Equal(t, c.repair, len(actions) == 1)
			if c.repair {
				edit, ok := actions[0].(plan.Edit)
				require.True(t, ok)
				assert.Equal(t, "10", edit.After.GetAnnotations()[nativeDesired])
				assert.Equal(t, "13", edit.After.GetAnnotations()[nativeMaxReplicas], "with the user's surge")
				assert.Equal(t, "9", c.scene.sets[0].Annotations[nativeDesired], "what was read is not changed")
			}
		})
	}
}

// Fact 6: at no replicas everything newer than the stable ReplicaSet is forgotten.
func TestForgetNewSets(t *testing.T) {
	t.Parallel()
	deleted := func(s *scene) { s.sets[1].DeletionTimestamp = new(metav1.NewTime(noon)) }
	cases := map[string]struct {
		change func(*scene)
		want   []string
	}{
		"the new one":                             {func(*scene) {}, []string{"web-v2"}},
		"abandoned ones as well":                  {func(s *scene) { s.sets = append(s.sets, setOf("v1b", 3, 0)) }, []string{"web-v1b", "web-v2"}},
		"not those before it":                     {func(s *scene) { s.sets = append(s.sets, setOf("v0", 0, 0)) }, []string{"web-v2"}},
		"not twice":                               {deleted, nil},
		"not while it wants pods":                 {func(s *scene) { s.sets[1].Spec.Replicas = new(int32(1)) }, nil},
		"not while it has pods":                   {func(s *scene) { s.sets[1].Status.Replicas = 1 }, nil},
		"not without knowing which one is stable": {func(s *scene) { delete(s.d.Labels, v1beta1.StableRevisionLabel) }, nil},
		"not when the stable one is gone":         {func(s *scene) { s.d.Labels[v1beta1.StableRevisionLabel] = "other" }, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sets, d := writes(releasing(held, 0, 0).with(noReplicas).with(c.change).view().forgetNewSets())
			assert.ElementsMatch(t, c.want, sets)
			assert.Nil(t, d)
		})
	}
}

// A cluster that switches over from the peer operator in the middle of a release: strategy
// Recreate, paused, the user's limits in the strategy annotation, and nothing else recorded.
func TestClaimAdoptsAPeersDeployment(t *testing.T) {
	t.Parallel()
	peers := func(held *scene) {
		d := held.d
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
		d.Annotations = map[string]string{
			v1beta1.InProgressingAnnotation:      `{"rolloutName":"r"}`,
			v1beta1.ControlInfoAnnotation:        text(owner),
			v1beta1.DeploymentStrategyAnnotation: `{"rollingStyle":"Partition","rollingUpdate":{"maxUnavailable":0,"maxSurge":1},"partition":"20%"}`,
		}
	}
	for name, by := range map[string]metav1.OwnerReference{"the same BatchRelease": owner, "a new one": {UID: "other"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := releasing(held, 8, 2).with(peers)
			actions, err := Partition{}.Claim(s.objects(), by)
			require.NoError(t, err)
			sets, d := writes(actions)
			require.NotNil(t, d)
			assert.Empty(t, sets)
			assert.Equal(t, fields{true, 5, 600, "0%", "1", 10}, borrowed(d))
			assert.Equal(t, appsv1.RollingUpdateDeploymentStrategyType, d.Spec.Strategy.Type)
			v, err := look(driver.Objects{Workload: d})
			require.NoError(t, err)
			assert.Equal(t, by.UID, v.owner.UID)
			assert.Equal(t, "1", v.original.MaxSurge.String(), "the user's, as the peer kept it")
			assert.Equal(t, "0", v.original.MaxUnavailable.String())
			want := "20%"
			if by.UID != owner.UID {
				want = "0"
			}
			assert.Equal(t, want, v.strategy.Partition.String(), "the same release goes on, another begins")

			s.d = d // and nothing more to do
			actions, err = Partition{}.Claim(s.objects(), by)
			require.NoError(t, err)
			assert.Empty(t, actions)
		})
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		scene *scene
		want  fields
		write bool
	}{
		"caught by admission: hold":           {releasing(loose, 10, 0).with(caughtOnly), fields{true, 5, 600, "0%", "25%", 10}, true},
		"surplus pods in flight: keep surge":  {releasing(loose, 10, 3).with(caughtOnly), fields{true, 5, 600, "25%", "25%", 10}, true},
		"claimed already: nothing":            {releasing(armed, 10, 0), fields{}, false},
		"frozen: thaw, at rest":               {releasing(armed, 10, 0).with(frozen), fields{true, 5, 600, "0%", "25%", 10}, true},
		"Recreate of the user's own: nothing": {releasing(loose, 10, 0).with(caughtOnly).with(recreate), fields{}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			actions, err := Partition{}.Claim(c.scene.objects(), owner)
			require.NoError(t, err)
			_, d := writes(actions)
			require.Equal(t, c.write, d != nil)
			if d == nil {
				return
			}
			assert.Equal(t, c.want, borrowed(d))
			v, err := look(driver.Objects{Workload: d})
			require.NoError(t, err)
			assert.Equal(t, owner.UID, v.owner.UID)
			assert.False(t, v.strategy.Paused)
			assert.Equal(t, originals(plain()), v.original)
			assert.Equal(t, "true", d.Labels[v1beta1.AdvancedDeploymentControlLabel])
		})
	}
}

// caughtOnly is what admission leaves: paused, marked, the originals recorded.
func caughtOnly(s *scene) {
	d := plain()
	s.d.Spec.Strategy, s.d.Spec.Paused = d.Spec.Strategy, true
	delete(s.d.Annotations, v1beta1.ControlInfoAnnotation)
	delete(s.d.Annotations, v1beta1.DeploymentStrategyAnnotation)
}

func recreate(s *scene) {
	s.d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
}

func uncaught(s *scene) { delete(s.d.Annotations, v1beta1.InProgressingAnnotation) }

func TestRestore(t *testing.T) {
	t.Parallel()
	promote := driver.Ending{Owner: "br", Promote: true}
	given := fields{false, 5, 600, "25%", "25%", 10}
	pausedByUser := func(s *scene) {
		s.d.Annotations[v1beta1.OriginalDeploymentStrategyAnnotation] = `{"maxUnavailable":"25%","maxSurge":"25%","minReadySeconds":5,"progressDeadlineSeconds":600,"revisionHistoryLimit":0,"paused":true}`
	}
	marked := func(s *scene) { abandoned(s); s.sets[2].Spec.MinReadySeconds = endless }
	cases := map[string]struct {
		scene  *scene
		ending driver.Ending
		sets   []string
		want   fields
		write  bool
		traces bool // of the release stay
	}{
		"at rest":                         {releasing(held, 0, 10).with(uncaught), promote, nil, given, true, false},
		"in the middle of a batch":        {releasing(open, 8, 2).with(uncaught), promote, nil, given, true, false},
		"armed":                           {releasing(armed, 8, 2).with(uncaught), promote, nil, given, true, false},
		"the user had paused it":          {releasing(held, 0, 10).with(uncaught).with(pausedByUser), promote, nil, fields{true, 5, 600, "25%", "25%", 0}, true, false},
		"old pods are available again":    {releasing(armed, 8, 2).with(marked).with(uncaught), promote, []string{"web-v1b"}, given, true, false},
		"of a claimant that is gone":      {releasing(held, 8, 2).with(uncaught), driver.Ending{Promote: true}, nil, given, true, false},
		"of another one's: leave it":      {releasing(held, 8, 2).with(uncaught), driver.Ending{Owner: "x", Promote: true}, nil, fields{}, false, true},
		"a newer change was caught: keep": {releasing(held, 8, 2), promote, nil, fields{true, 5, 600, "0%", "25%", 10}, true, true},
		"not to be let go: keep":          {releasing(held, 8, 2).with(uncaught), driver.Ending{Owner: "br"}, nil, fields{true, 5, 600, "0%", "25%", 10}, true, true},
		"not to be let go while open":     {releasing(open, 8, 2).with(uncaught), driver.Ending{Owner: "br"}, nil, fields{true, endless, endless + 1, "0%", "20%", 10}, true, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			actions, err := Partition{}.Restore(c.scene.objects(), c.ending)
			require.NoError(t, err)
			sets, d := writes(actions)
			assert.Equal(t, c.sets, sets)
			require.Equal(t, c.write, d != nil)
			if d == nil {
				return
			}
			assert.Equal(t, c.want, borrowed(d))
			v, err := look(driver.Objects{Workload: d})
			require.NoError(t, err)
			assert.Equal(t, c.traces, v.traces())
			assert.Nil(t, v.owner)
		})
	}
}

// What is given back is swept once the native controller has seen it: before that it would copy the
// annotations to the ReplicaSets again.
func TestRestoreSweeps(t *testing.T) {
	t.Parallel()
	s := releasing(held, 0, 10).with(uncaught)
	s.sets[1].Annotations[v1beta1.DeploymentStrategyAnnotation] = "{}"
	promote := driver.Ending{Owner: "br", Promote: true}
	actions, err := Partition{}.Restore(s.objects(), promote)
	require.NoError(t, err)
	_, s.d = writes(actions)
	s.d.Generation++
	actions, err = Partition{}.Restore(s.objects(), promote)
	require.NoError(t, err)
	assert.Empty(t, actions, "not seen yet")

	s.d.Status.ObservedGeneration = s.d.Generation
	actions, err = Partition{}.Restore(s.objects(), promote)
	require.NoError(t, err)
	sets, d := writes(actions)
	assert.Equal(t, []string{"web-v2"}, sets)
	require.NotNil(t, d)
	assert.NotContains(t, d.Labels, v1beta1.GateWriteLabel)

	s.d = d
	delete(s.sets[1].Annotations, v1beta1.DeploymentStrategyAnnotation)
	actions, err = Partition{}.Restore(s.objects(), promote)
	require.NoError(t, err)
	assert.Empty(t, actions)
}
