package v1beta1

// The comments of this file name writers and readers by these words: "admission" is the webhook for
// workloads, "conversion" the webhook between versions, "rollout", "batchrelease" and so on the
// controller of that kind, "driver" what moves the pods of one kind of workload, "user" a human, a
// script, kubectl-kruise or a platform.

// Annotations of the workload.
const (
	// InProgressingAnnotation marks a workload whose change was caught and is being released. The
	// value is the JSON of InProgressing, but any value counts. Written by admission, or by the user
	// to start a release without a change; removed by rollout, before anything else, when it
	// finalizes. Read by rollout (presence), admission (a value that isn't empty) and kubectl-kruise.
	InProgressingAnnotation = "rollouts.kruise.io/in-progressing"

	// ControlInfoAnnotation holds, as the JSON of a metav1.OwnerReference, the BatchRelease that has
	// claimed the workload. Written and removed by batchrelease, on the canary Deployment too. Read
	// by batchrelease, to know its own and to map pods and workloads to a BatchRelease.
	ControlInfoAnnotation = "batchrelease.rollouts.kruise.io/control-info"

	// DeploymentStrategyAnnotation holds the JSON of DeploymentStrategy. Written by batchrelease
	// (claim and every batch) and admission (a user's new limits); removed by batchrelease when it
	// finalizes. Read by the Deployment driver, admission and kubectl-kruise.
	DeploymentStrategyAnnotation = "rollouts.kruise.io/deployment-strategy"

	// DeploymentExtraStatusAnnotation holds the JSON of DeploymentExtraStatus. Written and removed by
	// the Deployment driver. Read by users.
	DeploymentExtraStatusAnnotation = "rollouts.kruise.io/deployment-extra-status"

	// OriginalDeploymentStrategyAnnotation holds the JSON of OriginalDeploymentStrategy: what to give
	// back. Written by admission and batchrelease in the same write that changes the fields; removed
	// by batchrelease when it gives them back. Read by both, and by users.
	OriginalDeploymentStrategyAnnotation = "rollouts.kruise.io/original-deployment-strategy"

	// DaemonSetRevisionAnnotation holds the JSON of DaemonSetRevision, for a native DaemonSet.
	// Written by rollout, removed by batchrelease, read by both.
	DaemonSetRevisionAnnotation = "rollouts.kruise.io/daemonset-revision"

	// DaemonSetAdvancedControlAnnotation holds the JSON of DaemonSetAdvancedControl. Written by
	// batchrelease for every batch and removed by it. Read by the controller for native DaemonSets.
	DaemonSetAdvancedControlAnnotation = "rollouts.kruise.io/daemonset-advanced-control"

	// DaemonSetOriginalUpdateStrategyAnnotation holds the updateStrategy.type that a native DaemonSet
	// had before the release. Written by admission, read and removed by batchrelease.
	DaemonSetOriginalUpdateStrategyAnnotation = "rollouts.kruise.io/daemonset-original-update-strategy"
)

// Labels of the workload.
const (
	// WorkloadTypeLabel holds a WorkloadType. Written by rollout on a workload that a Rollout names,
	// or by the user for a kind that isn't known. Read by the API server (selector of the webhooks),
	// admission and rollout.
	WorkloadTypeLabel = "rollouts.kruise.io/workload-type"

	// RolloutIDLabel names a release. The user writes it on the workload, as a label or an
	// annotation; batchrelease copies it as a label to every pod that it updates. Read by rollout,
	// admission (a new annotation value starts a release) and platforms, which select pods by it.
	// It is also a label of RolloutHistory, written by its controller.
	RolloutIDLabel = "rollouts.kruise.io/rollout-id"

	// StableRevisionLabel holds the pod-template-hash of the ReplicaSet that served before the
	// release. Written by admission when it catches a change of a Deployment; removed by
	// batchrelease. Read by rollout and batchrelease.
	StableRevisionLabel = "rollouts.kruise.io/stable-revision"

	// AdvancedDeploymentControlLabel is "true" on a Deployment that is released in place. Written and
	// removed by batchrelease. Read by users.
	AdvancedDeploymentControlLabel = "rollouts.kruise.io/controlled-by-advanced-deployment-controller"

	// GateWriteLabel holds the resourceVersion of the object that the operator's latest write to a
	// held field was computed from. Written by the driver; admission lets a write pass whose value
	// equals the old object's resourceVersion, and removes the key from everybody else's writes. It
	// is a label because annotations of a Deployment are copied to its ReplicaSets.
	GateWriteLabel = "rollouts.kruise.io/gate-write"
)

// WorkloadType is a value of WorkloadTypeLabel: the family a workload's kind belongs to.
type WorkloadType string

// The families of workloads.
const (
	CloneSetType    WorkloadType = "cloneset"
	DeploymentType  WorkloadType = "deployment"
	StatefulSetType WorkloadType = "statefulset"
	DaemonSetType   WorkloadType = "daemonset"
)

// Labels of pods, besides RolloutIDLabel.
const (
	// RolloutBatchIDLabel is the number of the batch that updated the pod, from 1. Written by
	// batchrelease. Read by batchrelease (it counts them) and platforms.
	RolloutBatchIDLabel = "rollouts.kruise.io/rollout-batch-id"

	// NoNeedUpdateLabel holds the rollout-id of a rollback in batches, on pods that already were at
	// the revision it goes back to. Written and read by batchrelease.
	NoNeedUpdateLabel = "rollouts.kruise.io/no-need-update"
)

