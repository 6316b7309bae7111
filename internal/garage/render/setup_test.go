package render_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
)

var update = flag.Bool("update", false, "write the golden files anew")

const defaultImage = "dxflrs/garage:v2.3.0"

// quickstart is three nodes with a claim of 1Gi and one of 100Gi each.
func quickstart() render.Input {
	return render.Input{
		Cluster: &v1beta2.GarageCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "objects", UID: "7f0c"},
			Spec: v1beta2.GarageClusterSpec{Storage: v1beta2.StorageSpec{
				Replicas: new(int32(3)),
				Metadata: &v1beta2.VolumeConfig{VolumeShape: v1beta2.VolumeShape{Size: size("1Gi")}},
				Data:     &v1beta2.DataVolumeConfig{VolumeShape: v1beta2.VolumeShape{Size: size("100Gi")}},
			}},
		},
		DefaultImage: defaultImage,
		RPC:          render.SecretKey{Name: "demo-rpc-secret", Key: render.KeyRPCSecret},
		Admin:        render.SecretKey{Name: "demo-admin", Key: render.KeyAdminToken},
	}
}

// with is the quickstart, changed.
func with(change func(*render.Input, *v1beta2.GarageClusterSpec)) render.Input {
	in := quickstart()
	change(&in, &in.Cluster.Spec)
	return in
}

// paths are the quickstart's nodes with three disks each, of which one is only read.
func paths() render.Input {
	return with(func(_ *render.Input, spec *v1beta2.GarageClusterSpec) {
		path := func(at, capacity string, readOnly *bool) v1beta2.DataPath {
			out := v1beta2.DataPath{Path: at, ReadOnly: readOnly, Volume: v1beta2.VolumeConfig{VolumeShape: v1beta2.VolumeShape{Size: size("1Ti")}}}
			if capacity != "" {
				out.Capacity = size(capacity)
			}
			return out
		}
		spec.Storage.Data = &v1beta2.DataVolumeConfig{Paths: []v1beta2.DataPath{
			path("/data/hdd1", "", nil), path("/data/hdd2", "900Gi", new(false)), path("/mnt/old", "", new(true)),
		}}
	})
}

// everything uses each field that reaches garage.toml, but the engine fjall, which is a choice.
func everything() render.Input {
	return with(func(in *render.Input, spec *v1beta2.GarageClusterSpec) {
		in.Metrics = render.SecretKey{Name: "demo-metrics", Key: render.KeyMetricsToken}
		spec.Database = &v1beta2.DatabaseSpec{Engine: v1beta2.DatabaseLMDB, LMDBMapSize: size("1Gi")}
		spec.Blocks = v1beta2.BlocksSpec{
			Size: size("2Mi"), RAMBufferMax: size("512M"), MaxConcurrentReads: 8, MaxConcurrentWritesPerRequest: 2, CompressionLevel: "none",
			DisableScrub: new(true), UseLocalTZ: new(true),
		}
		spec.S3API = &v1beta2.S3APISpec{Region: "eu-1", RootDomain: ".s3.example.com"}
		spec.K2VAPI = &v1beta2.K2VAPISpec{}
		spec.WebAPI = &v1beta2.WebAPISpec{RootDomain: ".web.example.com", AddHostToMetrics: new(true)}
		spec.Admin = &v1beta2.AdminSpec{MetricsRequireToken: new(true), TraceSink: "http://127.0.0.1:4317"}
		spec.Network = &v1beta2.NetworkSpec{
			RPCBindOutgoing: new(true), RPCPublicAddr: "127.0.0.1:3901", RPCPublicAddrSubnet: "127.0.0.0/8", RPCPingTimeout: "5s", RPCTimeout: "1m30s",
			BootstrapPeers: []string{"4d0b2ba2f3e3ba0a5d2a33c2f0b1a0b8e1d5b0f2a0d9c8b7a6958473625140ff@127.0.0.1:3999"},
		}
		spec.Security = v1beta2.SecuritySpec{AllowPunycode: new(true), AllowInsecureSecretPermissions: new(true)}
		spec.Storage.MetadataFsync, spec.Storage.DataFsync = new(true), new(true)
		spec.Storage.MetadataAutoSnapshotInterval, spec.Storage.MetadataSnapshotsDir = "1h 30m", "/data/metadata/copies"
		spec.Storage.Data = paths().Cluster.Spec.Storage.Data
	})
}

