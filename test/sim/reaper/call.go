package reaper

import (
	"fmt"
	"net/http"
	"path"
	"strings"
)

// A Call is one request of the controller that leaves the process: a write to the API server, a read that no cache answers, or a
// question to a server. It is the same call wherever it comes up again in the same step.
type Call struct {
	// Step is what the controller is at: a change, or the part of it that it has last written is under way.
	Step string
	Verb string
	// Object is the kind and name of what is written or read, or what a server is asked.
	Object string
}

// String is the call in the words of a crash run.
func (c Call) String() string { return fmt.Sprintf("%s %s, step: %s", c.Verb, c.Object, c.Step) }

// Effect says that somebody else may notice the call.
func (c Call) Effect() bool { return c.Verb != http.MethodGet && c.Verb != Try }

// An Ending is how a controller ends at a call.
type Ending string

const (
	// Before it takes effect.
	Before Ending = "before"
	// After it has had its effect, of which nobody hears.
	After Ending = "after"
	// Sending leaves it on its way: it arrives later.
	Sending Ending = "at"
)

// A Crash is the end of the controller at a call.
type Crash struct {
	Call
	Ending
}

// String is the crash in the words of a crash run.
func (c Crash) String() string { return fmt.Sprintf("%-6s %s", c.Ending, c.Call) }

// Try is the verb of a write that the API server is only asked about.
const Try = "TRY"

// Events is the kind of those, as a path has it.
const Events = "events"

// ofCache says that a request is one of those that fill the caches, or that tell a client what kinds there are.
func ofCache(request *http.Request) bool {
	asks := request.URL.Query()
	return request.Method == http.MethodGet &&
		(asks.Get("watch") != "" || asks.Get("resourceVersion") != "" || !strings.Contains(request.URL.Path, "/namespaces/"))
}

// objectOf is the kind and name that a request is about. Events have names of their own each time.
func objectOf(request *http.Request) string {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	for i, part := range parts {
		if part == "namespaces" && i+2 < len(parts) {
			if parts[i+2] == Events {
				return Events
			}
			return path.Join(parts[i+2:]...)
		}
	}
	return request.URL.Path
}
