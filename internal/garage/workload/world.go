package workload

import (
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
)

// World is what the decision rests on.
type World struct {
	// Wanted are the names of the GarageNodes that the controller is to make, lowest number first.
	Wanted []string
	// Manual says that users make the nodes.
	Manual bool
	// Nodes are those that exist, by name.
	Nodes facts.Nodes
	// InLayout are the nodes that have a role in the layout that is applied. Nil says that there is no layout yet; it is never nil
	// when that is not known.
	InLayout map[string]bool
	// Settled says that every member has said that no layout is being taken over and none is wanted.
	Settled bool
	// Rendered are what nodes that exist run from, by name.
	Rendered map[string]render.Node
}
