package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// GarageNodeStatus is what the controller last saw of a node.
//
// +kubebuilder:validation:MinProperties=1
type GarageNodeStatus struct {
	// conditions are Ready, and DrainPrepared while its deletion is held.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation that the rest of the status speaks of.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase sums the status up in a word: Pending, Ready, Failed or Deleting.
	// +optional
	Phase v1beta2.Phase `json:"phase,omitempty"`
	// nodeId is the node's identity, 64 hexadecimal digits. It is written before the node is first given a role, and stays.
	// +optional
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	NodeID string `json:"nodeId,omitempty"`
	// observedPodUid is the Pod that was last asked for it and answered with it.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ObservedPodUID types.UID `json:"observedPodUid,omitempty"`
	// connected says whether the others reach the node.
	// +optional
	Connected *bool `json:"connected,omitempty"`
	// inLayout says whether the node has a role in the layout that is applied.
	// +optional
	InLayout *bool `json:"inLayout,omitempty"`
	// everInLayout is true from before the node is first given a role, and stays so. A node that never had one holds nothing that
	// others do not have.
	// +optional
	EverInLayout *bool `json:"everInLayout,omitempty"`
	// teardownSince is since when the GarageCluster is seen to be deleted or gone. The node may be deleted with it, although what it
	// holds is nowhere else. It goes away when the node runs again.
	// +optional
	TeardownSince *metav1.Time `json:"teardownSince,omitempty"`
	// drainProof is there once everything on the node is on the others.
	// +optional
	DrainProof DrainProof `json:"drainProof,omitzero"`
	// address is the host:port under which the others reach it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=262
	Address string `json:"address,omitempty"`
	// hostname is the node's name for itself.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Hostname string `json:"hostname,omitempty"`
	// version is Garage's version on it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`
	// zone is the zone of its role.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Zone string `json:"zone,omitempty"`
	// tags are the tags of its role.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Tags []string `json:"tags,omitempty"`
	// partitions is the number of partitions of its role.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Partitions *int32 `json:"partitions,omitempty"`
	// layoutVersion is the layout that these speak of.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LayoutVersion *int64 `json:"layoutVersion,omitempty"`
	// dataPartition is the file system with its blocks.
	// +optional
	DataPartition *Partition `json:"dataPartition,omitempty"`
	// metadataPartition is the file system with its tables.
	// +optional
	MetadataPartition *Partition `json:"metadataPartition,omitempty"`
	// managedPVCs are the claims that are this node's and no other's, at most 33. Claims of a user's are none of them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=33
	ManagedPVCs []ManagedPVC `json:"managedPVCs,omitempty"`
}

// Partition is a file system of a node.
type Partition struct {
	// total is its size, in bytes.
	// +required
	Total *resource.Quantity `json:"total,omitempty"`
	// available is what is free of it, in bytes.
	// +required
	Available *resource.Quantity `json:"available,omitempty"`
	// usedPercent is what is taken, in percent.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	UsedPercent *int32 `json:"usedPercent,omitempty"`
}

// ManagedPVC is a claim of a node.
type ManagedPVC struct {
	// name is the claim's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// uid is the claim's UID. Another claim of the name is not the node's.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	UID types.UID `json:"uid,omitempty"`
}

// DrainProof says that a node holds nothing that is needed, and of which one it was seen.
type DrainProof struct {
	// transactionId is the drain that it ends.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	TransactionID string `json:"transactionId,omitempty"`
	// nodeId is the identity that was drained. Of another one it proves nothing.
	// +required
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	NodeID string `json:"nodeId,omitempty"`
	// podUid is the Pod whose process was asked; unset of a node that runs elsewhere.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	PodUID types.UID `json:"podUid,omitempty"`
	// layoutVersion is the layout, without the node, that everything was seen in.
	// +required
	// +kubebuilder:validation:Minimum=1
	LayoutVersion int64 `json:"layoutVersion,omitempty"`
	// roleHash is a digest of that layout's roles.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	RoleHash string `json:"roleHash,omitempty"`
	// completedAt is when the last of it was seen.
	// +required
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}
