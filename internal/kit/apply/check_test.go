package apply_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/kit/apply"
)

func TestCheck(t *testing.T) {
	b := newBench(t)
	desired := b.configMap()
	b.must(b.Check(t.Context(), b.owner, desired)) // nobody's yet
	b.apply(desired, true)
	b.must(b.Check(t.Context(), b.owner, desired)) // ours

	theirs := b.configMap()
	theirs.Name = "theirs"
	b.must(b.user.Create(t.Context(), theirs))
	b.stale, b.writes = func(client.Object) error { return errNotFound }, 0 // the narrowed cache does not show it
	want := []*apply.ForeignError{{Kind: "ConfigMap", Namespace: b.owner.Namespace, Name: "theirs"}}
	if diff := cmp.Diff(want, apply.Foreign(b.Check(t.Context(), b.owner, theirs))); diff != "" {
		t.Error(diff)
	}
	if b.writes != 0 {
		t.Error("it wrote")
	}
}
