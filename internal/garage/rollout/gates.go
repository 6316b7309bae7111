package rollout

import (
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/garage/whole"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// Names of the gates, in their order.
const (
	GateLayout     = "LayoutSettled"
	GateClaims     = "ClaimsKept"
	GateIdentified = "NodesIdentified"
	GatePods       = "PodsReady"
	GateWhole      = "StoreWhole"
)

// view is the World as seen for one node.
type view struct {
	World
	node Node
	now  time.Time
	// lacks is what the store lacks to be whole; empty when it is.
	lacks string
	// without is the node when it is not ready, or when its step waits for nothing but itself; nobody otherwise. That a Pod is ready
	// says only that a port is open, and a template that makes a process too slow to answer could not be corrected.
	without string
}

// as is the World as seen for the node.
func (w World) as(node Node, now time.Time) view {
	v := view{World: w, node: node, now: now, lacks: whole.Why(w.Members, "")}
	if node.unready() || w.Journal != nil && v.lacks != "" {
		v.without = node.Name
	}
	return v
}

// checks are the gates for the node. One that never was anybody waits for nothing, one that is down for its own claims, and one that
// is not ready, or has not come back in its step, for all the others, but not for itself: its own state is what the step is to change.
func (v view) checks() []gates.Check[view] {
	switch {
	case v.node.fresh():
		return nil
	case v.node.down():
		return []gates.Check[view]{{Name: GateClaims, Holds: claims}}
	}
	return []gates.Check[view]{
		{Name: GateLayout, Holds: layoutFirst},
		{Name: GateClaims, Holds: claims},
		{Name: GateIdentified, Holds: identified},
		{Name: GatePods, Holds: pods},
		{Name: GateWhole, Holds: wholeTwice},
	}
}

// layoutFirst blocks while a change of the layout is staged by somebody else, or is wanted. Within a step the one that is wanted waits:
// each would wait for the other.
func layoutFirst(v view) (string, bool) {
	if v.Foreign != "" || v.Journal != nil {
		return v.Foreign, v.Foreign != ""
	}
	return v.Layout, v.Layout != ""
}

// claims block while what the Pod has on its disks would not be there for the next one.
func claims(v view) (string, bool) { return v.node.Claims, v.node.Claims != "" }

// identified blocks while some node is not who is recorded, or has not said so.
func identified(v view) (string, bool) {
	var why []string
	for _, node := range v.Nodes {
		switch {
		case node.Held != "":
			why = append(why, node.Name+": "+node.Held)
		case node.Name == v.without:
		case !node.Current:
			why = append(why, node.Name+": its present Pod has not said that it is who is recorded")
		}
	}
	return words.Reasons(why), len(why) > 0
}

// pods block while one is not ready or is leaving.
func pods(v view) (string, bool) {
	var why []string
	for _, node := range v.Nodes {
		switch {
		case node.Name == v.without:
		case node.Pod == nil:
			why = append(why, node.Name+" has no Pod")
		case node.Pod.Leaving:
			why = append(why, "the Pod of "+node.Name+" is stopping")
		case !node.Pod.Ready:
			why = append(why, words.Because("the Pod of "+node.Name+" is not ready", node.Pod.Why))
		}
	}
	return words.Reasons(why), len(why) > 0
}

// wholeTwice blocks until two looks, some seconds apart, have found the store whole. Where the node itself is not ready one look
// at the others is enough: by that they are not asked to do without anybody who is there now.
func wholeTwice(v view) (string, bool) {
	why := v.lacks
	if v.without != "" {
		why = whole.Why(v.Members, v.without)
	}
	if why != "" {
		return why, true
	}
	if v.without == "" && (v.WholeSince.IsZero() || v.now.Sub(v.WholeSince) < whole.Apart) {
		return fmt.Sprintf("the store is whole, and has to be so for %s", whole.Apart), true
	}
	return "", false
}

// opens is when time alone opens the last gate; 0 when something else has to come first.
func (v view) opens() time.Duration {
	switch {
	case v.lacks != "":
		return 0
	case v.WholeSince.IsZero():
		return whole.Apart
	}
	return max(v.WholeSince.Add(whole.Apart).Sub(v.now), 0)
}
