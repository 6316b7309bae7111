package render

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// minCapacity is the least that Garage takes for a role, in bytes.
const minCapacity = 1024

// Role is a node's place in the layout. All of its fields are always written together: a role without a capacity is a gateway's,
// and Garage would drain the node.
type Role struct {
	// Zone is the node's zone.
	Zone string
	// Capacity is in bytes.
	Capacity int64
	// Tags are the controller's own, then the GarageCluster's, then the node's, none of them twice.
	Tags []string
}

// Role is the place in the layout that a GarageNode asks for.
func (p *Plan) Role(node *v1beta1.GarageNode) (Role, error) {
	if err := p.checkNode(node); err != nil {
		return Role{}, err
	}
	bytes, ok := bytesOf(orSize(node.Spec.Capacity, nil))
	if !ok || bytes < minCapacity {
		return Role{}, &UnsupportedError{Node: node.Name, Path: "spec.capacity", Message: "a number of bytes from 1Ki to 64Pi is needed"}
	}
	tags := []string{
		v1beta2.TagCluster + p.cluster.Name + "/" + p.cluster.Namespace,
		v1beta2.TagClusterUID + string(p.cluster.UID),
		v1beta2.TagTier + v1beta2.TierStorage,
	}
	if node.Spec.External == nil {
		tags = append(tags, PodName(node.Name))
	}
	if address, own := p.publicAddr(node); own {
		tags = append(tags, v1beta2.TagRPCAddress+address)
	}
	for _, tag := range slices.Concat(p.cluster.Spec.DefaultNodeTags, node.Spec.Tags) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return Role{Zone: node.Spec.Zone, Capacity: bytes, Tags: tags}, nil
}

// publicAddr is the host:port that a node announces, and whether it leads to that node alone. The node's own goes before the
// group's, and that before the GarageCluster's. A group's with {ordinal} in it is for nodes that the controller made; one without, and
// the GarageCluster's, are every node's and so lead to none for certain.
func (p *Plan) publicAddr(node *v1beta1.GarageNode) (address string, own bool) {
	if own := node.Spec.Network.RPCPublicAddr; own != "" {
		return own, true
	}
	if external := node.Spec.External; external != nil {
		return net.JoinHostPort(external.Address, strconv.Itoa(int(orDefault(external.Port, 3901)))), true
	}
	if group := p.cluster.Spec.Storage.RPCPublicAddr; group != "" {
		ordinal, auto := Ordinal(node)
		switch {
		case !strings.Contains(group, ordinalMark):
			return group, false
		case auto:
			return strings.ReplaceAll(group, ordinalMark, strconv.Itoa(ordinal)), true
		}
	}
	if network := p.cluster.Spec.Network; network != nil {
		return network.RPCPublicAddr, false
	}
	return "", false
}

// ordinalMark stands in a group's address for a node's number.
const ordinalMark = "{ordinal}"

// ZoneRedundancy is the layout's parameter: over how many zones copies are spread at least, and whether over as many as there are.
// Neither is asked for where both are unset.
func ZoneRedundancy(cluster *v1beta2.GarageCluster) (atLeast int32, maximum bool) {
	switch cluster.Spec.Replication.ZoneRedundancyMode {
	case v1beta2.ZoneRedundancyMaximum:
		return 0, true
	case v1beta2.ZoneRedundancyAtLeast:
		return cluster.Spec.Replication.ZoneRedundancyMinZones, false
	}
	return 0, false
}

// Endpoints are the addresses of the store. The Admin API's and the RPC port's are the nodes', whether they are ready or not.
func (p *Plan) Endpoints() v1beta2.Endpoints {
	nodes := fmt.Sprintf("%s.%s.svc", HeadlessName(p.cluster.Name), p.cluster.Namespace)
	return v1beta2.Endpoints{
		S3:    fmt.Sprintf("http://%s.%s.svc:%d", ServiceName(p.cluster.Name), p.cluster.Namespace, p.listeners.s3.port),
		Admin: fmt.Sprintf("http://%s:%d", nodes, p.listeners.admin.port),
		RPC:   fmt.Sprintf("%s:%d", nodes, p.listeners.rpc.port),
	}
}

// Ports are the numbers of the ports that a controller asks: of the Admin API and of the RPC.
func (p *Plan) Ports() (admin, rpc int32) { return p.listeners.admin.port, p.listeners.rpc.port }
