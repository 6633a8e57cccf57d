package main

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/test/record"
)

// promise is something that must be so after an act.
type promise struct {
	text string
	// broken says what is so instead; "" when the promise was kept.
	broken func(*moment) string
}

// moment is what promises look at.
type moment struct {
	// before and now are read from the API server, before and after the act: watches may lag.
	before, now record.State
	// since is the version of the last change before the act, log all changes that were watched.
	since int64
	log   []record.Entry
}

func (s *stage) before(ctx context.Context) (*moment, error) {
	m := &moment{}
	if log := s.recorder.Log(); len(log) > 0 {
		m.since = log[len(log)-1].Version
	}
	var err error
	m.before, err = s.live(ctx)
	return m, err
}

func (s *stage) after(ctx context.Context, m *moment) error {
	m.log = s.recorder.Log()
	var err error
	m.now, err = s.live(ctx)
	return err
}

// live reads everything from the API server.
func (s *stage) live(ctx context.Context) (record.State, error) {
	var found []record.Entry
	for _, list := range []client.ObjectList{
		&v1beta1.RolloutList{}, &v1beta1.BatchReleaseList{}, &appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{},
	} {
		if err := s.operator.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return record.State{}, fmt.Errorf("listing %T: %w", list, err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return record.State{}, fmt.Errorf("reading a %T: %w", list, err)
		}
		for _, item := range items {
			if o, ok := item.(client.Object); ok {
				found = append(found, record.Entry{Object: o})
			}
		}
	}
	var state record.State
	record.Replay(found, func(_ record.Entry, st record.State) { state = st })
	return state, nil
}

// during shows the states that the act went through.
func (m *moment) during(show func(record.Entry, record.State)) {
	record.Replay(m.log, func(e record.Entry, st record.State) {
		if e.Version > m.since {
			show(e, st)
		}
	})
}

// pods promises how many pods run each of two versions, all of them ready.
func pods(older string, n int, newer string, k int) promise {
	text := fmt.Sprintf("exactly %d pods run %s and %d run %s, all ready", k, newer, n, older)
	if n == 0 || k == 0 {
		text = fmt.Sprintf("all %d pods run %s and are ready", n+k, map[bool]string{true: newer, false: older}[n == 0])
	}
	return promise{text, func(m *moment) string {
		all := map[string]int{}
		for _, pod := range record.All[*corev1.Pod](m.now) {
			if !record.Ready(pod) {
				return "pod " + pod.Name + " is not ready"
			}
			all[tag(pod.Spec.Containers[0].Image)]++
		}
		if all[older] != n || all[newer] != k || len(record.All[*corev1.Pod](m.now)) != n+k {
			return fmt.Sprintf("they are %v", all)
		}
		return ""
	}}
}

// held promises that a change was held from the first moment: no pod ran it before the Rollout said so.
func held(tag string) promise {
	return promise{"the Deployment was held in the request that changed it, with 0 new pods", func(m *moment) string {
		broken, caught := "nobody has seen the change", false
		m.during(func(_ record.Entry, st record.State) {
			d, r := st.Deployment(web), st.Rollout(web)
			if d == nil || tagOf(d) != tag {
				return
			}
			n := st.Count(d).New
			switch {
			case !caught && !d.Spec.Paused:
				broken = "it was stored without being paused"
			case !caught && n > 0:
				broken = fmt.Sprintf("there were %d", n)
			case !caught:
				broken = ""
			case n > 0 && (r == nil || r.Status.Phase != v1beta1.RolloutPhaseProgressing):
				broken = fmt.Sprintf("there were %d before the Rollout had begun", n)
			}
			caught = true
		})
		return broken
	}}
}

// neverMore promises that at no time in the act there were more new pods than the batch has.
func neverMore(n int) promise {
	return promise{fmt.Sprintf("at no moment there were more than %d new pods", n), func(m *moment) string {
		most := 0
		m.during(func(_ record.Entry, st record.State) { most = max(most, st.Count(st.Deployment(web)).New) })
		if most > n {
			return fmt.Sprintf("there were %d", most)
		}
		return ""
	}}
}

// untouched promises that the act let all pods be.
var untouched = promise{"no pod was touched", func(m *moment) string {
	now := ids(m.now, anyTag)
	for id, name := range ids(m.before, anyTag) {
		if now[id] == "" {
			return "pod " + name + " is gone"
		}
	}
	if n := len(now) - len(ids(m.before, anyTag)); n > 0 {
		return fmt.Sprintf("there are %d more", n)
	}
	return ""
}}

// kept promises that the pods that already ran a version were let be.
func kept(tag string) promise {
	return promise{"the pods that still ran " + tag + " were not replaced", func(m *moment) string {
		now := ids(m.now, tag)
		for id, name := range ids(m.before, tag) {
			if now[id] == "" {
				return "pod " + name + " was"
			}
		}
		return ""
	}}
}

// anyTag selects the pods of all versions.
const anyTag = ""

// ids are the names of the pods of a version.
func ids(st record.State, version string) map[types.UID]string {
	found := map[types.UID]string{}
	for _, pod := range record.All[*corev1.Pod](st) {
		if version == anyTag || tag(pod.Spec.Containers[0].Image) == version {
			found[pod.UID] = pod.Name
		}
	}
	return found
}

// asWritten promises that a release gives back every field that it has borrowed.
var asWritten = promise{"the Deployment's spec is what the team wrote, the image apart", func(m *moment) string {
	d := m.now.Deployment(web)
	for _, e := range m.log {
		first, ok := e.Object.(*appsv1.Deployment)
		if !ok {
			continue
		}
		want := first.Spec.DeepCopy()
		want.Template.Spec.Containers[0].Image = d.Spec.Template.Spec.Containers[0].Image
		if !equality.Semantic.DeepEqual(*want, d.Spec) {
			return fmt.Sprintf("it is %+v instead of %+v", d.Spec, *want)
		}
		return ""
	}
	return "nobody has seen it written"
}}

// onlyTheLabel promises that an attached Rollout leaves one label on a Deployment at rest.
var onlyTheLabel = promise{
	"nothing of ours is left on the Deployment and its ReplicaSets but the label of an attached Rollout, " + v1beta1.WorkloadTypeLabel,
	func(m *moment) string { return residue(m.now, v1beta1.WorkloadTypeLabel) },
}

// nothingOfOurs promises that a Deployment without a Rollout is a plain one.
var nothingOfOurs = promise{
	"nothing of ours is left on the Deployment and its ReplicaSets",
	func(m *moment) string { return residue(m.now, "") },
}

// residue names what is ours and not exempt.
func residue(st record.State, exempt string) string {
	d := st.Deployment(web)
	owned, _ := st.Sets(d)
	objects := []client.Object{d}
	for _, rs := range owned {
		objects = append(objects, rs)
	}
	for _, o := range objects {
		keys := o.GetFinalizers()
		for _, m := range []map[string]string{o.GetAnnotations(), o.GetLabels()} {
			for key := range m {
				keys = append(keys, key)
			}
		}
		for _, key := range keys {
			if strings.Contains(key, "kruise.io") && key != exempt {
				return fmt.Sprintf("%s still has %s", record.Key(o), key)
			}
		}
	}
	return ""
}

// noRelease promises that the helper object of a release goes with it.
var noRelease = promise{"no BatchRelease is left", func(m *moment) string {
	if n := len(record.All[*v1beta1.BatchRelease](m.now)); n > 0 {
		return fmt.Sprintf("there are %d", n)
	}
	return ""
}}
