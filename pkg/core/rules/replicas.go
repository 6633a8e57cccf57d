package rules

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// replicas checks the number of pods of the step at path.
func replicas(path *field.Path, value intstr.IntOrString) field.ErrorList {
	n, ok := number(value)
	if ok && n > 0 && (value.Type == intstr.Int || n <= 100) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("Replicas"), value.String(),
		`replicas must be positive number, or a percentage with "0%" < canaryReplicas <= "100%"`)}
}

// limit checks the share of pods that the step i at path updates in place while it routes traffic.
// Integers are exempt: how large a share they are is not known here.
func (r Rules) limit(path *field.Path, i int, value intstr.IntOrString) field.ErrorList {
	n, ok := number(value)
	if value.Type == intstr.Int || !ok || n <= r.PartitionPercentLimit {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("steps"), value.String(), fmt.Sprintf(
		"For partition style rollout: step[x].replicas must not greater than partition-percent-limit if traffic specified: "+
			"step %d updates %s of the pods in place, the limit is %d%%; lower it, give it as a number of pods, or leave traffic and matches out of this step",
		i+1, value.String(), r.PartitionPercentLimit))}
}

// ascending checks that no step at path has fewer pods than the one before. A number and a
// percentage can't be compared without the workload.
func ascending(path *field.Path, values []*intstr.IntOrString) field.ErrorList {
	for i := 1; i < len(values); i++ {
		before, after := values[i-1], values[i]
		if before == nil || after == nil || before.Type != after.Type {
			continue
		}
		was, fine := number(*before)
		is, ok := number(*after)
		if fine && ok && is < was {
			return field.ErrorList{field.Invalid(path.Child("Steps", "CanaryReplicas"), after.String(), fmt.Sprintf(
				"Steps.CanaryReplicas must be a non decreasing sequence: step %d has %s after %s", i+1, after.String(), before.String()))}
		}
	}
	return nil
}

// number is an integer as it is and a percentage as its number; false for anything else.
func number(value intstr.IntOrString) (int, bool) {
	n, err := intstr.GetScaledValueFromIntOrPercent(&value, 100, true)
	return n, err == nil
}
