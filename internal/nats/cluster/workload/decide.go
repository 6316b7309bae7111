package workload

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

// A Hold is why nothing at all is written.
type Hold struct {
	// Reason is a reason of the condition Progressing.
	Reason string
	// Message says what is in the way and what to do.
	Message string
}

// A Plan is what to bring into being.
type Plan struct {
	// Hold, when set, is all there is: nothing is written.
	Hold *Hold
	// Unknown says which fact is missing; then nothing is created.
	Unknown string
	// Create are the servers to create, or whose creation is to be completed, lowest ordinal first.
	Create []string
	// Terminating are servers that are not created because a claim of theirs is still being deleted: a Pod that
	// bound it would lose it.
	Terminating []string
}

// Decide says what to create, or why nothing may be written.
func Decide(w World) Plan {
	servers, known := w.Servers.Get()
	if !known {
		return Plan{Unknown: w.Servers.Why()}
	}
	if hold := holdOf(w, servers); hold != nil {
		return Plan{Hold: hold}
	}
	var plan Plan
	for _, wanted := range w.Rendered.Servers {
		server := servers.Get(wanted.Name)
		switch {
		case w.CertificateMissing || server.StatefulSet != nil && !w.Unfinished[wanted.Name]:
		case server.Claim != nil && server.Claim.DeletionTimestamp != nil:
			plan.Terminating = append(plan.Terminating, wanted.Name)
		default:
			plan.Create = append(plan.Create, wanted.Name)
		}
	}
	return plan
}

func holdOf(w World, servers facts.Servers) *Hold {
	if hold := switching(w, servers); hold != nil || !w.JetStream {
		return hold
	}
	for _, check := range []func(World, facts.Servers) *Hold{crossing, shrinking, otherDisks} {
		if hold := check(w, servers); hold != nil {
			return hold
		}
	}
	return nil
}

// switching refuses to turn JetStream on or off under servers that run. Off, they forget their streams. On, the first
// to be restarted is one of three in the meta group and has no leader, so the gate never opens for the second.
func switching(w World, servers facts.Servers) *Hold {
	for _, server := range servers.Existing() {
		config, ok := running(server)
		if on := config.JetStream != nil; ok && on != w.JetStream {
			return &Hold{v1beta1.ReasonUnsupportedSpec, fmt.Sprintf("spec.jetstream cannot be turned on or off: %s was made for the other; set it back, "+
				"or make a second NatsCluster and move the clients over", server.Name)}
		}
	}
	return nil
}

// crossing refuses the step between one server and more. A server that ran alone and starts as one of several
// deletes the streams in its store, without a word in its log, and one that was a member cannot run alone.
func crossing(w World, servers facts.Servers) *Hold {
	alone := len(w.Rendered.Servers) == 1
	var standalone, clustered []string
	for _, server := range servers {
		if !planned(w.Rendered, server.Name) {
			continue
		}
		switch storeOf(server) {
		case storeStandalone:
			standalone = append(standalone, server.Name)
		case storeClustered:
			clustered = append(clustered, server.Name)
		case storeNone:
		}
	}
	const wayOut = "make a second NatsCluster of the wanted size and bring the data over with a stream mirror, or a stream backup and restore"
	switch {
	case !alone && len(standalone) > 0:
		return &Hold{v1beta1.ReasonUnsupportedSpec, fmt.Sprintf("spec.replicas is %d, and the store of %s was written by a server that ran alone: "+
			"as one of several it would delete its streams; set spec.replicas to 1, and %s", len(w.Rendered.Servers), words.Names(standalone), wayOut)}
	case alone && len(clustered) > 0:
		return &Hold{v1beta1.ReasonUnsupportedSpec, fmt.Sprintf("spec.replicas is 1, and the store of %s was written by one of several servers: "+
			"alone it cannot serve its streams; set spec.replicas back, and %s", words.Names(clustered), wayOut)}
	}
	return nil
}

// shrinking refuses fewer servers: what a server holds has to be moved off it first.
func shrinking(w World, servers facts.Servers) *Hold {
	var surplus []string
	for _, server := range servers.Existing() {
		if !planned(w.Rendered, server.Name) {
			surplus = append(surplus, server.Name)
		}
	}
	if len(surplus) == 0 {
		return nil
	}
	return &Hold{v1beta1.ReasonScaleDownBlocked, fmt.Sprintf("%s cannot be removed: with JetStream its copies of streams have to be moved to other servers first, "+
		"which needs system credentials; set spec.replicas to %d", words.Names(surplus), len(servers.Existing()))}
}

// otherDisks refuses a changed claim template: a StatefulSet keeps the one it was made with, and other disks
// mean that every copy on the old ones has to be made again.
func otherDisks(w World, servers facts.Servers) *Hold {
	var differ []string
	for _, wanted := range w.Rendered.Servers {
		set := servers.Get(wanted.Name).StatefulSet
		if set != nil && set.Annotations[v1beta1.AnnotationVolumeTemplateDigest] != wanted.StatefulSet.Annotations[v1beta1.AnnotationVolumeTemplateDigest] {
			differ = append(differ, wanted.Name)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return &Hold{v1beta1.ReasonReplacementBlocked, fmt.Sprintf("spec.jetstream.volumeClaimTemplate differs from what %s was made with: other disks need their copies of streams "+
		"moved off first, which needs system credentials; set the template back", words.Names(differ))}
}

func planned(out render.Output, name string) bool {
	_, is := out.Server(name)
	return is
}
