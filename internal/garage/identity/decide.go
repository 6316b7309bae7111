package identity

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// A Record is what to write into a GarageNode's status.
type Record struct {
	Node string
	ID   adminapi.NodeID
	Pod  types.UID
}

// Plan is what to record, and who is held.
type Plan struct {
	// Records are to be written now, in the order of names.
	Records []Record
	// Held says by name why a node must have nothing to do with the layout.
	Held map[string]string
	// Current are the nodes whose present Pod has said that it is who is recorded.
	Current map[string]bool
}

// Decide compares what is recorded with what is said.
func Decide(w World) Plan {
	plan := Plan{Held: map[string]string{}, Current: map[string]bool{}}
	claims := w.claims()
	for _, node := range w.Nodes {
		said, known := node.Said.Get()
		if !known && node.Recorded == "" {
			continue
		}
		if why := w.held(node, said, known, claims); why != "" {
			plan.Held[node.Name] = why
			continue
		}
		if !known {
			continue
		}
		if node.Recorded == said.ID && node.RecordedPod == said.Pod {
			plan.Current[node.Name] = true
			continue
		}
		plan.Records = append(plan.Records, Record{Node: node.Name, ID: said.ID, Pod: said.Pod})
	}
	return plan
}

// claims are the names of the nodes that claim each identity: that record it, or say it.
func (w World) claims() map[adminapi.NodeID][]string {
	found := map[adminapi.NodeID][]string{}
	claim := func(id adminapi.NodeID, name string) {
		if id != "" && !slices.Contains(found[id], name) {
			found[id] = append(found[id], name)
		}
	}
	for _, node := range w.Nodes {
		claim(node.Recorded, node.Name)
		if said, known := node.Said.Get(); known {
			claim(said.ID, node.Name)
		}
	}
	return found
}

// held says why the node must have no role, or none anew.
func (w World) held(node Node, said Said, known bool, claims map[adminapi.NodeID][]string) string {
	id := node.Recorded
	if known {
		id = said.ID
	}
	switch {
	case known && node.Recorded != "" && said.ID != node.Recorded:
		return fmt.Sprintf("its disk is another one: it is node %.16s by its metadata, and was %.16s: give it its disk back", said.ID, node.Recorded)
	case known && node.Pinned != "" && said.ID != node.Pinned:
		return fmt.Sprintf("it is node %.16s by its metadata, and spec.nodeId says %.16s", said.ID, node.Pinned)
	case len(claims[id]) > 1:
		return fmt.Sprintf("node %.16s is the identity of %s: they share a disk or a copy of one, and to Garage are one node", id, words.Names(claims[id]))
	}
	for _, role := range w.Roles {
		if role.ID == id {
			return w.foreign(role, node)
		}
	}
	return ""
}

// foreign says that a role was given by another GarageCluster.
func (w World) foreign(role adminapi.NodeRole, node Node) string {
	for _, tag := range role.Tags {
		if strings.HasPrefix(tag, w.ClusterTagPrefix) && tag != w.ClusterTag && !slices.Contains(node.Former, tag) {
			return fmt.Sprintf("node %.16s has its role from another GarageCluster (%s)", role.ID, tag)
		}
	}
	return ""
}
