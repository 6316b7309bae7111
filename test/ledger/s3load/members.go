package s3load

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/holdfast-dev/holdfast/test/ledger/run"
)

// member is one endpoint to read through.
type member struct {
	load *load
	// name is its URL, with the address where the URL's host has more than one.
	name   string
	client *s3.Client
}

// lookUpEvery is how long the addresses of a host are believed.
const lookUpEvery = 2 * time.Second

// members are those behind one URL: one for each address that its host has, such as a headless Service's, which has
// those of the Pods that are there. Who leaves is not asked any more, who comes is.
type members struct {
	load   *load
	url    string
	host   string
	port   string
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)

	mu    sync.Mutex
	until time.Time // known is believed
	known map[netip.Addr]*member
	order []*member
	next  int
}

func newMembers(l *load, each string) (*members, error) {
	u, err := url.Parse(each)
	if err != nil {
		return nil, err
	}
	m := &members{load: l, url: each, host: u.Hostname(), port: u.Port(), lookup: lookUp}
	if m.port == "" {
		m.port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return m, nil
}

// lookUp gives the addresses of one family: a member with one of each is one member.
func lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
	if err != nil {
		found, err = net.DefaultResolver.LookupNetIP(ctx, "ip6", host)
	}
	return found, err
}

// all makes a client, with no connection yet, for each member that is there now.
func (m *members) all(ctx context.Context) ([]*member, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known, m.until = nil, time.Time{}
	err := m.refresh(ctx)
	return m.order, err
}

// take is the next one of those that are there.
func (m *members) take(ctx context.Context) (*member, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.refresh(ctx); err != nil {
		return nil, err
	}
	m.next++
	return m.order[m.next%len(m.order)], nil
}

func (m *members) refresh(ctx context.Context) error {
	if time.Now().Before(m.until) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	found, err := m.lookup(ctx, m.host)
	if err != nil {
		return fmt.Errorf("look up who is behind %s: %w", m.url, err)
	}
	slices.SortFunc(found, netip.Addr.Compare)
	known := map[netip.Addr]*member{}
	m.order = nil
	for _, address := range slices.Compact(found) {
		one := m.known[address]
		if one == nil {
			one = &member{load: m.load, name: m.url, client: m.load.config.reader(m.load.access, m.url, net.JoinHostPort(address.String(), m.port))}
		}
		if one.name = m.url; len(found) > 1 {
			one.name += " at " + address.String()
		}
		known[address], m.order = one, append(m.order, one)
	}
	if len(m.order) == 0 {
		return fmt.Errorf("nobody is behind %s", m.url)
	}
	m.known, m.until = known, time.Now().Add(lookUpEvery)
	return nil
}

// everyMember gives those behind all URLs. Those of a URL whose host cannot be looked up until ctx ends are missing,
// which is a problem.
func (l *load) everyMember(ctx context.Context) []*member {
	var all []*member
	for _, behind := range l.members {
		for {
			found, err := behind.all(ctx)
			if err == nil {
				all = append(all, found...)
				break
			}
			if ctx.Err() != nil {
				l.book.Found.Problem("nothing was read through %s: %v", behind.url, err)
				break
			}
			run.Pause(ctx, betweenTries)
		}
	}
	return all
}
