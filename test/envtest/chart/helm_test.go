package chart

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

func TestMain(m *testing.M) { env.Main(m) }

const release = "holdfast"

// A chart is what a test has to know of one that is shipped.
type chart struct {
	// name is its folder, program its controller's, of its key in the values.
	name, program, of string
	// groups are those whose CRDs it brings.
	groups []string
	// refused are values that are none, by what is wrong with them.
	refused map[string]refusal
	// everythingElse are values that are not there as shipped.
	everythingElse map[string]any
	// created makes an object that the controller looks after, and reasons are what it says of one that is new. metric is one
	// that it shows of that object called one.
	created func(namespace, name string) client.Object
	reasons []string
	metric  string
	// everywhere and watching are what else has to hold of one that looks after all namespaces, and of one that does after two of
	// three.
	everywhere func(*installation)
	watching   func(in *installation, one, other, elsewhere string)
}

type refusal struct {
	values map[string]any
	named  string
}

func charts() []chart { return []chart{natsChart(), garageChart()} }

func (c chart) folder() string { return filepath.Join("..", "..", "..", "charts", c.name) }

// ofEach runs a test for every chart.
func ofEach(t *testing.T, test func(*testing.T, chart)) {
	t.Helper()
	for _, c := range charts() {
		t.Run(c.name, func(t *testing.T) { test(t, c) })
	}
}

// within is a value below another one.
func within(name, key string, value any) map[string]any {
	return map[string]any{name: map[string]any{key: value}}
}

// template has helm render the chart. The error is what helm says.
func (c chart) template(tb testing.TB, namespace, name string, values map[string]any) ([]byte, error) {
	tb.Helper()
	helm := os.Getenv("HOLDFAST_HELM")
	if helm == "" {
		tb.Fatal("HOLDFAST_HELM is not set: it names the helm to render with; run the tests through make, or build it: " +
			"go -C tools/toolbox run ./cmd/toolbox helm")
	}
	content, err := yaml.Marshal(values)
	if err != nil {
		tb.Fatal(err)
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(tb.Context(), helm, "template", name, c.folder(), "--namespace", namespace, "--kube-version", "1.33.0", "--values", "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(content), &out, &said
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+tb.TempDir(), "HELM_CONFIG_HOME="+tb.TempDir(), "HELM_DATA_HOME="+tb.TempDir())
	if err := cmd.Run(); err != nil {
		return nil, errors.Join(err, errors.New(said.String()))
	}
	return out.Bytes(), nil
}

// rendered are the chart's objects for those values, in the chart's order.
func (c chart) rendered(tb testing.TB, namespace string, values map[string]any) objects {
	tb.Helper()
	manifests, err := c.template(tb, namespace, release, values)
	if err != nil {
		tb.Fatal(err)
	}
	found := objects(env.Decode(tb, manifests))
	if len(found) < 8 {
		tb.Fatalf("%d objects:\n%s", len(found), manifests)
	}
	return found
}

type objects []*unstructured.Unstructured

// typed decodes an object into its Go type and refuses every field that the type does not have.
func typed(tb testing.TB, object *unstructured.Unstructured) client.Object {
	tb.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		tb.Fatal(err)
	}
	content, err := object.MarshalJSON()
	if err != nil {
		tb.Fatal(err)
	}
	decoded, _, err := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer().Decode(content, nil, nil)
	if err != nil {
		tb.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return decoded.(client.Object)
}

// all are the objects of one type.
func all[T client.Object](tb testing.TB, from objects) []T {
	tb.Helper()
	var found []T
	for _, object := range from {
		if of, ok := typed(tb, object).(T); ok {
			found = append(found, of)
		}
	}
	return found
}

// only is the one object of its type.
func only[T client.Object](tb testing.TB, from objects) T {
	tb.Helper()
	found := all[T](tb, from)
	if len(found) != 1 {
		tb.Fatalf("%d objects %T", len(found), *new(T))
	}
	return found[0]
}

// variants are the values with which the chart is tried, for two namespaces.
func (c chart) variants(one, other string) map[string]map[string]any {
	more := map[string]any{
		"replicas": 1, "extraArgs": []any{"--log-level=debug"}, "priorityClassName": "system-cluster-critical",
		"nodeSelector": map[string]any{"kubernetes.io/os": "linux"}, "tolerations": []any{map[string]any{"operator": "Exists"}},
		"affinity": map[string]any{"nodeAffinity": map[string]any{}}, "resources": map[string]any{},
		"image": map[string]any{"repository": "registry.example.com/c", "tag": "1", "digest": "sha256:" + digits, "pullPolicy": "Always"},
	}
	maps.Copy(more, c.everythingElse)
	return map[string]map[string]any{
		"as shipped":     {},
		"two namespaces": {"watchNamespaces": []any{one, other}},
		"everything else": {
			"crds":             map[string]any{"install": false},
			"metrics":          map[string]any{"service": false},
			"networkPolicy":    map[string]any{"metricsFrom": []any{map[string]any{"namespaceSelector": map[string]any{}}}},
			"imagePullSecrets": []any{map[string]any{"name": "pull"}},
			c.of:               more,
		},
	}
}

const digits = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// args are the flags that the Deployment gives to the program.
func args(tb testing.TB, from objects) []string {
	tb.Helper()
	return slices.Clone(only[*appsv1.Deployment](tb, from).Spec.Template.Spec.Containers[0].Args)
}
