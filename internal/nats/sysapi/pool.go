package sysapi

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// idleFor is how long a connection is kept that nobody asks for: longer than the time between two looks at a NATS
// cluster at rest.
const idleFor = 5 * time.Minute

// A Pool keeps the connections to the system accounts of many NATS clusters. All fields are required; it may be used by
// several goroutines at the same time.
type Pool struct {
	// Clock says which connections are idle.
	Clock clock.PassiveClock
	// Dial makes a connection.
	Dial func(context.Context, Options) (*Client, error)

	mu   sync.Mutex
	open map[string]*pooled
}

// pooled is one connection, or the attempt to make one.
type pooled struct {
	mu     sync.Mutex // held while dialling, so that the other NATS clusters need not wait
	client *Client
	// made identifies what decides whom the connection is to and as whom.
	made string
	used time.Time
}

// Get is the connection kept under key, or a new one where there is none, it ended, the server that it is to has gone,
// or the credentials or the trust have changed.
func (p *Pool) Get(ctx context.Context, key string, options Options, trust []byte) (*Client, error) {
	entry := p.entry(key)
	entry.mu.Lock()
	defer entry.mu.Unlock()
	made := fingerprint(options, trust)
	if client := entry.client; client != nil {
		if entry.made == made && client.conn.IsConnected() && slices.Contains(options.URLs, client.conn.ConnectedUrl()) {
			return client, nil
		}
		client.Close()
		entry.client = nil
	}
	client, err := p.Dial(ctx, options)
	if err != nil {
		return nil, err
	}
	entry.client, entry.made = client, made
	return client, nil
}

// entry is the place of that key. It closes what nobody has asked for lately.
func (p *Pool) entry(key string) *pooled {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Clock.Now()
	if p.open == nil {
		p.open = map[string]*pooled{}
	}
	if p.open[key] == nil {
		p.open[key] = &pooled{}
	}
	p.open[key].used = now
	for other, entry := range p.open {
		if now.Sub(entry.used) > idleFor && entry.mu.TryLock() {
			entry.close()
			entry.mu.Unlock()
			delete(p.open, other)
		}
	}
	return p.open[key]
}

// Close ends every connection.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, entry := range p.open {
		entry.mu.Lock()
		entry.close()
		entry.mu.Unlock()
	}
	p.open = nil
}

func (e *pooled) close() {
	if e.client != nil {
		e.client.Close()
		e.client = nil
	}
}

// fingerprint changes with whatever would have the connection be another one. trust is the text behind options.TLS.
func fingerprint(options Options, trust []byte) string {
	name := ""
	if options.TLS != nil {
		name = options.TLS.ServerName
	}
	return fmt.Sprintf("%s|%s|%x|%x", options.Cluster, name, sha256.Sum256(options.Credentials), sha256.Sum256(trust))
}
