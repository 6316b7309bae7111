package workload

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

// World is what the decision rests on.
type World struct {
	// Rendered are the objects that the spec asks for.
	Rendered render.Output
	// JetStream is whether the spec turns JetStream on.
	JetStream bool
	// CertificateMissing holds every creation back: a server without its certificate would not start.
	CertificateMissing bool
	// Unfinished are servers whose creation was cut short before it was on record.
	Unfinished map[string]bool
	// Edited are the servers whose configuration somebody has changed: it does not say what they run.
	Edited map[string]bool
	// Servers are the servers' objects.
	Servers fact.Fact[facts.Servers]
}

// A store is what a server's JetStream directory was written by.
type store int

const (
	storeNone store = iota
	storeStandalone
	storeClustered
)

// storeOf tells from the claim, which outlives everything else, or else from the configuration that the server
// runs.
func (w World) storeOf(server facts.Server) store {
	if server.Claim != nil {
		if server.Claim.Annotations[v1beta1.AnnotationStandalone] != "" {
			return storeStandalone
		}
		return storeClustered
	}
	config, ok := w.running(server)
	switch {
	case !ok || config.JetStream == nil:
		return storeNone
	case config.Cluster == nil:
		return storeStandalone
	}
	return storeClustered
}

// A shape is what of a server's configuration says how its store is used.
type shape struct {
	JetStream *json.RawMessage `json:"jetstream"`
	Cluster   *json.RawMessage `json:"cluster"`
}

// running is the shape that the server was last written for. A configuration that somebody has edited says nothing.
func (w World) running(server facts.Server) (shape, bool) {
	var config shape
	if server.ConfigMap == nil || w.Edited[server.Name] {
		return config, false
	}
	err := json.Unmarshal([]byte(server.ConfigMap.Data[render.ConfigKey]), &config)
	return config, err == nil
}
