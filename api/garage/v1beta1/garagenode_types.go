package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// GarageNode is one node of a Garage store: an identity, what it holds, and its role in the layout (Additive node-local
// pools, Membership state machine).
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=garagenodes,singular=garagenode,scope=Namespaced,shortName=gn,categories=holdfast;garage
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Zone",type=string,JSONPath=`.status.zone`
// +kubebuilder:printcolumn:name="Capacity",type=string,JSONPath=`.spec.capacity`
// +kubebuilder:printcolumn:name="Connected",type=boolean,JSONPath=`.status.connected`
// +kubebuilder:printcolumn:name="InLayout",type=boolean,JSONPath=`.status.inLayout`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52",message="the name is at most 52 characters: the label with a StatefulSet's revision is built from it and ends at 63"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9][-a-z0-9]*$')",message="the name has no dots: the Pod's host name is built from it"
type GarageNode struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the wanted state.
	// +required
	Spec GarageNodeSpec `json:"spec,omitzero"`
	// status is what the controller last saw.
	// +optional
	Status GarageNodeStatus `json:"status,omitzero"`
}

// GarageNodeList is a list of GarageNodes.
//
// +kubebuilder:object:root=true
type GarageNodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GarageNode `json:"items"`
}

// GarageNodeSpec is the wanted state of a node.
//
// +kubebuilder:validation:XValidation:rule="has(self.storage) != has(self.external)",message="give either storage, for a node that runs here, or external, for one that runs elsewhere; not both and not neither"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || has(self.nodeId)",message="an external node needs nodeId: give what garage node id -q prints there"
// +kubebuilder:validation:XValidation:rule="has(self.external) == has(oldSelf.external)",message="a node cannot move out of the Kubernetes cluster or into it; make another GarageNode and drain this one"
// +kubebuilder:validation:XValidation:rule="has(self.nodeId) == has(oldSelf.nodeId) && (!has(self.nodeId) || self.nodeId == oldSelf.nodeId)",message="nodeId cannot be added, changed or removed: it is who the node is; make another GarageNode and drain this one"
type GarageNodeSpec struct {
	// clusterRef is the GarageCluster that the node belongs to, in its namespace. It cannot change.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterRef cannot change: a node's data belongs to one store; make another GarageNode and drain this one"
	ClusterRef ClusterReference `json:"clusterRef,omitzero"`

	// zone is the node's zone in the layout. Garage spreads copies over zones. It may change, which moves data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
	Zone string `json:"zone,omitempty"`

	// capacity is the capacity of the node's role in the layout, in bytes, at least 1Ki: a number with k, M, G, T, P or Ki, Mi, Gi, Ti, Pi.
	// Garage fills nodes in proportion to it. It may change, which moves data.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,14}(\.[0-9]{1,3})?([kMGTP]|[KMGTP]i)?$`
	// +kubebuilder:validation:XValidation:rule="double(self.find('^[0-9.]+')) * {'': 1.0, 'k': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12, 'P': 1e15, 'Ki': 1024.0, 'Mi': 1048576.0, 'Gi': 1073741824.0, 'Ti': 1099511627776.0, 'Pi': 1125899906842624.0}[self.find('[a-zA-Z]*$')] >= 1024.0",message="capacity is at least 1Ki: Garage refuses less"
	Capacity *resource.Quantity `json:"capacity,omitempty"`

	// tags are tags of the node's role besides the controller's own and spec.defaultNodeTags of the GarageCluster, at most 32. They
	// may change.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.all(t, !['cluster:', 'cluster-uid:', 'tier:', 'rpc-address:', 'node-local-pool:', 'kubernetes-node:'].exists(p, t.startsWith(p)))",message="tags that begin with cluster:, cluster-uid:, tier:, rpc-address:, node-local-pool: or kubernetes-node: are the controller's own; name the tag otherwise"
	Tags []string `json:"tags,omitempty"`

	// storage is where a node that runs here keeps what it holds.
	// +optional
	Storage *NodeStorage `json:"storage,omitempty"`

	// external is where a node is reached that runs elsewhere. The controller gives it a role and connects to it.
	// +optional
	External *ExternalNode `json:"external,omitempty"`

	// nodeId is the node's identity, 64 hexadecimal digits. An external node needs it; one that runs here makes its own, and is
	// held when it is another than this. It cannot change.
	// +optional
	// +kubebuilder:validation:MinLength=64
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[a-fA-F0-9]{64}$`
	NodeID string `json:"nodeId,omitempty"`

	// image is Garage's image with its tag or digest; it goes before imageRepository, and both before the GarageCluster's. A change
	// restarts the node.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._/:@+-]*$`
	Image string `json:"image,omitempty"`

	// imageRepository is where the image comes from; tag and digest are those of the controller's default image. A change restarts the
	// node.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^([a-z0-9]+([.-][a-z0-9]+)*(:[0-9]+)?/)?[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`
	ImageRepository string `json:"imageRepository,omitempty"`

	// imagePullPolicy is when the kubelet pulls the image; the GarageCluster's when unset. A change restarts the node.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// imagePullSecrets are Secrets of the namespace with which the image is pulled, at most 16; the GarageCluster's when unset. A change
	// restarts the node.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// serviceAccountName is the ServiceAccount of the Pod; the GarageCluster's when unset. A change restarts the node.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// PodTemplate goes before the GarageCluster's, field by field: what is set here replaces it, except that env, podLabels and
	// podAnnotations are merged by name.
	v1beta2.PodTemplate `json:",inline"`

	// network is how the node is reached.
	// +optional
	Network NodeNetwork `json:"network,omitzero"`

	// logging goes before the GarageCluster's, field by field. A change restarts the node.
	// +optional
	Logging v1beta2.Logging `json:"logging,omitzero"`

	// maintenance stops the controller from changing this node.
	// +optional
	Maintenance v1beta2.Maintenance `json:"maintenance,omitzero"`
}

// ClusterReference names a GarageCluster in the same namespace.
type ClusterReference struct {
	// name is its name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
}

// ExternalNode is where a node is reached that runs elsewhere.
type ExternalNode struct {
	// address is its host name or IP address. It may change.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[0-9A-Za-z:._-]+$`
	Address string `json:"address,omitempty"`
	// port is its RPC port, 1 to 65535; 3901 when unset. It may change.
	// +optional
	// +kubebuilder:default=3901
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// NodeNetwork is how a node is reached.
//
// +kubebuilder:validation:MinProperties=1
type NodeNetwork struct {
	// rpcPublicAddr is the host:port under which the other nodes reach this one; it goes before the GarageCluster's. A change
	// restarts the node.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=262
	// +kubebuilder:validation:Pattern=`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}$`
	RPCPublicAddr string `json:"rpcPublicAddr,omitempty"`
}
