package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// A Kind is what is done to the layout.
type Kind string

const (
	// Apply stages the change, unless it is staged already, and makes the next version of it.
	Apply Kind = "Apply"
	// Withdraw drops what we have staged ourselves and is not wanted any more.
	Withdraw Kind = "Withdraw"
	// Skip has the version go on without the word of nodes that are down, on a person's order.
	Skip Kind = "Skip"
)

// An Action is one thing done to the layout.
type Action struct {
	Kind Kind
	// Writer is the node that is told.
	Writer adminapi.NodeID
	// Change is what the next version has that the present one has not; only of Apply.
	Change adminapi.LayoutChange
	// Version is that of the next version for Apply, and of the present one otherwise.
	Version uint64
	// Hash is of what is staged or to be staged; of Skip, of what is skipped.
	Hash string
	// AllowMissing has a Skip go on although data may be missing.
	AllowMissing bool
	// For says what the change is for: a clause for an event.
	For string
}

// Plan is what to do now, or what it waits for.
type Plan struct {
	Action *Action
	// Gates hold the action back, in order.
	Gates []gates.Gate
	// Wanted says that some node has not the role that it is to have, or the redundancy is another.
	Wanted bool
	// Settled says that every member answers, shows the same layout and sees every other one, that nothing is being taken over
	// and that nobody has staged anything.
	Settled bool
	// Foreign is what somebody else has staged, one entry each.
	Foreign []string
	// Refused is Garage's own reason why it will not make the version, while nothing about it has changed.
	Refused string
	// Version is the layout that all members have, 0 while they have none or differ.
	Version uint64
	// Journal is what the status has to say before the action is taken.
	Journal *Journal
}

// view is the World as seen for one change.
type view struct {
	World
	// at is the layout of the member that is told.
	at     adminapi.Layout
	writer *Node
	change adminapi.LayoutChange
	reason string
}

// Names of the gates, in their order.
const (
	GateAnswers    = "MembersAnswer"
	GateIdentified = "NodesIdentified"
	GateAgrees     = "LayoutAgreed"
	GateConnected  = "MembersConnected"
	GateSettled    = "LayoutSettled"
	GateStaging    = "StagingOwn"
	GateVersions   = "OneMinorVersion"
	GateRollout    = "NoRollout"
	GateRoom       = "RoomForRoles"
)

var checks = []gates.Check[view]{
	{Name: GateAnswers, Holds: silent},
	{Name: GateIdentified, Holds: unidentified},
	{Name: GateAgrees, Holds: differing},
	{Name: GateConnected, Holds: apart},
	{Name: GateSettled, Holds: moving},
	{Name: GateStaging, Holds: foreign},
	{Name: GateVersions, Holds: func(v view) (string, bool) { return v.Mixed, v.Mixed != "" }},
	{Name: GateRollout, Holds: replaced},
	{Name: GateRoom, Holds: full},
}

// Decide says what may be done to the layout now.
func Decide(w World) Plan {
	plan := Plan{Journal: w.Journal}
	v := view{World: w, writer: w.chooseWriter()}
	if v.writer == nil {
		plan.Wanted = true
		plan.Gates = gates.Closed(v, []gates.Check[view]{checks[0]})
		return plan
	}
	at, _ := v.writer.View.Get() // known: it was chosen for that
	v.at = at.Layout
	v.change, v.reason = w.next(v.at)
	plan.Wanted, plan.Version = !empty(v.change), v.version()
	plan.Settled = plan.Version > 0 && len(gates.Closed(v, checks)) == 0
	if plan.Action = v.skip(); plan.Action != nil {
		return plan
	}
	if staged := v.stagedNow(); !empty(staged) && !same(staged, v.change) {
		return v.withdraw(plan, staged)
	}
	if !plan.Wanted {
		return plan
	}
	plan.Gates = gates.Closed(v, checks)
	next, hash := v.at.Version+1, Hash(v.change)
	if j := w.Journal; j != nil && j.Version == next && j.Hash == hash && j.Refused != "" {
		plan.Refused = j.Refused
		return plan
	}
	if len(plan.Gates) > 0 {
		return plan
	}
	plan.Action = &Action{Kind: Apply, Writer: v.writer.ID, Change: v.change, Version: next, Hash: hash, For: v.reason}
	plan.Journal = &Journal{Version: next, Hash: hash}
	return plan
}

// withdraw takes back what is staged if it is our own, or a person has ordered it, and says what it is otherwise.
func (v view) withdraw(plan Plan, staged adminapi.LayoutChange) Plan {
	hash := Hash(staged)
	if (v.Journal == nil || v.Journal.Hash != hash) && !v.orders(OrderRevert, hash) {
		plan.Foreign = describe(staged)
		plan.Gates = gates.Closed(v, checks)
		return plan
	}
	// What is withdrawn is dropped in the whole cluster, so every member has to show the same.
	plan.Gates = gates.Closed(v, checks[:3])
	if len(plan.Gates) == 0 {
		plan.Action = &Action{Kind: Withdraw, Writer: v.writer.ID, Version: v.at.Version, Hash: hash, For: "what was staged is not wanted any more"}
	}
	return plan
}

// chooseWriter is the member that is told: one that is in its own layout, since staging on a node outside of it may not
// reach the others before it is applied; where none is, one that is going to be. The first by name, so that the same one is
// told again after a crash.
func (w World) chooseWriter() *Node {
	var outside *Node
	for i := range w.Nodes {
		node := &w.Nodes[i]
		seen, known := node.View.Get()
		switch {
		case !known || node.External || node.ID == "":
		case hasRole(seen.Layout, node.ID):
			return node
		case outside == nil && node.Held == "":
			outside = node
		}
	}
	return outside
}

