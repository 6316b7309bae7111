package apply_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/kit/apply"
)

var errNotFound = apierrors.NewNotFound(schema.GroupResource{Resource: "any"}, "any")

func at(obj client.Object) apply.Precondition {
	return apply.Precondition{UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()}
}

// unwritten checks that nobody has written the object since it was as before.
func (b *bench) unwritten(before client.Object) {
	b.Helper()
	if now := live(b, before); now.GetResourceVersion() != before.GetResourceVersion() || now.GetUID() != before.GetUID() {
		b.Errorf("%s was written: %+v", before.GetName(), now)
	}
}

func TestApplyRefusesForeignObjects(t *testing.T) {
	reference := func(b *bench) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: b.owner.Name, UID: b.owner.UID}
	}
	for name, owners := range map[string]func(*bench) []metav1.OwnerReference{
		"nobody's": func(*bench) []metav1.OwnerReference { return nil },
		"controlled by an earlier object of our name": func(b *bench) []metav1.OwnerReference {
			earlier := reference(b)
			earlier.UID, earlier.Controller = "earlier", new(true)
			return []metav1.OwnerReference{earlier}
		},
		"owned but not controlled by us": func(b *bench) []metav1.OwnerReference {
			return []metav1.OwnerReference{reference(b)}
		},
	} {
		for _, kind := range []string{"ConfigMap", "Secret"} {
			t.Run(kind+", "+name, func(t *testing.T) {
				b := newBench(t)
				desired := b.kinds()[kind]
				theirs := desired.DeepCopyObject().(client.Object)
				theirs.SetOwnerReferences(owners(b))
				b.must(b.user.Create(t.Context(), theirs))
				want := []*apply.ForeignError{{Kind: kind, Namespace: b.owner.Namespace, Name: desired.GetName()}}

				_, err := b.Apply(t.Context(), b.owner, desired)
				if diff := cmp.Diff(want, apply.Foreign(err)); diff != "" {
					t.Errorf("Apply: %v: %s", err, diff)
				}
				// The narrowed cache does not show it.
				b.stale = func(client.Object) error { return errNotFound }
				err = b.Check(t.Context(), b.owner, desired)
				if diff := cmp.Diff(want, apply.Foreign(err)); diff != "" {
					t.Errorf("Check: %v: %s", err, diff)
				}
				_, err = b.Apply(t.Context(), b.owner, desired)
				if diff := cmp.Diff(want, apply.Foreign(err)); diff != "" {
					t.Errorf("Apply behind a cache: %v: %s", err, diff)
				}
				err = b.ApplyAt(t.Context(), b.owner, desired, at(theirs))
				if diff := cmp.Diff(want, apply.Foreign(err)); diff != "" {
					t.Errorf("ApplyAt: %v: %s", err, diff)
				}
				b.unwritten(theirs)
			})
		}
	}
}

func TestCheckLetsPassWhatIsFreeOrOurs(t *testing.T) {
	b := newBench(t)
	b.must(b.Check(t.Context(), b.owner, b.configMap()))
	b.apply(b.configMap(), true)
	b.must(b.Check(t.Context(), b.owner, b.configMap()))
	b.stale = func(client.Object) error { return errors.New("broken") }
	if err := b.Check(t.Context(), b.owner, b.configMap()); err == nil {
		t.Error("Check passes without having read")
	}
}

// Between the last read and the creation, somebody else creates an object of the same name.
func TestApplyLosesTheRaceToCreate(t *testing.T) {
	b := newBench(t)
	theirs := b.configMap()
	b.beforeWrite = func(string) error { return b.user.Create(t.Context(), theirs) }
	if _, err := b.Apply(t.Context(), b.owner, b.configMap()); !apierrors.IsAlreadyExists(err) {
		t.Errorf("Apply: %v", err)
	}
	b.unwritten(theirs)
}

// Secrets are not cached; a read through the cache would list and watch them all.
func TestApplyNeverReadsSecretsThroughTheCache(t *testing.T) {
	b := newBench(t)
	b.stale = func(client.Object) error { return errors.New("secrets are not cached") }
	b.apply(b.secret(), true)
	b.apply(b.secret(), false)
}

func TestApplyReportsReadErrors(t *testing.T) {
	for name, breakIt := range map[string]func(*bench){
		"cache":      func(b *bench) { b.stale = func(client.Object) error { return errors.New("broken") } },
		"API server": func(b *bench) { b.absent = errors.New("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			breakIt(b)
			if changed, err := b.Apply(t.Context(), b.owner, b.configMap()); err == nil || changed || b.writes != 0 {
				t.Errorf("changed %t, error %v, %d writes", changed, err, b.writes)
			}
		})
	}
}

