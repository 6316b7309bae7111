package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// An Applier writes rendered objects. All fields are required.
type Applier struct {
	// Client reads from the cache and writes to the API server. Its scheme knows every kind.
	Client client.Client
	// Reader reads from the API server. Secrets are only read through it: they are not cached.
	Reader client.Reader
	// Owner is the field owner, one per controller.
	Owner string
	// DigestAnnotation is the annotation that carries the digest of what was rendered.
	DigestAnnotation string
}

// A Precondition is the one state of an object that a write is meant for.
type Precondition struct {
	UID             types.UID
	ResourceVersion string
}

// At is the state that object, which was read before, is in.
func At(object client.Object) Precondition {
	return Precondition{UID: object.GetUID(), ResourceVersion: object.GetResourceVersion()}
}

// Apply makes the object of desired's name what desired says, controlled by owner, and says whether it wrote.
// desired is not changed; its status is ignored. The error is a ForeignError when the name is taken, and a
// conflict (or an AlreadyExists) when the object moved meanwhile: decide again.
func (a *Applier) Apply(ctx context.Context, owner, desired client.Object) (changed bool, err error) {
	want, err := a.render(owner, desired)
	if err != nil {
		return false, err
	}
	live, err := a.read(ctx, want)
	if err != nil {
		return false, err
	}
	if live == nil {
		return true, a.create(ctx, want)
	}
	return a.update(ctx, owner, want, live)
}

// ApplyAt is Apply for a write that makes something restart or go away. It asks the API server, not the cache,
// and fails with a conflict unless the object is in the very state that was decided on. The zero state is that of
// an object that does not exist. An object that was not seen because it has lost its labels gets them back, and nothing
// else.
func (a *Applier) ApplyAt(ctx context.Context, owner, desired client.Object, at Precondition) error {
	want, err := a.render(owner, desired)
	if err != nil {
		return err
	}
	live, err := a.get(ctx, a.Reader, want.object)
	if err != nil {
		return err
	}
	if live == nil && at == (Precondition{}) {
		return a.create(ctx, want)
	}
	if live == nil {
		return a.conflict(want, "it is gone")
	}
	if at == (Precondition{}) {
		return errors.Join(a.conflict(want, "it is there already"), a.relabel(ctx, owner, want, live))
	}
	if live.GetUID() != at.UID || live.GetResourceVersion() != at.ResourceVersion {
		return a.conflict(want, "it has changed since it was judged")
	}
	_, err = a.update(ctx, owner, want, live)
	return err
}

// relabel puts the rendered labels back on an object that owner controls. It is no apply: nothing else of the object is
// judged here.
func (a *Applier) relabel(ctx context.Context, owner client.Object, want *rendered, live client.Object) error {
	if err := refuseForeign(owner, want, live); err != nil {
		return err
	}
	labels := maps.Clone(live.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, want.object.GetLabels())
	if maps.Equal(labels, live.GetLabels()) {
		return nil
	}
	before, ok := live.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%s %s: its copy is no object", want.kind, live.GetName())
	}
	live.SetLabels(labels)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := a.Client.Patch(ctx, live, patch, client.FieldOwner(a.Owner+"-labels"), client.DisableReadYourWritesConsistency); err != nil {
		return fmt.Errorf("putting the labels of %s %s back: %w", want.kind, live.GetName(), err)
	}
	return nil
}

// Matches says whether live, an object that was read before, is as desired says: an Apply would write nothing.
// It sends no request.
func (a *Applier) Matches(owner, desired, live client.Object) (bool, error) {
	want, err := a.render(owner, desired)
	if err != nil {
		return false, err
	}
	return a.same(want, live)
}

// Unfinished says that live was created by this owner and that the creation was never recorded as applied: a crash
// or a conflict came in between. An Apply completes it, and changes nothing else where nobody has edited it.
func (a *Applier) Unfinished(live client.Object) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == a.Owner && entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource == ""
	})
}

// Delete deletes the object if it is still in the state at, and fails with a conflict if it is not. An object
// that is gone is no error.
func (a *Applier) Delete(ctx context.Context, obj client.Object, at Precondition) error {
	options := []client.DeleteOption{client.Preconditions{UID: &at.UID, ResourceVersion: &at.ResourceVersion}}
	if uncached(obj) {
		options = append(options, client.DisableReadYourWritesConsistency)
	}
	if err := a.Client.Delete(ctx, obj, options...); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %s: %w", obj.GetName(), err)
	}
	return nil
}

