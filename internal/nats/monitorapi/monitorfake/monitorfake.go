// Package monitorfake answers for nats-servers that are at rest: every group has a leader and every member is current. Its
// replies have the fields and the size of what nats-server 2.15.3 sent, so that reading them costs what it does in
// earnest.
package monitorfake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Cluster is one NATS cluster. A single server stands alone.
type Cluster struct {
	// Servers of the cluster; the first leads the meta group.
	Servers []Server
	Streams []Stream
}

// Server is one nats-server.
type Server struct {
	// Name is its server_name, and URL where its monitoring port answers, for instance "http://10.0.0.7:8222".
	Name, URL string
	// Version is the version it reports, and ConfigRevision its server_metadata config_revision.
	Version, ConfigRevision string
}

// Stream is one stream with consumers of as many copies. Copies are spread over the servers in turn.
type Stream struct {
	Account, Name string
	Replicas      int
	Consumers     int
}

// Transport carries requests to the servers it was given, and fails those to any other host. As a handler it stands behind
// all of their ports. The zero value is ready.
type Transport struct {
	mu       sync.Mutex
	servers  map[string]*server // by host and port
	requests int
}

var (
	_ http.RoundTripper = &Transport{}
	_ http.Handler      = &Transport{}
)

// server is what one server answers.
type server struct {
	varz     []byte
	jsz      map[string]any
	accounts []json.RawMessage // sorted by name
}

// Serve adds the servers of the cluster, in place of those with the same URL.
func (t *Transport) Serve(c Cluster) error {
	for i, of := range c.Servers {
		answers, err := c.answers(i)
		if err != nil {
			return fmt.Errorf("make the replies of %s: %w", of.Name, err)
		}
		t.mu.Lock()
		if t.servers == nil {
			t.servers = map[string]*server{}
		}
		t.servers[strings.TrimPrefix(of.URL, "http://")] = answers
		t.mu.Unlock()
	}
	return nil
}

// Requests is how many requests were sent so far.
func (t *Transport) Requests() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.requests
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	t.mu.Lock()
	t.requests++
	server, known := t.servers[request.URL.Host]
	t.mu.Unlock()
	if !known {
		return nil, fmt.Errorf("no server answers at %s", request.URL.Host)
	}
	var body []byte
	switch request.URL.Path {
	case "/varz":
		body = server.varz
	case "/jsz":
		page, err := server.page(request)
		if err != nil {
			return nil, err
		}
		body = page
	default:
		return nil, fmt.Errorf("%s is not a path that the fake knows", request.URL.Path)
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: request,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

// ServeHTTP answers what a server would that is reached at the request's host, over a real connection.
func (t *Transport) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	asked := request.Clone(request.Context())
	asked.URL.Host = request.Host
	answer, err := t.RoundTrip(asked)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	maps.Copy(w.Header(), answer.Header)
	_, _ = io.Copy(w, answer.Body) // a client that went away needs no answer
}

// page cuts the accounts as nats-server does.
func (s *server) page(request *http.Request) ([]byte, error) {
	query := request.URL.Query()
	offset, err := strconv.Atoi(query.Get("offset"))
	if err != nil {
		return nil, fmt.Errorf("offset: %w", err)
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		return nil, fmt.Errorf("limit: %w", err)
	}
	from := min(offset, len(s.accounts))
	reply := map[string]any{"account_details": s.accounts[from:min(from+limit, len(s.accounts))]}
	maps.Copy(reply, s.jsz)
	return json.MarshalIndent(reply, "", "  ")
}

// answers makes what server number at says.
func (c Cluster) answers(at int) (*server, error) {
	of := c.Servers[at]
	id := "N" + strings.ToUpper(of.Name)
	varz, err := json.MarshalIndent(c.varz(of, id), "", "  ")
	if err != nil {
		return nil, err
	}
	byAccount := map[string][]any{}
	for i, stream := range c.Streams {
		copies := c.copies(i, stream.Replicas)
		if byAccount[stream.Account] == nil {
			byAccount[stream.Account] = []any{}
		}
		if slices.Contains(copies, at) {
			byAccount[stream.Account] = append(byAccount[stream.Account], c.stream(stream, at, copies))
		}
	}
	s := &server{varz: varz}
	for name, streams := range sortedBy(byAccount) {
		text, err := json.Marshal(account(name, streams))
		if err != nil {
			return nil, err
		}
		s.accounts = append(s.accounts, text)
	}
	s.jsz = c.jsz(id, at, len(s.accounts))
	return s, nil
}

// copies are the servers that hold the stream, its leader first.
func (c Cluster) copies(stream, replicas int) []int {
	copies := make([]int, replicas)
	for i := range copies {
		copies[i] = (stream + i) % len(c.Servers)
	}
	return copies
}
