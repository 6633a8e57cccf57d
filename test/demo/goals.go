package main

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/test/record"
)

// web is the name of the Deployment and of the Rollout in config/samples.
const web = "web"

// goal is what an act waits for.
type goal struct {
	text    string
	reached func(record.State) bool
}

// whole is reached when every pod runs an image and is ready, and the native controller has said so.
func whole(tag string) goal {
	return goal{"all pods run " + tag, func(st record.State) bool {
		d := st.Deployment(web)
		if d == nil || tagOf(d) != tag || d.Status.ObservedGeneration != d.Generation {
			return false
		}
		n, c := *d.Spec.Replicas, st.Count(d)
		return c.NewReady == int(n) && c.New == int(n) && c.Old == 0 &&
			d.Status.UpdatedReplicas == n && d.Status.AvailableReplicas == n && d.Status.Replicas == n
	}}
}

// healthy is reached when, besides, the Rollout has nothing to do.
func healthy(tag string) goal {
	done := whole(tag)
	return goal{"the Rollout is Healthy and " + done.text, func(st record.State) bool {
		r := st.Rollout(web)
		return r != nil && r.Status.Phase == v1beta1.RolloutPhaseHealthy &&
			r.Status.ObservedGeneration == r.Generation && done.reached(st)
	}}
}

// paused is reached when a step waits for approval with its new pods ready.
func paused(step int32, ready int) goal {
	return goal{fmt.Sprintf("step %d is paused with %d new pods", step, ready), func(st record.State) bool {
		r := st.Rollout(web)
		if r == nil || r.Status.CanaryStatus == nil || r.Status.Phase != v1beta1.RolloutPhaseProgressing {
			return false
		}
		c := r.Status.CanaryStatus
		return c.CurrentStepIndex == step && c.CurrentStepState == v1beta1.CanaryStepStatePaused &&
			st.Count(st.Deployment(web)).NewReady >= ready
	}}
}

var detached = goal{"the Rollout is gone", func(st record.State) bool { return st.Rollout(web) == nil }}

// tagOf is the version that a Deployment wants its pods to run.
func tagOf(d *appsv1.Deployment) string { return tag(d.Spec.Template.Spec.Containers[0].Image) }

func tag(image string) string { return image[strings.LastIndex(image, ":")+1:] }