// The creation succeeded, the process died before it recorded what it had applied.
func TestApplyAfterACrashBetweenCreationAndRecord(t *testing.T) {
	b := newBench(t)
	desired := b.configMap()
	b.beforeWrite = func(what string) error {
		if what == "create" {
			return nil
		}
		return errors.New("crash")
	}
	if _, err := b.Apply(t.Context(), b.owner, desired); err == nil {
		t.Fatal("the crash did not happen")
	}
	b.beforeWrite = nil
	if !b.Unfinished(live(b, desired)) {
		t.Error("the creation is on record")
	}
	delete(desired.Data, "drop")
	b.apply(desired, true)
	b.rests(desired)
	if diff := cmp.Diff(map[string]string{"keep": "a"}, live(b, desired).Data); diff != "" {
		t.Error(diff)
	}
	if b.Unfinished(live(b, desired)) {
		t.Error("the creation is still not on record")
	}
}

// Another part of the controller has written the object in another way, under the same field owner.
func TestApplyTakesOverPlainWrites(t *testing.T) {
	b := newBench(t)
	desired := b.configMap()
	b.apply(desired, true)
	written := live(b, desired)
	written.Data["stray"] = "x"
	b.must(b.user.Update(t.Context(), written, client.FieldOwner(fieldOwner)))

	delete(desired.Data, "drop")
	b.apply(desired, true)
	b.rests(desired)
	if diff := cmp.Diff(map[string]string{"keep": "a"}, live(b, desired).Data); diff != "" {
		t.Error(diff)
	}
}

func TestApplyFromAStaleCacheConflicts(t *testing.T) {
	b := newBench(t)
	desired := b.configMap()
	b.apply(desired, true)
	seen := live(b, desired)
	b.stale = func(obj client.Object) error {
		seen.DeepCopyInto(obj.(*corev1.ConfigMap))
		return nil
	}
	moved := live(b, desired)
	moved.Data["theirs"] = "x"
	b.must(b.user.Update(t.Context(), moved))

	desired.Data["keep"] = "new"
	if _, err := b.Apply(t.Context(), b.owner, desired); !apierrors.IsConflict(err) {
		t.Errorf("Apply: %v", err)
	}
	b.unwritten(moved)

	// An object that was deleted and made again, while the cache still shows the first.
	b.must(b.user.Delete(t.Context(), moved))
	again := b.configMap()
	again.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: b.owner.Name, UID: b.owner.UID, Controller: new(true),
	}}
	b.must(b.user.Create(t.Context(), again))
	if _, err := b.Apply(t.Context(), b.owner, desired); !apierrors.IsConflict(err) {
		t.Errorf("Apply to a successor: %v", err)
	}
	b.unwritten(again)

	// An object that is gone is not made again from a stale cache.
	b.must(b.user.Delete(t.Context(), again))
	if _, err := b.Apply(t.Context(), b.owner, desired); !apierrors.IsConflict(err) {
		t.Errorf("Apply to what is gone: %v", err)
	}
}

func TestApplyAt(t *testing.T) {
	b := newBench(t)
	desired := b.statefulSet()
	if err := b.ApplyAt(t.Context(), b.owner, desired, apply.Precondition{UID: "u", ResourceVersion: "1"}); !apierrors.IsConflict(err) {
		t.Errorf("ApplyAt what is gone: %v", err)
	}
	b.must(b.ApplyAt(t.Context(), b.owner, desired, apply.Precondition{}))
	judged := live(b, desired)
	desired.Spec.Template.Spec.Containers[0].Image = "nats:2.15.4"

	moved := judged.DeepCopy()
	moved.Annotations["theirs"] = "x"
	b.must(b.user.Update(t.Context(), moved))
	if err := b.ApplyAt(t.Context(), b.owner, desired, at(judged)); !apierrors.IsConflict(err) {
		t.Errorf("ApplyAt an old resourceVersion: %v", err)
	}
	if err := b.ApplyAt(t.Context(), b.owner, desired, apply.Precondition{}); !apierrors.IsConflict(err) {
		t.Errorf("ApplyAt for what was not there: %v", err)
	}
	other := at(moved)
	other.UID = "another"
	if err := b.ApplyAt(t.Context(), b.owner, desired, other); !apierrors.IsConflict(err) {
		t.Errorf("ApplyAt another UID: %v", err)
	}
	b.unwritten(moved)

	// It moves between the check and the write.
	b.beforeWrite = func(string) error {
		moved.Annotations["theirs"] = "y"
		return b.user.Update(t.Context(), moved)
	}
	if err := b.ApplyAt(t.Context(), b.owner, desired, at(moved)); !apierrors.IsConflict(err) {
		t.Errorf("ApplyAt while it moves: %v", err)
	}
	b.unwritten(moved)

	b.beforeWrite = nil
	b.stale = func(client.Object) error { return errors.New("the cache was asked") }
	b.must(b.ApplyAt(t.Context(), b.owner, desired, at(moved)))
	if got := live(b, desired).Spec.Template.Spec.Containers[0].Image; got != "nats:2.15.4" {
		t.Errorf("image is %s", got)
	}
}

