// Package sysreal has the tests of package sysapi on real nats-servers under a NATS operator.
package sysreal

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi/realnats"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi/minted"
)

const (
	patience = 60 * time.Second
	glance   = 50 * time.Millisecond
)

// peers is a cluster of real nats-servers that trust an operator.
type peers struct {
	*testing.T
	servers  []*realnats.Server
	operator *minted.Operator
}

func start(t *testing.T, size int) peers {
	t.Helper()
	program, err := realnats.Program()
	if err != nil {
		t.Fatal(err)
	}
	operator := minted.NewOperator("main")
	servers, err := realnats.Make(program, t.TempDir(), size, func(dir string) map[string]any {
		return operator.Settings(filepath.Join(dir, "resolver"))
	})
	if err != nil {
		t.Fatal(err)
	}
	p := peers{T: t, servers: servers, operator: operator}
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
	var monitors []string
	for _, server := range servers {
		monitors = append(monitors, server.URL)
	}
	p.eventually("every route is there", func() bool { return realnats.Meshed(t.Context(), monitors...) })
	return p
}

func (p peers) eventually(what string, holds func() bool) {
	p.Helper()
	gomega.NewWithT(p.T).Eventually(holds).WithTimeout(patience).WithPolling(glance).Should(gomega.BeTrue(), what)
}

func (p peers) options(credentials []byte) sysapi.Options {
	options := sysapi.Options{Credentials: credentials}
	if len(p.servers) > 1 {
		options.Cluster = "demo"
	}
	for _, server := range p.servers {
		options.URLs = append(options.URLs, server.Client)
	}
	return options
}

// dial connects with the permissions that the guide names, no more.
func (p peers) dial() *sysapi.Client {
	p.Helper()
	var client *sysapi.Client
	p.eventually("the system account takes a user", func() (ok bool) {
		var err error
		client, err = sysapi.Dial(p.Context(), p.options(p.operator.System.User("controller", minted.ClusterController())))
		return err == nil
	})
	p.Cleanup(client.Close)
	return client
}

// account makes an account with JetStream and a connection of a user of it.
func (p peers) account(name string) (minted.Account, *nats.Conn) {
	p.Helper()
	system := p.connect(p.operator.System)
	account := p.operator.Account(name, minted.WithJetStream())
	if err := minted.Push(p.Context(), system, len(p.servers), account); err != nil {
		p.Fatal(err)
	}
	return account, p.connect(account)
}

func (p peers) connect(account minted.Account) *nats.Conn {
	p.Helper()
	conn, err := nats.Connect(p.servers[0].Client, nats.UserCredentialBytes(account.User("test")))
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(conn.Close)
	return conn
}

// Over $SYS and over HTTP the servers say the same of themselves and of their groups.
func TestSameAsTheMonitoringPort(t *testing.T) {
	p := start(t, 3)
	client := p.dial()
	_, conn := p.account("orders")
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	p.eventually("a stream can be made", func() bool {
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}, Replicas: 3})
		return err == nil
	})
	if _, err := js.CreateConsumer(t.Context(), "ORDERS", jetstream.ConsumerConfig{Durable: "billing"}); err != nil {
		t.Fatal(err)
	}
	var overHTTP, overSYS []settled.Target
	for _, server := range p.servers {
		overHTTP = append(overHTTP, settled.Target{Name: server.Name, At: server.URL})
		overSYS = append(overSYS, settled.Target{Name: server.Name, At: server.Name})
	}
	var a, b settled.Verdict
	p.eventually("both are settled", func() bool {
		a = settled.Look(t.Context(), monitorapi.Client{}, overHTTP, true)
		b = settled.Look(t.Context(), client, overSYS, true)
		return a.Settled && b.Settled
	})
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("verdicts (-HTTP +$SYS):\n%s", diff)
	}
	for _, server := range p.servers {
		byHTTP, err := monitorapi.Client{}.Jsz(t.Context(), server.URL, 0, 1024)
		if err != nil {
			t.Fatal(err)
		}
		bySYS, err := client.Jsz(t.Context(), server.Name, 0, 1024)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(byHTTP, bySYS, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(monitorapi.Peer{}, "Current")); diff != "" {
			t.Errorf("JSZ of %s (-HTTP +$SYS):\n%s", server.Name, diff)
		}
		if len(bySYS.Accounts) == 0 {
			t.Errorf("JSZ of %s has no accounts", server.Name)
		}
	}
}

