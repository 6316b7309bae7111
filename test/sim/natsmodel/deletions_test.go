package natsmodel

import (
	"context"
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// TestDeletions: a NatsCluster that is to go is held while it has streams, or may have some, also in the middle of a rollout;
// and it goes when they are gone.
func TestDeletions(t *testing.T) {
	t.Parallel()
	deletions.check(t, map[string]int{released: 80, ordered: 5, "delete a stream": 100}, Deletions)
}

var deletions = plot{
	deletion: true,
	failures: slices.Concat(pick(Deletions, "delete a stream"), Failures),
	edits: slices.Concat(pick(Edits, "edit: memory", "edit: server tags", "edit: a version that there is not"), pick(Deletions, "delete all streams"),
		pick(Edits, "edit: more replicas", "edit: a version that crashes"), pick(Deletions, "order to let it go")),
	tampering: Tampering,
	end:       settleDeleted,
}

// settleDeleted ends all that disturbs, and wants the NatsCluster to be held while it has streams, and to be gone, with
// whatever is its own, when it has none.
func settleDeleted(ctx context.Context, h *teller) {
	h.calm(ctx)
	h.World.Disturb(named(Deletions, "delete the NatsCluster"), "", 0)
	if !h.quiet(60) {
		h.ends(busy, errors.New(h.World.describe()))
	}
	for len(h.World.streams()) > 0 {
		h.heldByStreams()
		h.World.drop(h.World.streams()[0])
		h.quiet(5)
	}
	if !h.World.Gone() {
		h.heldBySilence()
		h.World.Disturb(named(Deletions, "order to let it go"), "", 0)
	}
	if !h.quiet(60) || !h.World.Gone() || len(h.World.owned()) > 0 {
		h.ends(restless, errors.New(h.World.describe()))
	}
}

// heldByStreams wants a NatsCluster all of whose servers are well to be there if it has streams, and to say so.
func (h *teller) heldByStreams() {
	if len(h.World.streams()) == 0 || h.Checker.Released || !h.allWhole() {
		return
	}
	if deleting := meta.FindStatusCondition(h.World.Cluster().Status.Conditions, v1beta1.ConditionDeleting); deleting == nil || deleting.Reason != v1beta1.ReasonJetStreamDataRemains {
		h.ends(restless, errors.New("it is not held by its streams: "+h.World.describe()))
	}
}

// heldBySilence wants a NatsCluster without streams that is still there to have a server that cannot answer, and to say so.
func (h *teller) heldBySilence() {
	deleting := meta.FindStatusCondition(h.World.Cluster().Status.Conditions, v1beta1.ConditionDeleting)
	if h.allWhole() || deleting == nil || deleting.Reason != v1beta1.ReasonObservationFailed {
		h.ends(restless, errors.New("it is held by nothing: "+h.World.describe()))
	}
}

func (h *teller) allWhole() bool {
	return !slices.ContainsFunc(h.World.Planned(), func(server string) bool { return !h.World.Whole(server) })
}

// quiet has the only instance make passes, and the world move on, until nothing moves any more. It says whether that was so
// within so many passes.
func (h *teller) quiet(passes int) bool {
	for range passes {
		before := h.World.API.Revision()
		h.pass(h.Alive()[0], 150)
		for i := range 40 {
			h.Step(i * 7)
		}
		h.check()
		if len(h.World.Transitions()) == 0 && h.World.API.Revision() == before {
			return true
		}
	}
	return false
}
