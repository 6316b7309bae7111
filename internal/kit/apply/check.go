package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Check says whether the name of desired is free for owner: a ForeignError when an object has it that owner does not
// control. It writes nothing of the object, so that several can be looked at before the first is written; but one of
// owner's that the cache does not show, since it has lost its labels, gets them back.
func (a *Applier) Check(ctx context.Context, owner, desired client.Object) error {
	want, err := a.render(owner, desired)
	if err != nil {
		return err
	}
	if !uncached(want.object) {
		if live, err := a.get(ctx, a.Client, want.object); live != nil || err != nil {
			return errors.Join(err, refuseForeign(owner, want, live))
		}
	}
	live, err := a.get(ctx, a.Reader, want.object)
	if err != nil || live == nil {
		return err
	}
	return a.relabel(ctx, owner, want, live)
}

// refuseForeign is the ForeignError of a live object that owner does not control.
func refuseForeign(owner client.Object, want *rendered, live client.Object) error {
	if live == nil || metav1.IsControlledBy(live, owner) {
		return nil
	}
	return &ForeignError{Kind: want.kind, Namespace: live.GetNamespace(), Name: live.GetName()}
}

// Try asks the API server whether it would take desired, and writes nothing: for an object that must not be refused
// once others have been written.
func (a *Applier) Try(ctx context.Context, owner, desired client.Object) error {
	want, err := a.render(owner, desired)
	if err != nil {
		return err
	}
	body, err := json.Marshal(want.fields)
	if err != nil {
		return fmt.Errorf("rendered %s %s: %w", want.kind, want.object.GetName(), err)
	}
	_, err = a.patch(ctx, want, types.ApplyPatchType, body, client.ForceOwnership, client.DryRunAll, client.DisableReadYourWritesConsistency)
	return err
}
