package crd

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	natscluster "github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

// shared is an object of a kind that the NATS controllers share; without a spec where that is nil.
func shared(namespace, kind, name string, spec fields) *unstructured.Unstructured {
	object := map[string]any{
		"apiVersion": natsv1beta1.GroupVersion.String(), "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name},
	}
	if spec != nil {
		object["spec"] = map[string]any(spec)
	}
	return &unstructured.Unstructured{Object: object}
}

// literal is a NatsOperatorTrust's spec with both JWTs, and with the given fields besides or instead.
func literal(changes fields) fields {
	spec := fields{"operatorJWT": "an operator's", "systemAccountJWT": "an account's"}
	maps.Copy(spec, changes)
	maps.DeleteFunc(spec, func(_ string, v any) bool { return v == nil })
	return spec
}

func operatorRef(f fields) fields { return fields{"operatorRef": map[string]any(f)} }

const (
	eitherForm   = "spec: Invalid value: set either operatorRef, or operatorJWT and systemAccountJWT"
	bothLiterals = "spec: Invalid value: operatorJWT and systemAccountJWT go together: set both"
)

// trusts are specs of a NatsOperatorTrust, and with which words they are refused.
var trusts = map[string]struct {
	spec    fields
	refused string // "" = accepted
}{
	"no spec":                        {nil, "spec: Required value"},
	"spec empty":                     {fields{}, "spec: Invalid value: 0: spec in body should have at least 1 properties"},
	"both JWTs":                      {literal(nil), ""},
	"a reference":                    {operatorRef(fields{"name": "main"}), ""},
	"a reference elsewhere":          {operatorRef(fields{"name": "main", "namespace": "nats-system"}), ""},
	"a reference and both JWTs":      {literal(operatorRef(fields{"name": "main"})), eitherForm},
	"the operator's JWT alone":       {literal(fields{"systemAccountJWT": nil}), bothLiterals},
	"the account's JWT alone":        {literal(fields{"operatorJWT": nil}), bothLiterals},
	"a reference and an operator's":  {literal(fields{"systemAccountJWT": nil, "operatorRef": named("main")}), bothLiterals},
	"a reference and an account's":   {literal(fields{"operatorJWT": nil, "operatorRef": named("main")}), bothLiterals},
	"an operator's JWT of nothing":   {literal(fields{"operatorJWT": ""}), "spec.operatorJWT: Invalid value: \"\""},
	"an operator's JWT at longest":   {literal(fields{"operatorJWT": strings.Repeat("a", 65536)}), ""},
	"an operator's JWT too long":     {literal(fields{"operatorJWT": strings.Repeat("a", 65537)}), "spec.operatorJWT: Too long"},
	"an account's JWT of nothing":    {literal(fields{"systemAccountJWT": ""}), "spec.systemAccountJWT: Invalid value: \"\""},
	"an account's JWT at longest":    {literal(fields{"systemAccountJWT": strings.Repeat("a", 65536)}), ""},
	"an account's JWT too long":      {literal(fields{"systemAccountJWT": strings.Repeat("a", 65537)}), "spec.systemAccountJWT: Too long"},
	"a reference to nothing":         {operatorRef(fields{}), "spec.operatorRef.name: Required value"},
	"a reference by no name":         {operatorRef(fields{"namespace": "nats-system"}), "spec.operatorRef.name: Required value"},
	"a reference with an empty name": {operatorRef(fields{"name": ""}), "spec.operatorRef.name: Invalid value: \"\""},
	"a reference at its longest":     {operatorRef(fields{"name": strings.Repeat("a", 253), "namespace": strings.Repeat("a", 63)}), ""},
	"a reference by too long a name": {operatorRef(fields{"name": strings.Repeat("a", 254)}), "spec.operatorRef.name: Too long"},
	"a reference to no namespace":    {operatorRef(fields{"name": "main", "namespace": ""}), "spec.operatorRef.namespace: Invalid value: \"\""},
	"a reference too far away":       {operatorRef(fields{"name": "main", "namespace": strings.Repeat("a", 64)}), "spec.operatorRef.namespace: Too long"},
}

