package natsmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/holdfast-dev/holdfast/internal/nats/cluster/reload"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi"
	"github.com/holdfast-dev/holdfast/test/sim/fault"
)

// System is the servers' system account as an instance of the controller reaches it.
type System struct {
	World    *World
	Instance *fault.Instance
}

// Varz implements settled.MonitorAPI.
func (s System) Varz(_ context.Context, server string) (monitorapi.Varz, error) {
	return ask(s.Instance, "varz", server, func() *pod { return s.World.onSystem(server) }, s.World.varz)
}

// Jsz implements settled.MonitorAPI. There is one account, and so one page.
func (s System) Jsz(_ context.Context, server string, _, _ int) (monitorapi.Jsz, error) {
	return ask(s.Instance, "jsz", server, func() *pod { return s.World.onSystem(server) }, s.World.jsz)
}

// Reloading is the verb of the call that asks a process to reload. Its kind is the process.
const Reloading = "reload"

// Reload implements reload.Reloader.
func (s System) Reload(_ context.Context, id string) error {
	call := fault.Call{Verb: Reloading, Kind: id, Name: s.World.names[id], Class: fault.Service}
	return s.Instance.Do(call, func() (func(), error) { return nil, s.World.reload(s.Instance.Name, id) })
}

// Denied implements controller.System.
func (s System) Denied() string { return "" }

// onSystem is the server's Pod, if its process answers to its name: one without routes is alone.
func (w *World) onSystem(server string) *pod {
	p := w.running(server)
	if p == nil || p.process.frozen || p.process.phase == begun && p.process.routes > 0 {
		return nil
	}
	return p
}

// withProcess is the Pod whose process has that ID; nil where it has ended.
func (w *World) withProcess(id string) *pod {
	for _, p := range w.pods {
		if p.process != nil && p.process.id == id {
			return p
		}
	}
	return nil
}

// reload has the process of that ID read the configuration that is in its container: it takes it over as a whole, or not
// at all.
func (w *World) reload(by, id string) error {
	p := w.withProcess(id)
	if p == nil || w.onSystem(p.server) != p {
		return fmt.Errorf("%s does not answer: %w", id, context.DeadlineExceeded)
	}
	process := p.process
	process.askers[by] = true
	switch {
	case process.refuses || !takesOver(process.config, p.config):
		process.refused, process.stood = true, true
		return fmt.Errorf("%w: drawn, or restart-only", sysapi.ErrRefused)
	case process.config == p.config:
		process.loaded = w.now()
	default:
		process.load(p.config, w.now())
	}
	return nil
}

// takesOver says whether a nats-server that runs one configuration takes the other over by a reload. It is the model's own
// account of that, kept apart from the controller's.
func takesOver(from, to string) bool {
	old, next := parse(from), parse(to)
	if old == nil || next == nil {
		return false
	}
	for _, conf := range []map[string]any{old, next} {
		for _, key := range []string{"server_tags", "server_metadata", "resolver_preload"} {
			delete(conf, key)
		}
		if cluster, clustered := conf["cluster"].(map[string]any); clustered {
			delete(cluster, "routes")
		}
	}
	return raised(old, next) && reflect.DeepEqual(old, next)
}

// raised says that both have JetStream's limits, and that none is lower in the second. It takes them away.
func raised(old, next map[string]any) bool {
	from, _ := old["jetstream"].(map[string]any)
	to, _ := next["jetstream"].(map[string]any)
	for _, limit := range []string{"max_memory_store", "max_file_store"} {
		before, had := from[limit].(float64)
		after, has := to[limit].(float64)
		if had != has || after < before {
			return false
		}
		delete(from, limit)
		delete(to, limit)
	}
	return true
}

// parse is a configuration as a map; nil where it cannot be read.
func parse(config string) map[string]any {
	var out map[string]any
	if json.Unmarshal([]byte(config), &out) != nil {
		return nil
	}
	return out
}

// runs says that a process that has loaded the first configuration runs the second: of its preloaded JWTs a server takes no
// notice after its start.
func runs(loaded, config string) bool {
	a, b := parse(loaded), parse(config)
	for _, conf := range []map[string]any{a, b} {
		maps.DeleteFunc(conf, func(key string, _ any) bool { return key == "resolver_preload" })
	}
	return reflect.DeepEqual(a, b)
}

// digest is what a process reports of the configuration that it has loaded.
func (p *process) digest() string { return reload.Digest(p.config) }
