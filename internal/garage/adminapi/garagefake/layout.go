package garagefake

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

func redundancy(atLeast int) object {
	if atLeast == 0 {
		return object{"zoneRedundancy": "maximum"}
	}
	return object{"zoneRedundancy": map[string]int{"atLeast": atLeast}}
}

// layout is how a history is shown: its newest version, and what is staged.
func (n *node) layout(h *history) object {
	v := h.current()
	roles, staged := []object{}, []object{}
	for _, id := range slices.Sorted(maps.Keys(v.roles)) {
		role := v.roles[id]
		roles = append(roles, object{
			"id": id, "zone": role.Zone, "tags": role.Tags, "capacity": role.Capacity,
			"storedPartitions": v.stored(id), "usableCapacity": v.stored(id) * v.size,
		})
	}
	for _, id := range slices.Sorted(maps.Keys(h.staging.roles)) {
		change := h.staging.roles[id]
		has, there := v.roles[id]
		switch {
		case change.role == nil && (there || n.cluster.minor < 4): // a role that is not there is removed for ever before 2.4
			staged = append(staged, object{"id": id, "remove": true})
		case change.role == nil, there && has.equal(change.role):
		default:
			role := change.role
			staged = append(staged, object{"id": id, "zone": role.Zone, "tags": role.Tags, "capacity": role.Capacity})
		}
	}
	reply := object{
		"version": v.number, "roles": roles, "parameters": redundancy(v.atLeast), "partitionSize": v.size,
		"stagedRoleChanges": staged, "stagedParameters": nil,
	}
	if h.staging.atLeast != v.atLeast {
		reply["stagedParameters"] = redundancy(h.staging.atLeast)
	}
	return reply
}

func (n *node) getLayout([]byte) (any, error) { return n.layout(&n.history), nil }

func (n *node) getHistory([]byte) (any, error) {
	h := &n.history
	versions := []object{}
	for _, v := range slices.Backward(slices.Concat(h.old, h.active)) {
		status := "Historical"
		switch {
		case v == h.current():
			status = "Current"
		case v.number >= h.oldest():
			status = "Draining"
		}
		storing := len(v.storage())
		versions = append(versions, object{
			"version": v.number, "status": status, "storageNodes": storing, "gatewayNodes": len(v.roles) - storing,
		})
	}
	reply := object{"currentVersion": h.current().number, "minAck": h.minAck(), "versions": versions, "updateTrackers": nil}
	if len(h.active) > 1 {
		trackers := object{}
		for _, id := range h.members(false) {
			t := h.trackers[id]
			trackers[id] = object{
				"ack": max(t.ack, h.oldest()), "sync": max(t.sync, h.oldest()), "syncAck": max(t.syncAck, h.oldest()),
			}
		}
		reply["updateTrackers"] = trackers
	}
	return reply, nil
}

var hex64 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// roleChange is a role as it is asked for.
type roleChange struct {
	ID     string
	Remove *bool
	role
}

// wanted is the role that a change asks for, nil for none.
func (c roleChange) wanted() (*role, error) {
	switch {
	case !hex64.MatchString(c.ID):
		return nil, badly("Invalid node identifier")
	case c.Remove != nil && !*c.Remove:
		return nil, badly("Invalid layout change")
	case c.Remove != nil:
		return nil, nil
	case c.Capacity != nil && *c.Capacity < 1024:
		return nil, badly("Capacity should be at least 1K (1024)")
	}
	return &c.role, nil
}

func (n *node) update(body []byte) (any, error) {
	request, err := parse[struct {
		Roles      []roleChange
		Parameters *struct{ ZoneRedundancy json.RawMessage }
	}](body)
	if err != nil {
		return nil, err
	}
	roles := map[string]*role{}
	for _, change := range request.Roles {
		if roles[change.ID], err = change.wanted(); err != nil {
			return nil, err
		}
	}
	var atLeast *int
	if request.Parameters != nil {
		if atLeast, err = n.zones(request.Parameters.ZoneRedundancy); err != nil {
			return nil, err
		}
	}
	n.history.stage(roles, atLeast, n.cluster.last)
	n.own()
	return n.layout(&n.history), nil
}

