package monitorapi

import "time"

// Varz is what /varz says about one server process.
type Varz struct {
	// ID is drawn anew at every start of the process.
	ID string `json:"server_id"`
	// Name is server_name of the configuration; nats-server puts the ID here when none is configured.
	Name string `json:"server_name"`
	// Version is the version of the binary, without a leading v.
	Version string `json:"version"`
	// Start is when the process started.
	Start time.Time `json:"start"`
	// ConfigDigest is the SHA-256 of the loaded configuration as nats-server parsed it, and Loaded when that was.
	ConfigDigest string    `json:"config_digest,omitempty"`
	Loaded       time.Time `json:"config_load_time,omitzero"`
	// Remotes is the number of other servers that this one has routes to.
	Remotes int `json:"remotes"`
	// Metadata is server_metadata of the loaded configuration.
	Metadata map[string]string `json:"metadata,omitempty"`
	// CertificateEnds is when the certificate that the client listener shows now ends; zero without one.
	CertificateEnds time.Time `json:"tls_cert_not_after,omitzero"`
	// Cluster is about the route listener.
	Cluster ClusterVarz `json:"cluster"`
}

// ClusterVarz is what /varz says about the route listener.
type ClusterVarz struct {
	// CertificateEnds is Varz.CertificateEnds of this listener.
	CertificateEnds time.Time `json:"tls_cert_not_after,omitzero"`
}

// Jsz is one page of /jsz: what one server knows of JetStream.
type Jsz struct {
	// ServerID equals Varz.ID of the same process.
	ServerID string `json:"server_id"`
	// Disabled is true while JetStream is not up: not configured, still starting, or turned off after a disk error.
	Disabled bool `json:"disabled,omitempty"`
	// Meta is nil on a standalone server, and on a clustered one until its disk has been read.
	Meta *Meta `json:"meta_cluster,omitempty"`
	// Accounts are the accounts of this page, sorted by ID.
	Accounts []Account `json:"account_details,omitempty"`
	// Total counts the accounts of all pages.
	Total int `json:"total"`
}

// Meta is the meta group, which decides where streams and consumers are placed, as one server sees it.
type Meta struct {
	// Leader is the name of the server that this one takes for the leader; empty when it knows none.
	Leader string `json:"leader,omitempty"`
	// Replicas are the other members; the server itself is among them only when it knows no leader. Only the leader's
	// own list says who is current.
	Replicas []Peer `json:"replicas,omitempty"`
}

// Account is one account's streams on one server.
type Account struct {
	// ID is the account's name, or its public key where a NATS operator signed it.
	ID string `json:"id"`
	// Name is what people call it: the name in its JWT, or the ID. Two accounts may share it.
	Name string `json:"name"`
	// Streams are those of which this server holds a copy.
	Streams []Stream `json:"stream_detail,omitempty"`
}

// Stream is one copy of a stream.
type Stream struct {
	Name string `json:"name"`
	// Config is nil when the configuration was not asked for; Client.Jsz always asks.
	Config *StreamConfig `json:"config,omitempty"`
	// Cluster is who leads and who takes part.
	Cluster *Group `json:"cluster,omitempty"`
	// Consumers are those whose state this server holds.
	Consumers []Consumer `json:"consumer_detail,omitempty"`
}

// StreamConfig is the part of a stream's configuration that says how many copies are wanted.
type StreamConfig struct {
	Replicas  int    `json:"num_replicas"`
	Retention string `json:"retention"`
}

// Consumer is one copy of a consumer's state.
type Consumer struct {
	Name   string          `json:"name"`
	Config *ConsumerConfig `json:"config,omitempty"`
	// Cluster is nil on a standalone server, and on a clustered one that has read the consumer from its disk but has
	// not heard from the meta group yet.
	Cluster *Group `json:"cluster,omitempty"`
}

// ConsumerConfig is the part of a consumer's configuration that says how many copies are wanted.
type ConsumerConfig struct {
	Durable string `json:"durable_name,omitempty"`
	// Replicas 0 leaves it to the stream: see Consumer.WantedReplicas.
	Replicas int `json:"num_replicas"`
}

// Group is the Raft group of a stream or consumer as one of its members sees it.
type Group struct {
	// RaftGroup is the group's name, or empty while this server runs no Raft node for it: because there is one copy
	// only, or because the server is still starting. In both cases the server names itself as Leader.
	RaftGroup string `json:"raft_group,omitempty"`
	// Leader is the name of the server that this one takes for the leader; empty when it knows none.
	Leader string `json:"leader,omitempty"`
	// Replicas are the other members, with this server among them only when it knows no leader.
	Replicas []Peer `json:"replicas,omitempty"`
}

// Peer is one member of a group in somebody else's list.
type Peer struct {
	Name string `json:"name"`
	// Current: heard of lately and caught up. Only a leader knows.
	Current bool `json:"current"`
	// Offline: no connection to that server.
	Offline bool `json:"offline,omitempty"`
}

// retentionLimits is nats-server's name for the retention policy that keeps messages no matter who has read them.
const retentionLimits = "limits"

// WantedReplicas is how many copies the configuration asks for, 0 when the configuration was not read.
func (s Stream) WantedReplicas() int {
	if s.Config == nil {
		return 0
	}
	return max(s.Config.Replicas, 1)
}

// WantedReplicas is how many copies of the consumer's state are asked for on that stream, 0 when either configuration
// was not read. It follows nats-server: a consumer that sets no number has as many copies as its stream, but for an
// ephemeral one on a stream with limits retention, which has one.
func (c Consumer) WantedReplicas(on Stream) int {
	stream := on.WantedReplicas()
	if stream == 0 || c.Config == nil {
		return 0
	}
	if c.Config.Replicas == 0 && c.Config.Durable == "" && on.Config.Retention == retentionLimits {
		return 1
	}
	if c.Config.Replicas == 0 || c.Config.Replicas > stream {
		return stream
	}
	return c.Config.Replicas
}
