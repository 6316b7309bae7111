package orders

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi/garagefake"
)

// store is a Garage cluster in memory.
type store struct {
	*testing.T
	*garagefake.Cluster
	clock *clocktesting.FakeClock
}

func start(t *testing.T) store {
	t.Helper()
	clock := clocktesting.NewFakeClock(now)
	cluster, err := garagefake.New(garagefake.Options{Version: "2.4.1", Nodes: 2, ReplicationFactor: 1, Clock: clock, DisableScrub: true})
	if err != nil {
		t.Fatal(err)
	}
	return store{t, cluster, clock}
}

func (s store) of(node string) (API, error) {
	if node == "c" {
		return nil, errors.New("no address")
	}
	return s.api(node)
}

func (s store) api(node string) (*adminapi.Client, error) {
	return adminapi.New(s.Admin(strings.Index("ab", node)), garagefake.Token, s.Cluster)
}

// workers is how many workers of a name a node has.
func (s store) workers(node, name string) int {
	s.Helper()
	api, err := s.api(node)
	if err != nil {
		s.Fatal(err)
	}
	answer, err := api.ListWorkers(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	n := 0
	for _, worker := range answer.Value {
		if worker.Name == name {
			n++
		}
	}
	return n
}

// tell carries an order out, and wants an error that begins and ends so.
func (s store) tell(order Order, members, begins, ends string) {
	s.Helper()
	why := ""
	if err := Tell(s.Context(), s.of, order, strings.Split(members, "")); err != nil {
		why = err.Error()
	}
	if begins+ends == "" && why != "" || !strings.HasPrefix(why, begins) || !strings.HasSuffix(why, ends) {
		s.Errorf("%+v of %s: %q", order, members, why)
	}
}

func TestRepairs(t *testing.T) {
	s := start(t)
	blocks, _ := adminapi.RepairBlocks.Worker()
	repair := Order{Repair: adminapi.RepairBlocks}
	s.tell(repair, "ab", "", "")
	s.clock.Step(100 * time.Millisecond)
	if a, b := s.workers("a", blocks), s.workers("b", blocks); a != 1 || b != 1 {
		t.Errorf("%d and %d repairs", a, b)
	}
	s.tell(repair, "a", "", "")
	if n := s.workers("a", blocks); n != 1 {
		t.Errorf("a repair is begun beside one that goes on: %d", n)
	}
	s.clock.Step(time.Second)
	s.tell(repair, "a", "", "")
	s.clock.Step(100 * time.Millisecond)
	if n := s.workers("a", blocks); n != 2 {
		t.Errorf("after one that has ended there are %d", n)
	}
	s.tell(Order{Repair: adminapi.ScrubStart}, "ac", "a: ask Garage", "\nc: no address")
}

func TestOtherOrders(t *testing.T) {
	s := start(t)
	s.tell(Order{Snapshot: true}, "ab", "", "")
	s.tell(Order{Peers: []string{s.ID(1) + "@" + s.RPC(1)}}, "a", "", "")
	s.tell(Order{Peers: []string{s.ID(1) + "@nowhere:1"}}, "a", "a: "+s.ID(1), "Connection refused")
	s.Stop(1)
	for _, order := range []Order{{Repair: adminapi.RepairBlocks}, {Repair: adminapi.RepairTables}, {Snapshot: true}, {Peers: []string{"x"}}} {
		s.tell(order, "b", "b: ask Garage", "connection refused")
	}
}

func TestTakeAway(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	object := &v1beta2.GarageCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "g", Annotations: map[string]string{"a": "1", "b": "2", "c": "3"}}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(object).Build()
	read := func() *v1beta2.GarageCluster {
		var live v1beta2.GarageCluster
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), &live); err != nil {
			t.Fatal(err)
		}
		return &live
	}
	mine := read()
	theirs := read()
	theirs.Labels = map[string]string{"x": "y"}
	if err := c.Update(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	order := Order{Annotations: []string{"a", "c"}}
	if err := TakeAway(t.Context(), c, mine, order); !apierrors.IsConflict(err) || len(read().Annotations) != 3 {
		t.Errorf("from one that has changed: %v", err)
	}
	mine = read()
	if err := TakeAway(t.Context(), c, mine, order); err != nil {
		t.Fatal(err)
	}
	if live := read(); len(live.Annotations) != 1 || live.Annotations["b"] != "2" || mine.ResourceVersion != live.ResourceVersion || len(mine.Annotations) != 1 {
		t.Errorf("left are %v, and known are %v", live.Annotations, mine.Annotations)
	}
}