// zones is a zone redundancy as it is asked for, 0 for the maximum.
func (n *node) zones(text json.RawMessage) (*int, error) {
	var zones struct{ AtLeast int }
	if string(text) == `"maximum"` {
		return &zones.AtLeast, nil
	}
	if err := json.Unmarshal(text, &zones); err != nil {
		return nil, bad{err}
	}
	if factor := n.cluster.options.ReplicationFactor; zones.AtLeast > factor {
		return nil, badly("The zone redundancy must be smaller or equal to the replication factor (%d).", factor)
	}
	return &zones.AtLeast, nil
}

// computed is the reply of a preview and of an Apply.
func (n *node) computed(before, after *history, field string) object {
	reply := object{"message": []string{"==== COMPUTATION ====", ""}, field: n.layout(after)}
	if n.cluster.minor >= 4 {
		statistics := object{"totalMovedPartitions": nil}
		if before.current().number > 0 {
			statistics["totalMovedPartitions"] = before.moved(after.current())
		}
		reply["statistics"] = statistics
	}
	return reply
}

// applied is a history with what is staged applied.
func (n *node) applied() (history, string) {
	after := n.history.clone()
	v, no := after.next(n.cluster.options.ReplicationFactor)
	if no != "" {
		return history{}, no
	}
	after.active = append(after.active, v)
	after.unstage(after.staging.atLeast, n.cluster.last)
	return after, ""
}

func (n *node) preview([]byte) (any, error) {
	after, no := n.applied()
	if no != "" {
		return object{"error": no}, nil
	}
	return n.computed(&n.history, &after, "newLayout"), nil
}

func (n *node) apply(body []byte) (any, error) {
	request, err := parse[struct{ Version *uint64 }](body)
	switch {
	case err != nil:
		return nil, err
	case request.Version == nil:
		return nil, badly("missing field version")
	case *request.Version != n.history.current().number+1:
		return nil, refuse("Invalid new layout version")
	}
	after, no := n.applied()
	if no != "" {
		return nil, refusal(no)
	}
	before := n.history
	n.history = after
	n.own()
	return n.computed(&before, &n.history, "layout"), nil
}

func (n *node) revert([]byte) (any, error) {
	n.history.unstage(n.history.current().atLeast, n.cluster.last)
	n.own()
	return n.layout(&n.history), nil
}

func (n *node) skipDead(body []byte) (any, error) {
	request, err := parse[struct {
		Version          uint64
		AllowMissingData bool
	}](body)
	h := &n.history
	switch {
	case err != nil:
		return nil, err
	case len(h.active) == 1:
		return nil, badly("This command cannot be called when there is only one live cluster layout version")
	case request.Version <= h.oldest() || request.Version > h.current().number:
		return nil, badly("Invalid version, you may use the following version numbers: …")
	}
	acked, synced := []string{}, []string{}
	for _, id := range h.members(false) {
		t := h.trackers[id]
		if t.ack < request.Version && (request.AllowMissingData || !n.up(id)) {
			t.ack = request.Version
			acked = append(acked, id)
		}
		if t.sync < request.Version && request.AllowMissingData {
			t.sync = request.Version
			synced = append(synced, id)
		}
		h.trackers[id] = t
	}
	n.own()
	return object{"ackUpdated": acked, "syncUpdated": synced}, nil
}

func (n *node) connectTo(body []byte) (any, error) {
	request, err := parse[[]string](body)
	if err != nil {
		return nil, err
	}
	results := []object{}
	for _, spec := range request {
		result := object{"success": false, "error": "Unable to parse or resolve node specification: " + spec}
		if id, addr, found := strings.Cut(spec, "@"); found {
			other := n.cluster.withID(id)
			switch {
			case other != nil && other != n && (!n.reaches(other) || addr != n.cluster.RPC(other.at)):
				result["error"] = "Connection refused"
			case other == n:
				result = object{"success": true, "error": nil}
			case other != nil:
				n.connect(id, n.cluster.last)
				result = object{"success": true, "error": nil}
			}
		}
		results = append(results, result)
	}
	return results, nil
}
