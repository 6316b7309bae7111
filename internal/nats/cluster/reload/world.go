package reload

import (
	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
)

// World is what the decision rests on.
type World struct {
	// Rendered is what the spec asks for.
	Rendered render.Output
	// Servers are the servers' objects.
	Servers facts.Servers
	// Pods are the servers whose StatefulSet is as rendered but for the revision and the certificates, by a comparison that knows
	// what the API server fills in, and Configs those whose ConfigMap is.
	Pods, Configs map[string]bool
	// Processes are what the servers that answer report, by name.
	Processes map[string]settled.ServerFacts
	// Credentials say that there is a system user to ask with.
	Credentials bool
}

// A Need is what brings a server to what is rendered for it.
type Need string

const (
	// Nothing is needed by a server that runs it, or has what it will run at its next start.
	Nothing Need = "Nothing"
	// Rewrite writes the ConfigMap, of which nothing concerns a process that runs.
	Rewrite Need = "Rewrite"
	// Reload writes the ConfigMap, and then the process is asked to read it.
	Reload Need = "Reload"
	// Confirm asks the process again to read the ConfigMap that it was given.
	Confirm Need = "Confirm"
	// Restart is the rollout's to bring about.
	Restart Need = "Restart"
)

// A Change is what one server needs.
type Change struct {
	Server string
	Need   Need
	// Reason is why it needs a restart, for status.config.restartReason.
	Reason string
}

// Plan has one Change for each planned server that exists, lowest ordinal first.
type Plan struct{ Changes []Change }

// Of is the change of that server.
func (p Plan) Of(server string) Change {
	for _, change := range p.Changes {
		if change.Server == server {
			return change
		}
	}
	return Change{Server: server, Need: Nothing}
}

// Restarts are the servers that need a restart, and why.
func (p Plan) Restarts() map[string]string {
	found := map[string]string{}
	for _, change := range p.Changes {
		if change.Need == Restart {
			found[change.Server] = change.Reason
		}
	}
	return found
}

// Pending names the servers that do not yet run what they were given, or are about to be given, to reload.
func (p Plan) Pending() []string {
	var names []string
	for _, change := range p.Changes {
		if change.Need == Reload || change.Need == Confirm {
			names = append(names, change.Server)
		}
	}
	return names
}

// Given says whether the server was given that revision to reload.
func Given(server facts.Server, revision string) bool {
	if server.ConfigMap == nil {
		return false
	}
	has := given(server)
	return has.apply == v1beta1.ApplyReload && has.revision == revision
}
