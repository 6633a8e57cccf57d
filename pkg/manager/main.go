package manager

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Main runs the operator until it is told to stop and returns the exit code of the process.
func Main() int {
	o, err := NewOptions()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cmd := &cobra.Command{
		Use:           "manager",
		Short:         "kruise-rollout releases workloads progressively, beside them",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	o.AddFlags(cmd.Flags())
	klog.InitFlags(nil)
	cmd.Flags().AddGoFlagSet(flag.CommandLine) // klog's, and controller-runtime's --kubeconfig
	if err := cmd.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	return 0
}

func run(ctx context.Context, o *Options) error {
	ctrl.SetLogger(klog.NewKlogr())
	if err := o.ReadEnvironment(); err != nil {
		return err
	}
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server (in a cluster, or by --kubeconfig): %w", err)
	}
	mgr, err := New(ctx, cfg, o)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}