func TestDelete(t *testing.T) {
	for _, kind := range []string{"ConfigMap", "Secret"} {
		t.Run(kind, func(t *testing.T) {
			b := newBench(t)
			desired := b.kinds()[kind]
			b.apply(desired, true)
			judged := live(b, desired)
			moved := live(b, desired)
			moved.SetLabels(map[string]string{"theirs": "x"})
			b.must(b.user.Update(t.Context(), moved))

			if err := b.Delete(t.Context(), desired, at(judged)); !apierrors.IsConflict(err) {
				t.Errorf("Delete at an old resourceVersion: %v", err)
			}
			if err := b.Delete(t.Context(), desired, apply.Precondition{UID: "another", ResourceVersion: moved.GetResourceVersion()}); !apierrors.IsConflict(err) {
				t.Errorf("Delete of another UID: %v", err)
			}
			b.unwritten(moved)
			b.must(b.Delete(t.Context(), desired, at(moved)))
			if err := b.user.Get(t.Context(), client.ObjectKeyFromObject(desired), moved); !apierrors.IsNotFound(err) {
				t.Errorf("after Delete: %v", err)
			}
			b.must(b.Delete(t.Context(), desired, at(moved)))
		})
	}
}

func TestForeignDigsThroughErrors(t *testing.T) {
	one, two := &apply.ForeignError{Kind: "Service", Name: "a"}, &apply.ForeignError{Kind: "Secret", Name: "b"}
	other := errors.New("refused")
	for name, c := range map[string]struct {
		err  error
		want []*apply.ForeignError
	}{
		"nil":     {nil, nil},
		"other":   {other, nil},
		"itself":  {one, []*apply.ForeignError{one}},
		"wrapped": {fmt.Errorf("a: %w", one), []*apply.ForeignError{one}},
		"joined":  {fmt.Errorf("a: %w", errors.Join(other, fmt.Errorf("b: %w", one), errors.Join(two))), []*apply.ForeignError{one, two}},
		"two %w":  {fmt.Errorf("%w, %w", two, one), []*apply.ForeignError{two, one}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, apply.Foreign(c.err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProblem(t *testing.T) {
	gone := schema.GroupResource{Resource: "configmaps"}
	forbidden := apierrors.NewForbidden(gone, "a", errors.New("no role"))
	for name, c := range map[string]struct {
		err     error
		want    string
		foreign bool
	}{
		"an error":          {err: errors.New("no disk"), want: "no disk"},
		"a conflict":        {err: fmt.Errorf("x: %w", apierrors.NewConflict(gone, "a", errors.New("moved")))},
		"a busy API server": {err: apierrors.NewTooManyRequests("slowly", 1)},
		"no time":           {err: fmt.Errorf("x: %w", context.DeadlineExceeded)},
		"the end":           {err: context.Canceled},
		"something refused": {err: forbidden, want: forbidden.Error()},
		"objects of another": {
			err:     errors.Join(&apply.ForeignError{Kind: "Secret", Name: "a"}, fmt.Errorf("x: %w", &apply.ForeignError{Kind: "Service", Name: "b"})),
			foreign: true,
			want: "Secret a, Service b: of a name that this Thing needs, and not controlled by it; nothing of that name was written: " +
				"delete or rename each, or rename the Thing",
		},
	} {
		got, is := apply.Problem(c.err, "Thing")
		if got != c.want || is != c.foreign {
			t.Errorf("%s: %q, %v", name, got, is)
		}
	}
}
