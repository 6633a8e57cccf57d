// Package operator installs the operator on a local control plane and runs it as a process of its
// own, under the identity and the rights that an installation gives it. The demo, `make up` and the
// end-to-end tests use it.
package operator

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
	"github.com/kruise-rollout/kruise-rollout/test/controlplane"
	"github.com/kruise-rollout/kruise-rollout/test/controlplane/process"
)

// Program is the operator's name among the programs of a plane.
const Program = "kruise-rollout"

// namespace is where an installation lives.
const namespace = "kruise-rollout"

// Operator is an installed operator. It may be stopped, killed and started again.
type Operator struct {
	// Plane is where it is installed.
	Plane *controlplane.Plane
	// Client is a cluster administrator's.
	Client client.WithWatch

	spec process.Spec
}

// Install puts the manifests of an installation on the plane and prepares the operator's process;
// it does not start it. binary is the operator; empty means to build it from this checkout.
func Install(ctx context.Context, plane *controlplane.Plane, binary string) (*Operator, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(plane.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making a client for the plane: %w", err)
	}
	o := &Operator{Plane: plane, Client: c}
	if err := Apply(ctx, plane.Config(), c); err != nil {
		return nil, err
	}
	if binary == "" {
		if binary, err = build(ctx, plane.File("manager")); err != nil {
			return nil, err
		}
	}
	o.spec, err = processSpec(ctx, plane, binary)
	return o, err
}

// Scheme returns the types that tests and the demo work with.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("registering types: %w", err)
		}
	}
	return scheme, nil
}

// Start runs the operator and waits until it serves admission.
func (o *Operator) Start(ctx context.Context) error { return o.Plane.Run(ctx, o.spec) }

// Stop ends the operator as a rolling update of it would.
func (o *Operator) Stop() error { return o.Plane.StopProgram(Program) }

// Kill ends the operator without a warning.
func (o *Operator) Kill() error { return o.Plane.KillProgram(Program) }

// Log is the file that the operator logs to.
func (o *Operator) Log() string { return o.spec.Log }

// build compiles the operator of this checkout.
func build(ctx context.Context, binary string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/kruise-rollout/kruise-rollout") //nolint:gosec // fixed words
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the operator: %w\n%s", err, out)
	}
	return binary, nil
}

func processSpec(ctx context.Context, plane *controlplane.Plane, binary string) (process.Spec, error) {
	ports, err := controlplane.FreePorts(ctx, 2)
	if err != nil {
		return process.Spec{}, err
	}
	health := "127.0.0.1:" + strconv.Itoa(ports[1])
	return process.Spec{
		Name: Program,
		Path: binary,
		Args: []string{
			"--metrics-bind-address=0", "--health-probe-bind-address=" + health,
			"--feature-gates=AdvancedDeployment=true", "--v=1",
		},
		Env: []string{
			"KUBECONFIG=" + plane.OperatorKubeconfig(),
			"WEBHOOK_HOST=127.0.0.1",
			"WEBHOOK_PORT=" + strconv.Itoa(ports[0]),
			"WEBHOOK_CERT_DIR=" + plane.File("webhook-certs"),
			"POD_NAMESPACE=" + namespace,
		},
		Log:   plane.Log(Program),
		Ready: process.Answers(http.DefaultClient, "http://"+health+"/readyz"),
	}, nil
}
