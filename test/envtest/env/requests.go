package env

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Requests counts requests to the API server. The zero value is ready.
type Requests struct {
	mu sync.Mutex
	by map[Request]int
}

// Request is what a request asks for.
type Request struct {
	// Verb is get, list, watch, create, update, patch or delete.
	Verb string
	// Resource is the plural, such as pods; of what is not in a namespace it is the whole path.
	Resource string
}

// Writes says whether the request changes something.
func (r Request) Writes() bool { return !slices.Contains([]string{"get", "list", "watch"}, r.Verb) }

// Through counts what is sent through it, and next carries it on.
func (r *Requests) Through(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		what := requestOf(request)
		r.mu.Lock()
		if r.by == nil {
			r.by = map[Request]int{}
		}
		r.by[what]++
		r.mu.Unlock()
		return next.RoundTrip(request)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// Take gives what was counted since the last call.
func (r *Requests) Take() map[Request]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := maps.Clone(r.by)
	r.by = nil
	return taken
}

var verbs = map[string]string{
	http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

func requestOf(request *http.Request) Request {
	what := Request{Verb: verbs[request.Method], Resource: request.URL.Path}
	parts := strings.Split(request.URL.Path, "/")
	at := slices.Index(parts, "namespaces")
	if at >= 0 && at+2 < len(parts) {
		what.Resource = parts[at+2]
	}
	switch {
	case request.URL.Query().Get("watch") != "":
		what.Verb = "watch"
	case what.Verb == "get" && (at < 0 || at+3 == len(parts)): // nothing here reads a single object that is in no namespace
		what.Verb = "list"
	}
	return what
}
