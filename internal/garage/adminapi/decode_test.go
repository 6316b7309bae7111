package adminapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// inside compares facts and capacities by what is in them.
var inside = cmp.Exporter(func(of reflect.Type) bool {
	return strings.HasPrefix(of.String(), "fact.Fact[") || of == reflect.TypeFor[Capacity]() || of == reflect.TypeFor[RoleChange]()
})

func notSaid[T any](field string) fact.Fact[T] {
	return fact.Unknown[T]("this version of Garage does not say " + field)
}

func notKnown[T any](field string) fact.Fact[T] {
	return fact.Unknown[T]("the node does not know " + field)
}

// get makes a call whose value is to be looked at.
func get[T any](do func(*Client, context.Context) (T, error)) func(context.Context, *Client) (any, error) {
	return func(ctx context.Context, c *Client) (any, error) { return do(c, ctx) }
}

func of(text string) string {
	return fmt.Sprintf(`{"success":{%q:%s},"error":{}}`, nodeA, text)
}

// shape is a reply as some version sends it, and what is read from it.
type shape struct {
	call func(context.Context, *Client) (any, error)
	body string
	want any
	// optional are the fields that may be missing or null. Their names are those of the reply.
	optional string
	// nullable are the fields that may be null, which has a meaning.
	nullable string
	// ignored are fields that are sent and not read.
	ignored string
}

const layoutBody = `{"version":2,"roles":[
	{"id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","zone":"a","tags":["t"],"capacity":1000000000,"storedPartitions":256,"usableCapacity":999999744},
	{"id":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","zone":"b","tags":[],"capacity":null,"storedPartitions":0,"usableCapacity":0}],
	"parameters":{"zoneRedundancy":"maximum"},"partitionSize":3906249,
	"stagedRoleChanges":[{"id":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","remove":true},
	{"id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","zone":"a","tags":[],"capacity":2000000000}],
	"stagedParameters":{"zoneRedundancy":{"atLeast":2}}}`

var layout = Layout{
	Version: 2, PartitionSize: 3906249, StagedRedundancy: &ZoneRedundancy{AtLeast: 2},
	Roles: []NodeRole{
		{ID: nodeA, Role: Role{Zone: "a", Tags: []string{"t"}, Capacity: Bytes(1000000000)}, StoredPartitions: fact.Known(uint64(256)), UsableCapacity: fact.Known(uint64(999999744))},
		{ID: nodeB, Role: Role{Zone: "b", Tags: []string{}, Capacity: Gateway()}, StoredPartitions: fact.Known(uint64(0)), UsableCapacity: fact.Known(uint64(0))},
	},
	Staged: []RoleChange{Remove(nodeB), Assign(nodeA, Role{Zone: "a", Tags: []string{}, Capacity: Bytes(2000000000)})},
}

var (
	applying = get(func(c *Client, ctx context.Context) (Computation, error) { return c.ApplyClusterLayout(ctx, 2) })
	variable = get(func(c *Client, ctx context.Context) (Answer[string], error) {
		return c.GetWorkerVariable(ctx, "resync-worker-count")
	})
	connecting = get(func(c *Client, ctx context.Context) ([]Connection, error) {
		return c.ConnectClusterNodes(ctx, "a", "b")
	})
	skipping = get(func(c *Client, ctx context.Context) (SkippedNodes, error) {
		return c.ClusterLayoutSkipDeadNodes(ctx, SkipDeadNodes{Version: 2})
	})
	changingLayout = get(func(c *Client, ctx context.Context) (Layout, error) {
		return c.UpdateClusterLayout(ctx, LayoutChange{Roles: []RoleChange{Remove(nodeB)}})
	})
	repairing = get(func(c *Client, ctx context.Context) (NodeID, error) {
		return c.LaunchRepairOperation(ctx, RepairTables)
	})
	setting = get(func(c *Client, ctx context.Context) (NodeID, error) {
		return c.SetWorkerVariable(ctx, "resync-tranquility", "0")
	})
)

