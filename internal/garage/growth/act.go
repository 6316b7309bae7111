package growth

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// An Actor writes claims.
type Actor struct {
	// Client writes, and Live reads from the API server.
	Client client.Client
	Live   client.Reader
}

// errMoved says that the claim is not as it was decided on.
var errMoved = errors.New("it is another one by now")

// Act has one claim ask for its size, if what the API server has of it says the same as what was decided on, which is w.
func (a *Actor) Act(ctx context.Context, w World, growth Growth, namespace string) (*corev1.PersistentVolumeClaim, error) {
	live := &corev1.PersistentVolumeClaim{}
	if err := a.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: growth.Claim.Name}, live); err != nil {
		return nil, fmt.Errorf("growing claim %s: %w", growth.Claim.Name, err)
	}
	at, _ := w.look(w.node(growth.Node), growth.Claim, live)
	if at != due || live.UID != growth.UID || live.Spec.Resources.Requests.Storage().Cmp(growth.From) != 0 {
		return nil, fmt.Errorf("growing claim %s: %w", growth.Claim.Name, errMoved)
	}
	grown := live.DeepCopy()
	grown.Spec.Resources.Requests[corev1.ResourceStorage] = growth.Claim.Size
	if err := a.Client.Patch(ctx, grown, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{})); err != nil {
		return nil, fmt.Errorf("growing claim %s: %w", growth.Claim.Name, err)
	}
	return grown, nil
}
