package crd

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	natscluster "github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

// TestRatchet holds that an object which a new rule finds invalid can still be changed elsewhere, and that what is
// wrong with it can be put right but not be exchanged for another wrong.
func TestRatchet(t *testing.T) {
	e := env.Start(t)
	ns := e.Namespace(t)
	ratchet := copyOfCRD(t, e, clusterFile)
	cases := map[string]struct{ invalid, other, valid fields }{
		"version":                {fields{"version": "2.14.0"}, fields{"version": "2.14.1"}, fields{"version": "2.15.0"}},
		"replicas":               {fields{"replicas": int64(100)}, fields{"replicas": int64(101)}, fields{"replicas": int64(64)}},
		"image digest":           {image(fields{"digest": "sha256:x"}), image(fields{"digest": "sha256:y"}), image(fields{"digest": digest})},
		"server tags":            {tags(fields{"a:b": "c"}), tags(fields{"a:b": "d"}), tags(fields{"a": "d"})},
		"exporter without peers": {exporter(fields{"from": []any{}}), exporter(fields{"from": peers(65)}), exporter(fields{"from": peers(1)})},
		"jetstream limit":        {jetstreamLimits(fields{"maxFileStore": "-1"}), jetstreamLimits(fields{"maxFileStore": "-2"}), jetstreamLimits(fields{"maxFileStore": "2"})},
		"routes TLS off, by a Secret": {
			routesTLS(fields{"enabled": false, "secretRef": named("s")}), routesTLS(fields{"enabled": false, "secretRef": named("t")}),
			routesTLS(fields{"enabled": false}),
		},
		"auth resolver":   {auth(fields{"resolver": "Memory"}), auth(fields{"resolver": "Disk"}), auth(fields{"resolver": "Cache"})},
		"trust reference": {trustRef(fields{"name": ""}), trustRef(fields{"name": strings.Repeat("a", 254)}), trustRef(fields{"name": "main"})},
	}
	objects := map[string]*unstructured.Unstructured{}
	for name, c := range cases {
		object := cluster(ns, fmt.Sprintf("r-%d", len(objects)), c.invalid)
		ratchet.in(object)
		gomega.NewWithT(t).Eventually(func() error { return e.Client.Create(t.Context(), object) }, wait).Should(gomega.Succeed())
		objects[name] = object
	}
	ratchet.tighten(t, e, cluster(ns, "probe", fields{"version": "2.14.0"}))
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			update := func(changes fields, elsewhere string) error {
				next := objects[name].DeepCopy()
				spec := next.Object["spec"].(map[string]any)
				maps.Copy(spec, changes)
				spec["podTemplate"] = map[string]any{"metadata": map[string]any{"labels": map[string]any{"elsewhere": elsewhere}}}
				return e.Client.Update(t.Context(), next, client.DryRunAll)
			}
			if err := update(c.invalid, "a"); err != nil {
				t.Errorf("a change elsewhere: %v", err)
			}
			if err := update(c.other, "b"); !apierrors.IsInvalid(err) {
				t.Errorf("another wrong in its place: %v, want it refused", err)
			}
			if err := update(c.valid, "c"); err != nil {
				t.Errorf("put right: %v", err)
			}
		})
	}
}

const wait = 30 * time.Second

// loose is a copy of a CRD in a group of its own, which accepts anything until it is tightened.
type loose struct {
	crd      *unstructured.Unstructured
	group    string
	versions []any
}

func copyOfCRD(t *testing.T, e *env.Env, file string) *loose {
	t.Helper()
	crd, _ := env.CRD(t, file)
	l := &loose{crd: crd, group: "ratchet.example.com"}
	spec := crd.Object["spec"].(map[string]any)
	l.versions = spec["versions"].([]any)
	plural, _, _ := unstructured.NestedString(spec, "names", "plural")
	crd.SetName(plural + "." + l.group)
	spec["group"] = l.group
	anything := map[string]any{"name": l.versions[0].(map[string]any)["name"], "served": true, "storage": true, "schema": map[string]any{
		"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
	}}
	spec["versions"] = []any{anything}
	if err := e.Client.Create(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Client.Delete(context.Background(), crd); err != nil {
			t.Error(err)
		}
	})
	return l
}

// in puts an object into the copy's group.
func (l *loose) in(object *unstructured.Unstructured) *unstructured.Unstructured {
	object.SetAPIVersion(l.group + "/" + object.GroupVersionKind().Version)
	return object
}

// tighten brings the real schema, and returns when it is in force: when it refuses the probe.
func (l *loose) tighten(t *testing.T, e *env.Env, probe *unstructured.Unstructured) {
	t.Helper()
	patch := client.MergeFrom(l.crd.DeepCopy())
	l.crd.Object["spec"].(map[string]any)["versions"] = l.versions
	if err := e.Client.Patch(t.Context(), l.crd, patch); err != nil {
		t.Fatal(err)
	}
	l.in(probe)
	gomega.NewWithT(t).Eventually(func() bool {
		return apierrors.IsInvalid(e.Client.Create(t.Context(), probe.DeepCopy(), client.DryRunAll))
	}, wait).Should(gomega.BeTrue(), "the schema is in force")
}

// TestConditionOwners holds that each writer of conditions owns its own, by type.
func TestConditionOwners(t *testing.T) {
	e := env.Start(t)
	ns := e.Namespace(t)
	if err := e.Client.Create(t.Context(), cluster(ns, "x", nil)); err != nil {
		t.Fatal(err)
	}
	apply := func(owner, kind, reason string) error {
		condition := map[string]any{
			"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": "2026-11-29T12:00:00Z", "observedGeneration": int64(1),
		}
		status := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": natscluster.GroupVersion.String(), "kind": natscluster.KindNatsCluster,
			"metadata": map[string]any{"namespace": ns, "name": "x"}, "status": map[string]any{"conditions": []any{condition}},
		}}
		return e.Client.Status().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(status), client.FieldOwner(owner))
	}
	for _, c := range []struct{ owner, kind, reason string }{
		{"first", "Ready", "AllServersReady"}, {"second", "Settled", "AllGroupsCurrent"}, {"first", "Ready", "QuorumAvailable"},
	} {
		if err := apply(c.owner, c.kind, c.reason); err != nil {
			t.Fatalf("%s applies %s: %v", c.owner, c.kind, err)
		}
	}
	if err := apply("second", "Ready", "QuorumUnavailable"); !apierrors.IsConflict(err) {
		t.Errorf("a second writer takes a condition over: %v, want a conflict", err)
	}
	got := &natscluster.NatsCluster{}
	if err := e.Client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "x"}, got); err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for _, condition := range got.Status.Conditions {
		reasons[condition.Type] = condition.Reason
	}
	want := map[string]string{"Ready": "QuorumAvailable", "Settled": "AllGroupsCurrent"}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}
