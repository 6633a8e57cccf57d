package rollout

import (
	"context"
	"encoding/json"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kruise-rollout/kruise-rollout/pkg/core/rules"
)

// advise allows every request and warns about a status that the API server is going to drop.
func advise(_ context.Context, req admission.Request) admission.Response {
	yes := admission.Allowed("")
	if req.Operation != admissionv1.Update || req.SubResource != "" {
		return yes
	}
	before, fine := status(req.OldObject.Raw)
	after, ok := status(req.Object.Raw)
	if !fine || !ok {
		return yes
	}
	return yes.WithWarnings(rules.IgnoredStatus(req.Namespace, req.Name, before, after)...)
}

func status(raw []byte) (map[string]any, bool) {
	var o struct {
		Status map[string]any `json:"status"`
	}
	err := json.Unmarshal(raw, &o)
	return o.Status, err == nil
}
