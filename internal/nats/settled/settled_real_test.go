package settled

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi/realnats"
)

const (
	patience = 60 * time.Second
	glance   = 50 * time.Millisecond
)

// real is a cluster of real nats-servers.
type real struct {
	*testing.T
	servers []*realnats.Server
}

// start starts real nats-servers, which end with the test.
func start(t *testing.T, size int) real {
	t.Helper()
	program, err := realnats.Program()
	if err != nil {
		t.Fatal(err)
	}
	servers, err := realnats.New(program, t.TempDir(), size)
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
	return real{T: t, servers: servers}
}

// wait observes, so many accounts at a time, until the verdict is as wanted, and returns what it saw last. A single look
// would not do: a busy machine may be late with a reply at any time.
func (r real) wait(why string, page int, wanted func(Observation, Verdict) bool) (o Observation, v Verdict) {
	r.Helper()
	var targets []Target
	for _, server := range r.servers {
		targets = append(targets, Target{Name: server.Name, URL: server.URL})
	}
	gomega.NewWithT(r.T).Eventually(func() bool {
		o = reader{api: monitorapi.Client{}, jetstream: true, page: page}.observe(r.Context(), targets)
		v = Judge(o)
		return wanted(o, v)
	}).WithTimeout(patience).WithPolling(glance).Should(gomega.BeTrue(), func() string {
		return fmt.Sprintf("waiting for %s; last seen %+v", why, v)
	})
	return o, v
}

func whole(_ Observation, v Verdict) bool { return v.Settled && len(v.OutsideMeta) == 0 }

// fill makes a stream of that many copies and one of a single copy in every account, each with consumers.
func (r real) fill(copies int) {
	r.Helper()
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
			for _, consumer := range []jetstream.ConsumerConfig{{Durable: "all"}, {Durable: "one", Replicas: 1}, {InactiveThreshold: time.Hour}} {
				consumer.AckPolicy = jetstream.AckExplicitPolicy
				if _, err := stream.CreateConsumer(r.Context(), consumer); err != nil {
					r.Fatal(err)
				}
			}
		}
	}
}

func TestRealClusterLosesAServerAndGetsItBack(t *testing.T) {
	r := start(t, 3)
	r.wait("the meta group", accountsPerPage, whole)
	r.fill(3)
	_, before := r.wait("the streams", accountsPerPage, whole)
	if _, ok := before.Servers[before.MetaLeader]; !ok || len(before.Servers) != 3 {
		t.Errorf("the meta leader is %q of %v", before.MetaLeader, before.Servers)
	}

	lost := r.servers[2]
	if err := lost.Kill(); err != nil {
		t.Fatal(err)
	}
	r.wait("the leaders to notice", accountsPerPage, func(_ Observation, v Verdict) bool {
		return v.Reason == v1beta1.ReasonServersSilent && v.Message == lost.Name+" does not answer" && v.MetaLeader != "" &&
			slices.ContainsFunc(v.Groups, func(g Unsettled) bool {
				return g.Group == "stream ALPHA/ORDERS" && g.Reason != v1beta1.ReasonGroupsLeaderless && slices.Equal(g.Servers, []string{lost.Name})
			})
	})

	if err := lost.Start(); err != nil {
		t.Fatal(err)
	}
	_, after := r.wait("the server to be back", accountsPerPage, whole)
	if after.Servers[lost.Name].ID == before.Servers[lost.Name].ID {
		t.Errorf("%s still has the ID %s", lost.Name, before.Servers[lost.Name].ID)
	}
}

func TestRealClusterReadsTheSameInPages(t *testing.T) {
	r := start(t, 3)
	r.wait("the meta group", accountsPerPage, whole)
	r.fill(3)
	// Three accounts with a stream of three copies and one of one, and on each a consumer of as many and two of one.
	everyCopy := func(o Observation, v Verdict) bool {
		copies := 0
		for _, n := range copiesByGroup(o) {
			copies += n
		}
		return whole(o, v) && copies == 3+3*(3+3+1+1)+3*4
	}
	unpaged, inOneRead := r.wait("the streams", accountsPerPage, everyCopy)
	paged, inPages := r.wait("the streams in pages", 1, everyCopy)
	if diff := cmp.Diff(copiesByGroup(unpaged), copiesByGroup(paged)); diff != "" {
		t.Errorf("-whole +paged\n%s", diff)
	}
	if diff := cmp.Diff(inOneRead, inPages, cmpopts.IgnoreFields(Verdict{}, "MetaLeader")); diff != "" {
		t.Errorf("-whole +paged\n%s", diff)
	}
}

func TestRealStandaloneServer(t *testing.T) {
	r := start(t, 1)
	r.wait("the server", accountsPerPage, whole)
	r.fill(1)
	_, v := r.wait("the streams", accountsPerPage, whole)
	if v.Message != "the server answers and its JetStream is up" || v.MetaLeader != "" {
		t.Errorf("got %+v", v)
	}
}

// copiesByGroup counts the servers that report each group.
func copiesByGroup(o Observation) map[Group]int {
	copies := map[Group]int{}
	for _, server := range o.Servers {
		answer, _ := server.Answer.Get()
		for _, report := range answer.Reports {
			copies[report.Group]++
		}
	}
	return copies
}