// A page begins where it should and holds no more than it should.
func TestPages(t *testing.T) {
	p := start(t, 1)
	client := p.dial()
	for _, name := range []string{"a", "b", "c"} {
		_, conn := p.account(name)
		js, err := jetstream.New(conn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S"}); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := client.Jsz(t.Context(), "demo-0", 0, 1024)
	if err != nil || whole.Total < 3 || len(whole.Accounts) != whole.Total {
		t.Fatalf("all accounts: %+v, %v", whole, err)
	}
	var paged []monitorapi.Account
	for offset := 0; offset < whole.Total; offset += 2 {
		page, err := client.Jsz(t.Context(), "demo-0", offset, 2)
		if err != nil || len(page.Accounts) > 2 {
			t.Fatalf("page at %d: %+v, %v", offset, page, err)
		}
		paged = append(paged, page.Accounts...)
	}
	if diff := cmp.Diff(whole.Accounts, paged); diff != "" {
		t.Errorf("accounts (-at once +page by page):\n%s", diff)
	}
}

// A reload goes to one process, answers when it is done, and says no where it was refused.
func TestReload(t *testing.T) {
	p := start(t, 1)
	client := p.dial()
	before, err := client.Varz(t.Context(), "demo-0")
	if err != nil {
		t.Fatal(err)
	}
	server := p.servers[0]
	write := func(key string, value any) {
		config := maps.Clone(server.Config)
		config[key] = value
		if err := server.Write(config); err != nil {
			t.Fatal(err)
		}
	}
	write("server_tags", []string{"disk:fast"})
	if err := client.Reload(t.Context(), before.ID); err != nil {
		t.Fatal(err)
	}
	after, err := client.Varz(t.Context(), "demo-0")
	if err != nil {
		t.Fatal(err)
	}
	if after.ID != before.ID || after.ConfigDigest == before.ConfigDigest || !after.Loaded.After(before.Loaded) {
		t.Errorf("before the reload %+v, after it %+v; want the same process with another configuration", before, after)
	}
	write("listen", "127.0.0.1:1")
	if err := client.Reload(t.Context(), before.ID); !errors.Is(err, sysapi.ErrRefused) {
		t.Errorf("reload with another address: %v; want a refusal", err)
	}
	write("no_such_key", true)
	if err := client.Reload(t.Context(), before.ID); !errors.Is(err, sysapi.ErrRefused) {
		t.Errorf("reload of an unknown key: %v; want a refusal", err)
	}
	if err := client.Reload(t.Context(), "NOSUCHSERVER"); err == nil || errors.Is(err, sysapi.ErrRefused) {
		t.Errorf("reload of a process that is gone: %v; want no answer", err)
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	p := start(t, 1)
	client := p.dial()
	t.Run("a server that does not exist does not answer", func(t *testing.T) {
		if _, err := client.Varz(t.Context(), "demo-1"); err == nil || !strings.Contains(err.Error(), "no answer") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a name is not a part of another", func(t *testing.T) {
		if _, err := client.Varz(t.Context(), "demo"); err == nil {
			t.Error("demo-0 answered for demo")
		}
	})
	t.Run("what the user may not ask is said", func(t *testing.T) {
		var none jwt.Permissions
		none.Pub.Allow.Add("$SYS.REQ.SERVER.PING.STATSZ")
		none.Sub.Allow.Add("_INBOX.cluster-controller.>")
		err := p.askAs(p.operator.System.User("narrow", none))
		if err == nil || !strings.Contains(err.Error(), "$SYS.REQ.SERVER.PING.VARZ") || !strings.Contains(strings.ToLower(err.Error()), "permission") {
			t.Errorf("error %v; want one that names the subject and the permission", err)
		}
	})
	t.Run("an account that is not the system account has nothing to say", func(t *testing.T) {
		account, _ := p.account("plain")
		if err := p.askAs(account.User("plain")); err == nil {
			t.Error("an ordinary account was answered")
		}
	})
	t.Run("a user of another operator is refused, and no error has the credentials", func(t *testing.T) {
		stranger := minted.NewOperator("other").System.User("stranger")
		err := p.askAs(stranger)
		token, _ := jwt.ParseDecoratedJWT(stranger)
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), "authorization") || strings.Contains(err.Error(), token) {
			t.Errorf("error %v", err)
		}
	})
}

// askAs asks the first server as another user.
func (p peers) askAs(credentials []byte) error {
	client, err := sysapi.Dial(p.Context(), p.options(credentials))
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Varz(p.Context(), "demo-0")
	return err
}

// counted is a pool that counts its dials.
type counted struct {
	peers
	*sysapi.Pool
	now   *clocktesting.FakePassiveClock
	dials int
}

func (p peers) pool() *counted {
	c := &counted{peers: p, now: clocktesting.NewFakePassiveClock(time.Now())}
	c.Pool = &sysapi.Pool{Clock: c.now, Dial: func(ctx context.Context, o sysapi.Options) (*sysapi.Client, error) {
		c.dials++
		return sysapi.Dial(ctx, o)
	}}
	p.Cleanup(c.Close)
	return c
}

func (c *counted) get(key string, credentials []byte) *sysapi.Client {
	c.Helper()
	client, err := c.Get(c.Context(), key, c.options(credentials), nil)
	if err != nil {
		c.Fatal(err)
	}
	return client
}

// The pool keeps one connection for each NATS cluster, for as long as it is asked for under the same credentials.
func TestPoolKeepsConnections(t *testing.T) {
	p := start(t, 1)
	p.dial() // the system account is up
	pool := p.pool()
	one, two := p.operator.System.User("one"), p.operator.System.User("two")
	first := pool.get("a", one)
	if again := pool.get("a", one); again != first || pool.dials != 1 {
		t.Errorf("%d dials for two requests, the same connection: %t", pool.dials, again == first)
	}
	if other := pool.get("b", one); other == first || pool.dials != 2 {
		t.Errorf("%d dials; want one for each NATS cluster", pool.dials)
	}
	if changed := pool.get("a", two); changed == first || pool.dials != 3 {
		t.Errorf("%d dials; want a new connection for new credentials", pool.dials)
	}
	if _, err := first.Varz(t.Context(), "demo-0"); err == nil {
		t.Error("the connection of the old credentials is still open")
	}
	// The connection of b is idle, and ends while another is asked for.
	idle := pool.get("b", one)
	pool.now.SetTime(pool.now.Now().Add(time.Hour))
	pool.get("a", two)
	if _, err := idle.Varz(t.Context(), "demo-0"); err == nil {
		t.Error("a connection that nobody asked for in an hour is still open")
	}
}

// A connection whose server is gone is replaced by one to whichever server is there.
func TestPoolConnectsAgain(t *testing.T) {
	p := start(t, 3)
	p.dial()
	pool := p.pool()
	user := p.operator.System.User("one")
	client := pool.get("a", user)
	for _, server := range p.servers {
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	p.eventually("no server is left to ask", func() bool {
		_, err := client.Varz(t.Context(), "demo-0")
		return err != nil
	})
	if _, err := pool.Get(t.Context(), "a", p.options(user), nil); err == nil {
		t.Error("a pool without servers has a connection")
	}
	if err := p.servers[1].Start(); err != nil {
		t.Fatal(err)
	}
	p.eventually("the pool connects again", func() bool {
		_, err := pool.Get(t.Context(), "a", p.options(user), nil)
		return err == nil
	})
}
