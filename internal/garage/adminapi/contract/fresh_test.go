package contract

import (
	"errors"
	"maps"
	"net/http"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

var (
	before21 = adminapi.Version{Major: 2, Minor: 1}
	before23 = adminapi.Version{Major: 2, Minor: 3}
	before24 = adminapi.Version{Major: 2, Minor: 4}
)

// before says whether the cluster's version is older.
func (l lab) before(v adminapi.Version) bool { return l.version.Compare(v) < 0 }

// freshRows are about nodes without a layout: four, with three copies of everything.
func freshRows() []group {
	return []group{{name: "before the first layout", setup: setup{nodes: 4}, rows: []row{
		{name: "a node answers for itself, with its version", calls: "GetNodeInfo", traps: []int{26}, run: nodesAnswerForThemselves},
		{name: "since 2.4 a node says where it is, and how full", calls: "GetNodeInfo", run: nodesSayMore},
		{name: "what a version does not say is unknown", calls: "GetNodeStatistics", run: unknownByVersion},
		{name: "the nodes know each other", calls: "GetClusterStatus", run: nodesKnowEachOther},
		{name: "health without a layout depends on the version", calls: "GetClusterHealth", traps: []int{17, 18}, run: healthWithoutLayout},
		{name: "layout 0 is empty and settled", calls: "GetClusterLayout GetClusterLayoutHistory", traps: []int{19}, run: layoutZero},
		{name: "another token is denied, as is one with a dot", run: otherTokens},
		{name: "other paths and methods are bad requests", run: otherRequests},
		{name: "too few nodes are refused with 500, and by a preview with 200", calls: "PreviewClusterLayoutChanges ApplyClusterLayout", traps: []int{21}, run: tooFewNodes},
		{name: "staged changes of several writers add up", calls: "UpdateClusterLayout", traps: []int{6}, run: stagingAddsUp},
		{name: "reverting drops what others staged", calls: "RevertClusterLayout", traps: []int{9}, run: revertingIsGlobal},
		{name: "a role without a capacity is a gateway", traps: []int{1}, run: roleWithoutCapacity},
		{name: "a role for a node that nobody knows is taken", run: roleForNobody},
		{name: "bad changes are bad requests, and stage nothing", run: badChanges},
		{name: "removing what is not there", run: phantomRemoval},
		{name: "too few zones are refused", run: tooFewZones},
		{name: "a gateway's zone counts for the maximum", traps: []int{20}, run: gatewayZoneCounts},
		{name: "a preview computes what Apply makes, and changes nothing", calls: "PreviewClusterLayoutChanges", run: previewThenApply},
		{name: "with a layout everybody calls the cluster healthy", calls: "GetClusterHealth", run: healthy},
	}}}
}

func nodesAnswerForThemselves(l lab) {
	for i := range l.nodes {
		answer := must[adminapi.Answer[adminapi.NodeInfo]](l)(l.client(i).GetNodeInfo(l.Context()))
		if answer.Node != l.node(i) {
			l.Errorf("node %d says %s, want %s", i, answer.Node, l.node(i))
		}
		info := answer.Value
		if version, known := info.Version.Get(); !known || version != l.version {
			l.Errorf("version %v of %q, want %s", version, info.GarageVersion, l.version)
		}
		if !strings.HasPrefix(info.GarageVersion, "cargo:") || !strings.HasPrefix(info.DBEngine, "LMDB") {
			l.Errorf("version %q and engine %q", info.GarageVersion, info.DBEngine)
		}
		if _, known := info.Hostname.Get(); known == l.before(before23) {
			l.Errorf("hostname is known: %t", known)
		}
	}
}

// nodesSayMore has what a node says of itself since Garage 2.4.
func nodesSayMore(l lab) {
	info := must[adminapi.Answer[adminapi.NodeInfo]](l)(l.client(1).GetNodeInfo(l.Context())).Value
	addr, hasAddr := info.Addr.Get()
	draining, hasDraining := info.Draining.Get()
	data, hasData := info.Data.Get()
	metadata, hasMetadata := info.Metadata.Get()
	for _, known := range []bool{hasAddr, hasDraining, hasData, hasMetadata} {
		if known == l.before(before24) {
			l.Errorf("addr is known: %t, draining: %t, space: %t, %t", hasAddr, hasDraining, hasData, hasMetadata)
		}
	}
	if hasAddr && (addr != l.rpc(1) || draining || data.Total == 0 || metadata.Total == 0) {
		l.Errorf("%+v, want it at %s", info, l.rpc(1))
	}
}

func unknownByVersion(l lab) {
	value := must[adminapi.Answer[adminapi.NodeStatistics]](l)(l.client(0).GetNodeStatistics(l.Context())).Value
	tables, known := value.Tables.Get()
	blocks, alsoKnown := value.Blocks.Get()
	if known == l.before(before23) || alsoKnown == l.before(before23) {
		l.Errorf("tables are known: %t, blocks: %t", known, alsoKnown)
	}
	if known && (blocks != adminapi.BlockStatistics{}) {
		l.Errorf("an empty node has %+v", blocks)
	}
	for _, name := range []string{"object", "version", "block_ref"} {
		if table, there := tables[name]; known && (!there || table.Items != 0) {
			l.Errorf("an empty node has in table %s: %+v", name, table)
		}
	}
}

func nodesKnowEachOther(l lab) {
	status := must[adminapi.ClusterStatus](l)(l.client(1).GetClusterStatus(l.Context()))
	if status.LayoutVersion != 0 || len(status.Nodes) != l.nodes {
		l.Errorf("layout %d and %d nodes", status.LayoutVersion, len(status.Nodes))
	}
	for i := range l.nodes {
		node, known := l.seen(1, l.node(i))
		addr, _ := node.Addr.Get()
		if !known || !node.Up || node.Role != nil || node.Draining || addr != l.rpc(i) {
			l.Errorf("node %d: %t, %+v", i, known, node)
		}
	}
	l.eventually("the node has heard what the others are", func() bool {
		node, _ := l.seen(1, l.node(2))
		name, _ := node.GarageVersion.Get()
		space, known := node.Data.Get()
		return strings.HasPrefix(name, "cargo:") && known && space.Total > 0
	})
}

func healthWithoutLayout(l lab) {
	want := adminapi.ClusterHealth{Status: adminapi.OutOfService, KnownNodes: 4, ConnectedNodes: 4}
	if l.before(before21) {
		want.Status, want.Partitions = adminapi.Healthy, 256
	}
	if diff := cmp.Diff(want, l.health(0)); diff != "" {
		l.Error(diff)
	}
	_, reply := l.raw(0, http.MethodGet, "/v2/GetClusterHealth", "", "")
	_, ok := reply["storageNodesOk"]
	_, up := reply["storageNodesUp"]
	if ok != l.before(before21) || up == ok {
		l.Errorf("storageNodesOk %t, storageNodesUp %t", ok, up)
	}
}

func layoutZero(l lab) {
	layout := l.layout(0)
	if layout.Version != 0 || len(layout.Roles) > 0 || len(layout.Staged) > 0 || layout.StagedRedundancy != nil || layout.Redundancy.AtLeast != 0 {
		l.Errorf("%+v", layout)
	}
	history := l.history(0)
	want := []adminapi.LayoutVersion{{Status: adminapi.Current}}
	if diff := cmp.Diff(want, history.Versions); diff != "" || !history.Settled() {
		l.Errorf("settled: %t, versions:\n%s", history.Settled(), diff)
	}
}

func otherTokens(l lab) {
	base, token := l.address(0)
	_, err := l.clientWith(base, strings.Repeat("0", len(token))).GetNodeInfo(l.Context())
	if e, ok := errors.AsType[*adminapi.Error](err); !ok || e.Class != adminapi.AccessDenied || e.MayHaveHappened() {
		l.Errorf("got %v, want that access is denied", err)
	}
	for _, other := range []string{token + ".x", token[:8] + "." + token[8:], "x"} {
		if status, reply := l.raw(0, http.MethodGet, "/v2/GetClusterStatus", other, ""); status != http.StatusForbidden || reply["code"] != "AccessDenied" {
			l.Errorf("%d %v", status, reply)
		}
	}
}

func otherRequests(l lab) {
	for path, method := range map[string]string{
		"/v2/getClusterStatus": http.MethodGet, "/v2/GetClusterStatus": http.MethodPost, "/v2/ApplyClusterLayout": http.MethodGet,
		"/v2/GetNodeInfo": http.MethodGet, // without saying of which node
	} {
		if status, reply := l.raw(0, method, path, "", "{}"); status != http.StatusBadRequest || reply["code"] != "InvalidRequest" {
			l.Errorf("%s %s: %d %v", method, path, status, reply)
		}
	}
}

func tooFewNodes(l lab) {
	l.stage(0, adminapi.Assign(l.node(0), storage("z")), adminapi.Assign(l.node(1), storage("z")))
	_, err := l.client(0).PreviewClusterLayoutChanges(l.Context())
	l.refused(err, "smaller than the replication factor (3)")
	_, err = l.client(0).ApplyClusterLayout(l.Context(), 1)
	l.refused(err, "smaller than the replication factor (3)")
	_, err = l.client(0).ApplyClusterLayout(l.Context(), 2)
	l.refused(err, "Invalid new layout version")
	if status, reply := l.raw(0, http.MethodPost, "/v2/PreviewClusterLayoutChanges", "", ""); status != http.StatusOK || reply["error"] == nil {
		l.Errorf("preview: %d %v", status, reply)
	}
	if status, reply := l.raw(0, http.MethodPost, "/v2/ApplyClusterLayout", "", `{"version":1}`); status != http.StatusInternalServerError || reply["code"] != "InternalError" {
		l.Errorf("apply: %d %v", status, reply)
	}
	if layout := l.layout(0); layout.Version != 0 || len(layout.Staged) != 2 {
		l.Errorf("a refused Apply changed something: %+v", layout)
	}
	l.revert(0)
}

// revert drops what is staged, and waits until nobody has it.
func (l lab) revert(i int) {
	l.Helper()
	layout := must[adminapi.Layout](l)(l.client(i).RevertClusterLayout(l.Context()))
	if len(layout.Staged) > 0 || layout.StagedRedundancy != nil {
		l.Errorf("reverting leaves %+v", layout)
	}
	l.agreed(layout.Version, l.all()...)
}

func (l lab) staged(i int) map[adminapi.NodeID]adminapi.RoleChange {
	l.Helper()
	changes := map[adminapi.NodeID]adminapi.RoleChange{}
	for _, change := range l.layout(i).Staged {
		changes[change.Node()] = change
	}
	return changes
}

func stagingAddsUp(l lab) {
	first, second := adminapi.Assign(l.node(0), storage("z")), adminapi.Assign(l.node(1), storage("z"))
	l.stage(0, first)
	l.eventually("node 1 hears of it", func() bool { return len(l.staged(1)) == 1 })
	layout := l.stage(1, second)
	if len(layout.Staged) != 2 {
		l.Errorf("node 1 has %+v", layout.Staged)
	}
	want := map[adminapi.NodeID]adminapi.RoleChange{l.node(0): first, l.node(1): second}
	for i := range l.nodes {
		l.eventually("everybody has both", func() bool { return maps.EqualFunc(want, l.staged(i), adminapi.RoleChange.Equal) })
	}
	third := adminapi.Assign(l.node(0), storage("y"))
	l.stage(0, third)
	if !l.staged(0)[l.node(0)].Equal(third) {
		l.Errorf("the second change of a node is %+v", l.staged(0))
	}
}

func revertingIsGlobal(l lab) {
	if len(l.staged(2)) == 0 {
		l.Fatal("nothing is staged by others")
	}
	l.revert(2)
}

func roleWithoutCapacity(l lab) {
	status, reply := l.raw(0, http.MethodPost, "/v2/UpdateClusterLayout", "",
		`{"roles":[{"id":"`+l.id(0)+`","zone":"z","tags":[]}]}`)
	if status != http.StatusOK {
		l.Errorf("%d %v", status, reply)
	}
	if want := adminapi.Assign(l.node(0), adminapi.Role{Zone: "z", Capacity: adminapi.Gateway()}); !l.staged(0)[l.node(0)].Equal(want) {
		l.Errorf("staged: %+v", l.staged(0))
	}
	explicit := l.stage(0, adminapi.Assign(l.node(1), adminapi.Role{Zone: "z", Capacity: adminapi.Gateway()}))
	if len(explicit.Staged) != 2 {
		l.Errorf("%+v", explicit.Staged)
	}
	l.revert(0)
}

const nobody = adminapi.NodeID("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")

func roleForNobody(l lab) {
	change := adminapi.Assign(nobody, storage("z"))
	if layout := l.stage(0, change); len(layout.Staged) != 1 || !layout.Staged[0].Equal(change) {
		l.Errorf("%+v", layout.Staged)
	}
	if _, known := l.seen(0, nobody); known {
		l.Error("the node is known before it has a role")
	}
	l.revert(0)
}

func badChanges(l lab) {
	for name, body := range map[string]string{
		"a small capacity": `{"roles":[{"id":"` + l.id(0) + `","zone":"z","tags":[],"capacity":1023}]}`,
		"no id":            `{"roles":[{"id":"abc","zone":"z","tags":[],"capacity":4096}]}`,
		"remove false":     `{"roles":[{"id":"` + l.id(0) + `","remove":false}]}`,
	} {
		if status, reply := l.raw(0, http.MethodPost, "/v2/UpdateClusterLayout", "", body); status != http.StatusBadRequest {
			l.Errorf("%s: %d %v", name, status, reply)
		}
	}
	_, err := l.client(0).UpdateClusterLayout(l.Context(), adminapi.LayoutChange{Redundancy: &adminapi.ZoneRedundancy{AtLeast: 4}})
	l.refused(err, "must be smaller or equal to the replication factor (3)")
	if layout := l.layout(0); len(layout.Staged) > 0 || layout.StagedRedundancy != nil {
		l.Errorf("staged: %+v", layout)
	}
}

// phantomRemoval is a staged removal of a node without a role. Before Garage 2.4 it stays staged for ever.
func phantomRemoval(l lab) {
	l.stage(0, adminapi.Remove(nobody))
	_, shown := l.staged(0)[nobody]
	if shown != l.before(before24) {
		l.Errorf("it shows as staged: %t", shown)
	}
	l.revert(0)
}

func (l lab) stageStorage(nodes ...int) {
	l.Helper()
	var roles []adminapi.RoleChange
	for _, i := range nodes {
		roles = append(roles, adminapi.Assign(l.node(i), storage("z")))
	}
	l.stage(0, roles...)
}

func tooFewZones(l lab) {
	l.stageStorage(0, 1, 2)
	two := adminapi.ZoneRedundancy{AtLeast: 2}
	layout := must[adminapi.Layout](l)(l.client(0).UpdateClusterLayout(l.Context(), adminapi.LayoutChange{Redundancy: &two}))
	if layout.StagedRedundancy == nil || *layout.StagedRedundancy != two {
		l.Errorf("staged: %+v", layout.StagedRedundancy)
	}
	_, err := l.client(0).PreviewClusterLayoutChanges(l.Context())
	l.refused(err, "smaller than the redundancy parameter (2)")
	_, err = l.client(0).ApplyClusterLayout(l.Context(), 1)
	l.refused(err, "smaller than the redundancy parameter (2)")
	l.revert(0)
}

func gatewayZoneCounts(l lab) {
	l.stageStorage(0, 1, 2)
	l.stage(0, adminapi.Assign(l.node(3), adminapi.Role{Zone: "y", Capacity: adminapi.Gateway()}))
	_, err := l.client(0).ApplyClusterLayout(l.Context(), 1)
	l.refused(err, "smaller than the redundancy parameter (2)")
	l.revert(0)
}

func previewThenApply(l lab) {
	l.stageStorage(0, 1, 2)
	preview := must[adminapi.Computation](l)(l.client(0).PreviewClusterLayoutChanges(l.Context()))
	if layout := l.layout(0); layout.Version != 0 || len(layout.Staged) != 3 {
		l.Errorf("the preview changed something: %+v", layout)
	}
	l.firstLayout("preview", preview)
	l.firstLayout("apply", l.apply(0))
	l.agreed(1, l.all()...)
	if history := l.history(0); !history.Settled() || len(history.Versions) != 1 {
		l.Errorf("%+v", history)
	}
}

// firstLayout wants three nodes, each with all partitions.
func (l lab) firstLayout(name string, computed adminapi.Computation) {
	l.Helper()
	layout := computed.Layout
	if _, known := computed.MovedPartitions.Get(); known {
		l.Errorf("%s: the first layout moves something", name)
	}
	if len(computed.Message) == 0 || layout.Version != 1 || len(layout.Staged) > 0 || len(layout.Roles) != 3 || layout.PartitionSize == 0 {
		l.Errorf("%s: %+v", name, computed)
	}
	for _, role := range layout.Roles {
		stored, _ := role.StoredPartitions.Get()
		usable, _ := role.UsableCapacity.Get()
		if !role.Equal(storage("z")) || stored != 256 || usable != 256*layout.PartitionSize || usable > capacity {
			l.Errorf("%s: %+v", name, role)
		}
	}
}

func healthy(l lab) {
	want := adminapi.ClusterHealth{
		Status: adminapi.Healthy, KnownNodes: 4, ConnectedNodes: 4, StorageNodes: 3, StorageNodesUp: 3,
		Partitions: 256, PartitionsQuorum: 256, PartitionsAllOK: 256,
	}
	l.each("everybody calls the cluster healthy", l.all(), func(i int) bool { return l.health(i) == want })
}
