package bootstrap

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// ConversionPath is where the API server has objects converted.
const ConversionPath = "/convert"

// WantedConversion returns live with its conversion addressed at a; live itself when it is not
// converted by webhook.
func WantedConversion(live *apiextensionsv1.CustomResourceDefinition, a Address) *apiextensionsv1.CustomResourceDefinition {
	if live.Spec.Conversion == nil || live.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter {
		return live
	}
	w := live.DeepCopy()
	w.Spec.Conversion.Webhook = &apiextensionsv1.WebhookConversion{
		ClientConfig:             a.conversion(ConversionPath),
		ConversionReviewVersions: []string{"v1", "v1beta1"},
	}
	return w
}
