package bootstrap

// What the API server is asked to send us, as config/webhook/manifests.yaml has it. `make generate`
// makes the file of these markers; they stand together because they share two objects. A path
// without a handler is left out of the live objects (template.go), so an entry may come before its
// handler, never after.
//
// The entry for Deployments leaves out the operator's own: were its update held, nobody could
// release it. The mutating entry for Rollouts only warns, hence failurePolicy Ignore, and is called
// for nothing else thanks to its condition.
//
// +kubebuilder:webhookconfiguration:mutating=true,name=kruise-rollout-mutating-webhook-configuration
// +kubebuilder:webhookconfiguration:mutating=false,name=kruise-rollout-validating-webhook-configuration
// +kubebuilder:webhook:mutating=true,name=mdeployment.kb.io,path=/mutate-apps-v1-deployment,groups=apps,versions=v1,resources=deployments,verbs=update,failurePolicy=fail,sideEffects=None,admissionReviewVersions=v1;v1beta1,serviceName=kruise-rollout-webhook-service,serviceNamespace=kruise-rollout,patch=`{"objectSelector":{"matchExpressions":[{"key":"rollouts.kruise.io/workload-type","operator":"Exists"},{"key":"control-plane","operator":"NotIn","values":["controller-manager"]}]}}`
// +kubebuilder:webhook:mutating=true,name=mrollout.kb.io,path=/mutate-rollouts-kruise-io-rollout,groups=rollouts.kruise.io,versions=v1alpha1;v1beta1,resources=rollouts,verbs=update,failurePolicy=ignore,sideEffects=None,timeoutSeconds=2,admissionReviewVersions=v1;v1beta1,serviceName=kruise-rollout-webhook-service,serviceNamespace=kruise-rollout,patch=`{"matchConditions":[{"name":"status-would-be-dropped","expression":"has(object.status) && has(oldObject.status) && object.status != oldObject.status"}]}`
// +kubebuilder:webhook:mutating=false,name=vrollout.kb.io,path=/validate-rollouts-kruise-io-rollout,groups=rollouts.kruise.io,versions=v1alpha1;v1beta1,resources=rollouts,verbs=create;update,failurePolicy=fail,sideEffects=None,admissionReviewVersions=v1;v1beta1,serviceName=kruise-rollout-webhook-service,serviceNamespace=kruise-rollout
