package contract

import (
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

// transitionRows are about layouts that change while nodes are cut off or dead.
func transitionRows() []group {
	return []group{
		{name: "staging and Apply at the same time", setup: setup{nodes: 3, laidOut: true}, rows: []row{
			{name: "an Apply is not known to a node that is cut off, and drops what is staged there", calls: "ApplyClusterLayout", traps: []int{6, 8}, run: stagingIsLost},
		}},
		{name: "two Applies of one version", setup: setup{nodes: 3, laidOut: true}, rows: []row{
			{name: "both succeed, and the nodes never agree again", traps: []int{7}, run: twoApplies},
		}},
		{name: "a gateway", setup: setup{nodes: 4, laidOut: true}, rows: []row{
			{name: "a storage node that becomes a gateway counts, and stores nothing", run: becomesGateway},
			{name: "a dead gateway holds up every change", traps: []int{20}, run: deadGateway},
		}},
		{name: "a dead node", setup: setup{nodes: 4, laidOut: true}, rows: []row{
			{name: "versions pile up, more than five of them", run: versionsPileUp},
			{name: "skipping a dead node of the current layout is not enough", calls: "ClusterLayoutSkipDeadNodes", traps: []int{4}, run: skippingIsNotEnough},
			{name: "without its role and skipped, the old versions retire although it never synced", traps: []int{3}, run: retiredWithoutSync},
			{name: "missing data is declared by live nodes too", traps: []int{4}, run: missingData},
		}},
		{name: "more than five versions", setup: setup{nodes: 3, factor: 1, laidOut: true}, rows: []row{
			{name: "history forgets all but five", traps: []int{8}, run: fiveVersions},
		}},
	}
}

// apart cuts a node off, and waits until nobody is connected to it.
func (l lab) apart(i int) {
	l.Helper()
	l.cut(i)
	l.each("the node is cut off", l.all(), func(j int) bool {
		up := l.up(j)
		return !slices.ContainsFunc(l.all(), func(k int) bool { return j != k && (j == i || k == i) && up[l.node(k)] })
	})
}

// together lets a node's connections through, and has it connect.
func (l lab) together(i int) {
	l.Helper()
	l.heal(i)
	for j := range l.nodes {
		if j == i {
			continue
		}
		for from, to := range map[int]int{i: j, j: i} {
			result := must[[]adminapi.Connection](l)(l.client(from).ConnectClusterNodes(l.Context(), l.id(to)+"@"+l.rpc(to)))
			if !result[0].Connected {
				l.Errorf("%d to %d: %+v", from, to, result[0])
			}
		}
	}
	l.connected()
}

func stagingIsLost(l lab) {
	l.apart(2)
	result := must[[]adminapi.Connection](l)(l.client(0).ConnectClusterNodes(l.Context(), l.id(2)+"@"+l.rpc(2)))
	if result[0].Connected || result[0].Problem == "" {
		l.Errorf("a node that is cut off: %+v", result[0])
	}
	ours, theirs := storage("z"), storage("z")
	ours.Tags, theirs.Tags = []string{"ours"}, []string{"theirs"}
	l.stage(2, adminapi.Assign(l.node(1), theirs))
	l.stage(0, adminapi.Assign(l.node(0), ours))
	version := l.apply(0).Layout.Version
	if got := l.layout(2); got.Version != version-1 || len(got.Staged) != 1 {
		l.Errorf("the node that is cut off has %+v", got)
	}
	if history := l.history(0); history.Settled() || history.MinAck != version-1 {
		l.Errorf("%+v", history)
	}
	l.together(2)
	l.agreed(version, l.all()...)
	for i := range l.nodes {
		for _, role := range l.layout(i).Roles {
			if slices.Equal(role.Tags, theirs.Tags) {
				l.Errorf("node %d has the change: %+v", i, role)
			}
		}
	}
	l.settled(l.all()...)
}

func twoApplies(l lab) {
	l.apart(2)
	roles := map[int]adminapi.Role{0: storage("z"), 2: storage("z")}
	for i, role := range roles {
		role.Tags = []string{l.id(i)[:8]}
		l.stage(i, adminapi.Assign(l.node(1), role))
		if version := l.apply(i).Layout.Version; version != 2 {
			l.Errorf("node %d makes version %d", i, version)
		}
	}
	l.together(2)
	tags := func(i int) []string {
		for _, role := range l.layout(i).Roles {
			if role.ID == l.node(1) {
				return role.Tags
			}
		}
		return nil
	}
	l.agreed(2, l.all()...) // on the number
	l.always(2*time.Second, "each keeps its own", func() bool {
		return slices.Equal(tags(0), []string{l.id(0)[:8]}) && slices.Equal(tags(1), tags(0)) && slices.Equal(tags(2), []string{l.id(2)[:8]})
	})
}

func becomesGateway(l lab) {
	l.stage(0, adminapi.Assign(l.node(3), adminapi.Role{Zone: "z", Capacity: adminapi.Gateway()}))
	applied := l.apply(0)
	if moved, known := applied.MovedPartitions.Get(); known == l.before(before24) || known && moved == 0 {
		l.Errorf("%d partitions move, known: %t", moved, known)
	}
	for _, role := range applied.Layout.Roles {
		stored, _ := role.StoredPartitions.Get()
		if _, stores := role.Capacity.Storage(); stores != (role.ID != l.node(3)) || stores != (stored > 0) {
			l.Errorf("%+v", role)
		}
	}
	l.agreed(2, l.all()...)
	l.settled(l.all()...)
	current := l.history(0).Versions[0]
	if current.StorageNodes != 3 || current.GatewayNodes != 1 {
		l.Errorf("%+v", current)
	}
	if node, _ := l.seen(1, l.node(3)); node.Draining || node.Role == nil || !node.Role.Equal(adminapi.Role{Zone: "z", Capacity: adminapi.Gateway()}) {
		l.Errorf("%+v", node)
	}
}

func deadGateway(l lab) {
	l.check(l.kill(3))
	l.eventually("the death is noticed", func() bool { return !l.sees(0, l.node(3)) })
	if health := l.health(0); health.Status != adminapi.Healthy || health.ConnectedNodes != 3 {
		l.Errorf("%+v", health)
	}
	version := l.apply(0).Layout.Version
	l.agreed(version, 0, 1, 2)
	l.always(3*time.Second, "the change is held up", func() bool {
		history := l.history(0)
		return history.MinAck == version-1 && history.Trackers[l.node(3)].Ack == version-1
	})
	l.startAgain(3)
	l.settled(0, 1, 2, 3)
}

// versionsPileUp makes six versions after the death of a node that each of them needs.
func versionsPileUp(l lab) {
	l.check(l.kill(3))
	l.each("the death is noticed", []int{0, 1, 2}, func(i int) bool { return !l.sees(i, l.node(3)) })
	for range 6 {
		l.apply(0)
	}
	l.agreed(7, 0, 1, 2)
	history := l.history(0)
	var want []adminapi.LayoutVersion
	for version := uint64(7); version >= 1; version-- {
		want = append(want, adminapi.LayoutVersion{Version: version, Status: adminapi.Draining, StorageNodes: 4})
	}
	want[0].Status = adminapi.Current
	if diff := cmp.Diff(want, history.Versions); diff != "" || history.MinAck != 1 {
		l.Errorf("acknowledged %d\n%s", history.MinAck, diff)
	}
}

func skippingIsNotEnough(l lab) {
	_, err := l.client(0).ClusterLayoutSkipDeadNodes(l.Context(), adminapi.SkipDeadNodes{Version: 8})
	l.refused(err, "Invalid version")
	_, err = l.client(0).ClusterLayoutSkipDeadNodes(l.Context(), adminapi.SkipDeadNodes{Version: 1})
	l.refused(err, "Invalid version")
	skipped := must[adminapi.SkippedNodes](l)(l.client(0).ClusterLayoutSkipDeadNodes(l.Context(), adminapi.SkipDeadNodes{Version: 7}))
	want := adminapi.SkippedNodes{Ack: []adminapi.NodeID{l.node(3)}}
	if diff := cmp.Diff(want, skipped, cmpopts.EquateEmpty()); diff != "" {
		l.Error(diff)
	}
	l.eventually("the live nodes are in step", func() bool {
		history := l.history(0)
		return history.MinAck == 7 && history.Trackers[l.node(0)] == adminapi.Tracker{Ack: 7, Sync: 7, SyncAck: 7}
	})
	l.always(2*time.Second, "the old versions stay", func() bool {
		history := l.history(0)
		return !history.Settled() && history.Trackers[l.node(3)] == adminapi.Tracker{Ack: 7, Sync: 1, SyncAck: 1}
	})
}

func retiredWithoutSync(l lab) {
	l.stage(0, adminapi.Remove(l.node(3)))
	l.apply(0)
	l.agreed(8, 0, 1, 2)
	node, _ := l.seen(0, l.node(3))
	if !node.Draining || node.Role != nil {
		l.Errorf("%+v", node)
	}
	if health := l.health(0); health.Status != adminapi.Degraded || health.StorageNodes != 4 || health.StorageNodesUp != 3 {
		l.Errorf("%+v", health)
	}
	skipped := must[adminapi.SkippedNodes](l)(l.client(0).ClusterLayoutSkipDeadNodes(l.Context(), adminapi.SkipDeadNodes{Version: 8}))
	if !slices.Equal(skipped.Ack, []adminapi.NodeID{l.node(3)}) {
		l.Errorf("%+v", skipped)
	}
	l.settled(0, 1, 2)
	if health := l.health(0); health.Status != adminapi.Healthy || health.StorageNodes != 3 {
		l.Errorf("%+v", health)
	}
	l.startAgain(3)
	l.agreed(8, l.all()...)
	l.settled(l.all()...)
}

// missingData kills a node that the next version needs, and declares that everybody has everything.
func missingData(l lab) {
	l.stage(0, adminapi.Assign(l.node(3), storage("z")))
	l.apply(0)
	l.agreed(9, l.all()...)
	l.settled(l.all()...)
	l.check(l.kill(3))
	l.eventually("the death is noticed", func() bool { return !l.sees(0, l.node(3)) })
	l.apply(0)
	l.agreed(10, 0, 1, 2)
	skipped := must[adminapi.SkippedNodes](l)(l.client(0).ClusterLayoutSkipDeadNodes(l.Context(),
		adminapi.SkipDeadNodes{Version: 10, AllowMissingData: true}))
	synced := map[adminapi.NodeID]bool{}
	for _, node := range skipped.Sync {
		synced[node] = true
	}
	if want := map[adminapi.NodeID]bool{l.node(0): true, l.node(1): true, l.node(2): true, l.node(3): true}; !maps.Equal(want, synced) {
		l.Errorf("%+v", skipped)
	}
}

func fiveVersions(l lab) {
	l.stage(0, adminapi.Remove(l.node(2)))
	for version := uint64(2); version <= 8; version++ {
		l.apply(0)
		l.agreed(version, l.all()...)
		l.settled(l.all()...)
	}
	var got []uint64
	for _, version := range l.history(0).Versions {
		got = append(got, version.Version)
		if (version.Status == adminapi.Historical) != (version.Version < 8) || version.StorageNodes != 2 {
			l.Errorf("%+v", version)
		}
	}
	if diff := cmp.Diff([]uint64{8, 7, 6, 5, 4, 3}, got); diff != "" {
		l.Error(diff) // without version 1, the last in which node 2 stored anything
	}
}
