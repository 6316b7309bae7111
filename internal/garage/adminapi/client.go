package adminapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

const (
	// quick bounds the calls that a healthy member answers from memory. For every request it computes a password hash of
	// the token first, which takes a tenth of a second of processor time, and on a busy node many times that.
	quick = 30 * time.Second
	// slow bounds the calls during which Garage computes a layout, counts rows, dials other nodes, or repairs in the
	// foreground.
	slow = 60 * time.Second
	// copying bounds CreateMetadataSnapshot, during which Garage copies its whole database.
	copying = 10 * time.Minute
	// maxReply bounds the memory that one reply takes. A member with 20,000 block errors stays below.
	maxReply = 10 << 20
)

// call is one endpoint of the Admin API.
type call struct {
	endpoint, method string
	// node says that the endpoint is about one node, which is always the one that answers.
	node bool
	// effect says that the cluster is another one afterwards.
	effect  bool
	timeout time.Duration
}

// unsure is the class of a fault after the request has arrived.
func (of call) unsure() Class {
	if of.effect {
		return Ambiguous
	}
	return Unavailable
}

// direct dials the members themselves: a proxy from the environment has no business between a controller and its pods. No
// connection outlives its call: a Garage that is told to stop waits ten seconds for those that are open, and another process
// may be behind the address at the next one.
var direct = &http.Transport{DisableKeepAlives: true}

// Client asks one member of a Garage cluster. It is safe for concurrent use, and prints without its token.
type Client struct {
	base string
	// token returns the static token. A function prints as an address, whatever prints the struct around it.
	token   func() string
	http    *http.Client
	timeout time.Duration // of every call where it is not 0, for tests
	bound   int
}

// bearer is what a token may consist of. That is what RFC 6750 gives to bearer tokens, without the dot: Garage takes a
// token with a dot for one of its dynamic ones (Garage server facts, 2.1 Transport, routing, authentication). No encoding
// in which a token could be echoed changes these characters, so that it is found in what a member answers.
var bearer = regexp.MustCompile(`^[A-Za-z0-9_~-]+$`)

// New makes the client of the member whose Admin API answers at base, for instance "http://10.0.0.7:3903", with the static
// token of its configuration: letters, digits, "-", "_" and "~". transport carries the requests; nil means connections of
// the package's own. It fails for a base that is not an http or https address without a path, and for any other token,
// which it does not repeat.
func New(base, token string, transport http.RoundTripper) (*Client, error) {
	address, err := url.Parse(base)
	if err != nil || address.Host == "" || (address.Scheme != "http" && address.Scheme != "https") {
		return nil, errors.New("the address of a Garage Admin API must be like http://10.0.0.7:3903")
	}
	if address.User != nil || strings.Trim(address.Path, "/") != "" || address.RawQuery != "" || address.Fragment != "" {
		return nil, fmt.Errorf("the address of the Garage Admin API at %s must not have a user, a path or a query", address.Host)
	}
	if !bearer.MatchString(token) {
		return nil, fmt.Errorf("the token for the Garage Admin API at %s must be letters, digits, \"-\", \"_\" and \"~\", and not empty", address.Host)
	}
	if transport == nil {
		transport = direct
	}
	return &Client{
		base:  address.Scheme + "://" + address.Host,
		token: func() string { return token },
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a member does not redirect, and the token is for it alone
		}},
		bound: maxReply,
	}, nil
}

// ask carries out a call that is not about one node, and reads its reply.
func ask[T any](ctx context.Context, c *Client, of call, body any, read func(*object) T) (T, error) {
	var value, none T
	reply, err := c.exchange(ctx, of, body)
	if err != nil {
		return none, err
	}
	if err := decode(reply, func(o *object) { value = read(o) }); err != nil {
		return none, c.fail(of, NotUnderstood, err.Error())
	}
	return value, nil
}

// exchange sends one request and returns the body of a reply with status 200.
func (c *Client) exchange(ctx context.Context, of call, body any) ([]byte, error) {
	if err := ctx.Err(); err != nil { // before anything is sent
		e := c.fail(of, Unavailable, err.Error())
		e.cause = err
		return nil, e
	}
	timeout := of.timeout
	if c.timeout != 0 {
		timeout = c.timeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := c.request(ctx, of, body)
	if err != nil {
		return nil, c.fail(of, Unavailable, err.Error())
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.lost(of, err)
	}
	defer func() { _ = response.Body.Close() }()
	reply, err := io.ReadAll(io.LimitReader(response.Body, int64(c.bound)+1))
	switch {
	case len(reply) > c.bound:
		return nil, c.fail(of, NotUnderstood, fmt.Sprintf("the reply is larger than %d bytes", c.bound))
	case response.StatusCode != http.StatusOK && (err == nil || response.StatusCode == http.StatusForbidden):
		return nil, c.status(of, response.StatusCode, reply)
	case err != nil:
		return nil, c.lost(of, err)
	}
	return reply, nil
}

func (c *Client) request(ctx context.Context, of call, body any) (*http.Request, error) {
	address := c.base + "/v2/" + of.endpoint
	if of.node {
		address += "?node=self"
	}
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, of.method, address, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token())
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// An Answer is what one node says of itself.
type Answer[T any] struct {
	// Node is the node that answered.
	Node NodeID
	// Value is what it said.
	Value T
}

// askNode carries out a call about the node itself. Its reply has one success or one error, under the id of the node. The
// success of a call that has nothing to say is null, so what counts is that it is there (Garage server facts, 2.3
// Multi-node endpoints).
func askNode[T any](ctx context.Context, c *Client, of call, body any, read func(*object) T) (Answer[T], error) {
	reply, err := ask(ctx, c, of, body, func(o *object) (both struct {
		success map[string]json.RawMessage
		failed  map[string]string
	}) {
		both.success = need[map[string]json.RawMessage](o, "success")
		both.failed = need[map[string]string](o, "error")
		if n := len(both.success) + len(both.failed); n != 1 {
			o.wrong("%d nodes answered where one was asked", n)
		}
		return both
	})
	if err != nil {
		return Answer[T]{}, err
	}
	for _, text := range reply.failed {
		return Answer[T]{}, c.listed(of, text)
	}
	var answer Answer[T]
	for id, value := range reply.success {
		answer.Node, err = ParseNodeID(id)
		if err == nil {
			err = decodeValue(value, answer.Node, func(o *object) { answer.Value = read(o) })
		}
	}
	if err != nil {
		return Answer[T]{}, c.fail(of, NotUnderstood, err.Error())
	}
	return answer, nil
}
