package crd

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

const (
	clusterFile = "cluster.nats.mikluko.io_natsclusters.yaml"
	trustFile   = "nats.mikluko.io_natsoperatortrusts.yaml"
	grantFile   = "nats.mikluko.io_natsreferencegrants.yaml"
	garageFile  = "garage.rajsingh.info_garageclusters.yaml"
	nodeFile    = "garage.rajsingh.info_garagenodes.yaml"
)

// maxSize is what kubectl apply can keep in its annotation.
const maxSize = 262144

// everywhere are the parts of each object that Kubernetes describes and bounds itself.
var everywhere = []string{".metadata", ".status.conditions[]", ".apiVersion", ".kind"}

// embedded are Kubernetes' own types of a kind, which bound themselves.
var embedded = map[string][]string{
	clusterFile: {
		".spec.resources.", ".spec.exporter.resources.", ".spec.exporter.from[]", ".spec.jetstream.volumeClaimTemplate.spec.", ".spec.podTemplate.spec",
	},
	garageFile: append(podFields(".spec.storage"), ".spec.imagePullSecrets[]", ".spec.storage.metadata.selector.", ".spec.storage.data.selector.",
		".spec.storage.data.paths[].volume.selector."),
	nodeFile: append(podFields(".spec"), ".spec.imagePullSecrets[]", ".spec.storage.metadata.selector.", ".spec.storage.data.selector.",
		".spec.storage.dataPaths[].selector."),
}

// podFields are the types of Kubernetes in Garage's Pod template.
func podFields(at string) []string {
	fields := strings.Fields(".affinity. .containerSecurityContext. .env[] .envFrom[] .resources. .securityContext. .tolerations[] .topologySpreadConstraints[]")
	for i := range fields {
		fields[i] = at + fields[i]
	}
	return fields
}

// unboundedMaps have values that CEL rules or the object's size bound.
var unboundedMaps = []string{
	".spec.serverTags", ".spec.podTemplate.metadata.labels", ".spec.podTemplate.metadata.annotations",
	".spec.jetstream.volumeClaimTemplate.metadata.labels", ".spec.jetstream.volumeClaimTemplate.metadata.annotations",
	".spec.storage.nodeSelector", ".spec.storage.podAnnotations", ".spec.storage.podLabels", ".spec.nodeSelector", ".spec.podAnnotations", ".spec.podLabels",
	".spec.network.service.annotations", ".spec.network.service.labels", ".spec.storage.metadata.labels", ".spec.storage.metadata.annotations",
	".spec.storage.data.labels", ".spec.storage.data.annotations", ".spec.storage.data.paths[].volume.labels", ".spec.storage.data.paths[].volume.annotations",
	".spec.storage.dataPaths[].labels", ".spec.storage.dataPaths[].annotations",
}

// defaults are the only ones. NatsCluster's are the keys of Secrets, whose names a reader expects where a reference says
// nothing; Garage's are those that the published kinds have.
var defaults = map[string]any{
	clusterFile + " .spec.auth.systemCredentials.secretKeyRef.key": "user.creds",

	garageFile + " .spec.layoutPolicy":                                 "Auto",
	garageFile + " .spec.imagePullPolicy":                              "IfNotPresent",
	garageFile + " .spec.replication":                                  map[string]any{"factor": float64(3)},
	garageFile + " .spec.replication.factor":                           float64(3),
	garageFile + " .spec.replication.consistencyMode":                  "consistent",
	garageFile + " .spec.database.engine":                              "lmdb",
	garageFile + " .spec.s3Api.bindPort":                               float64(3900),
	garageFile + " .spec.s3Api.region":                                 "garage",
	garageFile + " .spec.k2vApi.bindPort":                              float64(3904),
	garageFile + " .spec.webApi.bindPort":                              float64(3902),
	garageFile + " .spec.webApi.enabled":                               true,
	garageFile + " .spec.admin.bindPort":                               float64(3903),
	garageFile + " .spec.network.rpcBindPort":                          float64(3901),
	garageFile + " .spec.network.service.type":                         "ClusterIP",
	garageFile + " .spec.layoutManagement.drain.unverifiedPeersPolicy": "Block",
	garageFile + " .spec.storage.replicas":                             float64(3),
	garageFile + " .spec.storage.podDisruptionBudget.enabled":          true,
	garageFile + " .spec.storage.pvcRetentionPolicy.whenDeleted":       "Retain",
	garageFile + " .spec.storage.pvcRetentionPolicy.whenScaled":        "Retain",
	nodeFile + " .spec.external.port":                                  float64(3901),
}

