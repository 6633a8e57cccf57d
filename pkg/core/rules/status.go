package rules

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
)

// The status fields that tell which strategy runs, in JSON.
const (
	canaryStatus    = "canaryStatus"
	blueGreenStatus = "blueGreenStatus"
)

// IgnoredStatus returns what to tell somebody who changed the status of a Rollout in a request that
// can't change it, as an approval by kubectl edit does: the API server drops such changes silently.
// The statuses are as JSON has them in any version.
func IgnoredStatus(namespace, name string, before, after map[string]any) []string {
	if len(after) == 0 || equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	in := canaryStatus
	if _, ok := after[blueGreenStatus]; ok {
		in = blueGreenStatus
	}
	return []string{
		"status is a subresource of a Rollout: the change of status in this request is ignored",
		fmt.Sprintf(`to approve a step: kubectl patch rollout %s -n %s --subresource=status --type=merge -p '{"status":{%q:{"currentStepState":"StepReady"}}}'`, name, namespace, in),
	}
}
