package status

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/garage/removal"
	"github.com/holdfast-dev/holdfast/internal/garage/rollout"
	"github.com/holdfast-dev/holdfast/internal/garage/workload"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func id(i int) adminapi.NodeID { return adminapi.NodeID(strings.Repeat(fmt.Sprintf("%02x", i+1), 32)) }

func name(i int) string { return fmt.Sprintf("g-storage-%d", i) }

// resting is a report of three nodes with which all is well, in version 2 of the layout.
func resting() Report {
	r := Report{
		Cluster:   &v1beta2.GarageCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "g", Generation: 3}},
		Nodes:     &facts.Nodes{},
		Processes: facts.Processes{},
		Layout:    &layout.Plan{Version: 2, Settled: true},
		Rollout:   &rollout.Plan{},
	}
	r.Identity.Current, r.Identity.Held = map[string]bool{}, map[string]string{}
	said := facts.Process{
		Info:    adminapi.NodeInfo{GarageVersion: "v2.4.1", Data: fact.Known(adminapi.Space{Available: 75, Total: 100})},
		Health:  adminapi.ClusterHealth{Status: adminapi.Healthy, KnownNodes: 3, ConnectedNodes: 3, StorageNodes: 3, StorageNodesUp: 3, Partitions: 256, PartitionsQuorum: 256, PartitionsAllOK: 256},
		Layout:  adminapi.Layout{Version: 2},
		History: adminapi.LayoutHistory{CurrentVersion: 2, MinAck: 2, Versions: []adminapi.LayoutVersion{{Version: 2, Status: adminapi.Current, StorageNodes: 3}, {Version: 1, Status: adminapi.Historical, StorageNodes: 2}}},
	}
	for i := range 3 {
		said.Layout.Roles = append(said.Layout.Roles, adminapi.NodeRole{ID: id(i), Role: adminapi.Role{Zone: "z", Tags: []string{"t"}}, StoredPartitions: fact.Known[uint64](256)})
	}
	for i := range 3 {
		node := &v1beta1.GarageNode{ObjectMeta: metav1.ObjectMeta{Name: name(i), Generation: 1}, Status: v1beta1.GarageNodeStatus{NodeID: string(id(i))}}
		*r.Nodes = append(*r.Nodes, facts.Node{GarageNode: node})
		r.Wanted = append(r.Wanted, name(i))
		r.Identity.Current[name(i)] = true
		own := said
		own.ID, own.Status = id(i), adminapi.ClusterStatus{LayoutVersion: 2}
		for j := range 3 {
			own.Status.Nodes = append(own.Status.Nodes, adminapi.NodeStatus{ID: id(j), Up: true, Addr: fact.Known(fmt.Sprintf("10.0.0.%d:3901", j))})
		}
		r.Processes[name(i)] = fact.Known(own)
	}
	return r
}

// says changes what one process says.
func says(r Report, i int, do func(*facts.Process)) {
	process, _ := r.Processes.Of(name(i)).Get()
	process.Status.Nodes = append([]adminapi.NodeStatus{}, process.Status.Nodes...)
	do(&process)
	r.Processes[name(i)] = fact.Known(process)
}

// join adds a node whose process has not met the others.
func join(r *Report) {
	const i = 3
	node := &v1beta1.GarageNode{ObjectMeta: metav1.ObjectMeta{Name: name(i), Generation: 1}, Status: v1beta1.GarageNodeStatus{NodeID: string(id(i))}}
	*r.Nodes = append(*r.Nodes, facts.Node{GarageNode: node})
	r.Wanted, r.Identity.Current[name(i)] = append(r.Wanted, name(i)), true
	r.Processes[name(i)] = fact.Known(facts.Process{
		ID: id(i), Status: adminapi.ClusterStatus{Nodes: []adminapi.NodeStatus{{ID: id(i), Up: true}}},
		Health: adminapi.ClusterHealth{Status: adminapi.OutOfService, KnownNodes: 1, ConnectedNodes: 1, Partitions: 256},
	})
}

func silence(r Report, i int) { r.Processes[name(i)] = fact.Unknown[facts.Process]("no answer") }

func (r Report) all() (v1beta2.GarageClusterStatus, map[string]v1beta1.GarageNodeStatus) {
	nodes := map[string]v1beta1.GarageNodeStatus{}
	for _, node := range r.nodes() {
		nodes[node.Name()] = r.Node(node, now)
	}
	return r.Build(nodes, now), nodes
}

