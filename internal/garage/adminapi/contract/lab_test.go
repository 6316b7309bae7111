package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

// setup is the cluster that a group of rows is about.
type setup struct {
	nodes, factor     int
	degraded, noScrub bool
	// laidOut says that all nodes store, each with the same capacity, before the first row.
	laidOut bool
	// objects are stored then.
	objects int
}

// cluster is a Garage cluster, real or in memory.
type cluster interface {
	// address is where a node's Admin API answers, and with which token.
	address(i int) (base, token string)
	transport() http.RoundTripper
	id(i int) string
	rpc(i int) string
	stop(i int) error
	kill(i int) error
	start(i int) error
	wipe(i int) error
	cut(i int)
	heal(i int)
	store(t *testing.T, objects int) error
	blocks(i int) (int, error)
	loseBlock(i int) error
	// delays are how long a block stays that nothing refers to, and how long until a node checks that it has a new one.
	delays() (block, pull time.Duration)
	// now is the cluster's time, and wait lets some of it pass.
	now() time.Time
	wait(d time.Duration)
}

// lab is a cluster in the hands of one row.
type lab struct {
	*testing.T
	cluster
	version adminapi.Version
	nodes   int
	asked   *asked
}

// asked records which endpoints were asked.
type asked struct {
	by        http.RoundTripper
	mu        sync.Mutex
	endpoints map[string]bool
}

// RoundTrip implements http.RoundTripper.
func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	a.endpoints[strings.TrimPrefix(r.URL.Path, "/v2/")] = true
	a.mu.Unlock()
	return a.by.RoundTrip(r)
}

func (l lab) client(i int) *adminapi.Client {
	l.Helper()
	base, token := l.address(i)
	return l.clientWith(base, token)
}

func (l lab) clientWith(base, token string) *adminapi.Client {
	l.Helper()
	c, err := adminapi.New(base, token, l.asked)
	if err != nil {
		l.Fatal(err)
	}
	return c
}

// must is the value of a call that succeeds: must(l)(c.GetX(ctx)).
func must[T any](l lab) func(T, error) T {
	l.Helper()
	return func(value T, err error) T {
		l.Helper()
		if err != nil {
			l.Fatal(err)
		}
		return value
	}
}