const nodeInfo23 = `"nodeId":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","garageVersion":"cargo:2.3.0","garageFeatures":["k2v"],"rustVersion":"1.95.0","dbEngine":"LMDB (using Heed crate)","hostname":"h"`

var shapes = map[string]shape{
	"status": {call: get((*Client).GetClusterStatus), body: `{"layoutVersion":3,"nodes":[
		{"id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","garageVersion":"v2.3.0","addr":"127.0.0.1:3901","hostname":"h","isUp":true,"lastSeenSecsAgo":0,
		"role":{"zone":"z","tags":["t"],"capacity":4096},"draining":false,"dataPartition":{"available":1,"total":2},"metadataPartition":{"available":3,"total":4}}]}`,
		want: ClusterStatus{LayoutVersion: 3, Nodes: []NodeStatus{{
			ID: nodeA, GarageVersion: fact.Known("v2.3.0"), Addr: fact.Known("127.0.0.1:3901"), Hostname: fact.Known("h"), Up: true,
			LastSeenSecondsAgo: fact.Known(uint64(0)), Role: &Role{Zone: "z", Tags: []string{"t"}, Capacity: Bytes(4096)},
			Data: fact.Known(Space{Available: 1, Total: 2}), Metadata: fact.Known(Space{Available: 3, Total: 4}),
		}}},
		optional: "garageVersion addr hostname lastSeenSecsAgo dataPartition metadataPartition", nullable: "role capacity"},
	"status of a node that was never seen": {call: get((*Client).GetClusterStatus), body: `{"layoutVersion":0,"nodes":[
		{"id":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","garageVersion":null,"addr":null,"hostname":null,"isUp":false,"lastSeenSecsAgo":null,"role":null,"draining":true}]}`,
		want: ClusterStatus{Nodes: []NodeStatus{{
			ID: nodeB, GarageVersion: notKnown[string]("garageVersion"), Addr: notKnown[string]("addr"), Hostname: notKnown[string]("hostname"),
			LastSeenSecondsAgo: notKnown[uint64]("lastSeenSecsAgo"), Draining: true,
			Data: notSaid[Space]("dataPartition"), Metadata: notSaid[Space]("metadataPartition"),
		}}},
		optional: "garageVersion addr hostname lastSeenSecsAgo", nullable: "role"},
	"health of 2.0": {call: get((*Client).GetClusterHealth),
		body: `{"status":"healthy","knownNodes":1,"connectedNodes":2,"storageNodes":3,"storageNodesOk":4,"partitions":256,"partitionsQuorum":0,"partitionsAllOk":0}`,
		want: ClusterHealth{Status: Healthy, KnownNodes: 1, ConnectedNodes: 2, StorageNodes: 3, StorageNodesUp: 4, Partitions: 256}},
	"health since 2.1": {call: get((*Client).GetClusterHealth),
		body: `{"status":"degraded","knownNodes":1,"connectedNodes":2,"storageNodes":3,"storageNodesUp":4,"partitions":256,"partitionsQuorum":255,"partitionsAllOk":7}`,
		want: ClusterHealth{Status: Degraded, KnownNodes: 1, ConnectedNodes: 2, StorageNodes: 3, StorageNodesUp: 4, Partitions: 256, PartitionsQuorum: 255, PartitionsAllOK: 7}},
	"layout":   {call: get((*Client).GetClusterLayout), body: layoutBody, want: layout, optional: "storedPartitions usableCapacity", nullable: "capacity stagedParameters"},
	"update":   {call: changingLayout, body: layoutBody, want: layout, optional: "storedPartitions usableCapacity", nullable: "capacity stagedParameters"},
	"revert":   {call: get((*Client).RevertClusterLayout), body: layoutBody, want: layout, optional: "storedPartitions usableCapacity", nullable: "capacity stagedParameters"},
	"apply":    {call: applying, body: `{"message":["m",""],"layout":` + layoutBody + `}`, want: Computation{Message: []string{"m", ""}, Layout: layout, MovedPartitions: notSaid[uint64]("statistics")}, optional: "storedPartitions usableCapacity", nullable: "capacity stagedParameters"},
	"preview":  {call: get((*Client).PreviewClusterLayoutChanges), body: `{"message":["m"],"newLayout":` + layoutBody + `}`, want: Computation{Message: []string{"m"}, Layout: layout, MovedPartitions: notSaid[uint64]("statistics")}, optional: "storedPartitions usableCapacity", nullable: "capacity stagedParameters"},
	"2.4":      {call: applying, body: `{"message":[],"statistics":{"totalMovedPartitions":9},"layout":` + layoutBody + `}`, want: Computation{Message: []string{}, Layout: layout, MovedPartitions: fact.Known(uint64(9))}, optional: "statistics totalMovedPartitions storedPartitions usableCapacity", nullable: "capacity stagedParameters"},
	"2.4 anew": {call: applying, body: `{"message":[],"statistics":{"totalMovedPartitions":null},"layout":` + layoutBody + `}`, want: Computation{Message: []string{}, Layout: layout, MovedPartitions: notKnown[uint64]("totalMovedPartitions")}, optional: "statistics totalMovedPartitions storedPartitions usableCapacity", nullable: "capacity stagedParameters"},
	"history that is settled": {call: get((*Client).GetClusterLayoutHistory),
		body: `{"currentVersion":2,"minAck":2,"versions":[{"version":2,"status":"Current","storageNodes":3,"gatewayNodes":1},{"version":1,"status":"Historical","storageNodes":2,"gatewayNodes":0}],"updateTrackers":null}`,
		want: LayoutHistory{CurrentVersion: 2, MinAck: 2, Versions: []LayoutVersion{{Version: 2, Status: Current, StorageNodes: 3, GatewayNodes: 1}, {Version: 1, Status: Historical, StorageNodes: 2}}},
	},
	"history that is draining": {call: get((*Client).GetClusterLayoutHistory),
		body: `{"currentVersion":2,"minAck":1,"versions":[{"version":2,"status":"Current","storageNodes":3,"gatewayNodes":1},{"version":1,"status":"Draining","storageNodes":2,"gatewayNodes":0}],
			"updateTrackers":{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":{"ack":3,"sync":2,"syncAck":1}}}`,
		want: LayoutHistory{CurrentVersion: 2, MinAck: 1, Versions: []LayoutVersion{{Version: 2, Status: Current, StorageNodes: 3, GatewayNodes: 1}, {Version: 1, Status: Draining, StorageNodes: 2}},
			Trackers: map[NodeID]Tracker{nodeA: {Ack: 3, Sync: 2, SyncAck: 1}}},
	},
	"skipped":   {call: skipping, body: `{"ackUpdated":["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],"syncUpdated":[]}`, want: SkippedNodes{Ack: []NodeID{nodeA}, Sync: []NodeID{}}},
	"connected": {call: connecting, body: `[{"success":true,"error":null},{"success":false,"error":"no route"}]`, want: []Connection{{Connected: true}, {Problem: "no route"}}, nullable: "error"},
	"info of 2.0": {call: get((*Client).GetNodeInfo), body: of(`{"nodeId":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","garageVersion":"git:deadbeef","garageFeatures":null,"rustVersion":"1","dbEngine":"sqlite3"}`),
		want: Answer[NodeInfo]{Node: nodeA, Value: NodeInfo{
			GarageVersion: "git:deadbeef", Version: fact.Unknown[Version](`"git:deadbeef" has no version in it`), DBEngine: "sqlite3",
			Hostname: notSaid[string]("hostname"), Addr: notSaid[string]("addr"), Draining: notSaid[bool]("draining"), Data: notSaid[Space]("dataPartition"), Metadata: notSaid[Space]("metadataPartition"),
		}}, ignored: "garageFeatures rustVersion"},
	"info of 2.3": {call: get((*Client).GetNodeInfo), body: of(`{` + nodeInfo23 + `}`),
		want: Answer[NodeInfo]{Node: nodeA, Value: NodeInfo{
			GarageVersion: "cargo:2.3.0", Version: fact.Known(Version{2, 3, 0}), DBEngine: "LMDB (using Heed crate)",
			Hostname: fact.Known("h"), Addr: notSaid[string]("addr"), Draining: notSaid[bool]("draining"), Data: notSaid[Space]("dataPartition"), Metadata: notSaid[Space]("metadataPartition"),
		}}, optional: "hostname", ignored: "garageFeatures rustVersion"},
	"info of 2.4": {call: get((*Client).GetNodeInfo), body: of(`{` + nodeInfo23 + `,"addr":"127.0.0.1:3901","isUp":true,"draining":false,"dataPartition":{"available":1,"total":2},"metadataPartition":{"available":3,"total":4}}`),
		want: Answer[NodeInfo]{Node: nodeA, Value: NodeInfo{
			GarageVersion: "cargo:2.3.0", Version: fact.Known(Version{2, 3, 0}), DBEngine: "LMDB (using Heed crate)", Hostname: fact.Known("h"),
			Addr: fact.Known("127.0.0.1:3901"), Draining: fact.Known(false), Data: fact.Known(Space{Available: 1, Total: 2}), Metadata: fact.Known(Space{Available: 3, Total: 4}),
		}}, optional: "hostname addr draining dataPartition metadataPartition", ignored: "garageFeatures rustVersion isUp"},
	"statistics before 2.3": {call: get((*Client).GetNodeStatistics), body: of(`{"freeform":"text"}`),
		want: Answer[NodeStatistics]{Node: nodeA, Value: NodeStatistics{Tables: notSaid[map[string]TableStatistics]("tableStats"), Blocks: notSaid[BlockStatistics]("blockManagerStats")}}},
	"statistics since 2.3": {call: get((*Client).GetNodeStatistics),
		body: of(`{"freeform":"","tableStats":[{"tableName":"object","items":1,"merkleItems":2,"merkleQueueLen":3,"insertQueueLen":4,"gcQueueLen":5}],"blockManagerStats":{"rcEntries":6,"resyncQueueLen":7,"resyncErrors":8}}`),
		want: Answer[NodeStatistics]{Node: nodeA, Value: NodeStatistics{
			Tables: fact.Known(map[string]TableStatistics{"object": {Items: 1, MerkleItems: 2, MerkleQueue: 3, InsertQueue: 4, GCQueue: 5}}),
			Blocks: fact.Known(BlockStatistics{RCEntries: 6, ResyncQueue: 7, ResyncErrors: 8}),
		}}, optional: "tableStats blockManagerStats"},
	"snapshot": {call: get((*Client).CreateMetadataSnapshot), body: of(`null`), want: nodeA},
	"repair":   {call: repairing, body: of(`null`), want: nodeA},
	"workers": {call: get((*Client).ListWorkers), body: of(`[
		{"id":1,"name":"Block resync worker #1","state":"idle","errors":2,"consecutiveErrors":3,"lastError":{"message":"m","secsAgo":4},"tranquility":5,"progress":"6%","queueLength":7,"persistentErrors":8,"freeform":["f"]},
		{"id":2,"name":"w","state":{"throttled":{"durationSecs":1.5}},"errors":0,"consecutiveErrors":0,"lastError":null,"tranquility":null,"progress":null,"queueLength":null,"persistentErrors":null,"freeform":[]}]`),
		want: Answer[[]Worker]{Node: nodeA, Value: []Worker{
			{ID: 1, Name: "Block resync worker #1", State: WorkerIdle, Errors: 2, ConsecutiveErrors: 3, LastError: &WorkerError{Message: "m", SecondsAgo: 4},
				QueueLength: fact.Known(uint64(7)), PersistentErrors: fact.Known(uint64(8)), Tranquility: fact.Known(uint64(5)), Progress: fact.Known("6%"), Freeform: []string{"f"}},
			{ID: 2, Name: "w", State: WorkerThrottled, QueueLength: notKnown[uint64]("queueLength"), PersistentErrors: notKnown[uint64]("persistentErrors"),
				Tranquility: notKnown[uint64]("tranquility"), Progress: notKnown[string]("progress"), Freeform: []string{}},
		}}, optional: "tranquility progress queueLength persistentErrors", nullable: "lastError", ignored: "durationSecs"},
	"variable":     {call: variable, body: of(`{"resync-worker-count":"1"}`), want: Answer[string]{Node: nodeA, Value: "1"}},
	"set variable": {call: setting, body: of(`{"variable":"resync-tranquility","value":"0"}`), want: nodeA, ignored: "value"},
	"block errors": {call: get((*Client).ListBlockErrors), body: of(`[{"blockHash":"cc","refcount":1,"errorCount":2,"lastTrySecsAgo":3,"nextTryInSecs":60}]`),
		want: Answer[[]BlockError]{Node: nodeA, Value: []BlockError{{Hash: "cc", References: 1, Errors: 2, LastTryAgo: 3 * time.Second, NextTryIn: time.Minute}}}},
}

