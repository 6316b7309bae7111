package monitorfake_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi/monitorfake"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
)

// cluster is so many servers, and so many accounts with a stream in each.
func cluster(size, replicas, accounts int) (c monitorfake.Cluster, targets []settled.Target) {
	for i := range size {
		name := fmt.Sprintf("demo-%d", i)
		url := fmt.Sprintf("http://%s:8222", name)
		c.Servers = append(c.Servers, monitorfake.Server{Name: name, URL: url, Version: "2.15.3", ConfigRevision: "0123456789"})
		targets = append(targets, settled.Target{Name: name, At: url})
	}
	for i := range accounts {
		c.Streams = append(c.Streams, monitorfake.Stream{Account: fmt.Sprintf("A%d", i), Name: "S", Replicas: replicas, Consumers: 1})
	}
	return c, targets
}

func TestClustersAreAtRest(t *testing.T) {
	for name, tc := range map[string]struct{ size, replicas, accounts, groups, pages int }{
		"standalone":             {size: 1, replicas: 1, accounts: 2, groups: 2 * 2, pages: 1},
		"three, copies on all":   {size: 3, replicas: 3, accounts: 2, groups: 1 + 2*2, pages: 1},
		"five, copies on two":    {size: 5, replicas: 2, accounts: 2, groups: 1 + 2*2, pages: 1},
		"three, a copy on one":   {size: 3, replicas: 1, accounts: 2, groups: 1 + 2*2, pages: 1},
		"more than a page holds": {size: 3, replicas: 1, accounts: 1025, groups: 1 + 2*1025, pages: 2},
	} {
		t.Run(name, func(t *testing.T) {
			c, targets := cluster(tc.size, tc.replicas, tc.accounts)
			transport := &monitorfake.Transport{}
			if err := transport.Serve(c); err != nil {
				t.Fatal(err)
			}
			o := settled.Observe(t.Context(), monitorapi.Client{HTTP: &http.Client{Transport: transport}}, targets, true)
			v := settled.Judge(o)
			if !v.Settled || len(v.OutsideMeta) > 0 || v.Servers["demo-0"].ConfigRevision != "0123456789" {
				t.Errorf("%+v", v)
			}
			groups := map[settled.Group]bool{}
			for _, server := range o.Servers {
				answer, _ := server.Answer.Get()
				for _, report := range answer.Reports {
					groups[report.Group] = true
				}
			}
			if got, want := len(groups), tc.groups; got != want {
				t.Errorf("%d groups, want %d", got, want)
			}
			if got, want := transport.Requests(), tc.size*(1+tc.pages); got != want {
				t.Errorf("%d requests, want %d", got, want)
			}
		})
	}
}

func TestOtherHostsAreSilent(t *testing.T) {
	c, targets := cluster(3, 3, 1)
	c.Servers = c.Servers[:2]
	transport := &monitorfake.Transport{}
	if err := transport.Serve(c); err != nil {
		t.Fatal(err)
	}
	v := settled.Judge(settled.Observe(t.Context(), monitorapi.Client{HTTP: &http.Client{Transport: transport}}, targets, true))
	if v.Message != "demo-2 does not answer" {
		t.Errorf("%+v", v)
	}
}

// Over a connection a server answers at the port that it listens on, and no other does.
func TestServesTheServerThatIsAsked(t *testing.T) {
	transport := &monitorfake.Transport{}
	listening := httptest.NewServer(transport)
	defer listening.Close()
	c, _ := cluster(3, 3, 1)
	c.Servers[1].URL = listening.URL
	if err := transport.Serve(c); err != nil {
		t.Fatal(err)
	}
	varz, err := monitorapi.Client{}.Varz(t.Context(), listening.URL)
	if err != nil || varz.Name != "demo-1" {
		t.Errorf("%+v %v", varz, err)
	}
	stranger := httptest.NewServer(transport)
	defer stranger.Close()
	if varz, err := (monitorapi.Client{}).Varz(t.Context(), stranger.URL); err == nil {
		t.Errorf("a port that is no server's answers %+v", varz)
	}
}
