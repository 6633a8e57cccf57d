// Command finish-crds completes, in place, what controller-gen writes to a folder of CRDs: it adds how
// versions are converted to those that have several, and removes notes from descriptions that Gateway
// API leaves there for its own generator.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// notes are the parts of a description that are meant for Gateway API's generator, with the empty
// lines before them.
var notes = regexp.MustCompile(`(?s)\s*<gateway:experimental:description>.*?</gateway:experimental:description>|\s*<gateway:[^\n]*`)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: finish-crds FOLDER")
		os.Exit(2)
	}
	if err := finishAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func finishAll(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		before, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		after, err := finish(before)
		if err != nil {
			return fmt.Errorf("finishing %s: %w", file, err)
		}
		if err := os.WriteFile(file, after, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func finish(text []byte) ([]byte, error) {
	crd := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return nil, err
	}
	if crd["kind"] != "CustomResourceDefinition" {
		return text, nil
	}
	spec, ok := crd["spec"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("no spec")
	}
	if versions, ok := spec["versions"].([]any); ok && len(versions) > 1 {
		spec["conversion"] = conversion()
	}
	removeNotes(crd)
	out, err := yaml.Marshal(crd)
	if err != nil {
		return nil, err
	}
	return append([]byte("---\n"), out...), nil
}

// conversion is the stanza as it is shipped; the operator addresses it at itself when it starts.
func conversion() map[string]any {
	return map[string]any{
		"strategy": "Webhook",
		"webhook": map[string]any{
			"clientConfig": map[string]any{
				"service": map[string]any{
					"name":      "kruise-rollout-webhook-service",
					"namespace": "kruise-rollout",
					"path":      "/convert",
				},
			},
			"conversionReviewVersions": []any{"v1", "v1beta1"},
		},
	}
}

func removeNotes(v any) {
	switch v := v.(type) {
	case map[string]any:
		if text, ok := v["description"].(string); ok {
			v["description"] = strings.TrimSpace(notes.ReplaceAllString(text, ""))
		}
		for _, member := range v {
			removeNotes(member)
		}
	case []any:
		for _, element := range v {
			removeNotes(element)
		}
	}
}
