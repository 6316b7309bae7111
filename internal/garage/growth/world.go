package growth

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// World is what the decision rests on.
type World struct {
	// Nodes are the GarageCluster's, by name.
	Nodes []Node
	// Classes says of StorageClasses whether they let claims grow. One that is not there was not asked for.
	Classes map[string]fact.Fact[bool]
}

// A Node is one with claims.
type Node struct {
	Name string
	// Claims are what it is to have.
	Claims []render.Claim
	// Live are the claims with its label.
	Live []corev1.PersistentVolumeClaim
	// Leave says why its claims are left alone; empty to let them grow.
	Leave string
}

// node is the one of that name.
func (w World) node(name string) Node {
	i := slices.IndexFunc(w.Nodes, func(n Node) bool { return n.Name == name })
	return w.Nodes[i] // it was decided on
}

// claim is the one of that name, nil if there is none.
func (n Node) claim(name string) *corev1.PersistentVolumeClaim {
	for i := range n.Live {
		if n.Live[i].Name == name {
			return &n.Live[i]
		}
	}
	return nil
}

// Classes are the StorageClasses that have to be known: those of claims which ask for less than they should.
func Classes(nodes []Node) map[string]bool {
	wanted := map[string]bool{}
	for _, node := range nodes {
		for _, claim := range node.Claims {
			live := node.claim(claim.Name)
			if claim.Existing || live == nil || live.Spec.StorageClassName == nil || *live.Spec.StorageClassName == "" {
				continue
			}
			if live.Spec.Resources.Requests.Storage().Cmp(claim.Size) < 0 {
				wanted[*live.Spec.StorageClassName] = true
			}
		}
	}
	return wanted
}
