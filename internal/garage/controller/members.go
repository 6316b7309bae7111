package controller

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/identity"
	"github.com/holdfast-dev/holdfast/internal/garage/peers"
	"github.com/holdfast-dev/holdfast/internal/garage/serving"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
)

// identify records who the nodes are, and holds those who are not who they were.
func (p *pass) identify(ctx context.Context) outcome.Outcome {
	plan := p.decideIdentity(p.nodes, p.report.Processes)
	actor := identity.Actor{Client: p.Client, Live: p.Live, Ask: p.asker}
	for _, record := range plan.Records {
		node, _ := p.nodes.Get(record.Node) // it was decided on
		if err := actor.Act(ctx, node, record); err != nil {
			return outcome.Failed(err)
		}
		p.Events.Action(node.GarageNode, node.Pod, "IdentityRecorded", "Record", fmt.Sprintf("it is node %s", record.ID))
	}
	if len(plan.Records) > 0 {
		plan = p.decideIdentity(p.nodes, p.report.Processes)
	}
	p.report.Identity = plan
	return outcome.Continue()
}

func (p *pass) decideIdentity(nodes facts.Nodes, processes facts.Processes) identity.Plan {
	w := identity.World{ClusterTag: v1beta2.TagClusterUID + string(p.cluster.UID), ClusterTagPrefix: v1beta2.TagClusterUID}
	for _, node := range nodes {
		one := identity.Node{
			Name: node.Name(), Recorded: facts.Recorded(node.GarageNode), RecordedPod: node.GarageNode.Status.ObservedPodUID, External: node.External(),
		}
		if !node.External() {
			one.Pinned = adminapi.NodeID(strings.ToLower(node.GarageNode.Spec.NodeID))
		}
		one.Former = former(node)
		process, known := processes.Of(node.Name()).Get()
		one.Said = fact.Unknown[identity.Said](processes.Of(node.Name()).Why())
		if known {
			one.Said = fact.Known(identity.Said{ID: process.ID, Pod: process.PodUID})
			if len(process.Layout.Roles) > len(w.Roles) {
				w.Roles = process.Layout.Roles
			}
		}
		w.Nodes = append(w.Nodes, one)
	}
	return identity.Decide(w)
}

// former are the tags by which the node's role may be known as its own besides the GarageCluster's: those on record, which a node that
// outlives its GarageCluster keeps, and those of the GarageClusters that its claims were kept of.
func former(node facts.Node) []string {
	found := slices.DeleteFunc(slices.Clone(node.GarageNode.Status.Tags), func(tag string) bool { return !strings.HasPrefix(tag, v1beta2.TagClusterUID) })
	for _, claim := range node.OwnClaims() {
		if store := claim.Annotations[v1beta2.AnnotationClusterUID]; store != "" {
			found = append(found, v1beta2.TagClusterUID+store)
		}
	}
	return found
}

// connect has members connect that do not see each other.
func (p *pass) connect(ctx context.Context) outcome.Outcome {
	w := peers.World{}
	if network := p.cluster.Spec.Network; network != nil {
		w.Static = network.BootstrapPeers
	}
	for _, node := range p.nodes {
		process, known := p.report.Processes.Of(node.Name()).Get()
		one := peers.Node{Name: node.Name(), ID: facts.Recorded(node.GarageNode), Address: p.rpcAddress(node)}
		if known {
			one.Sees = fact.Known(process.Status)
		}
		w.Nodes = append(w.Nodes, one)
	}
	orders := peers.Decide(w)
	if len(orders) == 0 {
		return outcome.Continue()
	}
	p.busy = true
	of := func(name string) (peers.API, error) {
		node, _ := p.nodes.Get(name) // it has said something
		return p.api(ctx, node)
	}
	if err := peers.Act(ctx, of, orders); err != nil {
		p.report.Warning = err.Error() // whoever cannot be reached is no reason to do nothing else
		return outcome.Continue()
	}
	return outcome.Retry(whenBusy/4, "members connect")
}

// rpcAddress is where others reach the node, empty for one that they are not to be told of.
func (p *pass) rpcAddress(node facts.Node) string {
	if external := node.GarageNode.Spec.External; external != nil && p.report.Identity.Held[node.Name()] == "" {
		port := external.Port
		if port == 0 {
			port = 3901
		}
		return net.JoinHostPort(external.Address, strconv.Itoa(int(port)))
	}
	if !p.report.Identity.Current[node.Name()] || node.Address() == "" {
		return ""
	}
	_, rpc := p.plan.Ports()
	return net.JoinHostPort(node.Address(), strconv.Itoa(int(rpc)))
}

// chooseWhoServes says which Pods get requests.
func (p *pass) chooseWhoServes(ctx context.Context) outcome.Outcome {
	var all []serving.Node
	for _, node := range p.nodes {
		if node.Pod == nil || node.Pod.DeletionTimestamp != nil {
			continue
		}
		one := serving.Node{
			Name: node.Name(), ID: facts.Recorded(node.GarageNode), Serves: node.Pod.Labels[v1beta2.LabelS3Member] == "true",
			Held: p.report.Identity.Held[node.Name()] != "", Current: p.report.Identity.Current[node.Name()],
		}
		if process, known := p.report.Processes.Of(node.Name()).Get(); known {
			one.Says = fact.Known(serving.Says{Layout: process.Layout, History: process.History})
		}
		all = append(all, one)
	}
	plan := serving.Decide(all)
	for _, change := range []struct {
		names  []string
		serves bool
	}{{plan.Out, false}, {plan.In, true}} {
		for _, name := range change.names {
			node, _ := p.nodes.Get(name) // it was decided on
			if err := serving.Act(ctx, p.Client, node.Pod, change.serves); err != nil {
				return outcome.Failed(err)
			}
		}
	}
	return outcome.Continue()
}
