package crd

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	garagev1beta1 "github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

// garage is a GarageCluster whose spec is the smallest there is, changed: a key is a path, and nil takes what is there away.
func garage(namespace, name string, changes fields) *unstructured.Unstructured {
	return changed(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1beta2.GroupVersion.String(), "kind": v1beta2.KindGarageCluster,
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{"storage": map[string]any{
			"metadata": map[string]any{"size": "1Gi"}, "data": map[string]any{"size": "100Gi"},
		}},
	}}, changes)
}

// node is a GarageNode of the same kind.
func node(namespace, name string, changes fields) *unstructured.Unstructured {
	return changed(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": garagev1beta1.GroupVersion.String(), "kind": garagev1beta1.KindGarageNode,
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{
			"clusterRef": named("demo"), "zone": "a", "capacity": "100Gi",
			"storage": map[string]any{"metadata": map[string]any{"size": "1Gi"}, "data": map[string]any{"size": "100Gi"}},
		},
	}}, changes)
}

func changed(object *unstructured.Unstructured, changes fields) *unstructured.Unstructured {
	// What is above comes before what is below it.
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		value := changes[path]
		at := strings.Split("spec."+path, ".")
		if value == nil {
			unstructured.RemoveNestedField(object.Object, at...)
			continue
		}
		table := object.Object
		for _, key := range at[:len(at)-1] {
			below, ok := table[key].(map[string]any)
			if !ok {
				below = map[string]any{}
				table[key] = below
			}
			table = below
		}
		table[at[len(at)-1]] = value
	}
	return object
}

type (
	creation struct {
		changes fields
		refused string // "" = accepted
	}
	edit struct {
		from, to fields
		refused  string
	}
	maker func(namespace, name string, changes fields) *unstructured.Unstructured
)

func testCreations(t *testing.T, of maker, cases map[string]creation) {
	t.Helper()
	e := env.Start(t)
	ns := e.Namespace(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			judge(t, e.Client.Create(t.Context(), of(ns, "x", c.changes), client.DryRunAll), c.refused)
		})
	}
}

// testEdits makes each object and tries the edit on it; to has all that is to be different from the smallest object.
func testEdits(t *testing.T, of maker, prefix string, cases map[string]edit) {
	t.Helper()
	e := env.Start(t)
	ns := e.Namespace(t)
	n := 0
	for name, c := range cases {
		n++
		object := of(ns, fmt.Sprintf("%s-%d", prefix, n), c.from)
		t.Run(name, func(t *testing.T) {
			if err := e.Client.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			next := of(ns, object.GetName(), c.to)
			next.SetResourceVersion(object.GetResourceVersion())
			judge(t, e.Client.Update(t.Context(), next, client.DryRunAll), c.refused)
		})
	}
}

// and are both changes.
func and(all ...fields) fields {
	out := fields{}
	for _, one := range all {
		maps.Copy(out, one)
	}
	return out
}

func entries(n int, of func(i int) any) []any {
	var all []any
	for i := range n {
		all = append(all, of(i))
	}
	return all
}

// disk is an entry of storage.data.paths, and nodeDisk one of a GarageNode's dataPaths.
func disk(path, size string, more fields) map[string]any {
	out := map[string]any{"path": path, "volume": map[string]any{"size": size}}
	maps.Copy(out, more)
	return out
}

func nodeDisk(path, size string, more fields) map[string]any {
	out := map[string]any{"path": path, "size": size}
	maps.Copy(out, more)
	maps.DeleteFunc(out, func(_ string, v any) bool { return v == nil || v == "" })
	return out
}

// disks are spec.storage.data of several.
func disks(all ...any) fields {
	return fields{"storage.data": map[string]any{"paths": append([]any{}, all...)}}
}

// nodeDisks are a GarageNode's.
func nodeDisks(all ...any) fields { return fields{"storage.data": nil, "storage.dataPaths": all} }
