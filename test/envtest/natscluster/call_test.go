package natscluster

import (
	"fmt"
	"net/http"
	"path"
	"strings"
)

// A call is one request of the controller that leaves the process: a write to the API server, a read that no cache answers, or a
// question to a server over $SYS. It is the same call wherever it comes up again in the same step.
type call struct {
	// step is what the controller is at: a reload, a restart, or the restart of the server whose step is under way, as it has
	// last written it. Events have no server: they are sent on the side, and may be late.
	step string
	verb string
	// object is the kind and name of what is written or read, or the server that is asked.
	object string
}

func (c call) String() string { return fmt.Sprintf("%s %s, step: %s", c.verb, c.object, c.step) }

// An ending is how a controller ends at a call.
type ending string

const (
	before  ending = "before"
	after   ending = "after" // it has had its effect, and nobody hears of it
	sending ending = "at"    // it is on its way, and arrives later
)

// A crash is the end of the controller at a call.
type crash struct {
	call
	ending
}

func (c crash) String() string { return fmt.Sprintf("%-6s %s", c.ending, c.call) }

// ofCache says that a request is one of those that fill the caches, or that tell a client what kinds there are.
func ofCache(request *http.Request) bool {
	asks := request.URL.Query()
	return request.Method == http.MethodGet &&
		(asks.Get("watch") != "" || asks.Get("resourceVersion") != "" || !strings.Contains(request.URL.Path, "/namespaces/"))
}

// kindEvents is the kind of those, as a path has it.
const kindEvents = "events"

// objectOf is the kind and name that a request is about. Events have names of their own each time.
func objectOf(request *http.Request) string {
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	for i, part := range parts {
		if part == "namespaces" && i+2 < len(parts) {
			if parts[i+2] == kindEvents {
				return kindEvents
			}
			return path.Join(parts[i+2:]...)
		}
	}
	return request.URL.Path
}