func hasRole(layout adminapi.Layout, id adminapi.NodeID) bool {
	return slices.ContainsFunc(layout.Roles, func(r adminapi.NodeRole) bool { return r.ID == id })
}

// version is the one that every node with a role shows, 0 while they differ or have none.
func (v view) version() uint64 {
	for _, node := range v.members() {
		if seen, known := node.View.Get(); known && seen.Layout.Version != v.at.Version {
			return 0
		}
	}
	return v.at.Version
}

// next is the difference between the layout and the spec that the next version is to make up for: everything at first;
// then what is different about roles that exist, at once, since data then moves once; then new roles one by one.
func (w World) next(at adminapi.Layout) (adminapi.LayoutChange, string) {
	var change adminapi.LayoutChange
	if at.Redundancy != w.Redundancy {
		change.Redundancy = &w.Redundancy
	}
	updates, updated, additions, added := w.compare(at)
	switch {
	case len(at.Roles) == 0 && len(additions) == 0:
		return adminapi.LayoutChange{}, "" // no version without a role
	case len(at.Roles) == 0:
		change.Roles = additions
		return change, "the first layout, of " + words.Names(added)
	case len(updates) > 0 || change.Redundancy != nil:
		change.Roles = updates
		return change, reasonForUpdates(updated, change.Redundancy)
	case len(additions) > 0:
		change.Roles = additions[:1]
		return change, "a role for " + added[0]
	}
	return change, ""
}

// compare lists the roles that are different in the layout and those that are not in it, each with the nodes' names.
func (w World) compare(at adminapi.Layout) (updates []adminapi.RoleChange, updated []string, additions []adminapi.RoleChange, added []string) {
	for _, node := range w.Nodes {
		if node.ID == "" || node.Held != "" {
			continue
		}
		i := slices.IndexFunc(at.Roles, func(r adminapi.NodeRole) bool { return r.ID == node.ID })
		if i >= 0 && (w.Patient || node.Cramped != "") {
			node.Role.Capacity = smaller(node.Role.Capacity, at.Roles[i].Capacity)
		}
		switch {
		case i < 0 && node.Cramped != "":
		case i < 0:
			additions, added = append(additions, adminapi.Assign(node.ID, node.Role)), append(added, node.Name)
		case !at.Roles[i].Equal(node.Role):
			updates, updated = append(updates, adminapi.Assign(node.ID, node.Role)), append(updated, node.Name)
		}
	}
	return updates, updated, additions, added
}

// smaller is the capacity that a role gets while there is no room for more than it has.
func smaller(wanted, has adminapi.Capacity) adminapi.Capacity {
	if now, stores := has.Storage(); stores {
		bytes, _ := wanted.Storage() // a gateway has none
		return adminapi.Bytes(min(bytes, now))
	}
	return wanted
}

func reasonForUpdates(updated []string, redundancy *adminapi.ZoneRedundancy) string {
	var parts []string
	if len(updated) > 0 {
		parts = append(parts, "the roles of "+words.Names(updated))
	}
	if redundancy != nil {
		parts = append(parts, "the zone redundancy")
	}
	return strings.Join(parts, " and ")
}

// stagedNow is what the members show as staged: that of the writer, or if it has none, of the first that has.
func (v view) stagedNow() adminapi.LayoutChange {
	if staged := stagedIn(v.at); !empty(staged) {
		return staged
	}
	for _, node := range v.Nodes {
		if seen, known := node.View.Get(); known {
			if staged := stagedIn(seen.Layout); !empty(staged) {
				return staged
			}
		}
	}
	return adminapi.LayoutChange{}
}

func stagedIn(layout adminapi.Layout) adminapi.LayoutChange {
	return adminapi.LayoutChange{Roles: layout.Staged, Redundancy: layout.StagedRedundancy}
}

func empty(change adminapi.LayoutChange) bool {
	return len(change.Roles) == 0 && change.Redundancy == nil
}

// same compares changes, whose roles are in no order.
func same(a, b adminapi.LayoutChange) bool { return Hash(a) == Hash(b) }

// Hash names a change by its content.
func Hash(change adminapi.LayoutChange) string {
	roles := slices.SortedFunc(slices.Values(change.Roles), func(a, b adminapi.RoleChange) int {
		return strings.Compare(string(a.Node()), string(b.Node()))
	})
	content, err := json.Marshal(map[string]any{"roles": roles, "redundancy": change.Redundancy})
	if err != nil { // of strings and numbers
		panic(err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// describe is one entry for each thing that is staged.
func describe(change adminapi.LayoutChange) []string {
	var entries []string
	for _, role := range change.Roles {
		to, assigned := role.Role()
		bytes, storage := to.Capacity.Storage()
		switch {
		case !assigned:
			entries = append(entries, fmt.Sprintf("node %.16s without a role", role.Node()))
		case !storage:
			entries = append(entries, fmt.Sprintf("node %.16s as a gateway in zone %s", role.Node(), to.Zone))
		default:
			entries = append(entries, fmt.Sprintf("node %.16s with %d bytes in zone %s", role.Node(), bytes, to.Zone))
		}
	}
	slices.Sort(entries)
	if change.Redundancy != nil {
		entries = append(entries, "another zone redundancy")
	}
	return entries
}
