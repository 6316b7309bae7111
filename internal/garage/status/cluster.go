package status

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/kit/conditions"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// most is how many versions of a layout are reported.
const most = 64

// Build makes the GarageCluster's status. nodes are the statuses of its GarageNodes, by name.
func (r Report) Build(nodes map[string]v1beta1.GarageNodeStatus, now time.Time) v1beta2.GarageClusterStatus {
	next := *r.Cluster.Status.DeepCopy()
	next.ObservedGeneration = r.Cluster.Generation
	if r.Nodes != nil {
		r.count(&next, nodes)
	}
	if r.Endpoints != nil {
		next.Endpoints = *r.Endpoints
	}
	next.ScaleSelector = r.ScaleSelector
	if view, seen := r.view(); seen {
		next.BuildInfo.Version = words.UpTo(view.Info.GarageVersion, 128)
		next.LayoutHistory = history(view.History)
		next.Health = r.health()
		next.ClusterID = r.clusterID(next.ClusterID)
		next.DrainingNodes = new(draining(view.Status))
	}
	if r.Layout != nil {
		next.LayoutChange = change(r.Layout.Journal)
		next.LayoutDiagnosis = words.UpTo(r.diagnosis(), 4096)
		if r.Layout.Version > 0 {
			next.LayoutVersion = new(int64(min(r.Layout.Version, math.MaxInt64)))
		}
	}
	if r.Rollout != nil {
		next.StorageRollout = ptr.Deref(r.Rollout.Journal, v1beta2.StorageRollout{})
	}
	if r.Operation != nil {
		next.LastOperation = r.Operation
	}
	next.Phase = phase(next)
	topology, rolled := r.topology(), r.rolled(next)
	next.Conditions = conditions.Set(r.Cluster.Status.Conditions, r.Cluster.Generation, now,
		r.ready(next, topology, rolled), topology, rolled, quorum(next.Health), r.unreachable())
	return next
}

// Deleting makes the status of a GarageCluster that is being deleted and waits for something.
func Deleting(cluster *v1beta2.GarageCluster, waits string, now time.Time) v1beta2.GarageClusterStatus {
	next := *cluster.Status.DeepCopy()
	next.ObservedGeneration, next.Phase = cluster.Generation, v1beta2.PhaseDeleting
	next.Conditions = conditions.Set(cluster.Status.Conditions, cluster.Generation, now,
		condition(v1beta2.ConditionReady, metav1.ConditionFalse, v1beta2.ReasonDeleting, "it is being deleted: "+waits))
	return next
}

// count are the nodes that are wanted and those that are ready.
func (r Report) count(next *v1beta2.GarageClusterStatus, nodes map[string]v1beta1.GarageNodeStatus) {
	wanted, ready, made := int32(len(r.Wanted)), int32(0), int32(0)
	for _, node := range r.nodes() {
		if !slices.Contains(r.Wanted, node.Name()) {
			wanted++
		} else {
			made++
		}
		if nodes[node.Name()].Phase == v1beta2.PhaseReady {
			ready++
		}
	}
	next.Replicas, next.StorageReplicas = &wanted, &wanted
	next.ReadyReplicas, next.StorageReadyReplicas = &ready, &ready
	next.ScaleReplicas = &made
}

func phase(next v1beta2.GarageClusterStatus) v1beta2.Phase {
	switch {
	case next.ReadyReplicas == nil || next.Replicas == nil || *next.ReadyReplicas == 0:
		return v1beta2.PhasePending
	case *next.ReadyReplicas < *next.Replicas:
		return v1beta2.PhaseDegraded
	}
	return v1beta2.PhaseRunning
}

// clusterID stays while its node is known, and is the smallest identity otherwise.
func (r Report) clusterID(was string) string {
	var all []string
	for _, node := range r.nodes() {
		if id := string(r.recorded(node.Name())); id != "" {
			all = append(all, id)
		}
	}
	if len(all) == 0 || slices.Contains(all, was) {
		return was
	}
	return slices.Min(all)
}

