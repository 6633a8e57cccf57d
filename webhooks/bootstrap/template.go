package bootstrap

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kruise-rollout/kruise-rollout/apis/rollouts/v1beta1"
)

const (
	// templateAnnotation holds the webhooks list as it was installed, JSON. The live list is
	// computed from it, because entries without a handler are left out of the live one and must
	// come back when a later version serves them.
	templateAnnotation = v1beta1.WebhookTemplateAnnotation
	// writtenAnnotation holds the digest of the list this operator last wrote. A live list with
	// another digest was installed since then and becomes the template.
	writtenAnnotation = v1beta1.WebhooksWrittenAnnotation
)

// hook reaches into either kind of webhook entry.
type hook[H any] struct {
	name   func(*H) string
	config func(*H) *admissionregistrationv1.WebhookClientConfig
}

var mutating = hook[admissionregistrationv1.MutatingWebhook]{
	name: func(h *admissionregistrationv1.MutatingWebhook) string { return h.Name },
	config: func(h *admissionregistrationv1.MutatingWebhook) *admissionregistrationv1.WebhookClientConfig {
		return &h.ClientConfig
	},
}

var validating = hook[admissionregistrationv1.ValidatingWebhook]{
	name: func(h *admissionregistrationv1.ValidatingWebhook) string { return h.Name },
	config: func(h *admissionregistrationv1.ValidatingWebhook) *admissionregistrationv1.WebhookClientConfig {
		return &h.ClientConfig
	},
}

// WantedMutating returns live as it should be: addressed at a, with the entries whose path is
// among served. Live is not changed.
func WantedMutating(live *admissionregistrationv1.MutatingWebhookConfiguration, a Address, served []string) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	w := live.DeepCopy()
	var err error
	if w.Webhooks, w.Annotations, err = mutating.wanted(w.Webhooks, w.Annotations, a, served); err != nil {
		return nil, fmt.Errorf("computing MutatingWebhookConfiguration %s: %w", live.Name, err)
	}
	return w, nil
}

// WantedValidating is WantedMutating for the other kind.
func WantedValidating(live *admissionregistrationv1.ValidatingWebhookConfiguration, a Address, served []string) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	w := live.DeepCopy()
	var err error
	if w.Webhooks, w.Annotations, err = validating.wanted(w.Webhooks, w.Annotations, a, served); err != nil {
		return nil, fmt.Errorf("computing ValidatingWebhookConfiguration %s: %w", live.Name, err)
	}
	return w, nil
}

func (k hook[H]) wanted(live []H, notes map[string]string, a Address, served []string) ([]H, map[string]string, error) {
	template, text, err := k.template(live, notes)
	if err != nil {
		return nil, nil, err
	}
	handled := make(map[string]bool, len(served))
	for _, p := range served {
		handled[p] = true
	}
	list := make([]H, 0, len(template))
	for _, h := range template {
		c := k.config(&h)
		path := pathOf(*c)
		if !handled[path] {
			continue
		}
		*c = a.admission(path, *c)
		list = append(list, h)
	}
	written, err := k.digest(list)
	if err != nil {
		return nil, nil, err
	}
	notes = maps.Clone(notes)
	if notes == nil {
		notes = map[string]string{}
	}
	notes[templateAnnotation], notes[writtenAnnotation] = text, written
	return list, notes, nil
}

// template returns the list as it was installed, and its text for the annotation.
func (k hook[H]) template(live []H, notes map[string]string) ([]H, string, error) {
	text := notes[templateAnnotation]
	var stored []H
	if text != "" && json.Unmarshal([]byte(text), &stored) == nil {
		untouched, err := k.untouched(live, stored, notes[writtenAnnotation])
		if err != nil || untouched {
			return stored, text, err
		}
	}
	fresh, err := json.Marshal(live)
	return live, string(fresh), err
}

// untouched reports whether live is what an operator made of stored, rather than a newer manifest.
func (k hook[H]) untouched(live, stored []H, written string) (bool, error) {
	if written != "" {
		digest, err := k.digest(live)
		return digest == written, err
	}
	// The template is the peer's, which keeps no digest. It only ever leaves entries out.
	known := map[string]H{}
	for _, h := range k.bare(stored) {
		known[k.name(&h)] = h
	}
	for _, h := range k.bare(live) {
		if before, ok := known[k.name(&h)]; !ok || !equality.Semantic.DeepEqual(before, h) {
			return false, nil
		}
	}
	return true, nil
}

func (k hook[H]) digest(list []H) (string, error) {
	text, err := json.Marshal(k.bare(list))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// bare returns copies of the entries that keep nothing of their address but the path: the rest is
// ours to write.
func (k hook[H]) bare(list []H) []H {
	bare := make([]H, len(list))
	for i, h := range list {
		c := k.config(&h)
		*c = admissionregistrationv1.WebhookClientConfig{URL: new(pathOf(*c))}
		bare[i] = h
	}
	return bare
}
