package deletion

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
)

// An Action is one write of the finalizer.
type Action string

const (
	// Hold puts it on.
	Hold Action = "Hold"
	// Release takes it off, and with it the object goes.
	Release Action = "Release"
)

// Plan is what to do, or what is waited for.
type Plan struct {
	// Action is empty where there is nothing to do.
	Action Action
	// Reason is a reason of the condition Deleting, with its message; empty unless the object is held while it is to go.
	Reason, Message string
}

// Decide says whether the object is to be held.
func Decide(w World) Plan {
	switch {
	case !w.Deleting && w.JetStream && !w.Held:
		return Plan{Action: Hold}
	case !w.Deleting || !w.Held:
		return Plan{}
	case w.Forced:
		return Plan{Action: Release}
	}
	servers, known := w.Servers.Get()
	switch {
	case !known:
		return w.notObserved(w.Servers.Why())
	case len(servers.Running()) == 0 || w.neverUp(servers):
		return Plan{Action: Release}
	}
	if gone := w.goneAlone(servers); len(gone) > 0 {
		return w.notObserved(fmt.Sprintf("%s cannot answer without a Pod", words.Names(gone)))
	}
	return w.onStreams()
}

// goneAlone names the servers that have run and of which only the claim is left, while others may run. What they held nobody
// can tell.
func (w World) goneAlone(servers facts.Servers) []string {
	var gone []string
	for _, name := range slices.Sorted(maps.Keys(w.EverUp)) {
		if server := servers.Get(name); w.EverUp[name] && server.StatefulSet == nil && server.Pod == nil {
			gone = append(gone, name)
		}
	}
	return gone
}

// onStreams says whether streams hold the object.
func (w World) onStreams() Plan {
	streams, known := w.Streams.Get()
	switch {
	case !known:
		return w.notObserved(w.Streams.Why())
	case len(streams) == 0:
		return Plan{Action: Release}
	}
	held := fmt.Sprintf("%d streams are", len(streams))
	if len(streams) == 1 {
		held = "1 stream is"
	}
	return Plan{Reason: v1beta1.ReasonJetStreamDataRemains, Message: fmt.Sprintf("%s on NATS cluster %s: %s; move or delete them, or let it go all the same with: %s",
		held, w.Cluster, words.Names(streams), w.order())}
}

func (w World) notObserved(why string) Plan {
	return Plan{Reason: v1beta1.ReasonObservationFailed, Message: fmt.Sprintf("which streams are on NATS cluster %s is not known: %s; if that does not come back, let it go all the same with: %s",
		w.Cluster, why, w.order())}
}

func (w World) order() string {
	return fmt.Sprintf("kubectl annotate natscluster %s %s=", w.Cluster, v1beta1.AnnotationForceDelete)
}

// neverUp says that no server has ever run, and none does.
func (w World) neverUp(servers facts.Servers) bool {
	return !slices.ContainsFunc(servers, func(server facts.Server) bool { return w.EverUp[server.Name] || !server.Stopped() })
}
