package manager

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func parse(t *testing.T, args ...string) (*Options, error) {
	t.Helper()
	o, err := NewOptions()
	require.NoError(t, err)
	fs := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	o.AddFlags(fs)
	return o, fs.Parse(args)
}

// The arguments of manifests that users of the peer operator have.
func TestArgumentsOfExistingManifestsAreAccepted(t *testing.T) {
	t.Parallel()
	o, err := parse(t,
		"--health-probe-bind-address=:8081", "--feature-gates=KeepWorkloadPausedOnRolloutDeletion=true", "--leader-elect",
		"--feature-gates=AdvancedDeployment=true", "--metrics-bind-address=127.0.0.1:8080",
		"--rollout-workers=5", "--batchrelease-workers=6", "--trafficrouting-workers=3", "--rollouthistory-workers=3",
		"--deployment-workers=3", "--nativedaemonset-workers=3", "--filter-workload-type=false", "--partition-percent-limit=30",
		"--grace-timeout=5m", "--expectation-timeout=5m", "--disable-no-deepcopy", "--rate-limiter-base-delay=5ms",
		"--rate-limiter-max-delay=1000s", "--rate-limiter-qps=10", "--rate-limiter-bucket-size=100")
	require.NoError(t, err)
	assert.True(t, o.Gates.Enabled(AdvancedDeployment) && o.Gates.Enabled(KeepWorkloadPausedOnRolloutDeletion), "repeated gates add up")
	assert.False(t, o.Gates.Enabled(RolloutHistory))
	assert.Equal(t, "127.0.0.1:8080", o.MetricsAddress)
	assert.True(t, o.LeaderElect)
	assert.Equal(t, []int{5, 6, 30}, []int{o.RolloutWorkers, o.BatchReleaseWorkers, o.PartitionPercentLimit})
	assert.False(t, o.FilterWorkloadType)
}

func TestUnknownArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"--no-such-flag", "--feature-gates=NoSuchGate=true"} {
		_, err := parse(t, arg)
		assert.Error(t, err, arg)
	}
}

func TestEnvironmentSaysWhereAdmissionIsServed(t *testing.T) {
	for _, name := range []string{"POD_NAMESPACE", "SECRET_NAME", "SERVICE_NAME", "WEBHOOK_PORT", "WEBHOOK_CERT_DIR", "WEBHOOK_CERT_WRITER", "WEBHOOK_HOST"} {
		t.Setenv(name, "")
	}
	o := &Options{}
	require.NoError(t, o.ReadEnvironment())
	assert.Equal(t, WebhookOptions{
		Namespace: "kruise-rollout", SecretName: "kruise-rollout-webhook-certs", ServiceName: "kruise-rollout-webhook-service",
		Port: 9876, CertDir: "/tmp/kruise-rollout-webhook-certs",
	}, o.Webhook)
	t.Setenv("WEBHOOK_PORT", "many")
	require.ErrorContains(t, o.ReadEnvironment(), "WEBHOOK_PORT")
}
