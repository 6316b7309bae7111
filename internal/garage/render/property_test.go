package render_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
)

// anyInput is some GarageCluster that can be rendered.
func anyInput(t *rapid.T) render.Input {
	in := quickstart()
	if rapid.Bool().Draw(t, "everything") {
		in = everything()
	}
	spec := &in.Cluster.Spec
	spec.Storage.Replicas = new(rapid.Int32Range(1, 5).Draw(t, "replicas"))
	spec.Storage.PodLabels, spec.Storage.PodAnnotations = words(t, "labels"), words(t, "annotations")
	spec.Storage.NodeSelector = words(t, "selector")
	spec.Storage.Metadata.Labels = words(t, "claim")
	spec.Storage.Env = variables(t, "env")
	spec.Storage.CapacityReservePercent = new(rapid.Int32Range(0, 50).Draw(t, "reserve"))
	spec.Storage.RPCPublicAddr = rapid.SampledFrom([]string{"", "a:1", "n{ordinal}:1"}).Draw(t, "address")
	spec.Network = &v1beta2.NetworkSpec{Service: &v1beta2.ServiceSpec{Labels: words(t, "service"), Annotations: words(t, "notes")}}
	spec.DefaultNodeTags = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID).Draw(t, "tags")
	in.Admin.Digest = rapid.SampledFrom([]string{"", "x"}).Draw(t, "digest")
	return in
}

func words(t *rapid.T, label string) map[string]string {
	word := rapid.StringMatching(`[a-z]{1,3}`)
	return rapid.MapOfN(word, word, 0, 12).Draw(t, label)
}

func variables(t *rapid.T, label string) []corev1.EnvVar {
	var out []corev1.EnvVar
	for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[A-F]`), 0, 4, rapid.ID).Draw(t, label) {
		out = append(out, corev1.EnvVar{Name: name, Value: label})
	}
	return out
}

// all is everything that is rendered, as text.
func all(in render.Input, change func(*v1beta1.GarageNode)) (string, error) {
	p, err := render.NewPlan(in)
	if err != nil {
		return "", err
	}
	nodes, err := p.AutoNodes()
	if err != nil {
		return "", err
	}
	var objects []client.Object
	var rest []any
	for _, node := range nodes {
		change(node)
		out, err := p.Node(node)
		if err != nil {
			return "", err
		}
		role, err := p.Role(node)
		if err != nil {
			return "", err
		}
		objects = append(objects, node, out.ConfigMap, out.StatefulSet)
		rest = append(rest, string(out.Config), out.ConfigHash, out.PodSpecHash, out.Claims, role)
	}
	objects = append(objects, p.Shared(int32(len(nodes)))...)
	text, err := json.Marshal([]any{objects, rest, p.Endpoints()})
	return string(text), err
}

// TestRenderIsAFunction holds that equal input gives equal bytes, whatever order maps come in and whether it was read from the API
// server in between, that the input is not changed, and that what comes out shares nothing with it.
func TestRenderIsAFunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		own := v1beta2.PodTemplate{PodLabels: words(t, "own labels"), Env: variables(t, "own env")}
		change := func(node *v1beta1.GarageNode) { node.Spec.PodTemplate = *own.DeepCopy() }
		before := in.Cluster.DeepCopy()
		one, err := all(in, change)
		if err != nil {
			t.Fatal(err)
		}
		// The API server's form of it: other pointers, other maps, quantities as they are written.
		stored := in
		stored.Cluster = &v1beta2.GarageCluster{}
		text, err := json.Marshal(in.Cluster)
		if err == nil {
			err = json.Unmarshal(text, stored.Cluster)
		}
		if err != nil {
			t.Fatal(err)
		}
		two, err := all(stored, change)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(one, two); diff != "" {
			t.Fatalf("the same is rendered in two ways:\n%s", diff)
		}
		if diff := cmp.Diff(before, in.Cluster); diff != "" {
			t.Fatalf("the input was changed:\n%s", diff)
		}
		spoil(t, in, change)
		if diff := cmp.Diff(before, in.Cluster); diff != "" {
			t.Fatalf("what was rendered shares with the input:\n%s", diff)
		}
	})
}

// spoil writes into the maps and lists of what is rendered.
func spoil(t *rapid.T, in render.Input, change func(*v1beta1.GarageNode)) {
	p, err := render.NewPlan(in)
	if err != nil {
		t.Fatal(err)
	}
	node, err := p.AutoNode(0)
	if err != nil {
		t.Fatal(err)
	}
	change(node)
	out, err := p.Node(node)
	if err != nil {
		t.Fatal(err)
	}
	template := &out.StatefulSet.Spec.Template
	maps := []map[string]string{template.Labels, template.Annotations, template.Spec.NodeSelector, out.StatefulSet.Spec.VolumeClaimTemplates[0].Labels, node.Spec.Storage.Metadata.Labels}
	for _, object := range p.Shared(1) {
		maps = append(maps, object.GetLabels(), object.GetAnnotations())
	}
	for _, of := range maps {
		for key := range of {
			of[key] = "spoilt"
		}
	}
	for i := range template.Spec.Containers[0].Env {
		template.Spec.Containers[0].Env[i].Value = "spoilt"
	}
	if node.Spec.Storage.Data != nil && node.Spec.Storage.Data.Size != nil {
		node.Spec.Storage.Data.Size.Set(7)
	}
}

// TestHashTellsThePod holds that two nodes have one pod-spec-hash only where their Pods differ in nothing but the garage.toml.
func TestHashTellsThePod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods := map[string]string{}
		for i := range 2 {
			p, err := render.NewPlan(anyInput(t))
			if err != nil {
				t.Fatal(err)
			}
			node, err := p.AutoNode(0)
			if err != nil {
				t.Fatal(err)
			}
			out, err := p.Node(node)
			if err != nil {
				t.Fatal(err)
			}
			template := out.StatefulSet.Spec.Template.DeepCopy()
			delete(template.Annotations, v1beta2.AnnotationConfigHash)
			delete(template.Annotations, v1beta2.AnnotationPodSpecHash)
			template.Spec.Volumes[0].ConfigMap.Name = ""
			text, err := json.Marshal(template)
			if err != nil {
				t.Fatal(err)
			}
			if other, seen := pods[out.PodSpecHash]; seen && other != string(text) {
				t.Fatalf("one hash, %s, of two Pods (%d):\n%s", out.PodSpecHash, i, cmp.Diff(other, string(text)))
			}
			pods[out.PodSpecHash] = string(text)
		}
	})
}

func ExamplePodName() {
	fmt.Println(render.PodName(render.NodeName("demo", 2)), render.ClaimName("data-0", render.NodeName("demo", 2)), render.RPCSecretName("demo"))
	// Output: demo-storage-2-0 data-0-demo-storage-2-0 demo-rpc-secret
}
