package garagefake

import (
	"maps"
	"slices"
)

func (n *node) getStatus([]byte) (any, error) {
	nodes := map[string]object{}
	unknown := func(id string) object {
		return object{
			"id": id, "garageVersion": nil, "addr": nil, "hostname": nil, "isUp": false, "lastSeenSecsAgo": nil,
			"role": nil, "draining": false,
		}
	}
	known := func(id, addr string) object {
		node := unknown(id)
		node["garageVersion"], node["hostname"], node["addr"] = n.cluster.garageVersion(), "host", addr
		node["dataPartition"], node["metadataPartition"] = space, space
		return node
	}
	nodes[n.id] = known(n.id, n.cluster.RPC(n.at))
	nodes[n.id]["isUp"], nodes[n.id]["lastSeenSecsAgo"] = true, 0
	for id, peer := range n.peers {
		nodes[id] = unknown(id)
		if peer.seen.IsZero() {
			continue
		}
		nodes[id] = known(id, "")
		nodes[id]["addr"] = nil
		if peer.up {
			nodes[id]["addr"] = peer.addr
		}
		nodes[id]["isUp"] = peer.up
		nodes[id]["lastSeenSecsAgo"] = int(n.cluster.last.Sub(peer.seen).Seconds())
	}
	for _, id := range n.history.members(false) {
		if nodes[id] == nil {
			nodes[id] = unknown(id)
		}
		if role, has := n.history.current().roles[id]; has {
			nodes[id]["role"] = role
		}
		nodes[id]["draining"] = n.draining(id, true)
	}
	list := []object{}
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		list = append(list, nodes[id])
	}
	return object{"layoutVersion": n.history.current().number, "nodes": list}, nil
}

func (n *node) getHealth([]byte) (any, error) {
	connected := 1
	for _, peer := range n.peers {
		if peer.up {
			connected++
		}
	}
	up := "storageNodesUp"
	if n.cluster.minor == 0 {
		up = "storageNodesOk"
	}
	health := object{
		"status": "unavailable", "knownNodes": len(n.peers) + 1, "connectedNodes": connected, "storageNodes": 0, up: 0,
		"partitions": 0, "partitionsQuorum": 0, "partitionsAllOk": 0,
	}
	if n.history.current().number == 0 {
		if n.cluster.minor == 0 {
			health["status"], health["partitions"] = "healthy", partitions
		}
		return health, nil
	}
	storage := n.history.members(true)
	there := 0
	for _, id := range storage {
		if n.up(id) {
			there++
		}
	}
	writable, whole := n.partitions()
	health["storageNodes"], health[up] = len(storage), there
	health["partitions"], health["partitionsQuorum"], health["partitionsAllOk"] = partitions, writable, whole
	switch {
	case whole == partitions && there == len(storage):
		health["status"] = "healthy"
	case writable == partitions:
		health["status"] = "degraded"
	}
	return health, nil
}

// partitions counts those of which enough nodes of each active version are connected to write, and those of which all are.
func (n *node) partitions() (writable, whole int) {
	factor := n.cluster.options.ReplicationFactor
	quorum := factor + 1 - (factor+1)/2
	for partition := range partitions {
		enough, all := true, true
		for _, v := range n.history.active {
			up := 0
			for _, id := range v.set(partition) {
				if n.up(id) {
					up++
				}
			}
			enough, all = enough && up >= quorum, all && up == factor
		}
		if enough {
			writable++
		}
		if all {
			whole++
		}
	}
	return writable, whole
}
