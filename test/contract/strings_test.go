package contract

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// keys are the annotations, labels and finalizers that clients know.
var keys = [][2]string{
	{v1beta1.InProgressingAnnotation, "rollouts.kruise.io/in-progressing"},
	{v1beta1.ControlInfoAnnotation, "batchrelease.rollouts.kruise.io/control-info"},
	{v1beta1.DeploymentStrategyAnnotation, "rollouts.kruise.io/deployment-strategy"},
	{v1beta1.DeploymentExtraStatusAnnotation, "rollouts.kruise.io/deployment-extra-status"},
	{v1beta1.OriginalDeploymentStrategyAnnotation, "rollouts.kruise.io/original-deployment-strategy"},
	{v1beta1.DaemonSetRevisionAnnotation, "rollouts.kruise.io/daemonset-revision"},
	{v1beta1.DaemonSetAdvancedControlAnnotation, "rollouts.kruise.io/daemonset-advanced-control"},
	{v1beta1.DaemonSetOriginalUpdateStrategyAnnotation, "rollouts.kruise.io/daemonset-original-update-strategy"},
	{v1beta1.WorkloadTypeLabel, "rollouts.kruise.io/workload-type"},
	{v1beta1.RolloutIDLabel, "rollouts.kruise.io/rollout-id"},
	{v1beta1.StableRevisionLabel, "rollouts.kruise.io/stable-revision"},
	{v1beta1.AdvancedDeploymentControlLabel, "rollouts.kruise.io/controlled-by-advanced-deployment-controller"},
	{v1beta1.GateWriteLabel, "rollouts.kruise.io/gate-write"},
	{v1beta1.RolloutBatchIDLabel, "rollouts.kruise.io/rollout-batch-id"},
	{v1beta1.NoNeedUpdateLabel, "rollouts.kruise.io/no-need-update"},
	{v1beta1.RolloutHashAnnotation, "rollouts.kruise.io/hash"},
	{v1beta1.RollbackInBatchAnnotation, "rollouts.kruise.io/rollback-in-batch"},
	{v1beta1.RollingStyleAnnotation, "rollouts.kruise.io/rolling-style"},
	{v1beta1.TrafficRoutingAnnotation, "rollouts.kruise.io/trafficrouting"},
	{v1beta1.HubDataAnnotation, "rollouts.kruise.io/v1beta1-only"},
	{v1beta1.SpokeDataAnnotation, "rollouts.kruise.io/v1alpha1-only"},
	{v1beta1.RolloutFinalizer, "rollouts.kruise.io/rollout"},
	{v1beta1.BatchReleaseFinalizer, "rollouts.kruise.io/batch-release-finalizer"},
	{v1beta1.CanaryDeploymentLabel, "rollouts.kruise.io/canary-deployment"},
	{v1beta1.CanaryDeploymentFinalizer, "finalizer.rollouts.kruise.io/batch-release"},
	{v1beta1.DisabledHPASuffix, "-DisableByRollout"},
	{v1beta1.OriginalSpecAnnotation, "rollouts.kruise.io/original-spec-configuration"},
	{v1beta1.TrafficRoutingFinalizer, "rollouts.kruise.io/trafficrouting"},
	{v1beta1.ProgressingFinalizerPrefix, "progressing.rollouts.kruise.io/"},
	{v1beta1.RolloutNameLabel, "rollouts.kruise.io/rollout-name"},
}

