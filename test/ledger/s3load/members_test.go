package s3load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

// twoBehindOneName serves one backend at one port of two addresses, as Pods do behind a headless Service. It returns
// a URL with a name, and the way to tamper with the second.
func twoBehindOneName(t *testing.T) (url string, second *way) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket(bucket); err != nil {
		t.Fatal(err)
	}
	serve := func(address string, handler http.Handler) int {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}}
		server.Start()
		t.Cleanup(server.Close)
		return listener.Addr().(*net.TCPAddr).Port
	}
	fake := gofakes3.New(backend).Server()
	port := serve("127.0.0.1:0", fake)
	second = &way{}
	second.set(untouched)
	serve(fmt.Sprintf("127.0.0.2:%d", port), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !(*second.tamper.Load())(w, r, fake) {
			fake.ServeHTTP(w, r)
		}
	}))
	t.Setenv("AWS_ACCESS_KEY_ID", "somebody")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	return fmt.Sprintf("http://demo:%d", port), second
}

func untouched(http.ResponseWriter, *http.Request, http.Handler) bool { return false }

// named is a load that reads through a name, whose addresses the test says.
type named struct {
	*load
	behind *members
	second *way
	there  []string
	lost   error
}

func newNamed(t *testing.T) *named {
	t.Helper()
	url, second := twoBehindOneName(t)
	s := &service{}
	for _, address := range []string{"127.0.0.1", "127.0.0.2"} {
		s.members = append(s.members, &way{url: strings.Replace(url, "demo", address, 1)})
	}
	l := s.load(t)
	m, err := newMembers(l, url)
	if err != nil {
		t.Fatal(err)
	}
	l.members = []*members{m}
	n := &named{load: l, behind: m, second: second, there: []string{"127.0.0.2", "127.0.0.1", "127.0.0.2"}}
	m.lookup = func(_ context.Context, host string) (found []netip.Addr, err error) {
		if host != "demo" {
			t.Errorf("looked up %q", host)
		}
		for _, address := range n.there {
			found = append(found, netip.MustParseAddr(address))
		}
		return found, n.lost
	}
	return n
}

func TestReadersTakeTurnsBehindAName(t *testing.T) {
	n := newNamed(t)
	o, taken := n.key(t, 1), map[string]int{}
	for range 6 {
		one, err := n.behind.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, right, err := one.check(t.Context(), o); !right || err != nil {
			t.Errorf("through %s: right is %t, %v", one.name, right, err)
		}
		taken[one.name]++
	}
	if diff := cmp.Diff(map[string]int{n.behind.url + " at 127.0.0.1": 3, n.behind.url + " at 127.0.0.2": 3}, taken); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
}

func TestEveryAddressBehindANameIsCompared(t *testing.T) {
	n := newNamed(t)
	o := n.key(t, 1)
	n.second.set(only(http.MethodGet, o.key, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		_, _ = w.Write([]byte("damaged"))
		return true
	}))
	wrong := found(ledger.Corrupted, o, nil)
	wrong.Endpoint = n.behind.url + " at 127.0.0.2"
	report := n.compare(t)
	expect(t, report, one(wrong))
	if diff := cmp.Diff(ledger.Count{Name: readThrough, Number: 2}, report.Harmless[2]); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

// Who has left is not asked any more. When nobody can be found, nothing is known.
func TestWhoHasLeftIsNotAsked(t *testing.T) {
	n := newNamed(t)
	n.second.set(loseRequest)
	if _, err := n.behind.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.there = []string{"127.0.0.1"}
	report := n.compare(t)
	expect(t, report, nil)
	if len(report.Problems) > 0 || report.Harmless[2].Number != 1 {
		t.Errorf("problems %q, %v", report.Problems, report.Harmless)
	}
	n.lost, n.behind.until = errors.New("no such host"), time.Time{}
	if _, err := n.behind.take(t.Context()); !errors.Is(err, n.lost) {
		t.Errorf("nobody is there: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	n.Compare(ended)
	if problems := n.book.Report().Problems; len(problems) != 1 || !strings.HasPrefix(problems[0], "nothing was read through "+n.behind.url) {
		t.Errorf("problems: %q", problems)
	}
}
