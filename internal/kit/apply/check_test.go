package apply_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

func TestTry(t *testing.T) {
	b := newBench(t)
	desired := b.configMap()
	b.must(b.Try(t.Context(), b.owner, desired))
	if err := b.user.Get(t.Context(), client.ObjectKeyFromObject(desired), b.configMap()); !apierrors.IsNotFound(err) {
		t.Errorf("it was written: %v", err)
	}
	b.apply(desired, true)
	before := live(b, desired)
	desired.Data["keep"] = "b"
	b.must(b.Try(t.Context(), b.owner, desired))
	b.unwritten(before)
	desired.Data["no key/"] = "c"
	if err := b.Try(t.Context(), b.owner, desired); !apierrors.IsInvalid(err) {
		t.Errorf("the API server would take it: %v", err)
	}
}
