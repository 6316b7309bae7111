// Package grants says which references from one namespace to another are admitted (nats-operator v1 design, 7 Tenancy).
// It is asked each time that a reference is followed, so a grant that is deleted withdraws what it admitted.
package grants

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
)

// A Referrer is the object that has the reference.
type Referrer struct{ Group, Kind, Namespace string }

// A Referent is the object that it names.
type Referent struct{ Group, Kind, Namespace, Name string }

// Admitted says whether the referrer may name the referent: in its own namespace always, in another where a
// NatsReferenceGrant there admits it. The error is the reader's.
func Admitted(ctx context.Context, reader client.Reader, from Referrer, to Referent) (bool, error) {
	if from.Namespace == to.Namespace {
		return true, nil
	}
	var grants natsv1beta1.NatsReferenceGrantList
	if err := reader.List(ctx, &grants, client.InNamespace(to.Namespace)); err != nil {
		return false, fmt.Errorf("list the NatsReferenceGrants of namespace %s: %w", to.Namespace, err)
	}
	for _, grant := range grants.Items {
		if grant.DeletionTimestamp.IsZero() && admits(grant.Spec, from, to) {
			return true, nil
		}
	}
	return false, nil
}

func admits(grant natsv1beta1.NatsReferenceGrantSpec, from Referrer, to Referent) bool {
	for _, f := range grant.From {
		if (f != natsv1beta1.ReferenceGrantFrom{Group: from.Group, Kind: from.Kind, Namespace: from.Namespace}) {
			continue
		}
		for _, t := range grant.To {
			if t.Group == to.Group && t.Kind == to.Kind && (t.Name == "" || t.Name == to.Name) {
				return true
			}
		}
	}
	return false
}

// Refusal is what a condition says of a reference that is not admitted.
func Refusal(from Referrer, to Referent) string {
	return fmt.Sprintf("no NatsReferenceGrant in namespace %s admits %s from namespace %s to %s %s: create one there, or copy the object into namespace %s",
		to.Namespace, from.Kind, from.Namespace, to.Kind, to.Name, from.Namespace)
}
