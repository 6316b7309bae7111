package garagefake_test

import (
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi/garagefake"
)

// What the cluster answers is in package contract.

func cluster(t *testing.T) *garagefake.Cluster {
	t.Helper()
	c, err := garagefake.New(garagefake.Options{
		Version: "2.4.1", Nodes: 2, ReplicationFactor: 2, Clock: clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOverConnections has a node that answers over a connection, and whose death breaks it.
func TestOverConnections(t *testing.T) {
	c := cluster(t)
	server := httptest.NewServer(c.Handler(1))
	t.Cleanup(server.Close)
	client, err := adminapi.New(server.URL, garagefake.Token, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.GetNodeInfo(t.Context())
	if err != nil || string(answer.Node) != c.ID(1) {
		t.Errorf("got %+v %v, want node %s", answer, err, c.ID(1))
	}
	c.Stop(1)
	_, err = client.RevertClusterLayout(t.Context())
	if e, ok := errors.AsType[*adminapi.Error](err); !ok || e.Class != adminapi.Ambiguous {
		t.Errorf("got %v, want an ambiguous error", err)
	}
}

// TestAsTransport has a node that is not there as a dialler sees it.
func TestAsTransport(t *testing.T) {
	c := cluster(t)
	for base, class := range map[string]adminapi.Class{c.Admin(0): "", c.Admin(1): adminapi.Unavailable, "http://10.9.9.9:3903": adminapi.Unavailable} {
		c.Stop(1)
		client, err := adminapi.New(base, garagefake.Token, c)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.RevertClusterLayout(t.Context())
		if e, failed := errors.AsType[*adminapi.Error](err); failed != (class != "") || failed && e.Class != class {
			t.Errorf("%s: got %v, want %q", base, err, class)
		}
	}
}

func TestVersionsOfGarage2(t *testing.T) {
	for _, version := range []string{"", "1.3.0", "3.0.0", "2"} {
		if _, err := garagefake.New(garagefake.Options{Version: version, Clock: clocktesting.NewFakeClock(time.Now())}); err == nil {
			t.Errorf("%q is taken", version)
		}
	}
}