func TestShapes(t *testing.T) {
	for name, tc := range shapes {
		t.Run(name, func(t *testing.T) {
			got, err := tc.call(t.Context(), client(t, "http://member:3903", replying(200, tc.body)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, inside); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDamagedShapes takes each field of each reply away, and puts null and values of other types in its place. Then the reply
// is not understood, or the field is one that may be unknown and is so.
func TestDamagedShapes(t *testing.T) {
	for name, tc := range shapes {
		t.Run(name, func(t *testing.T) {
			var whole any
			if err := json.Unmarshal([]byte(tc.body), &whole); err != nil {
				t.Fatal(err)
			}
			each(whole, "", func(field string, value any, put func(any), remove func()) {
				optional := among(tc.optional, field)
				for _, other := range others(value) {
					put(other)
					tc.damaged(t, whole, fmt.Sprintf("%s is %v", field, other), among(tc.ignored, field), false)
				}
				if value != nil {
					put(nil)
					tc.damaged(t, whole, field+" is null", among(tc.ignored, field), optional || among(tc.nullable, field))
				}
				if remove != nil {
					remove()
					tc.damaged(t, whole, field+" is missing", among(tc.ignored, field) || value == nil && optional, optional)
				}
				put(value)
			})
		})
	}
}

// among finds a field in a list of them. What a list holds is called as the list.
func among(list, field string) bool {
	return slices.Contains(strings.Fields(list), strings.TrimSuffix(field, "[]"))
}

// others are values of other types.
func others(value any) []any {
	all := []any{-1, 1.5, true, []any{nil}, map[string]any{"?": 0}}
	if value != nil { // in place of null a text may be a value
		all = append(all, "?")
	}
	return slices.DeleteFunc(all, func(other any) bool { return reflect.TypeOf(other) == reflect.TypeOf(value) })
}

// damaged reads a reply in which something was changed. It must not be understood, unless it may pass; then the value must
// be another one, unless the damage does not matter.
func (s shape) damaged(t *testing.T, reply any, how string, ignored, mayPass bool) {
	t.Helper()
	body, err := json.Marshal(reply)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.call(t.Context(), client(t, "http://member:3903", replying(200, string(body))))
	switch {
	case err != nil:
		if class := faultOf(t, err).Class; class != NotUnderstood {
			t.Errorf("%s: %v", how, err)
		}
	case ignored:
	case !mayPass:
		t.Errorf("%s, and it reads as %+v", how, got)
	case cmp.Equal(s.want, got, inside):
		t.Errorf("%s, and nobody notices", how)
	}
}

// each visits every value of a reply but the outermost.
func each(value any, under string, visit func(field string, value any, put func(any), remove func())) {
	switch value := value.(type) {
	case map[string]any:
		for _, field := range slices.Sorted(maps.Keys(value)) {
			each(value[field], field, visit)
			visit(field, value[field], func(other any) { value[field] = other }, func() { delete(value, field) })
		}
	case []any:
		for i := range value {
			each(value[i], under, visit)
			visit(under+"[]", value[i], func(other any) { value[i] = other }, nil)
		}
	}
}

func TestContradictions(t *testing.T) {
	history := func(text string) shape {
		return shape{call: get((*Client).GetClusterLayoutHistory), body: `{"currentVersion":2,"minAck":2,` + text + `}`}
	}
	const current, draining = `{"version":2,"status":"Current","storageNodes":3,"gatewayNodes":0}`, `{"version":1,"status":"Draining","storageNodes":3,"gatewayNodes":0}`
	layoutWith := func(old, replacement string) shape {
		return shape{call: get((*Client).GetClusterLayout), body: strings.Replace(layoutBody, old, replacement, 1)}
	}
	for name, tc := range map[string]shape{
		"settled and draining":       history(`"versions":[` + current + `,` + draining + `],"updateTrackers":null`),
		"trackers for one version":   history(`"versions":[` + current + `],"updateTrackers":{}`),
		"no version is current":      history(`"versions":[],"updateTrackers":null`),
		"two versions are current":   history(`"versions":[` + current + `,` + current + `],"updateTrackers":null`),
		"another one is current":     history(`"versions":[{"version":3,"status":"Current","storageNodes":3,"gatewayNodes":0}],"updateTrackers":null`),
		"a tracker of nobody":        history(`"versions":[` + current + `,` + draining + `],"updateTrackers":{"x":{"ack":1,"sync":1,"syncAck":1}}`),
		"remove false":               layoutWith(`"remove":true`, `"remove":false`),
		"another redundancy":         layoutWith(`"maximum"`, `"minimum"`),
		"redundancy of 0":            layoutWith(`"atLeast":2`, `"atLeast":0`),
		"a node with another id":     {call: get((*Client).GetNodeInfo), body: strings.Replace(shapes["info of 2.3"].body, `"nodeId":"aa`, `"nodeId":"ab`, 1)},
		"another variable":           {call: variable, body: of(`{"resync-tranquility":"1"}`)},
		"another one was set":        {call: setting, body: of(`{"variable":"scrub-tranquility","value":"0"}`)},
		"one result for two nodes":   {call: connecting, body: `[{"success":true,"error":null}]`},
		"a status that is none":      {call: get((*Client).GetClusterHealth), body: strings.Replace(shapes["health of 2.0"].body, "healthy", "fine", 1)},
		"no tables":                  {call: get((*Client).GetNodeStatistics), body: of(`{"freeform":"","tableStats":[]}`)},
		"a table twice":              {call: get((*Client).GetNodeStatistics), body: strings.Replace(shapes["statistics since 2.3"].body, `"tableStats":[`, `"tableStats":[{"tableName":"object","items":0,"merkleItems":2,"merkleQueueLen":3,"insertQueueLen":4,"gcQueueLen":5},`, 1)},
		"a worker that hides":        {call: get((*Client).ListWorkers), body: strings.Replace(shapes["workers"].body, `"idle"`, `"hidden"`, 1)},
		"a worker with two states":   {call: get((*Client).ListWorkers), body: strings.Replace(shapes["workers"].body, `{"throttled":`, `{"rested":`, 1)},
		"a name in other case":       {call: get((*Client).GetClusterHealth), body: strings.Replace(shapes["health of 2.0"].body, "storageNodesOk", "storageNodesOK", 1)},
		"a number that is too large": {call: get((*Client).GetClusterHealth), body: strings.Replace(shapes["health of 2.0"].body, `"knownNodes":1`, `"knownNodes":99999999999999999999`, 1)},
		"a status of a version":      history(`"versions":[` + current + `,{"version":1,"status":"Gone","storageNodes":3,"gatewayNodes":0}],"updateTrackers":null`),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.call(t.Context(), client(t, "http://member:3903", replying(200, tc.body)))
			if err == nil {
				t.Fatalf("it reads as %+v", got)
			}
			if class := faultOf(t, err).Class; class != NotUnderstood {
				t.Error(err)
			}
		})
	}
}

// TestRefusedPreview has the refusal that comes with status 200.
func TestRefusedPreview(t *testing.T) {
	c := client(t, "http://member:3903", replying(200, `{"error":"The number of nodes with positive capacity (2) is smaller than the replication factor (3)."}`))
	_, err := c.PreviewClusterLayoutChanges(t.Context())
	if diff := cmp.Diff(fault{Class: Refused}, faultOf(t, err)); diff != "" {
		t.Error(diff)
	}
}

// TestGarbage cuts replies and changes bytes of them: no call panics, and what fails to be read has no value.
func TestGarbage(t *testing.T) {
	names := slices.Sorted(maps.Keys(shapes))
	rapid.Check(t, func(r *rapid.T) {
		tc := shapes[rapid.SampledFrom(names).Draw(r, "shape")]
		body := []byte(tc.body)
		for range rapid.IntRange(0, 4).Draw(r, "changes") {
			at := rapid.IntRange(0, len(body)-1).Draw(r, "at")
			body[at] = rapid.SampledFrom([]byte("\x00\"0-9,:{}[]anx\\ \xff")).Draw(r, "byte")
		}
		body = body[:rapid.IntRange(0, len(body)).Draw(r, "length")]
		got, err := tc.call(t.Context(), client(t, "http://member:3903", replying(200, string(body))))
		if err != nil {
			if faultOf(t, err); !reflect.ValueOf(got).IsZero() {
				r.Fatalf("%v, and the value %+v", err, got)
			}
		}
	})
}

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]string{
		"v2.3.0": "2.3.0", "cargo:2.3.0": "2.3.0", "git:v2.4.1-12-g0a1b2c3": "2.4.1", "2.10.3": "2.10.3", "v2.3.0-rc1": "2.3.0",
		"git:0a1b2c3": "", "": "", "v2.3": "", "99999999999999999999.1.2": "",
	} {
		v, known := ParseVersion(text).Get()
		if known != (want != "") || known && v.String() != want {
			t.Errorf("%q: got %v %t, want %q", text, v, known, want)
		}
	}
}

func TestCompareVersions(t *testing.T) {
	ordered := []Version{{1, 9, 9}, {2, 0, 0}, {2, 3, 0}, {2, 3, 1}, {2, 10, 0}}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := a.Compare(b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s against %s: %d", a, b, got)
			}
		}
	}
}

