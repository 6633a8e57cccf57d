package conversion

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1alpha1"
	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

// server answers as the operator does.
func server(t *testing.T) http.Handler {
	t.Helper()
	scheme, registry := runtime.NewScheme(), conversion.NewRegistry()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	if err := Register(scheme, registry); err != nil {
		t.Fatal(err)
	}
	return conversion.NewWebhookHandler(scheme, registry)
}

func TestBothVersionsOfAReviewAreAnswered(t *testing.T) {
	handler := server(t)
	for _, version := range []string{"apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"} {
		for kind, spec := range map[string]string{
			"Rollout":      `{"objectRef":{"workloadRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}},"strategy":{}}`,
			"BatchRelease": `{"targetReference":{"workloadRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}},"releasePlan":{"batches":[]}}`,
		} {
			object := `{"apiVersion":"rollouts.kruise.io/v1alpha1","kind":"` + kind + `","metadata":{"name":"web"},"spec":` + spec + `}`
			body, err := json.Marshal(apiextensionsv1.ConversionReview{
				TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ConversionReview"},
				Request: &apiextensionsv1.ConversionRequest{
					UID: "1", DesiredAPIVersion: "rollouts.kruise.io/v1beta1", Objects: []runtime.RawExtension{{Raw: []byte(object)}},
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, bytes.NewReader(body)))

			review := apiextensionsv1.ConversionReview{}
			if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil {
				t.Fatal(err)
			}
			if review.APIVersion != version || review.Response == nil || review.Response.Result.Status != metav1.StatusSuccess {
				t.Fatalf("%s %s: %s", version, kind, w.Body)
			}
			got := struct {
				metav1.TypeMeta
				Spec struct{ WorkloadRef v1beta1.ObjectRef }
			}{}
			if err := json.Unmarshal(review.Response.ConvertedObjects[0].Raw, &got); err != nil {
				t.Fatal(err)
			}
			want := got
			want.TypeMeta = metav1.TypeMeta{APIVersion: "rollouts.kruise.io/v1beta1", Kind: kind}
			want.Spec.WorkloadRef = v1beta1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s: %s", version, kind, diff)
			}
		}
	}
}
