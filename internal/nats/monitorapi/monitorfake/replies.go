package monitorfake

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// object is a JSON object.
type object = map[string]any

// started is the one moment that all replies speak of: a cluster at rest answers the same every time.
const started = "2026-11-01T08:00:00.123456789Z"

func sortedBy[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

func (c Cluster) varz(of Server, id string) object {
	return object{
		"server_id": id, "server_name": of.Name, "version": of.Version, "proto": 1, "go": "go1.26.8",
		"start": started, "now": started, "uptime": "1d2h3m4s", "mem": 19000000, "cores": 2, "gomaxprocs": 2,
		"cpu": 0.5, "connections": 3, "routes": 4 * (len(c.Servers) - 1), "remotes": len(c.Servers) - 1, "slow_consumers": 0,
		"config_load_time": started, "config_digest": "sha256:00", "system_account": "$SYS",
		"metadata": object{"config_revision": of.ConfigRevision},
	}
}

func (c Cluster) jsz(id string, at, accounts int) object {
	reply := object{
		"memory": 0, "storage": 0, "reserved_memory": 0, "reserved_storage": 0, "accounts": accounts,
		"api": object{"level": 5, "total": 8, "errors": 0}, "server_id": id, "now": started,
		"streams": len(c.Streams), "total": accounts,
	}
	if len(c.Servers) > 1 {
		members := make([]int, len(c.Servers))
		for i := range members {
			members[i] = i
		}
		reply["meta_cluster"] = object{
			"name": "demo", "leader": c.Servers[0].Name, "replicas": c.peers(members, at), "cluster_size": len(c.Servers),
			"quorum_needed": len(c.Servers)/2 + 1, "pending": 0, "pending_requests": 0, "pending_infos": 0,
		}
	}
	return reply
}

func account(name string, streams []any) object {
	return object{
		"name": name, "id": name, "memory": 0, "storage": 0, "accounts": 0, "ha_assets": 0,
		"reserved_memory": uint64(1<<64 - 1), "reserved_storage": uint64(1<<64 - 1),
		"api": object{"level": 0, "total": 4, "errors": 0}, "stream_detail": streams,
	}
}

func (c Cluster) stream(s Stream, at int, copies []int) object {
	reply := object{
		"name": s.Name, "created": started, "cluster": c.group("S", at, copies),
		"config": object{
			"name": s.Name, "subjects": []string{s.Name + ".>"}, "retention": "limits", "max_consumers": -1, "max_msgs": -1,
			"max_bytes": -1, "max_age": 0, "max_msgs_per_subject": -1, "max_msg_size": -1, "discard": "old",
			"storage": "file", "num_replicas": s.Replicas, "duplicate_window": 120000000000, "compression": "none",
			"allow_direct": false, "mirror_direct": false, "sealed": false, "deny_delete": false, "deny_purge": false,
			"allow_rollup_hdrs": false, "consumer_limits": object{}, "allow_msg_ttl": false,
			"metadata": object{"_nats.req.level": "0"},
		},
		"state": object{
			"messages": 1000, "bytes": 1048576, "first_seq": 1, "first_ts": started, "last_seq": 1000, "last_ts": started,
			"consumer_count": s.Consumers,
		},
	}
	var consumers []any
	for i := range s.Consumers {
		consumers = append(consumers, c.consumer(s, fmt.Sprintf("consumer-%d", i), at, copies))
	}
	reply["consumer_detail"] = consumers
	return reply
}

func (c Cluster) consumer(s Stream, name string, at int, copies []int) object {
	reply := object{
		"stream_name": s.Name, "name": name, "created": started,
		"config": object{
			"durable_name": name, "name": name, "deliver_policy": "all", "ack_policy": "explicit", "ack_wait": 30000000000,
			"max_deliver": -1, "replay_policy": "instant", "max_waiting": 512, "max_ack_pending": 1000, "num_replicas": 0,
			"metadata": object{"_nats.req.level": "0"},
		},
		"delivered":       object{"consumer_seq": 1000, "stream_seq": 1000},
		"ack_floor":       object{"consumer_seq": 1000, "stream_seq": 1000},
		"num_ack_pending": 0, "num_redelivered": 0, "num_waiting": 0, "num_pending": 0, "ts": started,
	}
	if len(c.Servers) > 1 {
		reply["cluster"] = c.group("C", at, copies)
	}
	return reply
}

// group is what server number at says of a group whose first member leads.
func (c Cluster) group(kind string, at int, copies []int) object {
	leader := c.Servers[copies[0]].Name
	if len(c.Servers) == 1 {
		return object{"leader": leader}
	}
	if len(copies) == 1 {
		return object{"name": "demo", "leader": leader}
	}
	return object{
		"name": "demo", "raft_group": fmt.Sprintf("%s-R%dF-C91l2Ubw", kind, len(copies)), "leader": leader,
		"leader_since": started, "system_account": true, "traffic_account": "$SYS", "replicas": c.peers(copies, at),
	}
}

// peers lists the other members. As in earnest, a follower calls all but the leader, which comes first, not current.
func (c Cluster) peers(members []int, at int) []any {
	var peers []any
	for i, member := range members {
		if member == at {
			continue
		}
		current := members[0] == at || i == 0
		peer := object{"name": c.Servers[member].Name, "current": current, "active": 0, "peer": "j196Xh6z"}
		if current {
			peer["active"] = 247741157
		}
		peers = append(peers, peer)
	}
	return peers
}