// Keys of the Rollout.
const (
	// RolloutHashAnnotation holds the hash of the strategy without pauses and failure threshold.
	// Written by rollout. Read by rollout, to see that the plan was edited during a release.
	RolloutHashAnnotation = "rollouts.kruise.io/hash"

	// RollbackInBatchAnnotation, when exactly "true", makes a rollback go in batches. The user writes
	// it on the Rollout; rollout copies it to the BatchRelease while the workload is rolled back.
	// Read by rollout and batchrelease.
	RollbackInBatchAnnotation = "rollouts.kruise.io/rollback-in-batch"

	// RollingStyleAnnotation carries in v1alpha1 what v1beta1 has a field for: "canary" or
	// "partition" on a Rollout, the style in lower case on a BatchRelease. Written by the user of
	// v1alpha1 and by conversion. Read by conversion and the validation of Rollouts.
	RollingStyleAnnotation = "rollouts.kruise.io/rolling-style"

	// TrafficRoutingAnnotation names a TrafficRouting in the Rollout's namespace. Written by the
	// user and by conversion. Read by rollout, if the field trafficRoutingRef is empty, conversion
	// and kubectl-kruise.
	TrafficRoutingAnnotation = "rollouts.kruise.io/trafficrouting"

	// HubDataAnnotation keeps, as JSON in a v1alpha1 object, what v1alpha1 has no field for, so that a client
	// that reads and updates v1alpha1 does not lose it. Written and read by conversion; no v1beta1
	// object has it.
	HubDataAnnotation = "rollouts.kruise.io/v1beta1-only"

	// SpokeDataAnnotation keeps, as JSON in a v1beta1 object, what only v1alpha1 has a field for.
	// Written and read by conversion; no v1alpha1 object has it.
	SpokeDataAnnotation = "rollouts.kruise.io/v1alpha1-only"

	// RolloutFinalizer lets rollout give everything back before a Rollout goes. Written and removed
	// by rollout.
	RolloutFinalizer = "rollouts.kruise.io/rollout"
)

// Keys of the BatchRelease, the canary Deployment and the HorizontalPodAutoscaler.
const (
	// BatchReleaseFinalizer lets batchrelease give the workload back before a BatchRelease goes.
	// Written and removed by batchrelease.
	BatchReleaseFinalizer = "rollouts.kruise.io/batch-release-finalizer"

	// CanaryDeploymentLabel holds, on an extra canary Deployment, the name of the stable one. Written
	// by batchrelease. Read by batchrelease and users, who take the newest by creation time.
	CanaryDeploymentLabel = "rollouts.kruise.io/canary-deployment"

	// CanaryDeploymentFinalizer keeps a canary Deployment until its BatchRelease has finalized.
	// Written and removed by batchrelease.
	CanaryDeploymentFinalizer = "finalizer.rollouts.kruise.io/batch-release"

	// DisabledHPASuffix is appended to spec.scaleTargetRef.name of a HorizontalPodAutoscaler to
	// switch it off during a blue-green release. Written and removed by batchrelease.
	DisabledHPASuffix = "-DisableByRollout"
)

// Keys of traffic objects.
const (
	// OriginalSpecAnnotation holds, on a custom network object, the JSON of its spec, labels and
	// annotations as the user wrote them. Written, read and removed by what routes the traffic.
	OriginalSpecAnnotation = "rollouts.kruise.io/original-spec-configuration"

	// CanarySuffix is appended to the name of a Service or an Ingress to name its canary twin.
	CanarySuffix = "-canary"

	// TrafficRoutingFinalizer lets trafficrouting undo the route before a TrafficRouting goes.
	// Written and removed by trafficrouting.
	TrafficRoutingFinalizer = "rollouts.kruise.io/trafficrouting"

	// ProgressingFinalizerPrefix and the name of a Rollout make a finalizer of a TrafficRouting.
	// Written by rollout when a release begins and removed when it finalizes. Read by trafficrouting:
	// the route is in force as long as there is one.
	ProgressingFinalizerPrefix = "progressing.rollouts.kruise.io/"
)

// RolloutNameLabel holds, on a RolloutHistory, the name of the Rollout. Written by rollouthistory
// and read by users.
const RolloutNameLabel = "rollouts.kruise.io/rollout-name"

// WebhookTemplateAnnotation holds, on a webhook configuration, the JSON array of its webhooks as they
// were shipped. Written and read by the bootstrap of the webhooks.
const WebhookTemplateAnnotation = "template"

// WebhooksWrittenAnnotation holds, on a webhook configuration, the digest of the list of webhooks that
// the operator last wrote. Written and read by the bootstrap of the webhooks: a live list with another
// digest is somebody's new template.
const WebhooksWrittenAnnotation = "rollouts.kruise.io/webhooks-written"

// What a release writes to a Deployment to keep the native controller from acting on its own. Users
// and their tools know a held Deployment by these values.
const (
	// MaxProgressSeconds is the progressDeadlineSeconds of a Deployment whose progress must never
	// be found overdue.
	MaxProgressSeconds = 2147483647
	// MaxReadySeconds is the minReadySeconds of pods that must never count as available: one less
	// than MaxProgressSeconds, as the API server demands.
	MaxReadySeconds = 2147483646
)
