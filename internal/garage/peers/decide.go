package peers

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

// An Order is that one member connects to others.
type Order struct {
	// Node is the member's name.
	Node string
	// To are the others, as "<id>@<host>:<port>".
	To []string
}

// Decide says who is to connect to whom. Each member is told of all that it does not see: that one side sees the other
// does not mean that the other sees it, since up means an outgoing connection (Garage server facts, 1.7).
func Decide(w World) []Order {
	var orders []Order
	for _, node := range w.Nodes {
		sees, known := node.Sees.Get()
		if !known || node.Address == "" {
			continue
		}
		order := Order{Node: node.Name}
		for _, other := range w.Nodes {
			if other.ID != node.ID && other.Address != "" && !up(sees, other.ID) {
				order.To = append(order.To, string(other.ID)+"@"+other.Address)
			}
		}
		for _, peer := range w.Static {
			id, _, _ := strings.Cut(peer, "@")
			if !up(sees, adminapi.NodeID(strings.ToLower(id))) {
				order.To = append(order.To, peer)
			}
		}
		if len(order.To) > 0 {
			orders = append(orders, order)
		}
	}
	return orders
}

func up(sees adminapi.ClusterStatus, id adminapi.NodeID) bool {
	return slices.ContainsFunc(sees.Nodes, func(n adminapi.NodeStatus) bool { return n.ID == id && n.Up })
}
