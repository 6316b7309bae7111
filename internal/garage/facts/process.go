package facts

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// A Process is what one node's Garage says, asked at the Pod's own address.
type Process struct {
	// ID is who it says it is.
	ID adminapi.NodeID
	// PodUID and Restarts are the life of the process that was asked, as the Pod showed it before.
	PodUID   types.UID
	Restarts int32
	Info     adminapi.NodeInfo
	Status   adminapi.ClusterStatus
	Health   adminapi.ClusterHealth
	Layout   adminapi.Layout
	History  adminapi.LayoutHistory
}

// Processes are what the nodes say, by the GarageNode's name. One that is not there was not asked.
type Processes map[string]fact.Fact[Process]

// Of is what that node says.
func (p Processes) Of(name string) fact.Fact[Process] {
	said, asked := p[name]
	if !asked {
		return fact.Unknown[Process]("not asked")
	}
	return said
}

// Own is what the node's process says if it is who is recorded: of another one nothing counts for the node.
func (p Processes) Own(node Node) fact.Fact[Process] {
	said := p.Of(node.Name())
	if process, known := said.Get(); known && process.ID != Recorded(node.GarageNode) {
		return fact.Unknown[Process]("its process is not who is recorded")
	}
	return said
}

// Still are what those say of which the nodes, read again, show the same life as when they were asked: an answer may take long.
func (p Processes) Still(nodes Nodes) Processes {
	found := Processes{}
	for name, said := range p {
		node, _ := nodes.Get(name)
		if process, known := said.Get(); known && (node.Pod == nil || node.Pod.UID != process.PodUID || node.Restarts() != process.Restarts) {
			said = fact.Unknown[Process]("what was asked does not run any more")
		}
		found[name] = said
	}
	return found
}

// API is what a member is asked over. *adminapi.Client is one.
type API interface {
	GetNodeInfo(ctx context.Context) (adminapi.Answer[adminapi.NodeInfo], error)
	GetClusterStatus(ctx context.Context) (adminapi.ClusterStatus, error)
	GetClusterHealth(ctx context.Context) (adminapi.ClusterHealth, error)
	GetClusterLayout(ctx context.Context) (adminapi.Layout, error)
	GetClusterLayoutHistory(ctx context.Context) (adminapi.LayoutHistory, error)
}

// Ask makes the API of the process in the node's Pod, which has an address.
type Ask func(ctx context.Context, node Node) (API, error)

// AdminURL is the address of the node's own Admin API, empty while its Pod has none.
func (n Node) AdminURL(port int32) string {
	if n.Address() == "" {
		return ""
	}
	return "http://" + net.JoinHostPort(n.Address(), strconv.Itoa(int(port)))
}

// Observe asks every node that has a Pod, all at the same time. External nodes have no Admin API that could be asked.
func Observe(ctx context.Context, ask Ask, nodes Nodes) Processes {
	var (
		wait  sync.WaitGroup
		mu    sync.Mutex
		found = Processes{}
	)
	for _, node := range nodes {
		if node.External() {
			continue
		}
		wait.Go(func() {
			said := observe(ctx, ask, node)
			mu.Lock()
			defer mu.Unlock()
			found[node.Name()] = said
		})
	}
	wait.Wait()
	return found
}

func observe(ctx context.Context, ask Ask, node Node) fact.Fact[Process] {
	switch {
	case node.Pod == nil:
		return fact.Unknown[Process](fmt.Sprintf("Pod %s does not exist", render.PodName(node.Name())))
	case node.Address() == "":
		return fact.Unknown[Process](fmt.Sprintf("Pod %s has no address", node.Pod.Name))
	}
	api, err := ask(ctx, node)
	if err != nil {
		return fact.Unknown[Process](err.Error())
	}
	said := Process{PodUID: node.Pod.UID, Restarts: node.Restarts()}
	// Who it is comes first: another process may be behind the address by now, and then nothing else it says matters.
	info, err := api.GetNodeInfo(ctx)
	if err == nil {
		said.ID, said.Info = info.Node, info.Value
		said.Status, err = api.GetClusterStatus(ctx)
	}
	if err == nil {
		said.Health, err = api.GetClusterHealth(ctx)
	}
	if err == nil {
		said.Layout, err = api.GetClusterLayout(ctx)
	}
	if err == nil {
		said.History, err = api.GetClusterLayoutHistory(ctx)
	}
	if err != nil {
		return fact.Unknown[Process](err.Error())
	}
	return fact.Known(said)
}
