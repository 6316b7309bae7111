package apply_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/kit/apply"
)

// unlabelled is an object of ours that has lost its labels, as a narrowed cache would not show it, and was edited besides.
func unlabelled(b *bench) (desired, edited *corev1.ConfigMap) {
	b.Helper()
	desired = b.configMap()
	desired.Labels = map[string]string{"app": "test", "part": "one"}
	b.apply(desired, true)
	edited = live(b, desired)
	before := edited.DeepCopy()
	edited.Labels, edited.Data["keep"] = nil, "edited"
	b.must(b.user.Patch(b.Context(), edited, client.MergeFrom(before)))
	b.stale = func(client.Object) error { return errNotFound }
	return desired, edited
}

func TestLostLabelsAreAllThatIsPutBack(t *testing.T) {
	for name, do := range map[string]func(*bench, *corev1.ConfigMap) error{
		"by a look": func(b *bench, desired *corev1.ConfigMap) error { return b.Check(b.Context(), b.owner, desired) },
		"by a creation": func(b *bench, desired *corev1.ConfigMap) error {
			err := b.ApplyAt(b.Context(), b.owner, desired, apply.Precondition{})
			if apierrors.IsConflict(err) {
				return nil // decide again: it is there
			}
			b.Errorf("it was not refused: %v", err)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			desired, edited := unlabelled(b)
			b.must(do(b, desired))
			b.stale = nil
			now := live(b, desired)
			if diff := cmp.Diff(desired.Labels, now.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(edited.Data, now.Data); diff != "" {
				t.Errorf("the rest was written too (-before +after):\n%s", diff)
			}
			b.unwritten(now)
			b.must(b.Check(t.Context(), b.owner, desired))
			b.unwritten(now)
		})
	}
}

func TestLabelsOfSomebodyElseStay(t *testing.T) {
	b := newBench(t)
	theirs := b.configMap()
	theirs.Name = "theirs"
	b.must(b.user.Create(t.Context(), theirs))
	desired := b.configMap()
	desired.Name, desired.Labels = "theirs", map[string]string{"app": "test"}
	b.stale, b.writes = func(client.Object) error { return errNotFound }, 0
	for name, err := range map[string]error{
		"look":     b.Check(t.Context(), b.owner, desired),
		"creation": b.ApplyAt(t.Context(), b.owner, desired, apply.Precondition{}),
	} {
		if len(apply.Foreign(err)) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b.writes != 0 {
		t.Errorf("%d writes", b.writes)
	}
}

func TestOwns(t *testing.T) {
	b := newBench(t)
	desired := b.configMap()
	b.apply(desired, true)
	owns := func(path ...string) bool { return b.Owns(live(b, desired), path...) }
	if !owns("data", "keep") || owns("data", "other") || owns("data", "keep", "deeper") || owns() {
		t.Error("of what was applied")
	}
	edited := live(b, desired)
	before := edited.DeepCopy()
	edited.Data["keep"] = "edited"
	b.must(b.user.Patch(t.Context(), edited, client.MergeFrom(before)))
	if owns("data", "keep") {
		t.Error("of what somebody has edited")
	}
	b.apply(desired, true)
	if !owns("data", "keep") {
		t.Error("of what was put back")
	}
	// A creation that was not taken over as an apply yet is ours too.
	created := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "created", Namespace: b.owner.Namespace}, Data: map[string]string{"keep": "a"}}
	b.must(b.user.Create(t.Context(), created, client.FieldOwner(fieldOwner)))
	if !b.Owns(created, "data", "keep") {
		t.Error("of what was created")
	}
}
