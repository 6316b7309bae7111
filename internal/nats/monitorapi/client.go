package monitorapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// requestTimeout covers one request from dialling to the last byte (nats-operator v1 design, 4.4 Rollout: a server
	// that does not answer must not hold up the judgement of the others).
	requestTimeout = 2 * time.Second
	// maxReply bounds the memory one reply may take. A server with 20,000 streams of three consumers each stays below.
	maxReply = 128 << 20
	// idleFor keeps a connection between the requests of one observation and drops it before the next one, by which
	// time the pod may have moved to another address.
	idleFor = 5 * time.Second
)

// errTooLarge is what a reply beyond maxReply reads as.
var errTooLarge = errors.New("the reply is too large to be read")

// direct dials the servers themselves: a proxy from the environment has no business between a controller and its pods.
var direct = &http.Client{Transport: &http.Transport{IdleConnTimeout: idleFor}}

// Client asks nats-servers over HTTP. The zero value is ready to use.
type Client struct {
	// HTTP carries the requests; nil means connections of the package's own, which use no proxy.
	HTTP *http.Client

	timeout  time.Duration // 0: requestTimeout
	maxReply int64         // 0: maxReply
}

// Varz reads /varz of the server at base, for instance "http://demo-0-0.demo-headless.apps.svc:8222".
func (c Client) Varz(ctx context.Context, base string) (Varz, error) {
	var reply Varz
	if err := c.get(ctx, base, "/varz", nil, &reply); err != nil {
		return Varz{}, err
	}
	if reply.ID == "" || reply.Name == "" {
		return Varz{}, fmt.Errorf("%s/varz: the reply names no server; check that this is the monitoring port of a nats-server", base)
	}
	return reply, nil
}

// Jsz reads one page of /jsz of the server at base: the meta group, and the streams and consumers of at most limit
// accounts from offset on, in the order of their IDs. nats-server takes a limit of 0 for 1024.
func (c Client) Jsz(ctx context.Context, base string, offset, limit int) (Jsz, error) {
	query := url.Values{
		"accounts":  {"true"},
		"streams":   {"true"},
		"consumers": {"true"},
		"config":    {"true"},
		"offset":    {strconv.Itoa(offset)},
		"limit":     {strconv.Itoa(limit)},
	}
	var reply Jsz
	if err := c.get(ctx, base, "/jsz", query, &reply); err != nil {
		return Jsz{}, err
	}
	if reply.ServerID == "" {
		return Jsz{}, fmt.Errorf("%s/jsz: the reply names no server; check that this is the monitoring port of a nats-server", base)
	}
	return reply, nil
}

// get sends one request and decodes the JSON reply into reply.
func (c Client) get(ctx context.Context, base, path string, query url.Values, reply any) error {
	ctx, cancel := context.WithTimeout(ctx, orDefault(c.timeout, requestTimeout))
	defer cancel()
	address := strings.TrimSuffix(base, "/") + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("ask nats-server at %q: %w", base, err)
	}
	client := c.HTTP
	if client == nil {
		client = direct
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask nats-server at %s: %w", base, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		// The body is nats-server's own sentence; the first line of it is enough to act on.
		said, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		return fmt.Errorf("ask nats-server at %s: %s answered %s: %q", base, path, response.Status, said)
	}
	body := &bounded{from: response.Body, left: orDefault(c.maxReply, maxReply)}
	if err := json.NewDecoder(body).Decode(reply); err != nil {
		return fmt.Errorf("ask nats-server at %s: read the reply of %s: %w", base, path, err)
	}
	return nil
}

// bounded fails, unlike io.LimitReader, which would let a reply that was cut off read as one that ended.
type bounded struct {
	from io.Reader
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.from.Read(p)
	b.left -= int64(n)
	return n, err
}

// orDefault is value, or fallback where value is not set.
func orDefault[T time.Duration | int64](value, fallback T) T {
	if value == 0 {
		return fallback
	}
	return value
}