func told(list []metav1.Condition, kind string) string {
	c := meta.FindStatusCondition(list, kind)
	if c == nil {
		return "none"
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func TestConditions(t *testing.T) {
	const (
		ready    = v1beta2.ConditionReady
		topology = v1beta2.ConditionStorageTopologyReady
		risk     = v1beta2.ConditionQuorumAtRisk
		peer     = v1beta2.ConditionPeerUnreachable
		rolled   = v1beta2.ConditionStorageRolloutReady
		first    = "g-storage-0's Ready"
		// diagnosis is no condition.
		diagnosis = "the diagnosis of the layout"
	)
	for label, c := range map[string]struct {
		change func(*Report)
		want   map[string]string
	}{
		"all is well": {
			change: func(*Report) {},
			want: map[string]string{
				ready:    "True ClusterReady: 3 nodes are connected and have their roles",
				topology: "True Converged: version 2 of the layout has every node",
				rolled:   "True Converged: every node runs what the spec asks for",
				risk:     "False AllPartitionsQuorate: every partition can be written",
				peer:     "False AllReachable: no node has been away for ten minutes",
				first:    "True NodeReady: it is connected and has its role in the layout",
			},
		},
		"what runs was not looked at": {
			change: func(r *Report) { r.Rollout = nil },
			want: map[string]string{
				ready:  "False StorageRolloutNotReady: what the nodes run could not be looked at",
				rolled: "False Initializing: what the nodes run could not be looked at",
			},
		},
		"nor this time": {
			change: func(r *Report) {
				r.Rollout = nil
				r.Cluster.Status.Conditions = []metav1.Condition{{Type: rolled, Status: metav1.ConditionTrue, Reason: v1beta2.ReasonConverged, Message: "as before"}}
			},
			want: map[string]string{rolled: "True Converged: as before"},
		},
		"a node has no role yet": {
			change: func(r *Report) { silence(*r, 0); silence(*r, 1); silence(*r, 2) },
			want:   map[string]string{rolled: "False Initializing: not every node has its role yet, or is back"},
		},
		"a restart waits": {
			change: func(r *Report) {
				r.Rollout = &rollout.Plan{Behind: []string{"g-storage-0", "g-storage-1"}, Next: "g-storage-0", Gates: []gates.Gate{
					{Name: rollout.GateLayout, Why: "a change of the layout comes first"}, {Name: rollout.GateWhole, Why: "g-storage-2 does not say: no answer"}}}
			},
			want: map[string]string{
				ready:  "False StorageRolloutNotReady: g-storage-0 is next of 2 of 3 nodes: LayoutSettled (a change of the layout comes first); StoreWhole (g-storage-2 does not say: no answer)",
				rolled: "False Waiting: g-storage-0 is next of 2 of 3 nodes: LayoutSettled (a change of the layout comes first); StoreWhole (g-storage-2 does not say: no answer)",
			},
		},
		"a step is taken": {
			change: func(r *Report) {
				r.Rollout = &rollout.Plan{Behind: []string{"g-storage-0"}, Journal: &v1beta2.StorageRollout{GarageNodeName: "g-storage-0"}, Action: &rollout.Action{}}
			},
			want: map[string]string{rolled: "False RollingOut: g-storage-0 is being replaced; still to come are 1 of 3 nodes"},
		},
		"a new Pod does not come up": {
			change: func(r *Report) {
				r.Rollout = &rollout.Plan{Journal: &v1beta2.StorageRollout{GarageNodeName: "g-storage-0"}, Back: "its new Pod is not ready: container garage, ImagePullBackOff"}
			},
			want: map[string]string{rolled: "False RollingOut: g-storage-0 is being replaced, the last one; waiting: its new Pod is not ready: container garage, ImagePullBackOff; no other node is touched until it is back: if it stays so, see kubectl describe pod g-storage-0-0 -n ns, and correct the spec"},
		},
		"a step waits": {
			change: func(r *Report) {
				r.Rollout = &rollout.Plan{Journal: &v1beta2.StorageRollout{GarageNodeName: "g-storage-0"}, Gates: []gates.Gate{{Name: rollout.GateClaims, Why: "claim c is being deleted"}}}
			},
			want: map[string]string{rolled: "False RollingOut: g-storage-0 is being replaced, the last one; waiting for ClaimsKept (claim c is being deleted); it goes on by itself when that holds"},
		},
		"and nothing else": {
			change: func(r *Report) {
				r.Rollout = &rollout.Plan{Journal: &v1beta2.StorageRollout{GarageNodeName: "g-storage-0"}}
			},
			want: map[string]string{rolled: "False RollingOut: g-storage-0 is being replaced, the last one"},
		},
		"a warning is told and stops nothing": {
			change: func(r *Report) { r.Warning = "Secret mine has changed" },
			want:   map[string]string{ready: "True ClusterReady: 3 nodes are connected and have their roles; Secret mine has changed"},
		},
		"a claim that cannot grow is told of and stops nothing": {
			change: func(r *Report) { r.Growth.Stuck = []string{"g-storage-1: its claim x does not grow"} },
			want: map[string]string{
				ready:     "True ClusterReady: 3 nodes are connected and have their roles; g-storage-1: its claim x does not grow",
				topology:  "True Converged: version 2 of the layout has every node",
				diagnosis: "disks are not as large as they are to be: g-storage-1: its claim x does not grow",
			},
		},
		"claims grow": {
			change: func(r *Report) { r.Growth.Growing = []string{"g-storage-1: its claim x grows"} },
			want: map[string]string{
				topology:  "False WaitingForLayoutSync: before the layout counts with more, disks grow: g-storage-1: its claim x grows",
				diagnosis: "disks are not as large as they are to be: g-storage-1: its claim x grows",
			},
		},
		"a failure comes first": {
			change: func(r *Report) { r.Failure = "Secret mine does not exist"; silence(*r, 0) },
			want:   map[string]string{ready: "False ReconcileFailed: Secret mine does not exist"},
		},
		"a node is silent": {
			change: func(r *Report) {
				silence(*r, 0)
				delete(r.Identity.Current, name(0))
				for i := 1; i < 3; i++ {
					says(*r, i, func(p *facts.Process) { p.Status.Nodes[0].Up = false })
				}
			},
			want: map[string]string{
				ready: "False NotAllReplicasReady: 2 of 3 nodes are ready",
				first: "False NodeDisconnected: it does not answer, or the others are not connected to it: no answer",
			},
		},
		"a node joins, and sees nobody yet": {
			change: func(r *Report) { join(r) },
			want: map[string]string{
				ready: "False NotAllReplicasReady: 3 of 4 nodes are ready",
				risk:  "False AllPartitionsQuorate: every partition can be written",
				first: "True NodeReady: it is connected and has its role in the layout",
			},
		},
		"a node is silent, and the others have not noticed": {
			change: func(r *Report) { silence(*r, 0); delete(r.Identity.Current, name(0)) },
			want: map[string]string{
				ready: "False NotAllReplicasReady: 2 of 3 nodes are ready",
				first: "False NodeDisconnected: its present Pod has not said who it is: no answer",
			},
		},
		"a node has another disk": {
			change: func(r *Report) { r.Identity.Held[name(0)] = "its disk is another one" },
			want:   map[string]string{first: "False ReconcileFailed: its disk is another one"},
		},
		"a node has said nothing ever": {
			change: func(r *Report) { silence(*r, 0); (*r.Nodes)[0].GarageNode.Status.NodeID = "" },
			want:   map[string]string{first: "False NodeDisconnected: it has not said who it is: no answer"},
		},
		"a node has no role": {
			change: func(r *Report) {
				for i := range 3 {
					says(*r, i, func(p *facts.Process) { p.Layout.Roles = p.Layout.Roles[1:] })
				}
			},
			want: map[string]string{first: "False NotInLayout: it has no role in the layout yet"},
		},
		"nodes are still to come": {
			change: func(r *Report) {
				r.Wanted = append(r.Wanted, name(3), name(4))
				r.Workload = workload.Plan{Add: []string{name(3)}, Later: []string{name(4)}}
			},
			want: map[string]string{
				ready:    "False NotAllReplicasReady: 3 of 5 nodes are ready",
				topology: "False AddingMembers: still to come: g-storage-3, g-storage-4",
			},
		},
		"a node is too much": {
			change: func(r *Report) { r.Wanted = r.Wanted[:2]; r.Workload.Surplus = []string{name(2)} },
			want: map[string]string{
				ready:    "False StorageTopologyNotReady: g-storage-2 is not asked for any more, and is not taken away: put spec.storage.replicas back",
				topology: "False DrainingMember: g-storage-2 is not asked for any more, and is not taken away: put spec.storage.replicas back",
			},
		},
		"a change of the layout waits": {
			change: func(r *Report) {
				r.Layout.Wanted, r.Layout.Gates = true, []gates.Gate{{Name: layout.GateConnected, Why: "g-storage-1 is not connected to g-storage-2"}}
			},
			want: map[string]string{topology: "False WaitingForLayoutSync: a change waits: g-storage-1 is not connected to g-storage-2"},
		},
		"Garage refuses the layout": {
			change: func(r *Report) { r.Layout.Wanted, r.Layout.Refused = true, "too few zones" },
			want:   map[string]string{topology: "False WaitingForLayoutSync: Garage refuses the next layout: too few zones"},
		},
		"somebody else has staged": {
			change: func(r *Report) {
				r.Layout.Gates, r.Layout.Foreign = []gates.Gate{{Name: layout.GateStaging}}, []string{"node 01 without a role"}
			},
			want: map[string]string{topology: "False WaitingForLayoutSync: somebody else has staged a change, which is neither applied nor dropped, unless garage.rajsingh.info/revert-layout is set to true, which drops all of it: node 01 without a role"},
		},
		"a version is taken over": {
			change: func(r *Report) {
				says(*r, 2, func(p *facts.Process) {
					p.History.Trackers = map[adminapi.NodeID]adminapi.Tracker{id(0): {Sync: 1}}
				})
			},
			want: map[string]string{topology: "False WaitingForLayoutSync: version 2 of the layout is being taken over"},
		},
		"one member does not see every storage node": {
			change: func(r *Report) {
				says(*r, 1, func(p *facts.Process) { p.Health.Status, p.Health.StorageNodesUp = adminapi.Degraded, 2 })
			},
			want: map[string]string{ready: "False LayoutNotReady: a member does not see every node of the layout"},
		},
		"partitions cannot be written": {
			change: func(r *Report) {
				says(*r, 1, func(p *facts.Process) { p.Health.Status, p.Health.PartitionsQuorum = adminapi.OutOfService, 200 })
			},
			want: map[string]string{risk: "True PartitionsBelowQuorum: 56 of 256 partitions cannot be written"},
		},
		"a node has been away for ten minutes": {
			change: func(r *Report) {
				says(*r, 1, func(p *facts.Process) {
					p.Status.Nodes[0].Up, p.Status.Nodes[0].LastSeenSecondsAgo = false, fact.Known[uint64](600)
				})
			},
			want: map[string]string{peer: "True SustainedUnreachable: g-storage-0: away for ten minutes or more"},
		},
		"a node has been away for less": {
			change: func(r *Report) {
				says(*r, 1, func(p *facts.Process) {
					p.Status.Nodes[0].Up, p.Status.Nodes[0].LastSeenSecondsAgo = false, fact.Known[uint64](599)
				})
			},
			want: map[string]string{peer: "False AllReachable: no node has been away for ten minutes"},
		},
	} {
		t.Run(label, func(t *testing.T) {
			r := resting()
			c.change(&r)
			cluster, nodes := r.all()
			for kind, want := range c.want {
				got := told(cluster.Conditions, kind)
				if kind == first {
					got = told(nodes[name(0)].Conditions, v1beta1.ConditionReady)
				}
				if kind == diagnosis {
					got = cluster.LayoutDiagnosis
				}
				if got != want {
					t.Errorf("%s is\n%s, want\n%s", kind, got, want)
				}
			}
		})
	}
}

// An order that a pass has nothing to say of stays as it was told.
func TestOperation(t *testing.T) {
	r := resting()
	was := &v1beta2.LastOperation{Type: "trigger-repair"}
	r.Cluster.Status.LastOperation = was
	if next, _ := r.all(); next.LastOperation == nil || next.LastOperation.Type != was.Type {
		t.Errorf("%+v", next.LastOperation)
	}
	r.Operation = &v1beta2.LastOperation{Type: "scrub-command"}
	if next, _ := r.all(); next.LastOperation != r.Operation {
		t.Errorf("%+v", next.LastOperation)
	}
}

// What nobody has said anything about stays as it was reported.
func TestSilenceChangesNoFigure(t *testing.T) {
	r := resting()
	was, nodes := r.all()
	r.Cluster.Status = was
	for i := range *r.Nodes {
		(*r.Nodes)[i].GarageNode.Status = nodes[name(i)]
		silence(r, i)
	}
	r.Identity.Current, r.Layout = map[string]bool{}, nil
	is, _ := r.all()
	is.Conditions, was.Conditions, is.Phase, was.Phase = nil, nil, "", ""
	is.ReadyReplicas, is.StorageReadyReplicas, was.ReadyReplicas, was.StorageReadyReplicas = nil, nil, nil, nil
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("(-was +is):\n%s", diff)
	}
}

// A disk that fills up is told of percent by percent, and one at the edge of a percent is not told of again and again.
func TestSpaceIsToldByThePercent(t *testing.T) {
	r := resting()
	_, nodes := r.all()
	(*r.Nodes)[0].GarageNode.Status = nodes[name(0)]
	for used, same := range map[uint64]bool{259: true, 260: true, 264: true, 265: false, 250: true, 245: true, 244: false} {
		says(r, 0, func(p *facts.Process) { p.Info.Data = fact.Known(adminapi.Space{Available: 1000 - used, Total: 1000}) })
		(*r.Nodes)[0].GarageNode.Status.DataPartition = &v1beta1.Partition{
			Total: space(nil, fact.Known(adminapi.Space{Available: 750, Total: 1000})).Total, Available: nodes[name(0)].DataPartition.Available, UsedPercent: new(int32(25)),
		}
		next := r.Node((*r.Nodes)[0], now).DataPartition
		if (*next.UsedPercent == 25) != same || same && next.Available.Cmp(*nodes[name(0)].DataPartition.Available) != 0 {
			t.Errorf("%d of 1000 used: %d%%, %s available", used, *next.UsedPercent, next.Available)
		}
	}
}

func TestFigures(t *testing.T) {
	r := resting()
	r.Layout.Journal = &layout.Journal{Version: 2, Hash: strings.Repeat("ab", 32)}
	cluster, nodes := r.all()
	versions, node := cluster.LayoutHistory.Versions, nodes[name(1)]
	got := []any{
		cluster.ClusterID, *cluster.LayoutVersion, cluster.Phase, cluster.BuildInfo.Version, *cluster.Replicas, *cluster.ScaleReplicas,
		len(versions), *versions[0].Version, *versions[1].StorageNodes,
		node.Zone, *node.Partitions, node.Address, *node.Connected, *node.InLayout, *node.DataPartition.UsedPercent,
	}
	want := []any{
		string(id(0)), int64(2), v1beta2.PhaseRunning, "v2.4.1", int32(3), int32(3), 2, int64(1), int32(3),
		"z", int32(256), "10.0.0.1:3901", true, true, int32(25),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(r.Layout.Journal, Journal(cluster.LayoutChange)); diff != "" {
		t.Errorf("the journal comes back as (-want +got):\n%s", diff)
	}
	if Journal(v1beta2.LayoutChange{}) != nil {
		t.Error("nothing reads as a journal")
	}
}

// What lets a node go later is on record before the role is given, and outlives it.
func TestNodeThatHadARole(t *testing.T) {
	ever := func(r Report) *bool { return r.Node((*r.Nodes)[0], now).EverInLayout }
	r := resting()
	if got := ever(r); got == nil || !*got {
		t.Error("a node with a role is not known to have had one")
	}
	r = resting()
	for i := range 3 {
		says(r, i, func(p *facts.Process) { p.Layout.Roles = nil })
	}
	if ever(r) != nil {
		t.Error("a node without a role is said to have had one")
	}
	give := func(change adminapi.RoleChange) {
		r.Layout = &layout.Plan{Action: &layout.Action{Change: adminapi.LayoutChange{Roles: []adminapi.RoleChange{change}}}}
	}
	give(adminapi.Assign(id(1), adminapi.Role{}))
	if ever(r) != nil {
		t.Error("another one's role counts")
	}
	give(adminapi.Remove(id(0)))
	if ever(r) != nil {
		t.Error("a role that is taken away counts")
	}
	give(adminapi.Assign(id(0), adminapi.Role{}))
	if got := ever(r); got == nil || !*got {
		t.Error("a role is given that is on no record")
	}
	(*r.Nodes)[0].GarageNode.Status.EverInLayout, r.Layout = new(true), nil
	if got := ever(r); got == nil || !*got {
		t.Error("the record is gone with the role")
	}
}

// What a node that is to be deleted is held by stays told where a pass does not come to it.
func TestNodeThatIsHeld(t *testing.T) {
	r := resting()
	node := (*r.Nodes)[0]
	r.Removal = removal.Plan{Held: map[string]string{node.Name(): "it has its role"}}
	node.GarageNode.Status = r.Node(node, now)
	const want = "False PreparationBlocked: it has its role"
	if got := told(node.GarageNode.Status.Conditions, v1beta1.ConditionDrainPrepared); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Removal.Held = nil
	if got := told(r.Node(node, now).Conditions, v1beta1.ConditionDrainPrepared); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Removal.Held = map[string]string{}
	if got := meta.FindStatusCondition(r.Node(node, now).Conditions, v1beta1.ConditionDrainPrepared); got != nil {
		t.Errorf("it is held no more, and told is %v", got)
	}
}

// The claims that are a node's own are recorded by UID once they are held, and the mark of a store's end goes when the node runs again.
func TestNodeRecordsItsClaims(t *testing.T) {
	size := resource.MustParse("1Gi")
	node := facts.Node{GarageNode: &v1beta1.GarageNode{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}
	node.GarageNode.Spec.Storage = &v1beta1.NodeStorage{
		Metadata: v1beta1.NodeVolume{NodeVolumeShape: v1beta1.NodeVolumeShape{ExistingClaim: "metadata-n-0"}},
		Data:     &v1beta1.NodeVolume{NodeVolumeShape: v1beta1.NodeVolumeShape{Size: &size}},
	}
	node.GarageNode.Status.TeardownSince = new(metav1.NewTime(now))
	for _, name := range []string{"data-n-0", "metadata-n-0", "other"} {
		node.Claims = append(node.Claims, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("uid-" + name), Finalizers: []string{v1beta2.FinalizerClaim},
		}})
	}
	r := Report{Cluster: &v1beta2.GarageCluster{}}
	is := r.Node(node, now)
	if diff := cmp.Diff([]v1beta1.ManagedPVC{{Name: "data-n-0", UID: "uid-data-n-0"}}, is.ManagedPVCs); diff != "" || is.TeardownSince == nil {
		t.Errorf("%s, marked %v", diff, is.TeardownSince)
	}
	node.Claims[0].Finalizers, node.StatefulSet = nil, &appsv1.StatefulSet{}
	if is := r.Node(node, now); is.ManagedPVCs != nil || is.TeardownSince != nil {
		t.Errorf("%v, marked %v", is.ManagedPVCs, is.TeardownSince)
	}
	node.GarageNode.OwnerReferences = []metav1.OwnerReference{{Kind: "Composition", UID: "other", Controller: new(true)}}
	if is := r.Node(node, now); is.TeardownSince != nil {
		t.Error("a node that runs for a user's own controller stays marked")
	}
	node.GarageNode.OwnerReferences = []metav1.OwnerReference{{Kind: v1beta2.KindGarageCluster, UID: "was", Controller: new(true)}}
	if is := r.Node(node, now); is.TeardownSince == nil {
		t.Error("a node that is left of another GarageCluster is not marked any more")
	}
	node.GarageNode.OwnerReferences, node.StatefulSet = nil, nil
	node.GarageNode.Spec = v1beta1.GarageNodeSpec{External: &v1beta1.ExternalNode{}}
	if is := r.Node(node, now); is.TeardownSince != nil {
		t.Error("an external node stays marked")
	}
}

// The tags on record are those by which a node's role is known as its own: another one's do not take their place.
func TestNodeThatIsSomebodyElses(t *testing.T) {
	r := resting()
	node := (*r.Nodes)[0]
	node.GarageNode.Status = r.Node(node, now)
	for i := range 3 {
		says(r, i, func(p *facts.Process) {
			p.Layout.Roles = slices.Clone(p.Layout.Roles)
			p.Layout.Roles[0].Tags, p.Layout.Roles[0].Zone = []string{"theirs"}, "theirs"
		})
	}
	r.Identity.Held[node.Name()] = "it is another one's"
	if is := r.Node(node, now); is.Zone != "z" || !slices.Equal(is.Tags, []string{"t"}) {
		t.Errorf("zone %s, tags %v", is.Zone, is.Tags)
	}
	delete(r.Identity.Held, node.Name())
	if is := r.Node(node, now); is.Zone != "theirs" {
		t.Errorf("zone %s", is.Zone)
	}
}
