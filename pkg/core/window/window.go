package window

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Limits is a pair of maxSurge and maxUnavailable, in pods.
type Limits struct{ Surge, Unavailable int32 }

// Shut reports whether the limits let nothing happen. The API server refuses such a pair, so a
// Deployment that may do nothing stays paused.
func (l Limits) Shut() bool { return l.Surge == 0 && l.Unavailable == 0 }

// Pods is what a Deployment has and wants in the middle of a batch.
type Pods struct {
	// Wanted is spec.replicas.
	Wanted int32
	// Target is how many pods of the new template the release allows by now.
	Target int32
	// New is how many pods of the new template the ReplicaSets ask for.
	New int32
	// Old is how many pods of all other templates the ReplicaSets ask for.
	Old int32
	// Available is how many new pods are available by the user's own minReadySeconds.
	Available int32
}

// Open returns the limits under which the native controller, seeing no new pod as available,
// brings at most Target new pods up and keeps at least Wanted - user.Unavailable pods serving.
//
// maxUnavailable also covers what is taken already (Wanted - Old): a new pod that gets unready
// again must not turn into surge.
func Open(p Pods, user Limits) Limits {
	unavailable := min(p.Target, max(p.Available+user.Unavailable, p.Wanted-p.Old))
	unavailable = max(0, min(unavailable, p.Wanted))
	return Limits{
		Unavailable: unavailable,
		Surge:       max(0, min(user.Surge, p.Target-unavailable)),
	}
}

// Idle reports whether the native controller has nothing left to do under l: no pod to add and no
// old pod to take.
func Idle(p Pods, l Limits) bool {
	fullUp := p.New >= p.Wanted || p.New+p.Old >= p.Wanted+l.Surge
	fullDown := p.Old == 0 || p.Old <= p.Wanted-l.Unavailable
	return fullUp && fullDown
}

// Reached reports whether the batch has all its pods and nothing of it is in flight: the release
// can rest, whether or not the pods are ready.
func Reached(p Pods) bool {
	return p.New >= p.Target && (p.New+p.Old == p.Wanted || p.Old == 0 && p.New > p.Wanted)
}

// maxPercentReplicas is the largest Deployment for which every number of pods is some whole
// percentage of it.
const maxPercentReplicas = 100

// Write returns the limits as a Deployment holds them: percentages wherever they resolve exactly,
// so that a scale event in the middle of a batch scales the gate with the pods. An absolute 15 of
// 20 would let everything go once only 8 are wanted.
func Write(l Limits, wanted int32) (surge, unavailable intstr.IntOrString) {
	if wanted <= 0 || wanted > maxPercentReplicas {
		return intstr.FromInt32(l.Surge), intstr.FromInt32(l.Unavailable)
	}
	// Native resolves surge upwards and unavailable downwards.
	return percent(l.Surge * 100 / wanted), percent((l.Unavailable*100 + wanted - 1) / wanted)
}

func percent(n int32) intstr.IntOrString {
	return intstr.FromString(fmt.Sprintf("%d%%", n))
}

// Resolve returns the limits that the native controller makes of a Deployment's maxSurge and
// maxUnavailable: percentages of replicas, surge rounded up and unavailable down, never both 0.
// Values that do not parse count as 0; the API server admits none.
func Resolve(surge, unavailable *intstr.IntOrString, replicas int32) Limits {
	s, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(surge, intstr.FromInt32(0)), int(replicas), true)
	if err != nil {
		s = 0
	}
	u, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(unavailable, intstr.FromInt32(0)), int(replicas), false)
	if err != nil {
		u = 0
	}
	if s == 0 && u == 0 {
		u = 1
	}
	return Limits{Surge: int32(s), Unavailable: min(int32(u), replicas)}
}
