package workload

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"

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
		case server.Orphaned(w.Rendered.Revision): // the rollout's: its Pod would be restarted
		case server.Claim != nil && server.Claim.DeletionTimestamp != nil:
			plan.Terminating = append(plan.Terminating, wanted.Name)
		default:
			plan.Create = append(plan.Create, wanted.Name)
		}
	}
	return plan
}

func holdOf(w World, servers facts.Servers) *Hold {
	if hold := farVersion(w, servers); hold != nil {
		return hold
	}
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

// farVersion refuses a step over a minor version: a server may not be able to read the Raft log of one that is two minors
// newer (nats-operator v1 design, 4.1 Workload). The spec alone cannot tell, since it may have moved on before every
// server had followed.
func farVersion(w World, servers facts.Servers) *Hold {
	wanted := facts.ImageTag(w.Rendered.Servers[0].StatefulSet)
	for _, server := range servers.Existing() {
		if runs := server.ImageTag(); planned(w.Rendered, server.Name) && !neighbours(runs, wanted) {
			return &Hold{v1beta1.ReasonUnsupportedSpec, fmt.Sprintf("spec.version is %s, and %s runs %s: the minor version moves by one at a time, up or down; "+
				"set spec.version to one that is a neighbour of both, and wait until every server runs it", wanted, server.Name, runs)}
		}
	}
	return nil
}

// neighbours says whether two versions are of the same major version and at most one minor apart. A version that cannot
// be read is no neighbour of anything but itself.
func neighbours(a, b string) bool {
	from, errFrom := version.ParseSemantic(a)
	to, errTo := version.ParseSemantic(b)
	if errFrom != nil || errTo != nil {
		return a == b
	}
	low, high := min(from.Minor(), to.Minor()), max(from.Minor(), to.Minor())
	return from.Major() == to.Major() && high-low <= 1
}

// switching refuses to turn JetStream on or off under servers that run. Off, they forget their streams. On, the first
// to be restarted is one of three in the meta group and has no leader, so the gate never opens for the second.
func switching(w World, servers facts.Servers) *Hold {
	for _, server := range servers.Existing() {
		config, ok := w.running(server)
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
		switch w.storeOf(server) {
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
	most := 0
	for _, server := range servers.Existing() {
		if !planned(w.Rendered, server.Name) {
			surplus = append(surplus, server.Name)
			most = server.Ordinal + 1 // they come by ordinal
		}
	}
	if len(surplus) == 0 {
		return nil
	}
	return &Hold{v1beta1.ReasonScaleDownBlocked, fmt.Sprintf("%s cannot be removed: with JetStream its copies of streams have to be moved to other servers first, "+
		"which this version does not do; set spec.replicas to %d", words.Names(surplus), most)}
}

// otherDisks refuses a changed claim template: a StatefulSet keeps the one it was made with, and other disks
// mean that every copy on the old ones has to be made again.
func otherDisks(w World, servers facts.Servers) *Hold {
	var differ []string
	for _, wanted := range w.Rendered.Servers {
		set := servers.Get(wanted.Name).StatefulSet
		if set != nil && !sameClaims(set.Spec.VolumeClaimTemplates, wanted.StatefulSet.Spec.VolumeClaimTemplates) {
			differ = append(differ, wanted.Name)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return &Hold{v1beta1.ReasonReplacementBlocked, fmt.Sprintf("spec.jetstream.volumeClaimTemplate differs from what %s was made with: other disks need their copies of streams "+
		"moved off first, which this version does not do; set the template back", words.Names(differ))}
}

// sameClaims compares claim templates with what the API server makes of them.
func sameClaims(live, wanted []corev1.PersistentVolumeClaim) bool {
	return slices.EqualFunc(live, wanted, func(a, b corev1.PersistentVolumeClaim) bool {
		return a.Name == b.Name && equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
			equality.Semantic.DeepEqual(withDefaults(a.Spec), withDefaults(b.Spec))
	})
}

func withDefaults(spec corev1.PersistentVolumeClaimSpec) corev1.PersistentVolumeClaimSpec {
	spec.VolumeMode = new(ptr.Deref(spec.VolumeMode, corev1.PersistentVolumeFilesystem))
	return spec
}

func planned(out render.Output, name string) bool {
	_, is := out.Server(name)
	return is
}
