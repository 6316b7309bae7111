package orders

import (
	"context"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// World is what the decision rests on.
type World struct {
	// Annotations are the GarageCluster's.
	Annotations map[string]string
	// Last is what the status says; nil for nothing.
	Last *v1beta2.LastOperation
	// Members are the nodes that run here.
	Members []Member
	// Draining are the nodes that are being taken away.
	Draining []string
	// Layout judges an order about the layout.
	Layout func(layout.Order) layout.Verdict
}

// A Member is a node that can be told something.
type Member struct {
	Name string
	// Silent says why it cannot; empty when it answers and is who is recorded.
	Silent string
}

// API is what a member is told over.
type API interface {
	ConnectClusterNodes(ctx context.Context, nodes ...string) ([]adminapi.Connection, error)
	CreateMetadataSnapshot(ctx context.Context) (adminapi.NodeID, error)
	LaunchRepairOperation(ctx context.Context, repair adminapi.Repair) (adminapi.NodeID, error)
	ListWorkers(ctx context.Context) (adminapi.Answer[[]adminapi.Worker], error)
}

// Returns says why the process of a node could come back with the identity that is on record; empty when it cannot.
func Returns(node facts.Node, said fact.Fact[facts.Process]) string {
	process, answers := said.Get()
	switch {
	case node.External():
		return "it runs elsewhere"
	case answers && process.ID != facts.Recorded(node.GarageNode):
		return "" // its disk is another one
	case node.Pod != nil:
		return "its Pod is there"
	case len(node.Claims) > 0:
		return "its claims are there"
	case node.GarageNode.Spec.Storage != nil && node.GarageNode.Spec.Storage.Metadata.ExistingClaim != "":
		return "its claim is a user's"
	}
	return ""
}