func draining(status adminapi.ClusterStatus) int32 {
	n := int32(0)
	for _, node := range status.Nodes {
		if node.Draining {
			n++
		}
	}
	return n
}

// history is the newest versions, the oldest first.
func history(said adminapi.LayoutHistory) *v1beta2.LayoutHistory {
	number := func(n uint64) *int64 { return new(int64(min(n, math.MaxInt64))) }
	count := func(n uint64) *int32 { return new(int32(min(n, math.MaxInt32))) }
	out := &v1beta2.LayoutHistory{CurrentVersion: number(said.CurrentVersion), MinAck: number(said.MinAck)}
	for _, version := range said.Versions[:min(len(said.Versions), most)] {
		out.Versions = append(out.Versions, v1beta2.LayoutVersion{
			Version: number(version.Version), Status: string(version.Status),
			StorageNodes: count(version.StorageNodes), GatewayNodes: count(version.GatewayNodes),
		})
	}
	slices.Reverse(out.Versions)
	return out
}

// health is that of the member who is worst off: one that says "healthy" may not have noticed yet.
func (r Report) health() *v1beta2.ClusterHealth {
	var worst *adminapi.ClusterHealth
	rank := []adminapi.HealthStatus{adminapi.OutOfService, adminapi.Degraded, adminapi.Healthy}
	members := r.members()
	for _, node := range r.nodes() {
		process, is := members[node.Name()]
		if !is {
			continue
		}
		said := process.Health
		if worst == nil || slices.Index(rank, said.Status) < slices.Index(rank, worst.Status) ||
			said.Status == worst.Status && said.StorageNodesUp < worst.StorageNodesUp {
			worst = &said
		}
	}
	count := func(n uint64) *int32 { return new(int32(min(n, math.MaxInt32))) }
	return &v1beta2.ClusterHealth{
		Status: string(worst.Status), Healthy: new(worst.StorageNodesUp == worst.StorageNodes && worst.Status == adminapi.Healthy),
		Available: new(worst.Status != adminapi.OutOfService), KnownNodes: count(worst.KnownNodes), ConnectedNodes: count(worst.ConnectedNodes),
		StorageNodes: count(worst.StorageNodes), StorageNodesOK: count(worst.StorageNodesUp), Partitions: count(worst.Partitions),
		PartitionsQuorum: count(worst.PartitionsQuorum), PartitionsAllOK: count(worst.PartitionsAllOK),
	}
}

// diagnosis says in a sentence what the layout waits for.
func (r Report) diagnosis() string {
	plan := r.Layout
	var why []string
	for _, gate := range plan.Gates {
		why = append(why, gate.Why)
	}
	switch {
	case plan.Refused != "":
		return "Garage refuses the next layout: " + plan.Refused
	case len(plan.Foreign) > 0:
		return "somebody else has staged a change, which is neither applied nor dropped, unless " + v1beta2.AnnotationRevertLayout +
			" is set to true, which drops all of it: " + strings.Join(plan.Foreign, ", ")
	case plan.Wanted && len(why) > 0:
		return "a change waits: " + strings.Join(why, "; ")
	case plan.Action != nil:
		return "a change is made: " + plan.Action.For
	case len(r.Growth.Growing)+len(r.Growth.Stuck) > 0:
		return "disks are not as large as they are to be: " + words.Clauses(slices.Concat(r.Growth.Stuck, r.Growth.Growing))
	case plan.Version == 0:
		return "there is no layout that all nodes share"
	}
	return fmt.Sprintf("version %d is as it is to be", plan.Version)
}

// sortedKnown are the processes that said something, by name.
func (r Report) sortedKnown() []facts.Process {
	known := r.known()
	var out []facts.Process
	for _, node := range r.nodes() {
		if process, is := known[node.Name()]; is {
			out = append(out, process)
		}
	}
	return out
}