// TestOperatorTrust holds that a NatsOperatorTrust has exactly one form, whole, from the first and later.
func TestOperatorTrust(t *testing.T) {
	e := env.Start(t)
	ns := e.Namespace(t)
	stored := map[string]*unstructured.Unstructured{
		"from both JWTs": shared(ns, natsv1beta1.KindNatsOperatorTrust, "literal", literal(nil)),
		"from the other": shared(ns, natsv1beta1.KindNatsOperatorTrust, "reference", operatorRef(fields{"name": "main"})),
	}
	for _, object := range stored {
		if err := e.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range trusts {
		t.Run(name, func(t *testing.T) {
			judge(t, e.Client.Create(t.Context(), shared(ns, natsv1beta1.KindNatsOperatorTrust, "x", c.spec), client.DryRunAll), c.refused)
		})
		for from, object := range stored {
			t.Run(name+" "+from, func(t *testing.T) {
				next := shared(ns, natsv1beta1.KindNatsOperatorTrust, object.GetName(), c.spec)
				next.SetResourceVersion(object.GetResourceVersion())
				judge(t, e.Client.Update(t.Context(), next, client.DryRunAll), c.refused)
			})
		}
	}
}

// many are n entries, each the one given.
func many(n int, entry fields) []any {
	all := make([]any, 0, n)
	for range n {
		all = append(all, map[string]any(entry))
	}
	return all
}

// change is an entry with other fields; one that is nil is taken away.
func change(entry fields, to fields) fields {
	out := maps.Clone(entry)
	maps.Copy(out, to)
	maps.DeleteFunc(out, func(_ string, v any) bool { return v == nil })
	return out
}

// TestReferenceGrant holds what a NatsReferenceGrant has to say, and how much it may.
func TestReferenceGrant(t *testing.T) {
	e := env.Start(t)
	ns := e.Namespace(t)
	referrer := fields{"group": natscluster.GroupVersion.Group, "kind": natscluster.KindNatsCluster, "namespace": "apps"}
	object := fields{"group": natsv1beta1.GroupVersion.Group, "kind": natsv1beta1.KindNatsOperatorTrust}
	grant := func(from, to []any) fields { return fields{"from": from, "to": to} }
	from := func(to fields) fields { return grant(many(1, change(referrer, to)), many(1, object)) }
	to := func(what fields) fields { return grant(many(1, referrer), many(1, change(object, what))) }
	cases := map[string]struct {
		spec    fields
		refused string
	}{
		"no spec":       {nil, "spec: Required value"},
		"spec empty":    {fields{}, "spec.from: Required value"},
		"from nobody":   {fields{"to": many(1, object)}, "spec.from: Required value"},
		"to nothing":    {fields{"from": many(1, referrer)}, "spec.to: Required value"},
		"from an empty": {grant(many(0, nil), many(1, object)), "spec.from: Invalid value: 0: spec.from in body should have at least 1 items"},
		"to an empty":   {grant(many(1, referrer), many(0, nil)), "spec.to: Invalid value: 0: spec.to in body should have at least 1 items"},
		"all of a kind": {grant(many(1, referrer), many(1, object)), ""},
		"one by name":   {to(fields{"name": "main"}), ""},
		"the most":      {grant(many(64, referrer), many(64, object)), ""},
		"from too many": {grant(many(65, referrer), many(1, object)), "spec.from: Too many: 65"},
		"to too many":   {grant(many(1, referrer), many(65, object)), "spec.to: Too many: 65"},
	}
	bounds := map[string]int{"group": 253, "kind": 63, "namespace": 63, "name": 253}
	for end, of := range map[string]struct {
		entry  func(fields) fields
		fields []string
	}{
		"from": {from, []string{"group", "kind", "namespace"}}, "to": {to, []string{"group", "kind", "name"}},
	} {
		for _, field := range of.fields {
			add := func(what string, value any, refused string) {
				cases[fmt.Sprintf("%s %s %s", end, field, what)] = struct {
					spec    fields
					refused string
				}{of.entry(fields{field: value}), refused}
			}
			path := fmt.Sprintf("spec.%s[0].%s: ", end, field)
			if field != "name" {
				add("missing", nil, path+"Required value")
			}
			add("empty", "", path+"Invalid value: \"\"")
			add("at its longest", strings.Repeat("a", bounds[field]), "")
			add("too long", strings.Repeat("a", bounds[field]+1), path+"Too long")
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			judge(t, e.Client.Create(t.Context(), shared(ns, natsv1beta1.KindNatsReferenceGrant, "x", c.spec), client.DryRunAll), c.refused)
		})
	}
}