func TestRoles(t *testing.T) {
	storage := Role{Zone: "z", Tags: []string{"t"}, Capacity: Bytes(4096)}
	for name, other := range map[string]RoleChange{
		"another node": Assign(nodeB, storage), "a removal": Remove(nodeA), "a gateway": Assign(nodeA, Role{Zone: "z", Tags: []string{"t"}, Capacity: Gateway()}),
		"another zone": Assign(nodeA, Role{Zone: "y", Tags: []string{"t"}, Capacity: Bytes(4096)}), "another capacity": Assign(nodeA, Role{Zone: "z", Tags: []string{"t"}, Capacity: Bytes(4097)}),
		"no tags": Assign(nodeA, Role{Zone: "z", Capacity: Bytes(4096)}),
	} {
		if Assign(nodeA, storage).Equal(other) {
			t.Errorf("%s is the same", name)
		}
	}
	if !Assign(nodeA, Role{Zone: "z", Tags: []string{}, Capacity: Gateway()}).Equal(Assign(nodeA, Role{Zone: "z", Capacity: Gateway()})) {
		t.Error("no tags are not the same as no tags")
	}
	if role, assigned := Assign(nodeA, storage).Role(); !assigned || !role.Equal(storage) || Remove(nodeB).Node() != nodeB {
		t.Error("a change is not what it was made of")
	}
	if _, assigned := Remove(nodeA).Role(); assigned {
		t.Error("a removal assigns a role")
	}
	if bytes, storage := Gateway().Storage(); bytes != 0 || storage {
		t.Error("a gateway stores something")
	}
}

func TestWorkersOfRepairs(t *testing.T) {
	for repair := range forms {
		name, starts := repair.Worker()
		if starts == (repair == RepairTables || repair == RepairAliases || strings.HasPrefix(string(repair), "scrub")) || starts != strings.HasSuffix(name, "worker") {
			t.Errorf("%s starts %q", repair, name)
		}
	}
}
