package layout

import (
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// members are the nodes whose own view counts: those that can be asked and have a role, or are to get one now. Of a node that
// is still to come nobody has to wait for anything but its own role.
func (v view) members() []Node {
	return slices.DeleteFunc(slices.Clone(v.Nodes), func(n Node) bool { return n.External || !v.counts(n.ID) })
}

// counts says that a node has a role or is to get one; before anybody has said anything, that it has an identity.
func (v view) counts(id adminapi.NodeID) bool {
	if v.writer == nil {
		return id != ""
	}
	return hasRole(v.at, id) || slices.ContainsFunc(v.change.Roles, func(c adminapi.RoleChange) bool { return c.Node() == id })
}

// silent blocks until every member has said how it sees the layout.
func silent(v view) (string, bool) {
	var why []string
	for _, node := range v.members() {
		if _, known := node.View.Get(); !known {
			why = append(why, node.Name+": "+node.View.Why())
		}
	}
	return words.Reasons(why), len(why) > 0
}

// unidentified blocks the first layout until every planned node is in it: with a part of them data would move twice.
func unidentified(v view) (string, bool) {
	var why []string
	storage := 0
	for _, node := range v.Nodes {
		switch {
		case node.Held != "":
			why = append(why, node.Name+": "+node.Held)
		case node.ID == "":
			why = append(why, node.Name+" has not said who it is")
		case node.Cramped != "":
			why = append(why, node.Cramped)
		default:
			storage++
		}
	}
	if len(v.at.Roles) > 0 {
		return "", false
	}
	if v.orders(OrderForce, Hash(v.change)) {
		why = nil // the others come later
	}
	if len(why) == 0 && storage < v.Factor {
		why = append(why, fmt.Sprintf("%d nodes are fewer than the replication factor of %d", storage, v.Factor))
	}
	return words.Reasons(why), len(why) > 0
}

// differing blocks until every member shows the same version with the same roles.
func differing(v view) (string, bool) {
	var why []string
	for _, node := range v.members() {
		seen, known := node.View.Get()
		switch {
		case !known:
		case seen.Layout.Version != v.at.Version:
			why = append(why, fmt.Sprintf("%s shows version %d and %s version %d", node.Name, seen.Layout.Version, v.writer.Name, v.at.Version))
		case !SameRoles(seen.Layout, v.at):
			why = append(why, fmt.Sprintf("%s and %s show version %d with different roles", node.Name, v.writer.Name, v.at.Version))
		}
	}
	return words.Reasons(why), len(why) > 0
}

// SameRoles says that two layouts give the same roles and have the same redundancy.
func SameRoles(a, b adminapi.Layout) bool {
	if len(a.Roles) != len(b.Roles) || a.Redundancy != b.Redundancy {
		return false
	}
	for _, role := range a.Roles {
		if !slices.ContainsFunc(b.Roles, func(r adminapi.NodeRole) bool { return r.ID == role.ID && r.Equal(role.Role) }) {
			return false
		}
	}
	return true
}

// apart blocks until every member is connected to every node that has a role or is to get one.
func apart(v view) (string, bool) {
	var why []string
	for _, node := range v.members() {
		seen, known := node.View.Get()
		if !known {
			continue
		}
		var missing []string
		for id, name := range v.expected() {
			if !slices.ContainsFunc(seen.Status.Nodes, func(n adminapi.NodeStatus) bool { return n.ID == id && n.Up }) {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			slices.Sort(missing)
			why = append(why, fmt.Sprintf("%s is not connected to %s", node.Name, words.Names(missing)))
		}
	}
	return words.Reasons(why), len(why) > 0
}

// expected are the nodes that have to be up: those in the layout, and those that are to be, by what to call them.
func (v view) expected() map[adminapi.NodeID]string {
	found := map[adminapi.NodeID]string{}
	for _, role := range v.at.Roles {
		found[role.ID] = fmt.Sprintf("node %.16s", role.ID)
	}
	for _, node := range v.Nodes {
		if v.counts(node.ID) {
			found[node.ID] = node.Name
		}
	}
	return found
}

// moving blocks until the version before has nothing left to do.
func moving(v view) (string, bool) {
	var why []string
	for _, node := range v.members() {
		if seen, known := node.View.Get(); known && !Settled(seen.History) {
			why = append(why, fmt.Sprintf("%s sees version %d still being taken over", node.Name, seen.History.CurrentVersion))
		}
	}
	return words.Reasons(why), len(why) > 0
}

// Settled says that the version before has nothing left to do: one version is active, or every node has given away what it
// had to and only the bookkeeping is behind, which on a cluster of one node it stays (Garage lab, One node, RF 1).
func Settled(history adminapi.LayoutHistory) bool {
	if history.Settled() {
		return true
	}
	for _, tracker := range history.Trackers {
		if tracker.Sync < history.CurrentVersion {
			return false
		}
	}
	return len(history.Trackers) > 0
}

// foreign blocks while any node shows something as staged that is not the change: it may reach the others at any moment.
func foreign(v view) (string, bool) {
	var why []string
	for _, node := range v.Nodes {
		seen, known := node.View.Get()
		if staged := stagedIn(seen.Layout); known && !empty(staged) && !same(staged, v.change) {
			why = append(why, fmt.Sprintf("%s has staged by somebody else: %s", node.Name, words.Names(describe(staged))))
		}
	}
	return words.Reasons(why), len(why) > 0
}

// full blocks a role beyond Garage's limit.
func full(v view) (string, bool) {
	storage := map[adminapi.NodeID]bool{}
	for _, role := range v.at.Roles {
		_, storage[role.ID] = role.Capacity.Storage()
	}
	for _, change := range v.change.Roles {
		role, _ := change.Role()
		_, storage[change.Node()] = role.Capacity.Storage()
	}
	n := 0
	for _, positive := range storage {
		if positive {
			n++
		}
	}
	if n > MaxStorageRoles {
		return fmt.Sprintf("the layout would have %d storage nodes, and Garage takes %d", n, MaxStorageRoles), true
	}
	return "", false
}

// replaced blocks until the node whose Pod is being replaced is back: one transaction at a time.
func replaced(v view) (string, bool) { return v.Replaced + " is being replaced", v.Replaced != "" }
