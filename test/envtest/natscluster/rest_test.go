package natscluster

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi/monitorfake"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
	"github.com/holdfast-dev/holdfast/test/sim/atrest"
)

const (
	resting  = 50              // NatsClusters
	restTime = 2 * time.Minute // in which nothing is written
)

// TestFiftyAtRest counts what fifty NatsClusters at rest cost the API server. Their servers are replies of their
// monitoring ports alone.
func TestFiftyAtRest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	servers := &monitorfake.Transport{}
	count := &env.Requests{}
	l.startController(controllerOptions{
		monitor:   &monitorapi.Client{HTTP: &http.Client{Transport: servers}},
		transport: count.Through,
	})
	name := func(i int) string { return fmt.Sprintf("n%02d", i) }
	for i := range resting {
		l.create(withJetStream(name(i), 3))
	}
	for i := range resting {
		address := fmt.Sprintf("10.1.%d.", i)
		l.Eventually(func() error {
			return atrest.Pretend(t.Context(), l.client, servers, l.cluster(name(i)), address+"1", address+"2", address+"3")
		}).Should(gomega.Succeed())
	}
	for i := range resting {
		l.untilAtRest(name(i))
	}

	writes := l.watchWrites(everything()...)
	count.Take()
	asked := servers.Requests()
	<-time.After(restTime)
	requests := count.Take()
	if found := writes(); len(found) > 0 {
		t.Errorf("written at rest: %v", found)
	}
	reads := 0
	for what, n := range requests {
		t.Logf("%v: %v a minute", what, float64(n)/restTime.Minutes())
		if what.Writes() {
			t.Errorf("%d requests %v at rest", n, what)
		}
		if what.Verb != "watch" {
			reads += n
		}
	}
	t.Logf("requests to nats-servers a minute: %v", float64(servers.Requests()-asked)/restTime.Minutes())
	// Each NatsCluster is looked at once a minute, and its two Secrets are read then.
	if most := 2 * resting * (int(restTime.Minutes()) + 1); reads < 2*resting || reads > most {
		t.Errorf("%d reads, expected at most %d: %v", reads, most, requests)
	}
	if n := servers.Requests() - asked; n < 2*3*resting {
		t.Errorf("%d requests to nats-servers: the NatsClusters were not looked at", n)
	}
}
