package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NatsClusterStatus is what the cluster controller last saw (nats-operator v1 design, 4.7 Status).
//
// +kubebuilder:validation:MinProperties=1
type NatsClusterStatus struct {
	// conditions are Ready, Settled and Progressing, and Deleting while the NatsCluster is held although it is to go.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation that the rest of the status speaks of.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// version is the version that every planned server last reported; it moves when the last of them does.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// replicas is the number of servers that exist.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
	// readyReplicas is the number of servers whose Pod is Ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`
	// endpoints are the addresses of the NATS cluster.
	// +optional
	Endpoints Endpoints `json:"endpoints,omitzero"`
	// config is the configuration that the servers run or are being brought to.
	// +optional
	Config ConfigStatus `json:"config,omitzero"`
	// rollout is there while servers are being restarted.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`
	// jetstream is there with spec.jetstream.
	// +optional
	JetStream *JetStreamStatus `json:"jetstream,omitempty"`
	// servers has one entry per server that exists or is planned.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	Servers []ServerStatus `json:"servers,omitempty"`
}

// Endpoints are the addresses of a NATS cluster.
//
// +kubebuilder:validation:MinProperties=1
type Endpoints struct {
	// client is the URL that clients dial: nats://, or tls:// with spec.tls.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Client string `json:"client,omitempty"`
	// monitor is the URL of the monitoring port, as the NetworkPolicy admits it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Monitor string `json:"monitor,omitempty"`
}

// ConfigStatus is the configuration that the servers run or are being brought to.
//
// +kubebuilder:validation:MinProperties=1
type ConfigStatus struct {
	// revision names everything that a restart brings to the servers: configuration, Pods and certificates.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Revision string `json:"revision,omitempty"`
	// appliedBy says how the servers got it.
	// +optional
	AppliedBy ApplyMethod `json:"appliedBy,omitempty"`
	// restartReason says what asked for the last restart of the servers.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	RestartReason string `json:"restartReason,omitempty"`
}

// ApplyMethod is how a configuration reaches a server.
//
// +kubebuilder:validation:Enum=Reload;Restart
type ApplyMethod string

const (
	// ApplyReload is a configuration that a running server reads again.
	ApplyReload ApplyMethod = "Reload"
	// ApplyRestart is a configuration that reaches a server as it starts.
	ApplyRestart ApplyMethod = "Restart"
)

// RolloutStatus is the journal of a rolling restart. It is written, with the resourceVersion that was decided
// on, before a server is touched.
type RolloutStatus struct {
	// targetRevision is the revision that servers are restarted to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	TargetRevision string `json:"targetRevision,omitempty"`
	// updated are the servers that run it and have proved so.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Updated []string `json:"updated,omitempty"`
	// current is the server whose step has begun and is not yet proved complete. No other server is touched
	// while it is set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Current string `json:"current,omitempty"`
	// pending are the servers still to be restarted, in order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Pending []string `json:"pending,omitempty"`
	// gate is there while the next step has to wait.
	// +optional
	Gate *GateStatus `json:"gate,omitempty"`
}

// GateStatus says what the next step of a rollout waits for.
type GateStatus struct {
	// waitingFor is the first fact that does not hold.
	// +required
	WaitingFor GateName `json:"waitingFor,omitempty"`
	// since is when the gate was first seen closed for this step.
	// +required
	Since metav1.Time `json:"since,omitzero"`
}

// GateName is a fact that must hold before the next server is touched.
//
// +kubebuilder:validation:Enum=Settled;Ready;TargetRevision
type GateName string

const (
	// GateSettled waits until every Raft group has a leader and every member is online and current.
	GateSettled GateName = "Settled"
	// GateReady waits until every server's Pod is Ready at its template.
	GateReady GateName = "Ready"
	// GateTargetRevision waits until every server that was restarted reports the target revision.
	GateTargetRevision GateName = "TargetRevision"
)

// JetStreamStatus is the state of JetStream.
//
// +kubebuilder:validation:MinProperties=1
type JetStreamStatus struct {
	// metaLeader is the server that leads the meta group; empty while none does, and with one server.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	MetaLeader string `json:"metaLeader,omitempty"`
	// limits are the limits per server that were rendered; one that is left to nats-server is absent.
	// +optional
	Limits JetStreamEffectiveLimits `json:"limits,omitzero"`
}

// JetStreamEffectiveLimits are the rendered limits per server.
//
// +kubebuilder:validation:MinProperties=1
type JetStreamEffectiveLimits struct {
	// maxMemoryStore is the memory store's bound, in bytes.
	// +optional
	MaxMemoryStore *resource.Quantity `json:"maxMemoryStore,omitempty"`
	// maxFileStore is the file store's bound, in bytes.
	// +optional
	MaxFileStore *resource.Quantity `json:"maxFileStore,omitempty"`
}

// ServerStatus is one server.
type ServerStatus struct {
	// name is the server's name, which is also its StatefulSet's.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// version is the nats-server version that it reports.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// ready says that its Pod is Ready.
	// +required
	Ready *bool `json:"ready,omitempty"`
	// configRevision is the revision that it reports.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ConfigRevision string `json:"configRevision,omitempty"`
}
