package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// GarageClusterStatus is what the controller last saw (Additive node-local pools, Status).
//
// +kubebuilder:validation:MinProperties=1
type GarageClusterStatus struct {
	// conditions are Ready, QuorumAtRisk, PeerUnreachable, StorageTopologyReady and StorageRolloutReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation that the rest of the status speaks of.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase sums the status up in a word: Pending with no node ready, Degraded with some, Running with all.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// replicas is the number of nodes that are wanted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas *int32 `json:"replicas,omitempty"`
	// readyReplicas is the number of nodes that are known, connected and in the layout.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`
	// storageReplicas is the number of those wanted that hold data.
	// +optional
	// +kubebuilder:validation:Minimum=0
	StorageReplicas *int32 `json:"storageReplicas,omitempty"`
	// storageReadyReplicas is the number of those ready that hold data.
	// +optional
	// +kubebuilder:validation:Minimum=0
	StorageReadyReplicas *int32 `json:"storageReadyReplicas,omitempty"`
	// scaleReplicas is the number of nodes that the controller made, for the scale subresource.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ScaleReplicas *int32 `json:"scaleReplicas,omitempty"`
	// scaleSelector selects their Pods.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ScaleSelector string `json:"scaleSelector,omitempty"`
	// health is Garage's own view of itself.
	// +optional
	Health *ClusterHealth `json:"health,omitempty"`
	// layoutVersion is the version of the layout that is applied.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LayoutVersion *int64 `json:"layoutVersion,omitempty"`
	// layoutHistory are the layouts that Garage still knows.
	// +optional
	LayoutHistory *LayoutHistory `json:"layoutHistory,omitempty"`
	// layoutChange is the change of the layout that was last begun. It is written before the change is, so that what is staged in
	// the layout is known as the controller's own afterwards.
	// +optional
	LayoutChange LayoutChange `json:"layoutChange,omitzero"`
	// storageRollout is the replacement of one node's Pod that is under way. It is written before anything is touched.
	// +optional
	StorageRollout StorageRollout `json:"storageRollout,omitzero"`
	// layoutDiagnosis says in a sentence what the layout waits for.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	LayoutDiagnosis string `json:"layoutDiagnosis,omitempty"`
	// endpoints are the addresses of the store.
	// +optional
	Endpoints Endpoints `json:"endpoints,omitzero"`
	// buildInfo is what the nodes run.
	// +optional
	BuildInfo BuildInfo `json:"buildInfo,omitzero"`
	// clusterId stands for the store: the identity of one of its nodes, kept for as long as that node is there.
	// +optional
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	ClusterID string `json:"clusterId,omitempty"`
	// drainingNodes is the number of nodes that still give data away.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DrainingNodes *int32 `json:"drainingNodes,omitempty"`
	// lastOperation is the last order by annotation, and how it ended.
	// +optional
	LastOperation *LastOperation `json:"lastOperation,omitempty"`
}

// Phase sums a status up in a word.
//
// +kubebuilder:validation:Enum=Pending;Creating;Running;Ready;Degraded;Updating;Deleting;Failed;Unknown
type Phase string

const (
	// PhasePending is before anything is ready.
	PhasePending Phase = "Pending"
	// PhaseRunning is a GarageCluster with every node ready.
	PhaseRunning Phase = "Running"
	// PhaseReady is a GarageNode that is ready.
	PhaseReady Phase = "Ready"
	// PhaseDegraded is a GarageCluster with some nodes ready.
	PhaseDegraded Phase = "Degraded"
	// PhaseDeleting is on the way out.
	PhaseDeleting Phase = "Deleting"
	// PhaseFailed is after something could not be read or written.
	PhaseFailed Phase = "Failed"
)

// ClusterHealth is Garage's own view of itself.
type ClusterHealth struct {
	// status is Garage's word for it: healthy, degraded or unavailable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Status string `json:"status,omitempty"`
	// healthy is true while every storage node is up.
	// +required
	Healthy *bool `json:"healthy,omitempty"`
	// available is true while every partition can be read and written.
	// +required
	Available *bool `json:"available,omitempty"`
	// knownNodes is the number of nodes that were ever seen.
	// +required
	// +kubebuilder:validation:Minimum=0
	KnownNodes *int32 `json:"knownNodes,omitempty"`
	// connectedNodes is the number of nodes that are up.
	// +required
	// +kubebuilder:validation:Minimum=0
	ConnectedNodes *int32 `json:"connectedNodes,omitempty"`
	// storageNodes is the number of nodes of the layout that hold data.
	// +required
	// +kubebuilder:validation:Minimum=0
	StorageNodes *int32 `json:"storageNodes,omitempty"`
	// storageNodesOk is the number of those that are up.
	// +required
	// +kubebuilder:validation:Minimum=0
	StorageNodesOK *int32 `json:"storageNodesOk,omitempty"`
	// partitions is the number of partitions, 256 once there is a layout.
	// +required
	// +kubebuilder:validation:Minimum=0
	Partitions *int32 `json:"partitions,omitempty"`
	// partitionsQuorum is the number of partitions that can be read and written.
	// +required
	// +kubebuilder:validation:Minimum=0
	PartitionsQuorum *int32 `json:"partitionsQuorum,omitempty"`
	// partitionsAllOk is the number of partitions with every node up.
	// +required
	// +kubebuilder:validation:Minimum=0
	PartitionsAllOK *int32 `json:"partitionsAllOk,omitempty"`
}

