package conversion

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// Path is where the API server has objects converted.
const Path = "/convert"

// Setup serves conversion with the manager's webhook server.
func Setup(mgr manager.Manager) error {
	if err := Register(mgr.GetScheme(), mgr.GetConverterRegistry()); err != nil {
		return err
	}
	mgr.GetWebhookServer().Register(Path, conversion.NewWebhookHandler(mgr.GetScheme(), mgr.GetConverterRegistry()))
	return nil
}

// Register adds the converters of all kinds to a registry. The scheme must know both versions.
func Register(scheme *runtime.Scheme, to conversion.Registry) error {
	rollouts := conversion.NewHubSpokeConverter(&v1beta1.Rollout{},
		conversion.NewSpokeConverter(&v1alpha1.Rollout{}, rolloutToSpoke, rolloutToHub))
	batchReleases := conversion.NewHubSpokeConverter(&v1beta1.BatchRelease{},
		conversion.NewSpokeConverter(&v1alpha1.BatchRelease{}, batchReleaseToSpoke, batchReleaseToHub))

	for kind, construct := range map[schema.GroupKind]func(*runtime.Scheme) (conversion.Converter, error){
		v1beta1.Kind("Rollout"):      rollouts,
		v1beta1.Kind("BatchRelease"): batchReleases,
	} {
		converter, err := construct(scheme)
		if err != nil {
			return fmt.Errorf("making the converter of %s: %w", kind, err)
		}
		if err := to.RegisterConverter(kind, converter); err != nil {
			return fmt.Errorf("registering the converter of %s: %w", kind, err)
		}
	}
	return nil
}
