package garagefake

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

const throttled = "throttled"

// worker is a background task. Its id is its place in the list.
type worker struct {
	name, state string
	disabled    bool
	started     bool // a repair shows after its first step
}

var scrubVariables = []string{"scrub-tranquility", "scrub-last-completed", "scrub-next-run", "scrub-corruptions_detected"}

func (n *node) startWorkers() {
	n.workers = nil
	for i := range 8 {
		n.workers = append(n.workers, &worker{name: fmt.Sprintf("Block resync worker #%d", i+1), state: "idle", disabled: i > 0, started: true})
	}
	if !n.cluster.options.DisableScrub {
		n.workers = append(n.workers, &worker{name: "Block scrub worker", state: "idle", started: true})
	}
}

// repairs has the workers of repairs that have one of their own.
var repairs = map[string]string{
	"blocks": "Block repair worker", "versions": "version repair worker", "multipartUploads": "multipart_upload repair worker",
	"blockRefs": "block_ref repair worker", "blockRc": "Block refcount repair worker", "rebalance": "Block rebalance worker",
}

// launch starts a repair.
func (n *node) launch(repair any, now time.Time) error {
	kind, _ := repair.(string)
	switch name, starts := repairs[kind]; {
	case starts:
		n.workers = append(n.workers, &worker{name: name, state: "busy"})
	case kind == "" && n.cluster.options.DisableScrub:
		return refuse("scrub worker is not running")
	}
	if kind == "blocks" {
		for _, object := range slices.Sorted(maps.Keys(n.rows)) {
			n.queue = append(n.queue, check{object, now})
		}
		for _, object := range slices.Sorted(maps.Keys(n.blocks)) {
			n.queue = append(n.queue, check{object, now})
		}
	}
	return nil
}

// work ends the repairs: what they do is in the queue.
func (n *node) work(time.Time) {
	for _, worker := range n.workers {
		if worker.state == "busy" && worker.started {
			worker.state = "done"
		}
		worker.started = true
	}
}

func (n *node) listWorkers() []any {
	list := []any{}
	for i, worker := range n.workers {
		if !worker.started {
			continue
		}
		reply := map[string]any{
			"id": i + 1, "name": worker.name, "state": worker.state, "errors": 0, "consecutiveErrors": 0, "lastError": nil,
			"tranquility": nil, "progress": nil, "queueLength": nil, "persistentErrors": nil, "freeform": []string{},
		}
		if worker.state == throttled {
			reply["state"] = map[string]any{throttled: map[string]any{"durationSecs": 0.1}}
		}
		if i == 0 {
			reply["queueLength"], reply["persistentErrors"] = len(n.queue), len(n.failed)
			reply["tranquility"], _ = strconv.Atoi(n.variables["resync-tranquility"])
		}
		if worker.disabled {
			reply["freeform"] = []string{"This worker is currently disabled"}
		}
		list = append(list, reply)
	}
	return list
}

// variable reads one variable.
func (n *node) variable(name string) (string, error) {
	if n.cluster.options.DisableScrub && slices.Contains(scrubVariables, name) {
		return "", refuse("variable does not exist")
	}
	if value, set := n.variables[name]; set {
		return value, nil
	}
	if name != "scrub-last-completed" {
		return "", refuse("variable does not exist")
	}
	if n.cluster.minor >= 4 {
		return "never", nil
	}
	return "1970-01-01T00:00:00.000Z", nil
}

func (n *node) setVariable(name, value string) error {
	if _, err := n.variable(name); err != nil {
		return err
	}
	if _, writable := n.variables[name]; !writable {
		return refuse("Cannot set value of %s", name)
	}
	number, err := strconv.ParseUint(value, 10, 32)
	if err != nil {
		return refuse("invalid value: %s", value)
	}
	if name == "resync-worker-count" && (number < 1 || number > 8) {
		return refuse("Invalid number of resync workers, must be between 1 and 8")
	}
	n.variables[name] = value
	return nil
}
