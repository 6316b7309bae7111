package status

import (
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/kit/conditions"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// Node makes the status of one GarageNode. What was recorded of its identity stays as it is.
func (r Report) Node(node facts.Node, now time.Time) v1beta1.GarageNodeStatus {
	next := *node.GarageNode.Status.DeepCopy()
	next.ObservedGeneration = node.GarageNode.Generation
	id := r.recorded(node.Name())
	view, seen := r.view()
	if seen && id != "" {
		next.Connected = new(r.connected(node.Name(), id))
		next.LayoutVersion = new(int64(min(view.Layout.Version, math.MaxInt64)))
		r.fillRole(&next, view.Layout, id, r.Identity.Held[node.Name()] != "")
		r.fillSeen(&next, view.Status, id)
	}
	if process, known := r.known()[node.Name()]; known {
		next.Version = words.UpTo(process.Info.GarageVersion, 128)
		next.DataPartition = space(next.DataPartition, process.Info.Data)
		next.MetadataPartition = space(next.MetadataPartition, process.Info.Metadata)
	}
	r.fillEnd(&next, node, id)
	ready := r.nodeReady(node, next)
	next.Phase = v1beta2.PhasePending
	switch {
	case node.GarageNode.DeletionTimestamp != nil:
		next.Phase = v1beta2.PhaseDeleting
	case ready.Status == metav1.ConditionTrue:
		next.Phase = v1beta2.PhaseReady
	case ready.Reason == v1beta1.ReasonReconcileFailed:
		next.Phase = v1beta2.PhaseFailed
	}
	next.Conditions = conditions.Set(node.GarageNode.Status.Conditions, node.GarageNode.Generation, now, append([]metav1.Condition{ready}, r.prepared(node)...)...)
	return next
}

// fillEnd is what the end of the node is decided on later.
func (r Report) fillEnd(next *v1beta1.GarageNodeStatus, node facts.Node, id adminapi.NodeID) {
	if r.givesRole(id) || ptr.Deref(next.InLayout, false) {
		next.EverInLayout = new(true)
	}
	owner := metav1.GetControllerOf(node.GarageNode)
	left := owner != nil && owner.Kind == v1beta2.KindGarageCluster && owner.UID != r.Cluster.UID
	if !left && (node.StatefulSet != nil || node.External()) {
		next.TeardownSince = nil // it runs again, for another GarageCluster of the name
	}
	next.ManagedPVCs = managed(node)
}

// givesRole says that the layout is about to be given a role for the identity: that is on record before it is.
func (r Report) givesRole(id adminapi.NodeID) bool {
	if r.Layout == nil || r.Layout.Action == nil {
		return false
	}
	return slices.ContainsFunc(r.Layout.Action.Change.Roles, func(change adminapi.RoleChange) bool {
		_, assigned := change.Role()
		return assigned && change.Node() == id
	})
}

// managed are the node's own claims, which have the finalizer.
func managed(node facts.Node) []v1beta1.ManagedPVC {
	var out []v1beta1.ManagedPVC
	for _, claim := range node.OwnClaims() {
		if slices.Contains(claim.Finalizers, v1beta2.FinalizerClaim) {
			out = append(out, v1beta1.ManagedPVC{Name: claim.Name, UID: claim.UID})
		}
	}
	return out
}

// prepared says why a node that is to be deleted stays; what was said where the pass did not come to it.
func (r Report) prepared(node facts.Node) []metav1.Condition {
	if said := meta.FindStatusCondition(node.GarageNode.Status.Conditions, v1beta1.ConditionDrainPrepared); r.Removal.Held == nil && said != nil {
		return []metav1.Condition{*said}
	}
	why := r.Removal.Held[node.Name()]
	if why == "" {
		return nil
	}
	return []metav1.Condition{condition(v1beta1.ConditionDrainPrepared, metav1.ConditionFalse, v1beta1.ReasonPreparationBlocked, why)}
}

// fillRole is the role that the layout has for the node. While the node is held, what its role is stays as it was: it may be
// somebody else's by now, and the tags on record are those by which its own is known.
func (r Report) fillRole(next *v1beta1.GarageNodeStatus, at adminapi.Layout, id adminapi.NodeID, held bool) {
	i := slices.IndexFunc(at.Roles, func(role adminapi.NodeRole) bool { return role.ID == id })
	next.InLayout = new(i >= 0)
	if held {
		return
	}
	next.Zone, next.Tags, next.Partitions = "", nil, nil
	if i < 0 {
		return
	}
	next.Zone, next.Tags = words.UpTo(at.Roles[i].Zone, 253), slices.Clone(at.Roles[i].Tags[:min(len(at.Roles[i].Tags), 128)])
	if partitions, known := at.Roles[i].StoredPartitions.Get(); known {
		next.Partitions = new(int32(min(partitions, math.MaxInt32)))
	}
}

// fillSeen is what another one sees of the node.
func (r Report) fillSeen(next *v1beta1.GarageNodeStatus, seen adminapi.ClusterStatus, id adminapi.NodeID) {
	for _, node := range seen.Nodes {
		if node.ID != id {
			continue
		}
		if address, known := node.Addr.Get(); known {
			next.Address = words.UpTo(address, 262)
		}
		if name, known := node.Hostname.Get(); known {
			next.Hostname = words.UpTo(name, 253)
		}
		if version, known := node.GarageVersion.Get(); known {
			next.Version = words.UpTo(version, 128)
		}
	}
}

// connected says that every other member which says something is connected to the node, or that the node is alone and
// answers.
func (r Report) connected(name string, id adminapi.NodeID) bool {
	_, answers := r.known()[name]
	others := 0
	for other, process := range r.members() {
		if other == name {
			continue
		}
		others++
		if !slices.ContainsFunc(process.Status.Nodes, func(n adminapi.NodeStatus) bool { return n.ID == id && n.Up }) {
			return false
		}
	}
	return others > 0 || answers
}

func (r Report) nodeReady(node facts.Node, next v1beta1.GarageNodeStatus) metav1.Condition {
	not := func(reason, message string) metav1.Condition {
		return condition(v1beta1.ConditionReady, metav1.ConditionFalse, reason, message)
	}
	held := r.Identity.Held[node.Name()]
	why := r.Processes.Of(node.Name()).Why()
	switch {
	case held != "":
		return not(v1beta1.ReasonReconcileFailed, held)
	case r.recorded(node.Name()) == "":
		return not(v1beta1.ReasonNodeDisconnected, "it has not said who it is: "+why)
	case next.Connected == nil || !*next.Connected:
		return not(v1beta1.ReasonNodeDisconnected, disconnected(node, why))
	case next.InLayout == nil || !*next.InLayout:
		return not(v1beta1.ReasonNotInLayout, "it has no role in the layout yet")
	case !node.External() && !r.Identity.Current[node.Name()]:
		return not(v1beta1.ReasonNodeDisconnected, "its present Pod has not said who it is: "+why)
	}
	return condition(v1beta1.ConditionReady, metav1.ConditionTrue, v1beta1.ReasonNodeReady, "it is connected and has its role in the layout")
}

func disconnected(node facts.Node, why string) string {
	if node.External() || why == "" {
		return "the other nodes are not connected to it"
	}
	return "it does not answer, or the others are not connected to it: " + why
}

// space is a file system, kept as it was until what is used of it is half a percent outside of what was told: at the edge of a
// percent a file that comes and goes would otherwise be a write each time.
func space(was *v1beta1.Partition, said fact.Fact[adminapi.Space]) *v1beta1.Partition {
	now, known := said.Get()
	if !known || now.Total == 0 || now.Available > now.Total {
		return was
	}
	total := resource.NewQuantity(int64(min(now.Total, math.MaxInt64)), resource.BinarySI)
	used := float64(now.Total-now.Available) / float64(now.Total) * 100
	if was != nil && was.UsedPercent != nil && was.Total != nil && was.Total.Cmp(*total) == 0 {
		if told := float64(*was.UsedPercent); told-0.5 <= used && used < told+1.5 {
			return was
		}
	}
	return &v1beta1.Partition{Total: total, Available: resource.NewQuantity(int64(min(now.Available, math.MaxInt64)), resource.BinarySI), UsedPercent: new(int32(used))}
}

func condition(kind string, value metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: value, Reason: reason, Message: message}
}