// read returns the live object, nil when there is none. The cache is asked first; what it does not hold may
// be somebody else's object without the label that narrows the cache, so the API server has the last word.
func (a *Applier) read(ctx context.Context, want *rendered) (client.Object, error) {
	if !uncached(want.object) {
		if live, err := a.get(ctx, a.Client, want.object); live != nil || err != nil {
			return live, err
		}
	}
	return a.get(ctx, a.Reader, want.object)
}

func (a *Applier) get(ctx context.Context, from client.Reader, like client.Object) (client.Object, error) {
	live, err := a.empty(like)
	if err != nil {
		return nil, err
	}
	err = from.Get(ctx, client.ObjectKeyFromObject(like), live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", like.GetName(), err)
	}
	return live, nil
}

// empty returns a new object of like's kind and name. Replies are decoded into it and not into an object that
// has fields already, because JSON decoding merges.
func (a *Applier) empty(like client.Object) (client.Object, error) {
	gvk, err := apiutil.GVKForObject(like, a.Client.Scheme())
	if err != nil {
		return nil, err
	}
	made, err := a.Client.Scheme().New(gvk)
	if err != nil {
		return nil, err
	}
	object, ok := made.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%s is no kind of object", gvk.Kind)
	}
	object.SetNamespace(like.GetNamespace())
	object.SetName(like.GetName())
	return object, nil
}

// create makes the object with a plain creation, which is refused when somebody else was faster. An apply
// would merge into whatever is there.
func (a *Applier) create(ctx context.Context, want *rendered) error {
	options := []client.CreateOption{client.FieldOwner(a.Owner)}
	if uncached(want.object) {
		options = append(options, client.DisableReadYourWritesConsistency)
	}
	if err := a.Client.Create(ctx, want.object, options...); err != nil {
		return fmt.Errorf("creating %s %s: %w", want.kind, want.object.GetName(), err)
	}
	_, err := a.takeOver(ctx, want, want.object)
	return err
}

func (a *Applier) update(ctx context.Context, owner client.Object, want *rendered, live client.Object) (bool, error) {
	if err := refuseForeign(owner, want, live); err != nil {
		return false, err
	}
	same, err := a.same(want, live)
	if same || err != nil {
		return false, err
	}
	resourceVersion, err := a.takeOver(ctx, want, live)
	if err != nil {
		return false, err
	}
	body, err := json.Marshal(want.at(live.GetUID(), resourceVersion))
	if err != nil {
		return false, fmt.Errorf("rendered %s %s: %w", want.kind, want.object.GetName(), err)
	}
	_, err = a.patch(ctx, want, types.ApplyPatchType, body, client.ForceOwnership)
	return true, err
}

// same says whether live is what the last apply made it, and that was the same rendering.
func (a *Applier) same(want *rendered, live client.Object) (bool, error) {
	if live.GetAnnotations()[a.DigestAnnotation] != want.digest {
		return false, nil
	}
	set, err := owned(live, a.Owner)
	if set == nil || err != nil {
		return false, err
	}
	return covers(set, want.tracked()), nil
}

// takeOver records what was set by a creation as applied, and returns the object's new resourceVersion.
func (a *Applier) takeOver(ctx context.Context, want *rendered, live client.Object) (string, error) {
	body, err := takeOver(live, a.Owner)
	if body == nil || err != nil {
		return live.GetResourceVersion(), err
	}
	return a.patch(ctx, want, types.JSONPatchType, body)
}

// patch sends one patch and returns the object's new resourceVersion. It goes out for the typed object, so that
// later reads from the cache wait for it: the client keeps that account for each Go type apart.
func (a *Applier) patch(ctx context.Context, want *rendered, kind types.PatchType, body []byte, options ...client.PatchOption) (string, error) {
	answer, err := a.empty(want.object)
	if err != nil {
		return "", err
	}
	options = append(options, client.FieldOwner(a.Owner))
	if uncached(answer) {
		options = append(options, client.DisableReadYourWritesConsistency)
	}
	if err := a.Client.Patch(ctx, answer, client.RawPatch(kind, body), options...); err != nil {
		return "", fmt.Errorf("writing %s %s: %w", want.kind, want.object.GetName(), err)
	}
	return answer.GetResourceVersion(), nil
}

func (a *Applier) conflict(want *rendered, why string) error {
	gvk := want.object.GetObjectKind().GroupVersionKind()
	return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, want.object.GetName(), errors.New(why))
}

// uncached says whether an object's kind is never cached. A read through the cache would start to list and
// watch it, and so would the bookkeeping by which the client lets reads wait for writes.
func uncached(obj client.Object) bool {
	_, secret := obj.(*corev1.Secret)
	return secret
}
