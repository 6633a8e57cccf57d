package manager

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/component-base/featuregate"
)

// Options are the operator's flags and environment.
type Options struct {
	// MetricsAddress serves Prometheus metrics; "0" serves none.
	MetricsAddress string
	// HealthAddress serves /healthz and /readyz; "0" serves none.
	HealthAddress string
	// LeaderElect lets only one of several replicas run the controllers.
	LeaderElect bool
	// RolloutWorkers and BatchReleaseWorkers are how many objects of a kind are worked on at once.
	RolloutWorkers, BatchReleaseWorkers int
	// FilterWorkloadType refuses Rollouts of workload kinds that are not known.
	FilterWorkloadType bool
	// PartitionPercentLimit is the largest percentage of a partition step that moves traffic.
	PartitionPercentLimit int
	// Gates are the feature gates.
	Gates featuregate.MutableVersionedFeatureGate
	// Webhook says where admission is served.
	Webhook WebhookOptions
}

// WebhookOptions say where admission is served and where its certificate lives. They come from the
// environment.
type WebhookOptions struct {
	// Namespace is where the operator runs (POD_NAMESPACE).
	Namespace string
	// SecretName and ServiceName are in that namespace (SECRET_NAME, SERVICE_NAME).
	SecretName, ServiceName string
	// Port is listened on (WEBHOOK_PORT).
	Port int
	// CertDir holds the certificate (WEBHOOK_CERT_DIR).
	CertDir string
	// CertWriter is "fs" to keep the certificate in CertDir only (WEBHOOK_CERT_WRITER).
	CertWriter string
	// Host is how the API server reaches an operator that runs outside the cluster (WEBHOOK_HOST).
	Host string
}

// The feature gates. All are off by default; those of parts that are not built yet are accepted.
const (
	// AdvancedDeployment was the peer operator's switch for partition-style Deployments, which are
	// always served here.
	AdvancedDeployment featuregate.Feature = "AdvancedDeployment"
	// RolloutHistory records finished releases.
	RolloutHistory featuregate.Feature = "RolloutHistory"
	// AppendPodSelector adds patched pod labels to the canary Service's selector.
	AppendPodSelector featuregate.Feature = "AppendPodSelector"
	// KeepWorkloadPausedOnRolloutDeletion leaves a workload held when its Rollout goes mid-release.
	KeepWorkloadPausedOnRolloutDeletion featuregate.Feature = "KeepWorkloadPausedOnRolloutDeletion"
)

const (
	defaultWorkers      = 3
	defaultPercentLimit = 50
	defaultWebhookPort  = 9876
)

// NewOptions returns the defaults.
func NewOptions() (*Options, error) {
	o := &Options{
		MetricsAddress:        ":8080",
		HealthAddress:         ":8081",
		RolloutWorkers:        defaultWorkers,
		BatchReleaseWorkers:   defaultWorkers,
		FilterWorkloadType:    true,
		PartitionPercentLimit: defaultPercentLimit,
		Gates:                 featuregate.NewFeatureGate(),
	}
	off := featuregate.FeatureSpec{Default: false, PreRelease: featuregate.Alpha}
	err := o.Gates.Add(map[featuregate.Feature]featuregate.FeatureSpec{
		AdvancedDeployment: off, RolloutHistory: off, AppendPodSelector: off, KeepWorkloadPausedOnRolloutDeletion: off,
	})
	return o, err
}

// AddFlags registers the flags. Those that manifests of the peer operator set and that mean nothing
// here are accepted.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.MetricsAddress, "metrics-bind-address", o.MetricsAddress, "address of the Prometheus metrics; 0 for none")
	fs.StringVar(&o.HealthAddress, "health-probe-bind-address", o.HealthAddress, "address of /healthz and /readyz; 0 for none")
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "run the controllers in one of several replicas only")
	fs.IntVar(&o.RolloutWorkers, "rollout-workers", o.RolloutWorkers, "how many Rollouts are worked on at once")
	fs.IntVar(&o.BatchReleaseWorkers, "batchrelease-workers", o.BatchReleaseWorkers, "how many BatchReleases are worked on at once")
	fs.BoolVar(&o.FilterWorkloadType, "filter-workload-type", o.FilterWorkloadType, "refuse Rollouts of workload kinds that are not known")
	fs.IntVar(&o.PartitionPercentLimit, "partition-percent-limit", o.PartitionPercentLimit, "largest percentage of a partition step that moves traffic")
	o.Gates.AddFlag(fs)
	for _, name := range []string{"trafficrouting-workers", "rollouthistory-workers", "deployment-workers", "nativedaemonset-workers"} {
		ignored(fs, func() { fs.Int(name, defaultWorkers, "accepted for compatibility") }, name)
	}
	const seconds = 5 * time.Minute
	ignored(fs, func() { fs.Duration("grace-timeout", seconds, "accepted for compatibility") }, "grace-timeout")
	ignored(fs, func() { fs.Duration("expectation-timeout", seconds, "accepted for compatibility") }, "expectation-timeout")
	ignored(fs, func() { fs.Bool("disable-no-deepcopy", false, "accepted for compatibility") }, "disable-no-deepcopy")
	for _, name := range []string{"rate-limiter-base-delay", "rate-limiter-max-delay"} {
		ignored(fs, func() { fs.Duration(name, time.Second, "accepted for compatibility") }, name)
	}
	for _, name := range []string{"rate-limiter-qps", "rate-limiter-bucket-size"} {
		ignored(fs, func() { fs.Int(name, 0, "accepted for compatibility") }, name)
	}
}

func ignored(fs *pflag.FlagSet, add func(), name string) {
	add()
	fs.Lookup(name).Hidden = true
}

// ReadEnvironment fills in WebhookOptions.
func (o *Options) ReadEnvironment() error {
	port, err := strconv.Atoi(env("WEBHOOK_PORT", strconv.Itoa(defaultWebhookPort)))
	if err != nil {
		return fmt.Errorf("environment variable WEBHOOK_PORT: %w", err)
	}
	o.Webhook = WebhookOptions{
		Namespace:   env("POD_NAMESPACE", "kruise-rollout"),
		SecretName:  env("SECRET_NAME", "kruise-rollout-webhook-certs"),
		ServiceName: env("SERVICE_NAME", "kruise-rollout-webhook-service"),
		Port:        port,
		CertDir:     env("WEBHOOK_CERT_DIR", "/tmp/kruise-rollout-webhook-certs"),
		CertWriter:  os.Getenv("WEBHOOK_CERT_WRITER"),
		Host:        os.Getenv("WEBHOOK_HOST"),
	}
	return nil
}

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