// LayoutHistory are the layouts that Garage still knows.
type LayoutHistory struct {
	// currentVersion is the version that is applied.
	// +required
	// +kubebuilder:validation:Minimum=0
	CurrentVersion *int64 `json:"currentVersion,omitempty"`
	// minAck is the version that every node knows.
	// +required
	// +kubebuilder:validation:Minimum=0
	MinAck *int64 `json:"minAck,omitempty"`
	// versions are the newest layouts, at most 64, oldest first.
	// +optional
	// +listType=map
	// +listMapKey=version
	// +kubebuilder:validation:MaxItems=64
	Versions []LayoutVersion `json:"versions,omitempty"`
}

// LayoutChange is a change of the layout.
type LayoutChange struct {
	// version is the number of the layout that it makes.
	// +required
	// +kubebuilder:validation:Minimum=1
	Version int64 `json:"version,omitempty"`
	// hash is of its content.
	// +required
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	Hash string `json:"hash,omitempty"`
	// refused is Garage's reason for not making it. It is not tried again before the layout or the change is another one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Refused string `json:"refused,omitempty"`
}

// StorageRollout is the replacement of one node's Pod (Additive node-local pools, Parent-controlled workload rollout).
type StorageRollout struct {
	// garageNodeName is the node's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	GarageNodeName string `json:"garageNodeName,omitempty"`
	// garageNodeUid is the GarageNode's UID.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	GarageNodeUID types.UID `json:"garageNodeUid,omitempty"`
	// garageNodeId is the identity that the new Pod has to have.
	// +required
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	GarageNodeID string `json:"garageNodeId,omitempty"`
	// previousPodUid is the Pod that goes, or has gone.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	PreviousPodUID types.UID `json:"previousPodUid,omitempty"`
	// workloadUid is the StatefulSet that makes the new Pod.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	WorkloadUID types.UID `json:"workloadUid,omitempty"`
	// desiredConfigHash is of the garage.toml that the new Pod starts with.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	DesiredConfigHash string `json:"desiredConfigHash,omitempty"`
	// desiredPodSpecHash is of everything else that the new Pod starts with.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	DesiredPodSpecHash string `json:"desiredPodSpecHash,omitempty"`
	// persistentVolumeClaims are the node's claims, which are held until the new Pod is back.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	PersistentVolumeClaims []KeptClaim `json:"persistentVolumeClaims,omitempty"`
	// retiredWorkloadUids are StatefulSets of the node that were replaced meanwhile. At 32 the replacement stops.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	RetiredWorkloadUIDs []string `json:"retiredWorkloadUids,omitempty"`
	// recoveryRequest is the value of the annotation recover-storage-rollout that was last obeyed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	RecoveryRequest string `json:"recoveryRequest,omitempty"`
}

// KeptClaim is a claim that is held while its node's Pod is replaced.
type KeptClaim struct {
	// name is the claim's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// uid is its UID.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	UID types.UID `json:"uid,omitempty"`
}

// LayoutVersion is one layout.
type LayoutVersion struct {
	// version is its number.
	// +required
	// +kubebuilder:validation:Minimum=0
	Version *int64 `json:"version,omitempty"`
	// status is Garage's word for it: Current, Draining or Historical.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Status string `json:"status,omitempty"`
	// storageNodes is the number of its nodes that hold data.
	// +required
	// +kubebuilder:validation:Minimum=0
	StorageNodes *int32 `json:"storageNodes,omitempty"`
	// gatewayNodes is the number of those that do not.
	// +required
	// +kubebuilder:validation:Minimum=0
	GatewayNodes *int32 `json:"gatewayNodes,omitempty"`
}

// Endpoints are the addresses of a store.
//
// +kubebuilder:validation:MinProperties=1
type Endpoints struct {
	// s3 is the URL of the S3 API.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	S3 string `json:"s3,omitempty"`
	// admin is the URL of the Admin API.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Admin string `json:"admin,omitempty"`
	// rpc is the host:port under which the nodes' addresses are found.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	RPC string `json:"rpc,omitempty"`
}

// BuildInfo is what the nodes run.
//
// +kubebuilder:validation:MinProperties=1
type BuildInfo struct {
	// version is Garage's version as the first node that is up reports it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`
}

// LastOperation is the last order by annotation. It is written before the order is carried out, which happens once: whether it
// succeeds or not, the annotation is taken away afterwards, and to set it again is another order.
type LastOperation struct {
	// type is the annotation without its prefix.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Type string `json:"type,omitempty"`
	// value is the annotation's, or what there is room for of it.
	// +required
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=1024
	Value *string `json:"value,omitempty"`
	// hash is of what an order about the layout is carried out on.
	// +optional
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	Hash string `json:"hash,omitempty"`
	// triggeredAt is when it was begun.
	// +required
	TriggeredAt metav1.Time `json:"triggeredAt,omitzero"`
	// succeeded says whether it did what it was to do; unset while it is being carried out.
	// +optional
	Succeeded *bool `json:"succeeded,omitempty"`
	// error says why not.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Error string `json:"error,omitempty"`
	// consumed says that its annotation was taken away: one like it is another order.
	// +optional
	Consumed *bool `json:"consumed,omitempty"`
}
