package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/kruise-rollout/kruise-rollout/test/controlplane/programs"
)

// welcome says how to use the plane.
func welcome(ctx context.Context, o options) error {
	finder, err := programs.New(o.out)
	if err != nil {
		return err
	}
	paths, err := finder.Find(ctx, "kubectl")
	if err != nil {
		return err
	}
	kubeconfig, err := filepath.Abs(filepath.Join(o.dir, "kubeconfig"))
	if err != nil {
		return err
	}
	text := fmt.Sprintf("the control plane is up; to use it:\n  export KUBECONFIG=%s\n  alias kubectl=%s\n", kubeconfig, paths["kubectl"])
	if o.operator != "" {
		text += suggestions
	}
	_, err = fmt.Fprint(o.out, text)
	return err
}

// suggestions are commands to try, in this order, when the operator runs, too. All of them are in the README, whose commands a
// test runs.
const suggestions = `
the operator runs, too; try a release in batches:
  kubectl apply -f config/samples/deployment.yaml                     # 10 pods
  kubectl apply -f config/samples/rollout_v1beta1.yaml                # batches of 20%, 50%, 100%
  kubectl set image deployment/web web=example.com/web:v2             # caught and held: 2 new pods
  kubectl get rollout,replicaset                                      # where it stands
  kubectl patch rollout web --subresource=status --type=merge -p '{"status":{"canaryStatus":{"currentStepState":"StepReady"}}}'
  kubectl set image deployment/web web=example.com/web:v1             # rolls back; or approve again
  kubectl delete rollout web                                          # a plain Deployment again

pods do not run here: the tag of their image says how they behave (failed, slow, crash in it; any other is ready at once)
` + "`make down`" + ` takes it down
`
