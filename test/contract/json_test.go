package contract

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// Hashes are taken of this JSON, so the order of its members and what is left out must not change.
func TestJSONOfPlansIsFrozen(t *testing.T) {
	step := v1beta1.CanaryStep{
		TrafficRoutingStrategy: v1beta1.TrafficRoutingStrategy{
			Traffic:               new("20%"),
			RequestHeaderModifier: &gatewayv1.HTTPHeaderFilter{Set: []gatewayv1.HTTPHeader{{Name: "a", Value: "b"}}, Remove: []string{"c"}},
			Matches: []v1beta1.HTTPRouteMatch{{
				Path:        &gatewayv1.HTTPPathMatch{Type: new(gatewayv1.PathMatchExact), Value: new("/")},
				Headers:     []gatewayv1.HTTPHeaderMatch{{Type: new(gatewayv1.HeaderMatchExact), Name: "h", Value: "v"}},
				QueryParams: []gatewayv1.HTTPQueryParamMatch{{Type: new(gatewayv1.QueryParamMatchExact), Name: "q", Value: "w"}},
			}},
		},
		Replicas: new(intstr.FromString("20%")),
	}
	routing := v1beta1.TrafficRoutingRef{
		Service: "s", GracePeriodSeconds: 3, Ingress: &v1beta1.IngressTrafficRouting{ClassType: "nginx", Name: "i"},
		Gateway:           &v1beta1.GatewayTrafficRouting{HTTPRouteName: new("r")},
		CustomNetworkRefs: []v1beta1.ObjectRef{{APIVersion: "a/v1", Kind: "K", Name: "n"}},
	}
	threshold, patch := intstr.FromInt32(1), &v1beta1.PatchPodTemplateMetadata{Annotations: map[string]string{"a": "b"}, Labels: map[string]string{"c": "d"}}
	const (
		stepJSON = `{"traffic":"20%","requestHeaderModifier":{"set":[{"name":"a","value":"b"}],"remove":["c"]},` +
			`"matches":[{"path":{"type":"Exact","value":"/"},"headers":[{"type":"Exact","name":"h","value":"v"}],` +
			`"queryParams":[{"type":"Exact","name":"q","value":"w"}]}],"replicas":"20%","pause":{}}`
		routingJSON = `{"service":"s","gracePeriodSeconds":3,"ingress":{"classType":"nginx","name":"i"},"gateway":{"httpRouteName":"r"},` +
			`"customNetworkRefs":[{"apiVersion":"a/v1","kind":"K","name":"n"}]}`
		patchJSON = `{"annotations":{"a":"b"},"labels":{"c":"d"}}`
	)
	cases := map[string]struct {
		value any
		want  string
	}{
		"canary": {
			v1beta1.CanaryStrategy{
				Steps: []v1beta1.CanaryStep{step}, TrafficRoutings: []v1beta1.TrafficRoutingRef{routing}, FailureThreshold: &threshold,
				PatchPodTemplateMetadata: patch, EnableExtraWorkloadForCanary: true, TrafficRoutingRef: "t", DisableGenerateCanaryService: true,
			},
			`{"steps":[` + stepJSON + `],"trafficRoutings":[` + routingJSON + `],"failureThreshold":1,"patchPodTemplateMetadata":` + patchJSON +
				`,"enableExtraWorkloadForCanary":true,"trafficRoutingRef":"t","disableGenerateCanaryService":true}`,
		},
		"blue-green": {
			v1beta1.BlueGreenStrategy{
				Steps: []v1beta1.CanaryStep{step}, TrafficRoutings: []v1beta1.TrafficRoutingRef{routing}, FailureThreshold: &threshold,
				TrafficRoutingRef: "t", DisableGenerateCanaryService: true,
			},
			`{"steps":[` + stepJSON + `],"trafficRoutings":[` + routingJSON + `],"failureThreshold":1,"trafficRoutingRef":"t","disableGenerateCanaryService":true}`,
		},
		"release plan": {
			v1beta1.ReleasePlan{
				Batches: []v1beta1.ReleaseBatch{{CanaryReplicas: intstr.FromInt32(2)}}, BatchPartition: new(int32(0)), RolloutID: "i",
				FailureThreshold: &threshold, FinalizingPolicy: v1beta1.WaitResumeFinalizingPolicy, PatchPodTemplateMetadata: patch,
				RollingStyle: v1beta1.PartitionRollingStyle,
			},
			`{"batches":[{"canaryReplicas":2}],"batchPartition":0,"rolloutID":"i","failureThreshold":1,"finalizingPolicy":"WaitResume",` +
				`"patchPodTemplateMetadata":` + patchJSON + `,"rollingStyle":"Partition","enableExtraWorkloadForCanary":false}`,
		},
		"empty canary":       {v1beta1.CanaryStrategy{Steps: []v1beta1.CanaryStep{{}}}, `{"steps":[{"pause":{}}]}`},
		"empty blue-green":   {v1beta1.BlueGreenStrategy{}, `{}`},
		"empty release plan": {v1beta1.ReleasePlan{}, `{"batches":null,"enableExtraWorkloadForCanary":false}`},
		"deployment-strategy": {
			v1beta1.DeploymentStrategy{
				RollingStyle: v1beta1.PartitionRollingStyle, Paused: true, Partition: intstr.FromString("20%"),
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &threshold, MaxSurge: &threshold},
			},
			`{"rollingStyle":"Partition","rollingUpdate":{"maxUnavailable":1,"maxSurge":1},"paused":true,"partition":"20%"}`,
		},
		"empty deployment-strategy": {v1beta1.DeploymentStrategy{}, `{"partition":0}`},
		"deployment-extra-status": {
			v1beta1.DeploymentExtraStatus{UpdatedReadyReplicas: 1, ExpectedUpdatedReplicas: 2}, `{"updatedReadyReplicas":1,"expectedUpdatedReplicas":2}`,
		},
		"empty deployment-extra-status": {v1beta1.DeploymentExtraStatus{}, `{}`},
		"original-deployment-strategy": {
			v1beta1.OriginalDeploymentStrategy{MaxUnavailable: &threshold, MaxSurge: &threshold, MinReadySeconds: 3, ProgressDeadlineSeconds: new(int32(600))},
			`{"maxUnavailable":1,"maxSurge":1,"minReadySeconds":3,"progressDeadlineSeconds":600}`,
		},
		"in-progressing":             {v1beta1.InProgressing{RolloutName: "r"}, `{"rolloutName":"r"}`},
		"daemonset-revision":         {v1beta1.DaemonSetRevision{CanaryRevision: "c", StableRevision: "s"}, `{"canary-revision":"c","stable-revision":"s"}`},
		"daemonset-advanced-control": {v1beta1.DaemonSetAdvancedControl{Partition: "1", BatchRevision: "b"}, `{"partition":"1","batch-revision":"b"}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(c.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