// variants are specs that between them use every key of garage.toml.
func variants() map[string]render.Input {
	return map[string]render.Input{
		"quickstart": quickstart(),
		"paths":      paths(),
		"everything": everything(),
		"sqlite, compressed": with(func(_ *render.Input, spec *v1beta2.GarageClusterSpec) {
			spec.Database = &v1beta2.DatabaseSpec{Engine: v1beta2.DatabaseSQLite}
			spec.Blocks.CompressionLevel = "-5"
			spec.WebAPI = &v1beta2.WebAPISpec{Enabled: new(false)}
			spec.Replication = v1beta2.ReplicationSpec{Factor: 1, ConsistencyMode: v1beta2.ConsistencyDegraded}
		}),
		withFjall: with(func(_ *render.Input, spec *v1beta2.GarageClusterSpec) {
			spec.Database = &v1beta2.DatabaseSpec{Engine: v1beta2.DatabaseFjall, FjallBlockCacheSize: size("64Mi")}
		}),
	}
}

// withFjall is the variant that servers refuse which were built without that engine, as those of the tests are.
const withFjall = "fjall"

func size(text string) *resource.Quantity { return new(resource.MustParse(text)) }

func plan(t *testing.T, in render.Input) *render.Plan {
	t.Helper()
	p, err := render.NewPlan(in)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	return p
}

// auto is the node that the controller makes under that number.
func auto(t *testing.T, p *render.Plan, ordinal int) *v1beta1.GarageNode {
	t.Helper()
	node, err := p.AutoNode(ordinal)
	if err != nil {
		t.Fatalf("node %d: %v", ordinal, err)
	}
	return node
}

func rendered(t *testing.T, p *render.Plan, node *v1beta1.GarageNode) render.Node {
	t.Helper()
	out, err := p.Node(node)
	if err != nil {
		t.Fatalf("node %s: %v", node.Name, err)
	}
	return out
}

// first is the first node of an input.
func first(t *testing.T, in render.Input) render.Node {
	t.Helper()
	p := plan(t, in)
	return rendered(t, p, auto(t, p, 0))
}

// pod is its Pod's spec, and container the one container of it.
func pod(node render.Node) corev1.PodSpec { return node.StatefulSet.Spec.Template.Spec }

func container(node render.Node) corev1.Container { return pod(node).Containers[0] }

// documents are objects as one would apply them by hand.
func documents(t *testing.T, objects ...client.Object) []byte {
	t.Helper()
	var text bytes.Buffer
	for _, object := range objects {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			t.Fatalf("%T: %v", object, err)
		}
		delete(fields, "status")
		document, err := yaml.Marshal(fields)
		if err != nil {
			t.Fatalf("%T: %v", object, err)
		}
		text.WriteString("---\n")
		text.Write(document)
	}
	return text.Bytes()
}

// golden compares with a file, which -update writes.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := "testdata/" + file
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, got, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("differs from %s (-want +got), run with -update if that is meant:\n%s", path, diff)
	}
}

// unsupported is the error's field, and the node that it is of.
func unsupported(t *testing.T, err error) string {
	t.Helper()
	var refusal *render.UnsupportedError
	if !errors.As(err, &refusal) {
		t.Fatalf("%v is no UnsupportedError", err)
	}
	if refusal.Message == "" {
		t.Errorf("%s: no message", refusal.Path)
	}
	if refusal.Node != "" {
		return refusal.Node + " " + refusal.Path
	}
	return refusal.Path
}