func (l lab) check(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// refused wants a call to be refused, in words that have these in them.
func (l lab) refused(err error, words string) {
	l.Helper()
	e, ok := errors.AsType[*adminapi.Error](err)
	if !ok || e.Class != adminapi.Refused || e.MayHaveHappened() || !strings.Contains(e.Message, words) {
		l.Errorf("got %v, want a refusal with %q", err, words)
	}
}

// raw asks for what the client would not. The token "" is the node's.
func (l lab) raw(i int, method, path, token, body string) (status int, reply map[string]any) {
	l.Helper()
	base, own := l.address(i)
	if token == "" {
		token = own
	}
	request, err := http.NewRequestWithContext(l.Context(), method, base+path, bytes.NewReader([]byte(body)))
	l.check(err)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := l.transport().RoundTrip(request)
	l.check(err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	l.check(err)
	if err := json.Unmarshal(text, &reply); err != nil {
		l.Fatalf("%s: %v in %s", path, err, text)
	}
	return response.StatusCode, reply
}

const (
	patience = time.Minute
	glance   = 200 * time.Millisecond
)

// eventually wants something to hold within a minute of the cluster's time.
func (l lab) eventually(what string, holds func() bool) {
	l.Helper()
	l.within(patience, what, holds)
}

func (l lab) within(limit time.Duration, what string, holds func() bool) {
	l.Helper()
	end := l.now().Add(limit)
	for !holds() {
		if !l.now().Before(end) {
			l.Fatalf("not within %s: %s", limit, what)
		}
		l.wait(max(glance, limit/600))
	}
}

// always wants something to hold for a time.
func (l lab) always(span time.Duration, what string, holds func() bool) {
	l.Helper()
	for end := l.now().Add(span); l.now().Before(end); l.wait(glance) {
		if !holds() {
			l.Fatalf("not for %s: %s", span, what)
		}
	}
}

func (l lab) node(i int) adminapi.NodeID { return adminapi.NodeID(l.id(i)) }

const capacity = 1_000_000_000

func storage(zone string) adminapi.Role {
	return adminapi.Role{Zone: zone, Tags: []string{"holdfast"}, Capacity: adminapi.Bytes(capacity)}
}

func (l lab) layout(i int) adminapi.Layout {
	l.Helper()
	return must[adminapi.Layout](l)(l.client(i).GetClusterLayout(l.Context()))
}

func (l lab) history(i int) adminapi.LayoutHistory {
	l.Helper()
	return must[adminapi.LayoutHistory](l)(l.client(i).GetClusterLayoutHistory(l.Context()))
}

func (l lab) health(i int) adminapi.ClusterHealth {
	l.Helper()
	return must[adminapi.ClusterHealth](l)(l.client(i).GetClusterHealth(l.Context()))
}

// seen is a node as another one sees it, false for one that it does not know.
func (l lab) seen(by int, node adminapi.NodeID) (adminapi.NodeStatus, bool) {
	l.Helper()
	for _, status := range must[adminapi.ClusterStatus](l)(l.client(by).GetClusterStatus(l.Context())).Nodes {
		if status.ID == node {
			return status, true
		}
	}
	return adminapi.NodeStatus{}, false
}

// up are the nodes that one is connected to.
func (l lab) up(by int) map[adminapi.NodeID]bool {
	l.Helper()
	up := map[adminapi.NodeID]bool{}
	for _, status := range must[adminapi.ClusterStatus](l)(l.client(by).GetClusterStatus(l.Context())).Nodes {
		up[status.ID] = status.Up
	}
	return up
}

func (l lab) sees(by int, node adminapi.NodeID) bool {
	l.Helper()
	status, known := l.seen(by, node)
	return known && status.Up
}

func (l lab) stage(i int, changes ...adminapi.RoleChange) adminapi.Layout {
	l.Helper()
	return must[adminapi.Layout](l)(l.client(i).UpdateClusterLayout(l.Context(), adminapi.LayoutChange{Roles: changes}))
}

// apply makes the next version on one node.
func (l lab) apply(i int) adminapi.Computation {
	l.Helper()
	return must[adminapi.Computation](l)(l.client(i).ApplyClusterLayout(l.Context(), l.layout(i).Version+1))
}

// agreed waits until these nodes show the version, with nothing staged.
func (l lab) agreed(version uint64, nodes ...int) {
	l.Helper()
	l.each("the nodes show the layout", nodes, func(i int) bool {
		layout := l.layout(i)
		return layout.Version == version && len(layout.Staged) == 0
	})
}

// settled waits until one version is active on these nodes.
func (l lab) settled(nodes ...int) {
	l.Helper()
	l.each("the layout settles", nodes, func(i int) bool { return l.history(i).Settled() })
}

// each waits until something has held on each node. A request costs a server a password hash, so nobody is asked again for
// what it has said.
func (l lab) each(what string, nodes []int, holds func(i int) bool) {
	l.Helper()
	left := slices.Clone(nodes)
	l.eventually(what, func() bool {
		left = slices.DeleteFunc(left, holds)
		return len(left) == 0
	})
}

// connected waits until every node is connected to every other.
func (l lab) connected() {
	l.Helper()
	l.each("the nodes are connected", l.all(), func(i int) bool {
		up := l.up(i)
		return !slices.ContainsFunc(l.all(), func(j int) bool { return !up[l.node(j)] })
	})
}

func (l lab) all() []int {
	var all []int
	for i := range l.nodes {
		all = append(all, i)
	}
	return all
}

// layOut gives every node a role of a storage node.
func (l lab) layOut() {
	l.Helper()
	var roles []adminapi.RoleChange
	for i := range l.nodes {
		roles = append(roles, adminapi.Assign(l.node(i), storage("z")))
	}
	l.stage(0, roles...)
	l.agreed(l.apply(0).Layout.Version, l.all()...)
	l.each("the cluster is healthy", l.all(), func(i int) bool { return l.health(i).Status == adminapi.Healthy })
}

func (l lab) workers(i int) map[string]adminapi.Worker {
	l.Helper()
	byName := map[string]adminapi.Worker{}
	for _, worker := range must[adminapi.Answer[[]adminapi.Worker]](l)(l.client(i).ListWorkers(l.Context())).Value {
		if byName[worker.Name].ID < worker.ID {
			byName[worker.Name] = worker
		}
	}
	return byName
}

// repaired launches a repair and returns its worker when that is done.
func (l lab) repaired(i int, repair adminapi.Repair) adminapi.Worker {
	l.Helper()
	name, _ := repair.Worker()
	before := uint64(0)
	for _, worker := range l.workers(i) {
		before = max(before, worker.ID)
	}
	if node := must[adminapi.NodeID](l)(l.client(i).LaunchRepairOperation(l.Context(), repair)); node != l.node(i) {
		l.Errorf("node %s repairs, want %s", node, l.node(i))
	}
	var worker adminapi.Worker
	l.eventually(name+" is done", func() bool {
		worker = l.workers(i)[name]
		return worker.ID > before && worker.State == adminapi.WorkerDone
	})
	return worker
}

// rows are the rows of all tables of a node, unknown before Garage 2.3.
func (l lab) rows(i int) (rows uint64, queue uint64, known bool) {
	l.Helper()
	value := must[adminapi.Answer[adminapi.NodeStatistics]](l)(l.client(i).GetNodeStatistics(l.Context())).Value
	tables, known := value.Tables.Get()
	for _, table := range slices.Collect(maps.Values(tables)) {
		rows += table.Items
	}
	blocks, _ := value.Blocks.Get()
	return rows, blocks.ResyncQueue, known
}

func (l lab) onDisk(i int) int {
	l.Helper()
	return must[int](l)(l.blocks(i))
}
