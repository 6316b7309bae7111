package crd

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

const file = "cluster.nats.mikluko.io_natsclusters.yaml"

// maxSize is what kubectl apply can keep in its annotation.
const maxSize = 262144

// embedded are Kubernetes' own types, which bound and describe themselves.
var embedded = []string{
	".metadata", ".spec.resources.", ".spec.exporter.resources.", ".spec.exporter.from[]", ".spec.jetstream.volumeClaimTemplate.spec.",
	".spec.podTemplate.spec", ".status.conditions[]", ".apiVersion", ".kind",
}

// unboundedMaps have values that CEL rules or the object's size bound.
var unboundedMaps = []string{
	".spec.serverTags", ".spec.podTemplate.metadata.labels", ".spec.podTemplate.metadata.annotations",
	".spec.jetstream.volumeClaimTemplate.metadata.labels", ".spec.jetstream.volumeClaimTemplate.metadata.annotations",
}

// TestSchema holds the size of the file, and that every field of ours is described, bounded, and has no default.
func TestSchema(t *testing.T) {
	crd, size := env.CRD(t, file)
	if size > maxSize {
		t.Errorf("%s has %d bytes; kubectl apply takes %d", file, size, maxSize)
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if len(versions) != 1 {
		t.Fatalf("%d versions, want 1", len(versions))
	}
	schema, _, _ := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema")
	fields := 0
	walk("", schema, func(path string, node map[string]any) {
		if slices.ContainsFunc(embedded, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
			return
		}
		fields++
		if text, _ := node["description"].(string); text == "" && !strings.HasSuffix(path, "[]") && !strings.HasSuffix(path, "{}") {
			t.Errorf("%s has no description", path)
		}
		if _, there := node["default"]; there {
			t.Errorf("%s has a default", path)
		}
		if missing := unbounded(path, node); missing != "" {
			t.Errorf("%s has no %s", path, missing)
		}
	})
	if fields < 70 {
		t.Errorf("only %d fields were looked at", fields)
	}
}

func walk(path string, node map[string]any, visit func(string, map[string]any)) {
	visit(path, node)
	properties, _ := node["properties"].(map[string]any)
	for name, child := range properties {
		walk(path+"."+name, child.(map[string]any), visit)
	}
	if items, ok := node["items"].(map[string]any); ok {
		walk(path+"[]", items, visit)
	}
	if values, ok := node["additionalProperties"].(map[string]any); ok {
		walk(path+"{}", values, visit)
	}
}

// unbounded names the bound that a field lacks.
func unbounded(path string, node map[string]any) string {
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { _, there := node[key]; return there })
	}
	switch node["type"] {
	case "string":
		if !has("maxLength", "enum", "format") && !slices.Contains(unboundedMaps, strings.TrimSuffix(path, "{}")) {
			return "maxLength"
		}
	case "integer":
		if !has("minimum", "x-kubernetes-validations") {
			return "minimum"
		}
	case "array":
		if !has("maxItems") {
			return "maxItems"
		}
		if !has("x-kubernetes-list-type") {
			return "x-kubernetes-list-type"
		}
	case "object":
		if has("additionalProperties") && !has("maxProperties") {
			return "maxProperties"
		}
	}
	return ""
}

// TestColumns holds what kubectl get shows.
func TestColumns(t *testing.T) {
	crd, _ := env.CRD(t, file)
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	columns, _, _ := unstructured.NestedSlice(versions[0].(map[string]any), "additionalPrinterColumns")
	var got []string
	for _, column := range columns {
		c := column.(map[string]any)
		line := c["name"].(string) + " " + c["jsonPath"].(string)
		if _, wide := c["priority"]; wide {
			line += " (wide)"
		}
		got = append(got, line)
	}
	want := []string{
		"Version .spec.version",
		"Replicas .spec.replicas",
		`Ready .status.conditions[?(@.type=="Ready")].status`,
		`Settled .status.conditions[?(@.type=="Settled")].status`,
		`Progress .status.conditions[?(@.type=="Progressing")].reason`,
		"Age .metadata.creationTimestamp",
		`Doing .status.conditions[?(@.type=="Progressing")].message (wide)`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}
