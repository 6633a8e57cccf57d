// Package share turns what users write as "20%" or 3 into pods. It is the only place that rounds.
package share

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// whole is the one percentage that means every pod.
const whole = "100%"

// Pods returns how many of replicas pods s stands for: percentages rounded up, the result within
// [0, replicas]. A value that does not parse counts as 0; admission lets none through.
func Pods(s intstr.IntOrString, replicas int32) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(&s, int(replicas), true)
	if err != nil {
		return 0
	}
	return int32(max(0, min(n, int(replicas)))) //nolint:gosec // bounded by replicas
}

// KeepingOne is Pods, but a percentage other than exactly 100% leaves one pod as it was: somebody
// who wrote 90% of 5 pods did not ask for all of them. A single pod is not kept.
func KeepingOne(s intstr.IntOrString, replicas int32) int32 {
	n := Pods(s, replicas)
	if s.Type == intstr.String && !Whole(s) && replicas > 1 {
		return min(n, replicas-1)
	}
	return n
}

// Whole reports whether s is exactly the string "100%".
func Whole(s intstr.IntOrString) bool {
	return s.Type == intstr.String && strings.TrimSpace(s.StrVal) == whole
}

// Tolerated returns how many of pods may fail under a failureThreshold: rounded up, none when the
// threshold is absent or does not parse.
func Tolerated(threshold *intstr.IntOrString, pods int32) int32 {
	if threshold == nil {
		return 0
	}
	return Pods(*threshold, pods)
}
