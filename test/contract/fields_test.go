package contract

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const crdFolder = "../../config/crd"

// crds reads what is shipped, by plural name.
func crds(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(crdFolder, "rollouts.kruise.io_*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		all[crd.Spec.Names.Plural] = crd
	}
	return all
}

func TestNoFieldOfTheContractIsMissingOrDifferent(t *testing.T) {
	list, err := os.ReadFile("testdata/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	shipped := map[string]string{}
	for plural, crd := range crds(t) {
		for _, v := range crd.Spec.Versions {
			describe(shipped, plural+" "+v.Name+" ", v.Schema.OpenAPIV3Schema)
		}
	}
	lines := bufio.NewScanner(bytes.NewReader(list))
	n := 0
	for lines.Scan() {
		words := strings.SplitN(lines.Text(), " ", 4)
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		n++
		field := strings.Join(words[:3], " ")
		if got, found := shipped[field]; !found {
			t.Errorf("%s is missing", field)
		} else if got != words[3] {
			t.Errorf("%s is %q, was promised to be %q", field, got, words[3])
		}
	}
	if err := lines.Err(); err != nil || n < 300 {
		t.Errorf("only %d fields were read: %v", n, err)
	}
}

// describe writes a line for every field below an object.
func describe(into map[string]string, prefix string, object *apiextensionsv1.JSONSchemaProps) {
	for name, p := range object.Properties {
		field := prefix + name
		presence := " optional"
		if slices.Contains(object.Required, name) {
			presence = " required"
		}
		into[field] = kind(&p) + presence + limits(&p)
		below(into, field, &p)
	}
}

func below(into map[string]string, field string, p *apiextensionsv1.JSONSchemaProps) {
	if p.Items == nil {
		describe(into, field+".", p)
		return
	}
	into[field+"[]"] = kind(p.Items.Schema) + limits(p.Items.Schema)
	below(into, field+"[]", p.Items.Schema)
}

func kind(p *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case p.XIntOrString:
		return "int-or-string"
	case p.XPreserveUnknownFields != nil && *p.XPreserveUnknownFields:
		return "any"
	case p.AdditionalProperties != nil:
		return "map"
	default:
		return p.Type
	}
}

// limits lists what values a field takes, in a fixed order.
func limits(p *apiextensionsv1.JSONSchemaProps) string {
	var all []string
	add := func(name, value string) {
		if value != "" {
			all = append(all, " "+name+"="+value)
		}
	}
	add("default", raw(p.Default))
	add("enum", enum(p.Enum))
	add("minLength", number(p.MinLength))
	add("maxLength", number(p.MaxLength))
	if !p.XIntOrString {
		add("pattern", p.Pattern)
	}
	add("format", p.Format)
	add("maxItems", number(p.MaxItems))
	if p.XListType != nil && *p.XListType != "atomic" {
		add("listType", *p.XListType)
	}
	add("listMapKeys", strings.Join(p.XListMapKeys, ","))
	if len(p.XValidations) > 0 {
		add("rules", strconv.Itoa(len(p.XValidations)))
	}
	return strings.Join(all, "")
}

func raw(j *apiextensionsv1.JSON) string {
	if j == nil {
		return ""
	}
	var v any
	if err := json.Unmarshal(j.Raw, &v); err != nil {
		return err.Error()
	}
	return fmt.Sprint(v)
}

func enum(values []apiextensionsv1.JSON) string {
	words := make([]string, len(values))
	for i := range values {
		words[i] = raw(&values[i])
	}
	return strings.Join(words, ",")
}

func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
