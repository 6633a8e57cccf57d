package main

// act is one thing that the user does, and what must come of it.
type act struct {
	title    string
	says     string
	runs     []string
	until    goal
	promises []promise
}

// The commands that approve a batch, in the two versions of the API. A user who reads one version may
// write the other.
const (
	approve      = `kubectl patch rollout web --subresource=status --type=merge -p '{"status":{"canaryStatus":{"currentStepState":"StepReady"}}}'`
	approveAlpha = `kubectl patch rollouts.v1alpha1.rollouts.kruise.io web --subresource=status --type=merge -p '{"status":{"canaryStatus":{"currentStepState":"StepReady"}}}'`
)

// story is the demo.
func story() []act {
	return append(firstRelease(), secondRelease()...)
}

func firstRelease() []act {
	return []act{
		{
			title:    "A Deployment of 10 pods",
			says:     "This is what the team runs today. Nothing in it knows of rollouts.",
			runs:     []string{"kubectl apply -f config/samples/deployment.yaml"},
			until:    whole("v1"),
			promises: []promise{pods("v1", 10, "v2", 0)},
		},
		{
			title:    "Attach a Rollout",
			says:     "The team wants releases in batches of 20%, 50% and 100%, and to approve each. Attaching that changes no pod.",
			runs:     []string{"kubectl apply -f config/samples/rollout_v1beta1.yaml"},
			until:    healthy("v1"),
			promises: []promise{untouched},
		},
		{
			title:    "Release v2: the change is caught and held",
			says:     "The team, or its pipeline, changes the image as it always did. The Deployment is held in the very request that changes it; then the first batch goes, and waits.",
			runs:     []string{"kubectl set image deployment/web web=example.com/web:v2"},
			until:    paused(1, 2),
			promises: []promise{held("v2"), pods("v1", 8, "v2", 2), neverMore(2)},
		},
		{
			title:    "Approve batch 1",
			says:     "The team looks at the 2 new pods as long as it likes. It is content, so batch 2 may go.",
			runs:     []string{approve},
			until:    paused(2, 5),
			promises: []promise{pods("v1", 5, "v2", 5), neverMore(5)},
		},
		{
			title:    "Approve batch 2",
			says:     "The same command again. The last batch is all that is left, so it needs no approval: when its pods are ready, the release is over.",
			runs:     []string{approve},
			until:    healthy("v2"),
			promises: []promise{pods("v1", 0, "v2", 10), asWritten, onlyTheLabel, noRelease},
		},
	}
}

func secondRelease() []act {
	return []act{
		{
			title:    "The same Rollout as v1alpha1",
			says:     "Another team still has manifests of the older version. Both are the same object: apply the older form over it, and read it back in that form.",
			runs:     []string{"kubectl apply -f config/samples/rollout_v1alpha1.yaml", "kubectl get rollouts.v1alpha1.rollouts.kruise.io web"},
			until:    healthy("v2"),
			promises: []promise{untouched},
		},
		{
			title:    "Release v3",
			says:     "The next image. It is held and its first batch goes, as before.",
			runs:     []string{"kubectl set image deployment/web web=example.com/web:v3"},
			until:    paused(1, 2),
			promises: []promise{held("v3"), pods("v2", 8, "v3", 2), neverMore(2)},
		},
		{
			title:    "Approve batch 1, in v1alpha1",
			says:     "The approval may be written in either version, too.",
			runs:     []string{approveAlpha},
			until:    paused(2, 5),
			promises: []promise{pods("v2", 5, "v3", 5), neverMore(5)},
		},
		{
			title:    "Roll back half-way",
			says:     "v3 is not what the team hoped for. Putting the old image back is the rollback: it needs no approval and goes at once.",
			runs:     []string{"kubectl set image deployment/web web=example.com/web:v2"},
			until:    healthy("v2"),
			promises: []promise{pods("v3", 0, "v2", 10), kept("v2"), asWritten, onlyTheLabel, noRelease},
		},
		{
			title:    "Detach the Rollout",
			says:     "And if the team no longer wants batches, it deletes the Rollout. The Deployment is its own again; pods that came in a batch keep the two labels that say in which.",
			runs:     []string{"kubectl delete rollout web", "kubectl get deployment web --show-labels"},
			until:    detached,
			promises: []promise{untouched, asWritten, nothingOfOurs, noRelease},
		},
	}
}