// words are the values that clients read or write.
var words = [][2]string{
	{string(v1beta1.RolloutPhaseInitial), "Initial"},
	{string(v1beta1.RolloutPhaseHealthy), "Healthy"},
	{string(v1beta1.RolloutPhaseProgressing), "Progressing"},
	{string(v1beta1.RolloutPhaseTerminating), "Terminating"},
	{string(v1beta1.RolloutPhaseDisabled), "Disabled"},
	{string(v1beta1.RolloutPhaseDisabling), "Disabling"},
	{string(v1beta1.RolloutPhasePreparing), "Preparing"},
	{string(v1beta1.RolloutPhaseFinalizing), "Finalizing"},
	{string(v1beta1.RolloutPhaseCompleted), "Completed"},
	{string(v1beta1.RolloutConditionProgressing), "Progressing"},
	{string(v1beta1.RolloutConditionSucceeded), "Succeeded"},
	{string(v1beta1.RolloutConditionTerminating), "Terminating"},
	{v1beta1.ProgressingReasonInitializing, "Initializing"},
	{v1beta1.ProgressingReasonInRolling, "InRolling"},
	{v1beta1.ProgressingReasonFinalising, "Finalising"},
	{v1beta1.ProgressingReasonCompleted, "Completed"},
	{v1beta1.ProgressingReasonCancelling, "Cancelling"},
	{v1beta1.ProgressingReasonPaused, "Paused"},
	{v1beta1.TerminatingReasonInTerminating, "InTerminating"},
	{v1beta1.TerminatingReasonCompleted, "Completed"},
	{v1beta1.EventReasonProgressing, "Progressing"},
	{v1beta1.EventReasonUnsupportedWorkload, "UnsupportedWorkload"},
	{string(v1beta1.CanaryStepStateInit), "BeforeStepUpgrade"},
	{string(v1beta1.CanaryStepStateUpgrade), "StepUpgrade"},
	{string(v1beta1.CanaryStepStateTrafficRouting), "StepTrafficRouting"},
	{string(v1beta1.CanaryStepStateMetricsAnalysis), "StepMetricsAnalysis"},
	{string(v1beta1.CanaryStepStatePaused), "StepPaused"},
	{string(v1beta1.CanaryStepStateReady), "StepReady"},
	{string(v1beta1.CanaryStepStateCompleted), "Completed"},
	{string(v1beta1.FinalisingStepRouteTrafficToNew), "FinalisingStepRouteTrafficToNew"},
	{string(v1beta1.FinalisingStepRouteTrafficToStable), "FinalisingStepRouteTrafficToStable"},
	{string(v1beta1.FinalisingStepRestoreStableService), "RestoreStableService"},
	{string(v1beta1.FinalisingStepRemoveCanaryService), "RemoveCanaryService"},
	{string(v1beta1.FinalisingStepResumeWorkload), "ResumeWorkload"},
	{string(v1beta1.FinalisingStepReleaseWorkloadControl), "ReleaseWorkloadControl"},
	{string(v1beta1.FinalisingStepEnd), "END"},
	{string(v1beta1.FinalisingStepWaitEndless), "WaitEndless"},
	{string(v1beta1.PartitionRollingStyle), "Partition"},
	{string(v1beta1.CanaryRollingStyle), "Canary"},
	{string(v1beta1.BlueGreenRollingStyle), "BlueGreen"},
	{string(v1beta1.WaitResumeFinalizingPolicy), "WaitResume"},
	{string(v1beta1.ImmediateFinalizingPolicy), "Immediate"},
	{string(v1beta1.UpgradingBatchState), "Upgrading"},
	{string(v1beta1.VerifyingBatchState), "Verifying"},
	{string(v1beta1.ReadyBatchState), "Ready"},
	{string(v1beta1.CloneSetType), "cloneset"},
	{string(v1beta1.DeploymentType), "deployment"},
	{string(v1beta1.StatefulSetType), "statefulset"},
	{string(v1beta1.DaemonSetType), "daemonset"},
	{v1beta1.CanarySuffix, "-canary"},
	{v1beta1.WebhookTemplateAnnotation, "template"},
	{string(v1alpha1.TrafficRoutingPhaseInitial), "Initial"},
	{string(v1alpha1.TrafficRoutingPhaseHealthy), "Healthy"},
	{string(v1alpha1.TrafficRoutingPhaseProgressing), "Progressing"},
	{string(v1alpha1.TrafficRoutingPhaseFinalizing), "Finalizing"},
	{string(v1alpha1.TrafficRoutingPhaseTerminating), "Terminating"},
	{string(v1alpha1.RolloutHistoryPhaseCompleted), "completed"},
}

func TestStringsAreFrozen(t *testing.T) {
	for _, s := range slices.Concat(keys, words) {
		if s[0] != s[1] {
			t.Errorf("%q was promised to be %q", s[0], s[1])
		}
	}
	if diff := cmp.Diff([]int{2147483647, 2147483646, -1}, []int{v1beta1.MaxProgressSeconds, v1beta1.MaxReadySeconds, int(v1beta1.NoNextStep)}); diff != "" {
		t.Error(diff)
	}
}

// Every key is written once, in apis, where it says who writes and who reads it.
func TestKeysAreSpelledInOnePlace(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || path == "apis" || path == "bin" || path == "test"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue // markers can't use constants
			}
			for _, key := range keys {
				if strings.Contains(line, `"`+key[1]+`"`) {
					t.Errorf("%s spells %q: use the constant", path, key[1])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
