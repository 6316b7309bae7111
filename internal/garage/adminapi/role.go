package adminapi

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Capacity is the capacity of a role: so many bytes, or explicitly none. The zero Capacity is neither, and is refused
// before anything is sent: to Garage a role without a capacity is a gateway, and a storage node that becomes one is drained
// (Garage server facts, 6 Traps for an operator).
type Capacity struct {
	bytes   uint64
	gateway bool
}

// Bytes is the capacity of a storage node. Garage wants at least 1024.
func Bytes(n uint64) Capacity { return Capacity{bytes: n} }

// Gateway is the capacity of a node that stores nothing.
func Gateway() Capacity { return Capacity{gateway: true} }

// Storage returns the bytes of a storage node, and false for a gateway.
func (c Capacity) Storage() (uint64, bool) { return c.bytes, !c.gateway }

// Role is the role of a node in a layout.
type Role struct {
	// Zone is the failure domain that the node is in.
	Zone string
	// Tags are free words; nil and empty are the same.
	Tags []string
	// Capacity says what the node stores.
	Capacity Capacity
}

// Equal says whether two roles are the same to Garage.
func (r Role) Equal(other Role) bool {
	return r.Zone == other.Zone && slices.Equal(r.Tags, other.Tags) && r.Capacity == other.Capacity
}

func readRole(o *object) Role {
	role := Role{Zone: need[string](o, "zone"), Tags: texts(o, "tags"), Capacity: Gateway()}
	if bytes := orNull[uint64](o, "capacity"); bytes != nil {
		role.Capacity = Bytes(*bytes)
	}
	return role
}

// RoleChange gives a node a role, or takes it away. Assign and Remove make one.
type RoleChange struct {
	node   NodeID
	role   Role
	remove bool
}

// Assign gives a node a role, in place of the one it has.
func Assign(node NodeID, role Role) RoleChange { return RoleChange{node: node, role: role} }

// Remove takes the role of a node away. A storage node is drained then.
func Remove(node NodeID) RoleChange { return RoleChange{node: node, remove: true} }

// Node is the node whose role changes.
func (c RoleChange) Node() NodeID { return c.node }

// Role returns the role that the node is given, and false when its role is taken away.
func (c RoleChange) Role() (Role, bool) { return c.role, !c.remove }

// Equal says whether two changes do the same. What was read back as staged is compared with what was meant before it is
// applied (Garage server facts, 3.3 Staging and its races).
func (c RoleChange) Equal(other RoleChange) bool {
	return c.node == other.node && c.remove == other.remove && c.role.Equal(other.role)
}

// check says what Garage would take in another way than it was meant, or refuse.
func (c RoleChange) check() error {
	if _, err := ParseNodeID(string(c.node)); err != nil {
		return err
	}
	bytes, storage := c.role.Capacity.Storage()
	switch {
	case c.remove:
	case c.role.Zone == "":
		return fmt.Errorf("the role for node %s has no zone", c.node)
	case storage && bytes < 1024:
		return fmt.Errorf("the role for node %s has a capacity of %d bytes: want at least 1024, or Gateway()", c.node, bytes)
	}
	return nil
}

// MarshalJSON writes all four fields of a role, whatever they are.
func (c RoleChange) MarshalJSON() ([]byte, error) {
	if c.remove {
		return json.Marshal(struct {
			ID     NodeID `json:"id"`
			Remove bool   `json:"remove"`
		}{c.node, true})
	}
	change := struct {
		ID       NodeID   `json:"id"`
		Zone     string   `json:"zone"`
		Tags     []string `json:"tags"`
		Capacity *uint64  `json:"capacity"`
	}{ID: c.node, Zone: c.role.Zone, Tags: append([]string{}, c.role.Tags...)}
	if bytes, storage := c.role.Capacity.Storage(); storage {
		change.Capacity = &bytes
	}
	return json.Marshal(change)
}

func readRoleChange(o *object) RoleChange {
	if _, there := o.fields["remove"]; !there {
		return Assign(nodeID(o, "id"), readRole(o))
	}
	if !need[bool](o, "remove") {
		o.wrong("a staged change has remove false")
	}
	return Remove(nodeID(o, "id"))
}

// ZoneRedundancy is in how many zones each partition must have a copy.
type ZoneRedundancy struct {
	// AtLeast is that number, at most the replication factor. 0 means as many zones as possible.
	AtLeast uint64
}

const maximum = "maximum"

// MarshalJSON writes "maximum", or {"atLeast": n}.
func (z ZoneRedundancy) MarshalJSON() ([]byte, error) {
	if z.AtLeast == 0 {
		return json.Marshal(maximum)
	}
	return json.Marshal(map[string]uint64{"atLeast": z.AtLeast})
}

// readParameters reads layout parameters, of which there is one.
func readParameters(o *object) ZoneRedundancy {
	text := need[json.RawMessage](o, "zoneRedundancy")
	var word string
	if err := json.Unmarshal(text, &word); err == nil {
		if word != maximum {
			o.wrong("the zone redundancy %.40q is not known", word)
		}
		return ZoneRedundancy{}
	}
	z := ZoneRedundancy{AtLeast: need[uint64](o.inner(text, "zoneRedundancy"), "atLeast")}
	if z.AtLeast == 0 {
		o.wrong("the zone redundancy is at least 0")
	}
	return z
}
