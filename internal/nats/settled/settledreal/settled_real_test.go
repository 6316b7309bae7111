// Package settledreal has the tests of package settled on real nats-servers. They are not beside the code, because they
// take as many seconds as its other tests take milliseconds.
package settledreal

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi/realnats"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
)

const (
	patience = 60 * time.Second
	glance   = 50 * time.Millisecond
)

// peers is a cluster of real nats-servers.
type peers struct {
	*testing.T
	servers []*realnats.Server
}

// start starts real nats-servers, which end with the test.
func start(t *testing.T, size, moreAccounts int) peers {
	t.Helper()
	program, err := realnats.Program()
	if err != nil {
		t.Fatal(err)
	}
	servers, err := realnats.New(program, t.TempDir(), size, moreAccounts)
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range servers {
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := server.Kill(); err != nil {
				t.Error(err)
			}
			if log, err := os.ReadFile(server.Log()); t.Failed() && err == nil {
				t.Logf("%s:\n%s", server.Name, log)
			}
		})
	}
	return peers{T: t, servers: servers}
}

// wait observes until what it sees is as wanted, and returns it. A single look would not do: a busy machine may be late
// with a reply at any time.
func (r peers) wait(why string, wanted func(settled.Observation, settled.Verdict) bool) (v settled.Verdict) {
	r.Helper()
	var targets []settled.Target
	for _, server := range r.servers {
		targets = append(targets, settled.Target{Name: server.Name, At: server.URL})
	}
	gomega.NewWithT(r.T).Eventually(func() bool {
		o := settled.Observe(r.Context(), monitorapi.Client{}, targets, true)
		v = settled.Judge(o)
		return wanted(o, v)
	}).WithTimeout(patience).WithPolling(glance).Should(gomega.BeTrue(), func() string {
		return fmt.Sprintf("waiting for %s; last seen %+v", why, v)
	})
	return v
}

func whole(_ settled.Observation, v settled.Verdict) bool {
	return v.Settled && len(v.OutsideMeta) == 0
}

// fill makes a stream of that many copies and one of a single copy in every account, each with consumers.
func (r peers) fill(copies int) {
	r.Helper()
	var monitors []string
	for _, server := range r.servers {
		monitors = append(monitors, server.URL)
	}
	gomega.NewWithT(r.T).Eventually(func() bool { return realnats.Meshed(r.Context(), monitors...) }).
		WithTimeout(patience).WithPolling(glance).Should(gomega.BeTrue(), "every route is there")
	for _, account := range realnats.Accounts {
		conn, err := nats.Connect(r.servers[0].Client, nats.UserInfo(account, account))
		if err != nil {
			r.Fatal(err)
		}
		defer conn.Close()
		js, err := jetstream.New(conn)
		if err != nil {
			r.Fatal(err)
		}
		for name, replicas := range map[string]int{"ORDERS": copies, "NOTES": 1} {
			stream, err := js.CreateStream(r.Context(), jetstream.StreamConfig{Name: name, Replicas: replicas})
			if err != nil {
				r.Fatal(err)
			}
			for _, consumer := range []jetstream.ConsumerConfig{{Durable: "all"}, {Durable: "one", Replicas: 1}, {Name: "fleeting", InactiveThreshold: time.Hour}} {
				consumer.AckPolicy = jetstream.AckExplicitPolicy
				if _, err := stream.CreateConsumer(r.Context(), consumer); err != nil {
					r.Fatal(err)
				}
			}
		}
	}
}

func TestClusterLosesAServerAndGetsItBack(t *testing.T) {
	r := start(t, 3, 0)
	r.wait("the meta group", whole)
	r.fill(3)
	before := r.wait("the streams", whole)
	if _, ok := before.Servers[before.MetaLeader]; !ok || len(before.Servers) != 3 {
		t.Errorf("the meta leader is %q of %v", before.MetaLeader, before.Servers)
	}

	lost := r.servers[2]
	if err := lost.Kill(); err != nil {
		t.Fatal(err)
	}
	r.wait("the leaders to notice", func(_ settled.Observation, v settled.Verdict) bool {
		return v.Reason == v1beta1.ReasonServersSilent && v.Message == lost.Name+" does not answer" && v.MetaLeader != "" &&
			slices.ContainsFunc(v.Groups, func(g settled.Unsettled) bool {
				return g.Group == "stream ALPHA/ORDERS" && g.Reason != v1beta1.ReasonGroupsLeaderless && slices.Equal(g.Servers, []string{lost.Name})
			})
	})

	if err := lost.Start(); err != nil {
		t.Fatal(err)
	}
	after := r.wait("the server to be back", whole)
	if after.Servers[lost.Name].ID == before.Servers[lost.Name].ID {
		t.Errorf("%s still has the ID %s", lost.Name, before.Servers[lost.Name].ID)
	}
}

// TestMoreAccountsThanAPageHas: the streams are those of the last accounts, on the second page.
func TestMoreAccountsThanAPageHas(t *testing.T) {
	r := start(t, 3, 1100)
	r.wait("the meta group", whole)
	r.fill(3)
	want := map[settled.Group]int{{}: 3}
	for _, account := range realnats.Accounts {
		for stream, copies := range map[string]int{"ORDERS": 3, "NOTES": 1} {
			want[settled.Group{Account: account, Stream: stream}] = copies
			want[settled.Group{Account: account, Stream: stream, Consumer: "all"}] = copies
			want[settled.Group{Account: account, Stream: stream, Consumer: "one"}] = 1
			want[settled.Group{Account: account, Stream: stream, Consumer: "fleeting"}] = 1
		}
	}
	var got map[settled.Group]int
	defer func() {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("copies of each group: -want +got\n%s", diff)
		}
	}()
	r.wait("all streams to be seen", func(o settled.Observation, v settled.Verdict) bool {
		got = map[settled.Group]int{}
		for _, server := range o.Servers {
			answer, _ := server.Answer.Get()
			for _, report := range answer.Reports {
				got[report.Group]++
			}
		}
		return whole(o, v) && cmp.Equal(want, got)
	})
}

func TestStandaloneServer(t *testing.T) {
	r := start(t, 1, 0)
	r.wait("the server", whole)
	r.fill(1)
	v := r.wait("the streams", whole)
	if v.Message != "the server answers and its JetStream is up" || v.MetaLeader != "" {
		t.Errorf("got %+v", v)
	}
}