// kinds have of every CRD the least number of fields that are looked at, and what kubectl get shows.
var kinds = map[string]struct {
	fields  int
	columns []string
}{
	clusterFile: {75, []string{
		"Version .spec.version",
		"Replicas .spec.replicas",
		`Ready .status.conditions[?(@.type=="Ready")].status`,
		`Settled .status.conditions[?(@.type=="Settled")].status`,
		`Progress .status.conditions[?(@.type=="Progressing")].reason`,
		"Age .metadata.creationTimestamp",
		`Doing .status.conditions[?(@.type=="Progressing")].message (wide)`,
	}},
	trustFile: {11, []string{`Ready .status.conditions[?(@.type=="Ready")].status`, "Age .metadata.creationTimestamp"}},
	grantFile: {11, []string{"Age .metadata.creationTimestamp"}},
	garageFile: {170, []string{
		"Storage .status.storageReplicas", "Ready .status.readyReplicas", "Zone .spec.zone", "Phase .status.phase",
		"Diagnosis .status.layoutDiagnosis (wide)", "Age .metadata.creationTimestamp",
	}},
	nodeFile: {80, []string{
		"Cluster .spec.clusterRef.name", "Zone .status.zone", "Capacity .spec.capacity", "Connected .status.connected",
		"InLayout .status.inLayout", "Age .metadata.creationTimestamp",
	}},
}

// TestEveryKind wants each file in config/crd looked at here, and none that is not there.
func TestEveryKind(t *testing.T) {
	if diff := cmp.Diff(slices.Sorted(maps.Keys(kinds)), env.CRDs(t)); diff != "" {
		t.Errorf("CRDs (-looked at +there):\n%s", diff)
	}
}

// version is the one version of a CRD.
func version(t *testing.T, file string) map[string]any {
	t.Helper()
	crd, _ := env.CRD(t, file)
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if len(versions) != 1 {
		t.Fatalf("%s has %d versions, want 1", file, len(versions))
	}
	return versions[0].(map[string]any)
}

// TestSchema holds the size of each file, and that every field of ours is described, bounded, and has no default but those
// that are named here.
func TestSchema(t *testing.T) {
	for file, kind := range kinds {
		t.Run(file, func(t *testing.T) {
			_, size := env.CRD(t, file)
			t.Logf("%d of %d bytes", size, maxSize)
			if size > maxSize {
				t.Errorf("%d bytes; kubectl apply takes %d", size, maxSize)
			}
			if fields := checkFields(t, file); fields < kind.fields {
				t.Errorf("only %d fields were looked at", fields)
			}
		})
	}
}

// checkFields looks at each field of ours, and counts them.
func checkFields(t *testing.T, file string) int {
	t.Helper()
	schema, _, _ := unstructured.NestedMap(version(t, file), "schema", "openAPIV3Schema")
	fields := 0
	walk("", schema, func(path string, node map[string]any) {
		within := func(prefix string) bool { return strings.HasPrefix(path, prefix) }
		if slices.ContainsFunc(everywhere, within) || slices.ContainsFunc(embedded[file], within) {
			return
		}
		fields++
		if text, _ := node["description"].(string); text == "" && !strings.HasSuffix(path, "[]") && !strings.HasSuffix(path, "{}") {
			t.Errorf("%s has no description", path)
		}
		if value := node["default"]; !cmp.Equal(value, defaults[file+" "+path]) {
			t.Errorf("%s has the default %v", path, value)
		}
		if missing := unbounded(path, node); missing != "" {
			t.Errorf("%s has no %s", path, missing)
		}
	})
	return fields
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
	for file, kind := range kinds {
		t.Run(file, func(t *testing.T) {
			columns, _, _ := unstructured.NestedSlice(version(t, file), "additionalPrinterColumns")
			var got []string
			for _, column := range columns {
				c := column.(map[string]any)
				line := c["name"].(string) + " " + c["jsonPath"].(string)
				if _, wide := c["priority"]; wide {
					line += " (wide)"
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(kind.columns, got); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
		})
	}
}
