package adminapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// secret is the token of these tests, and what every message is searched for.
const secret = "5e1f0c3b9a7d42e8b6c4d1f2a3908765"

// transport answers requests without a network.
type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// replying answers every request the same.
func replying(status int, body string) transport {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Request: r, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func client(t *testing.T, base string, transport http.RoundTripper) *Client {
	t.Helper()
	c, err := New(base, secret, transport)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// calls has every call, without its value.
var calls = map[string]func(context.Context, *Client) error{
	"GetClusterStatus":            func(ctx context.Context, c *Client) error { _, err := c.GetClusterStatus(ctx); return err },
	"GetClusterHealth":            func(ctx context.Context, c *Client) error { _, err := c.GetClusterHealth(ctx); return err },
	"GetClusterLayout":            func(ctx context.Context, c *Client) error { _, err := c.GetClusterLayout(ctx); return err },
	"GetClusterLayoutHistory":     func(ctx context.Context, c *Client) error { _, err := c.GetClusterLayoutHistory(ctx); return err },
	"PreviewClusterLayoutChanges": func(ctx context.Context, c *Client) error { _, err := c.PreviewClusterLayoutChanges(ctx); return err },
	"GetNodeInfo":                 func(ctx context.Context, c *Client) error { _, err := c.GetNodeInfo(ctx); return err },
	"GetNodeStatistics":           func(ctx context.Context, c *Client) error { _, err := c.GetNodeStatistics(ctx); return err },
	"ListWorkers":                 func(ctx context.Context, c *Client) error { _, err := c.ListWorkers(ctx); return err },
	"GetWorkerVariable":           func(ctx context.Context, c *Client) error { _, err := c.GetWorkerVariable(ctx, "v"); return err },
	"ListBlockErrors":             func(ctx context.Context, c *Client) error { _, err := c.ListBlockErrors(ctx); return err },
	"UpdateClusterLayout": func(ctx context.Context, c *Client) error {
		_, err := c.UpdateClusterLayout(ctx, LayoutChange{Roles: []RoleChange{Remove(nodeA)}})
		return err
	},
	"ApplyClusterLayout":  func(ctx context.Context, c *Client) error { _, err := c.ApplyClusterLayout(ctx, 7); return err },
	"RevertClusterLayout": func(ctx context.Context, c *Client) error { _, err := c.RevertClusterLayout(ctx); return err },
	"ClusterLayoutSkipDeadNodes": func(ctx context.Context, c *Client) error {
		_, err := c.ClusterLayoutSkipDeadNodes(ctx, SkipDeadNodes{Version: 7})
		return err
	},
	"ConnectClusterNodes":    func(ctx context.Context, c *Client) error { _, err := c.ConnectClusterNodes(ctx, "a@b:1"); return err },
	"CreateMetadataSnapshot": func(ctx context.Context, c *Client) error { _, err := c.CreateMetadataSnapshot(ctx); return err },
	"LaunchRepairOperation": func(ctx context.Context, c *Client) error {
		_, err := c.LaunchRepairOperation(ctx, RepairBlocks)
		return err
	},
	"SetWorkerVariable": func(ctx context.Context, c *Client) error { _, err := c.SetWorkerVariable(ctx, "v", "1"); return err },
}

// changing are the calls with an effect.
var changing = map[string]bool{
	"UpdateClusterLayout": true, "ApplyClusterLayout": true, "RevertClusterLayout": true, "ClusterLayoutSkipDeadNodes": true,
	"ConnectClusterNodes": true, "CreateMetadataSnapshot": true, "LaunchRepairOperation": true, "SetWorkerVariable": true,
}

const nodeA, nodeB = NodeID("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), NodeID("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb")

func TestRequests(t *testing.T) {
	type asked struct{ Method, URL, Body, Token string }
	roles := LayoutChange{Redundancy: &ZoneRedundancy{AtLeast: 2}, Roles: []RoleChange{
		Assign(nodeA, Role{Zone: "z", Tags: []string{"t"}, Capacity: Bytes(4096)}),
		Assign(nodeB, Role{Zone: "z", Capacity: Gateway()}),
		Remove(nodeB),
	}}
	for name, tc := range map[string]struct {
		call func(context.Context, *Client) error
		want asked
	}{
		"read of the cluster":    {calls["GetClusterStatus"], asked{Method: "GET", URL: "/v2/GetClusterStatus"}},
		"read of the node":       {calls["GetNodeInfo"], asked{Method: "GET", URL: "/v2/GetNodeInfo?node=self"}},
		"empty filter":           {calls["ListWorkers"], asked{Method: "POST", URL: "/v2/ListWorkers?node=self", Body: `{}`}},
		"variable":               {calls["GetWorkerVariable"], asked{Method: "POST", URL: "/v2/GetWorkerVariable?node=self", Body: `{"variable":"v"}`}},
		"no body":                {calls["RevertClusterLayout"], asked{Method: "POST", URL: "/v2/RevertClusterLayout"}},
		"version":                {calls["ApplyClusterLayout"], asked{Method: "POST", URL: "/v2/ApplyClusterLayout", Body: `{"version":7}`}},
		"missing data is a word": {calls["ClusterLayoutSkipDeadNodes"], asked{Method: "POST", URL: "/v2/ClusterLayoutSkipDeadNodes", Body: `{"version":7,"allowMissingData":false}`}},
		"nodes":                  {calls["ConnectClusterNodes"], asked{Method: "POST", URL: "/v2/ConnectClusterNodes", Body: `["a@b:1"]`}},
		"no nodes": {func(ctx context.Context, c *Client) error { _, err := c.ConnectClusterNodes(ctx); return err },
			asked{Method: "POST", URL: "/v2/ConnectClusterNodes", Body: `[]`}},
		"repair": {calls["LaunchRepairOperation"], asked{Method: "POST", URL: "/v2/LaunchRepairOperation?node=self", Body: `{"repairType":"blocks"}`}},
		"scrub": {func(ctx context.Context, c *Client) error {
			_, err := c.LaunchRepairOperation(ctx, ScrubPause)
			return err
		},
			asked{Method: "POST", URL: "/v2/LaunchRepairOperation?node=self", Body: `{"repairType":{"scrub":"pause"}}`}},
		"roles have all fields": {func(ctx context.Context, c *Client) error { _, err := c.UpdateClusterLayout(ctx, roles); return err },
			asked{Method: "POST", URL: "/v2/UpdateClusterLayout", Body: `{"parameters":{"zoneRedundancy":{"atLeast":2}},"roles":[` +
				`{"id":"` + string(nodeA) + `","zone":"z","tags":["t"],"capacity":4096},` +
				`{"id":"` + string(nodeB) + `","zone":"z","tags":[],"capacity":null},` +
				`{"id":"` + string(nodeB) + `","remove":true}]}`}},
		"redundancy alone": {func(ctx context.Context, c *Client) error {
			_, err := c.UpdateClusterLayout(ctx, LayoutChange{Redundancy: &ZoneRedundancy{}})
			return err
		}, asked{Method: "POST", URL: "/v2/UpdateClusterLayout", Body: `{"parameters":{"zoneRedundancy":"maximum"},"roles":[]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got asked
			c := client(t, "http://member:3903/", transport(func(r *http.Request) (*http.Response, error) {
				body, _ := io.ReadAll(r.Body)
				got = asked{Method: r.Method, URL: r.URL.RequestURI(), Body: string(body), Token: r.Header.Get("Authorization")}
				return replying(500, "")(r)
			}))
			if err := tc.call(t.Context(), c); err == nil {
				t.Error("a reply of 500 is no error")
			}
			tc.want.Token = "Bearer " + secret
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNew(t *testing.T) {
	for name, tc := range map[string]struct{ base, token, want string }{
		"good":                      {base: "http://10.0.0.7:3903", token: secret},
		"https, with a slash":       {base: "https://garage.example/", token: "a-b_c~9"},
		"no scheme":                 {base: "10.0.0.7:3903", token: secret, want: "must be like"},
		"another scheme":            {base: "ftp://10.0.0.7", token: secret, want: "must be like"},
		"no host":                   {base: "http://", token: secret, want: "must be like"},
		"not an address":            {base: "http://" + secret + "\x7f", token: secret, want: "must be like"},
		"a user":                    {base: "http://u:" + secret + "@h", token: secret, want: "must not have a user"},
		"a path":                    {base: "http://h/v2", token: secret, want: "must not have a user, a path"},
		"a query":                   {base: "http://h/?t=" + secret, token: secret, want: "must not have a user"},
		"a fragment":                {base: "http://h/#" + secret, token: secret, want: "must not have a user"},
		"empty token":               {base: "http://h", want: "not empty"},
		"a dot, so a dynamic token": {base: "http://h", token: secret + ".x", want: "must be letters"},
		"a line break":              {base: "http://h", token: secret + "\r\nX: y", want: "must be letters"},
		"a space":                   {base: "http://h", token: secret + " ", want: "must be letters"},
		"not ASCII":                 {base: "http://h", token: secret + "é", want: "must be letters"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := New(tc.base, tc.token, nil)
			if tc.want == "" {
				if err != nil || c == nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v, want an error with %q and without the token", err, tc.want)
			}
		})
	}
}

// fault is an error as a caller sees it.
type fault struct {
	Class           Class
	MayHaveHappened bool
}

func faultOf(t *testing.T, err error) fault {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("%v is no *Error", err)
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		if text := fmt.Sprintf("%v %+v %#v", inner, inner, inner); strings.Contains(text, secret) {
			t.Errorf("the token is in %s", text)
		}
	}
	if len(e.Message) > maxMessage || strings.ContainsAny(e.Message, "\r\n") || e.Message == "" {
		t.Errorf("the message %q is not one line of at most %d bytes", e.Message, maxMessage)
	}
	return fault{Class: e.Class, MayHaveHappened: e.MayHaveHappened()}
}

// TestFaults has every way that a call can fail, for every call. What only reads never may have happened; of the others it
// is said exactly when it is not certain.
func TestFaults(t *testing.T) {
	garage := func(code, message string) string {
		return fmt.Sprintf(`{"code":%q,"message":%q,"region":"garage","path":"/v2/X"}`, code, message)
	}
	broken := func(body string, err error) transport {
		return func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(io.MultiReader(strings.NewReader(body), failing{err}))}, nil
		}
	}
	failed := func(err error) transport {
		return func(*http.Request) (*http.Response, error) { return nil, err }
	}
	for name, tc := range map[string]struct {
		with            transport
		reads, changes  Class
		mayHaveHappened bool // of the calls with an effect
	}{
		"nobody listens":                 {with: failed(&net.OpError{Op: "dial", Err: errors.New("refused")}), reads: Unavailable, changes: Unavailable},
		"the connection breaks":          {with: failed(&net.OpError{Op: "read", Err: errors.New("reset")}), reads: Unavailable, changes: Ambiguous, mayHaveHappened: true},
		"an error that repeats the head": {with: failed(errors.New("bad header Bearer " + secret)), reads: Unavailable, changes: Ambiguous, mayHaveHappened: true},
		"the body is cut":                {with: broken(`{"version":1`, io.ErrUnexpectedEOF), reads: Unavailable, changes: Ambiguous, mayHaveHappened: true},
		"the body ends early":            {with: replying(200, `{"version":1`), reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"an empty body":                  {with: replying(200, ``), reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"null":                           {with: replying(200, `null`), reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"an empty object":                {with: replying(200, `{}`), reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"more than one value":            {with: replying(200, `{}{}`), reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"a web page":                     {with: replying(200, `<html>`+secret), reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"a redirect":                     {with: replying(307, ``), reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"no content":                     {with: replying(204, ``), reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"another service's 404":          {with: replying(404, `not found`), reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"another token's 403":            {with: replying(403, garage("AccessDenied", "Forbidden: Invalid bearer token "+secret)), reads: AccessDenied, changes: AccessDenied},
		"a 403 without a word":           {with: replying(403, ``), reads: AccessDenied, changes: AccessDenied},
		"a bad request":                  {with: replying(400, garage("InvalidRequest", "Bad request: "+secret)), reads: Refused, changes: Refused},
		"a success with an error":        {with: replying(201, garage("InternalError", "x")), reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"a fault of its own":             {with: replying(500, garage("InternalError", "Internal error: IO error: disk "+strings.Repeat("x\n", 900))), reads: Unavailable, changes: Ambiguous, mayHaveHappened: true},
		"a 500 that refuses":             {with: replying(500, garage("InternalError", "Internal error: Invalid new layout version")), reads: Refused, changes: Refused},
		"a 500 that quotes a refusal":    {with: replying(500, garage("InternalError", "Internal error: after Invalid new layout version")), reads: Unavailable, changes: Ambiguous, mayHaveHappened: true},
		"a 503 that quotes a refusal":    {with: replying(503, garage("ServiceUnavailable", "Internal error: Invalid new layout version")), reads: Unavailable, changes: Ambiguous, mayHaveHappened: true},
		"a 500 of something else":        {with: replying(500, ``), reads: Unavailable, changes: Ambiguous, mayHaveHappened: true},
		"a gateway's 502":                {with: replying(502, `<html>`+secret), reads: Unavailable, changes: Ambiguous, mayHaveHappened: true},
	} {
		for call, do := range calls {
			t.Run(name+"/"+call, func(t *testing.T) {
				want := fault{Class: tc.reads}
				if changing[call] {
					want = fault{Class: tc.changes, MayHaveHappened: tc.mayHaveHappened}
				}
				err := do(t.Context(), client(t, "http://member:3903", tc.with))
				if diff := cmp.Diff(want, faultOf(t, err)); diff != "" {
					t.Errorf("%v\n%s", err, diff)
				}
				if !strings.Contains(err.Error(), call) || !strings.Contains(err.Error(), "http://member:3903") {
					t.Errorf("%q does not say what was asked of whom", err)
				}
			})
		}
	}
}

// failing ends a body with an error.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestFaultsOfNodes has the replies with status 200 that are errors.
func TestFaultsOfNodes(t *testing.T) {
	failed := func(text string) string { return fmt.Sprintf(`{"success":{},"error":{%q:%q}}`, nodeA, text) }
	for name, tc := range map[string]struct {
		body            string
		reads, changes  Class
		mayHaveHappened bool
	}{
		"a bad request":         {body: failed("InvalidRequest (400): Bad request: no"), reads: Refused, changes: Refused},
		"no such worker":        {body: failed("NoSuchWorker (404): Worker not found: 7"), reads: Refused, changes: Refused},
		"no access":             {body: failed("AccessDenied (403): Forbidden: no"), reads: AccessDenied, changes: AccessDenied},
		"a refusal":             {body: failed("InternalError (500): Internal error: variable does not exist"), reads: Refused, changes: Refused},
		"a fault of its own":    {body: failed("InternalError (500): Internal error: DB error\n" + secret), reads: Unavailable, changes: Ambiguous, mayHaveHappened: true},
		"out of time":           {body: failed("ServiceUnavailable (503): Internal error: Timeout"), reads: Unavailable, changes: Ambiguous, mayHaveHappened: true},
		"plain text":            {body: failed("Timeout"), reads: Unavailable, changes: Ambiguous, mayHaveHappened: true},
		"no text":               {body: failed(""), reads: Unavailable, changes: Ambiguous, mayHaveHappened: true},
		"no node":               {body: `{"success":{},"error":{}}`, reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"no list of errors":     {body: `{"success":{}}`, reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"success is null":       {body: `{"success":null,"error":{}}`, reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"one of each":           {body: fmt.Sprintf(`{"success":{%q:null},"error":{%q:"x"}}`, nodeA, nodeB), reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"two nodes":             {body: fmt.Sprintf(`{"success":{%q:null,%q:null},"error":{}}`, nodeA, nodeB), reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"a node with no id":     {body: `{"success":{"self":null},"error":{}}`, reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"an id in capitals":     {body: fmt.Sprintf(`{"success":{%q:null},"error":{}}`, strings.ToUpper(string(nodeA))), reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
		"a status out of order": {body: failed("Fine (200): x"), reads: NotUnderstood, changes: NotUnderstood, mayHaveHappened: true},
	} {
		for call, do := range calls {
			if !strings.Contains(call, "Node") && !strings.Contains(call, "Worker") && !strings.Contains(call, "Block") && !strings.Contains(call, "Repair") ||
				strings.HasSuffix(call, "Nodes") {
				continue
			}
			t.Run(name+"/"+call, func(t *testing.T) {
				want := fault{Class: tc.reads}
				if changing[call] {
					want = fault{Class: tc.changes, MayHaveHappened: tc.mayHaveHappened}
				}
				err := do(t.Context(), client(t, "http://member:3903", replying(200, tc.body)))
				if diff := cmp.Diff(want, faultOf(t, err)); diff != "" {
					t.Errorf("%v\n%s", err, diff)
				}
			})
		}
	}
}

// TestRefusals has what Garage refuses with a fault of its own, in its own words.
func TestRefusals(t *testing.T) {
	for _, text := range []string{
		"Invalid new layout version",
		"The number of nodes with positive capacity (2) is smaller than the replication factor (3).",
		"The number of nodes with positive             capacity (2) is smaller than the replication factor (3).",
		"The number of zones with non-gateway             nodes (1) is smaller than the redundancy parameter (2)",
		"There are more than 256 non-gateway nodes in the new                             layout. This is not allowed.",
		"The storage capacity of the cluster is too small. It is                        impossible to store partitions of size 1.",
		"Layout check returned an error: x\nOriginal result of computation: <<<<\n>>>>",
		"Cannot acquire lock, another snapshot might be in progress", "scrub worker is not running",
		"variable does not exist", "Cannot set value of scrub-next-run", "invalid value: x",
		"Invalid number of resync workers, must be between 1 and 8",
	} {
		if !refusal("InternalError", "Internal error: "+text) {
			t.Errorf("%q is not taken for a refusal", text)
		}
	}
}

func TestChangesThatAreNotSent(t *testing.T) {
	change := func(roles ...RoleChange) func(*Client) error {
		return func(c *Client) error {
			_, err := c.UpdateClusterLayout(t.Context(), LayoutChange{Roles: roles})
			return err
		}
	}
	for name, do := range map[string]func(*Client) error{
		"nothing":             change(),
		"the zero change":     change(RoleChange{}),
		"no capacity":         change(Assign(nodeA, Role{Zone: "z"})),
		"0 bytes":             change(Assign(nodeA, Role{Zone: "z", Capacity: Bytes(0)})),
		"1023 bytes":          change(Assign(nodeA, Role{Zone: "z", Capacity: Bytes(1023)})),
		"no zone":             change(Assign(nodeA, Role{Capacity: Bytes(4096)})),
		"a prefix of an id":   change(Remove("aaaa")),
		"a good and a bad":    change(Remove(nodeA), Assign(nodeB, Role{Zone: "z"})),
		"an unknown repair":   func(c *Client) error { _, err := c.LaunchRepairOperation(t.Context(), "clearResyncQueue"); return err },
		"a context that ends": func(c *Client) error { return calls["ApplyClusterLayout"](ended(t), c) },
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, "http://member:3903", transport(func(*http.Request) (*http.Response, error) {
				t.Error("it is sent")
				return nil, errors.New("sent")
			}))
			if got := faultOf(t, do(c)); got.MayHaveHappened || got.Class != Refused && got.Class != Unavailable {
				t.Errorf("%+v", got)
			}
		})
	}
}

func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestOverTheNetwork has what only a real connection shows.
func TestOverTheNetwork(t *testing.T) {
	hung := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/v2/GetNodeStatistics", func(http.ResponseWriter, *http.Request) { <-hung })
	mux.HandleFunc("/v2/ApplyClusterLayout", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-hung
	})
	mux.HandleFunc("/v2/GetClusterLayout", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte(`{"version":1`))
	})
	mux.HandleFunc("/v2/GetClusterStatus", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/elsewhere", func(http.ResponseWriter, *http.Request) { t.Error("a redirect is followed") })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(hung) }) // before Close, which waits for the handlers
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + nobody.Addr().String()
	if err := nobody.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		base, call string
		want       fault
		cause      error
	}{
		"a read that hangs":     {base: server.URL, call: "GetNodeStatistics", want: fault{Class: Unavailable}, cause: context.DeadlineExceeded},
		"a change that hangs":   {base: server.URL, call: "ApplyClusterLayout", want: fault{Class: Ambiguous, MayHaveHappened: true}, cause: context.DeadlineExceeded},
		"a body that is cut":    {base: server.URL, call: "GetClusterLayout", want: fault{Class: Unavailable}},
		"a redirect":            {base: server.URL, call: "GetClusterStatus", want: fault{Class: NotUnderstood}},
		"nobody, for a read":    {base: closed, call: "GetClusterStatus", want: fault{Class: Unavailable}},
		"nobody, for an effect": {base: closed, call: "ApplyClusterLayout", want: fault{Class: Unavailable}},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, tc.base, nil)
			c.timeout = 50 * time.Millisecond
			err := calls[tc.call](t.Context(), c)
			if diff := cmp.Diff(tc.want, faultOf(t, err)); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			if cause := errors.Unwrap(err); tc.cause != nil && !errors.Is(cause, tc.cause) {
				t.Errorf("the cause is %v, want %v", cause, tc.cause)
			}
		})
	}
}

func TestReplyIsBounded(t *testing.T) {
	const body = `{"version":1,"roles":[],"parameters":{"zoneRedundancy":"maximum"},"partitionSize":0,"stagedRoleChanges":[],"stagedParameters":null}`
	c := client(t, "http://member:3903", replying(200, body))
	if c.bound != 10<<20 {
		t.Errorf("a reply may have %d bytes", c.bound)
	}
	c.bound = len(body)
	if _, err := c.GetClusterLayout(t.Context()); err != nil {
		t.Errorf("a reply of exactly the largest size: %v", err)
	}
	c.bound--
	_, err := c.GetClusterLayout(t.Context())
	if diff := cmp.Diff(fault{Class: NotUnderstood}, faultOf(t, err)); diff != "" || !strings.Contains(err.Error(), "is larger than") {
		t.Errorf("%v\n%s", err, diff)
	}
	_, err = c.ApplyClusterLayout(t.Context(), 1)
	if diff := cmp.Diff(fault{Class: NotUnderstood, MayHaveHappened: true}, faultOf(t, err)); diff != "" {
		t.Error(diff)
	}
}

// TestPrintsWithoutItsToken prints a client in every way, alone and in a struct.
func TestPrintsWithoutItsToken(t *testing.T) {
	c := client(t, "http://member:3903", nil)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{c, *c, struct{ c *Client }{c}, struct{ C Client }{*c}, []*Client{c}} {
			text := fmt.Sprintf(verb, value)
			if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) || bytes.Contains([]byte(text), []byte("Bearer")) {
				t.Errorf("%s of %T has the token: %s", verb, value, text)
			}
		}
	}
}
