package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GarageCluster is one Garage store: its storage nodes, their settings, and the layout that they share (Additive
// node-local pools, Decision).
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.storage.replicas,statuspath=.status.scaleReplicas,selectorpath=.status.scaleSelector
// +kubebuilder:resource:path=garageclusters,singular=garagecluster,scope=Namespaced,shortName=gc,categories=holdfast;garage
// +kubebuilder:printcolumn:name="Storage",type=integer,JSONPath=`.status.storageReplicas`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Zone",type=string,JSONPath=`.spec.zone`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Diagnosis",type=string,priority=1,JSONPath=`.status.layoutDiagnosis`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 41",message="the name is at most 41 characters: the names of nodes are built from it, and the label with a StatefulSet's revision ends at 63"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z][-a-z0-9]*$')",message="the name begins with a letter and has no dots: Services are named after it"
type GarageCluster struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the wanted state.
	// +required
	Spec GarageClusterSpec `json:"spec,omitzero"`
	// status is what the controller last saw.
	// +optional
	Status GarageClusterStatus `json:"status,omitzero"`
}

// GarageClusterList is a list of GarageClusters.
//
// +kubebuilder:object:root=true
type GarageClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GarageCluster `json:"items"`
}

// GarageClusterSpec is the wanted state of a Garage store.
//
// +kubebuilder:validation:XValidation:rule="(has(self.storage.layoutPolicy) ? self.storage.layoutPolicy : self.layoutPolicy) == 'Manual' || self.storage.replicas == 0 || (has(self.storage.metadata) && has(self.storage.data))",message="storage.metadata and storage.data are needed while storage.replicas is above 0; give both, or set storage.replicas to 0 when the GarageCluster is made"
// +kubebuilder:validation:XValidation:rule="(has(oldSelf.storage.layoutPolicy) ? oldSelf.storage.layoutPolicy : oldSelf.layoutPolicy) != 'Manual' || (has(self.storage.layoutPolicy) ? self.storage.layoutPolicy : self.layoutPolicy) == 'Manual'",message="the storage group cannot go back from Manual to Auto: the GarageNodes are somebody else's by now; keep Manual, or make a new GarageCluster"
// +kubebuilder:validation:XValidation:rule="[[has(self.network) ? (has(self.network.rpcBindAddress) ? int(self.network.rpcBindAddress.substring(self.network.rpcBindAddress.lastIndexOf(':') + 1)) : self.network.rpcBindPort) : 3901, has(self.s3Api) ? (has(self.s3Api.bindAddress) ? int(self.s3Api.bindAddress.substring(self.s3Api.bindAddress.lastIndexOf(':') + 1)) : self.s3Api.bindPort) : 3900, has(self.webApi) ? (!self.webApi.enabled ? -1 : has(self.webApi.bindAddress) ? int(self.webApi.bindAddress.substring(self.webApi.bindAddress.lastIndexOf(':') + 1)) : self.webApi.bindPort) : 3902, has(self.admin) ? (has(self.admin.bindAddress) ? int(self.admin.bindAddress.substring(self.admin.bindAddress.lastIndexOf(':') + 1)) : self.admin.bindPort) : 3903, has(self.k2vApi) ? (has(self.k2vApi.bindAddress) ? int(self.k2vApi.bindAddress.substring(self.k2vApi.bindAddress.lastIndexOf(':') + 1)) : self.k2vApi.bindPort) : -2]].all(ports, ports.all(p, ports.exists_one(q, q == p)))",message="rpc, s3, web, admin and k2v listen in one Pod and each needs a port of its own: change one of network.rpcBindPort (3901), s3Api.bindPort (3900), webApi.bindPort (3902), admin.bindPort (3903), k2vApi.bindPort (3904), or the bindAddress that stands for it"
// +kubebuilder:validation:XValidation:rule="(has(self.admin) ? (has(self.admin.bindAddress) ? int(self.admin.bindAddress.substring(self.admin.bindAddress.lastIndexOf(':') + 1)) : self.admin.bindPort) : 3903) == (has(oldSelf.admin) ? (has(oldSelf.admin.bindAddress) ? int(oldSelf.admin.bindAddress.substring(oldSelf.admin.bindAddress.lastIndexOf(':') + 1)) : oldSelf.admin.bindPort) : 3903)",message="the port of the Admin API cannot change: the controller proves by it what each node holds; put the old port back, or make a new GarageCluster"
// +kubebuilder:validation:XValidation:rule="(has(self.network) && has(self.network.rpcSecretRef) ? self.network.rpcSecretRef.name + '/' + (has(self.network.rpcSecretRef.key) ? self.network.rpcSecretRef.key : 'rpc-secret') : '-') == (has(oldSelf.network) && has(oldSelf.network.rpcSecretRef) ? oldSelf.network.rpcSecretRef.name + '/' + (has(oldSelf.network.rpcSecretRef.key) ? oldSelf.network.rpcSecretRef.key : 'rpc-secret') : '-')",message="network.rpcSecretRef cannot be added, changed or removed: nodes with two RPC secrets do not find each other; put the old one back, or make a new GarageCluster"
// +kubebuilder:validation:XValidation:rule="(has(self.database) ? self.database.engine : 'lmdb') == (has(oldSelf.database) ? oldSelf.database.engine : 'lmdb')",message="database.engine cannot change: every node would begin with an empty database; put the old engine back, or make a new GarageCluster and copy the buckets over"
type GarageClusterSpec struct {
	// storage are the nodes that hold data.
	// +required
	Storage StorageSpec `json:"storage,omitzero"`

	// layoutPolicy says who makes the GarageNodes: with Auto, the default, the controller makes storage.replicas of
	// them, with Manual users make each. storage.layoutPolicy goes before it. Auto may become Manual, and then the
	// GarageNodes stay; Manual stays.
	// +optional
	// +kubebuilder:default=Auto
	// +kubebuilder:validation:XValidation:rule="self == oldSelf || oldSelf != 'Manual'",message="layoutPolicy cannot go back from Manual to Auto: the GarageNodes are somebody else's by now; keep Manual, or make a new GarageCluster"
	LayoutPolicy LayoutPolicy `json:"layoutPolicy,omitempty"`

	// zone is the zone in the layout of every node that the controller makes; default when unset. Garage spreads
	// copies over zones. It may change, which moves data.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
	Zone string `json:"zone,omitempty"`

	// defaultNodeTags are tags that every node's role in the layout carries besides the controller's own, at most 32. They
	// may change.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.all(t, !['cluster:', 'cluster-uid:', 'tier:', 'rpc-address:', 'node-local-pool:', 'kubernetes-node:'].exists(p, t.startsWith(p)))",message="tags that begin with cluster:, cluster-uid:, tier:, rpc-address:, node-local-pool: or kubernetes-node: are the controller's own; name the tag otherwise"
	DefaultNodeTags []string `json:"defaultNodeTags,omitempty"`

	// image is Garage's image with its tag or digest; it goes before imageRepository. The controller's default when both
	// are unset. A change restarts the nodes one at a time.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._/:@+-]*$`
	Image string `json:"image,omitempty"`

	// imageRepository is where the image comes from; tag and digest are those of the controller's default image. A change
	// restarts the nodes one at a time.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^([a-z0-9]+([.-][a-z0-9]+)*(:[0-9]+)?/)?[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`
	ImageRepository string `json:"imageRepository,omitempty"`

	// imagePullPolicy is when a kubelet pulls the image; IfNotPresent when unset. A change restarts the nodes one at a
	// time.
	// +optional
	// +kubebuilder:default=IfNotPresent
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// imagePullSecrets are Secrets of the namespace with which the image is pulled, at most 16. A change restarts the
	// nodes one at a time.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// serviceAccountName is the ServiceAccount of the Pods, the namespace's default one when unset. Its token is not
	// mounted. A change restarts the nodes one at a time.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// replication says how many copies there are and where.
	// +optional
	// +kubebuilder:default={factor: 3}
	Replication ReplicationSpec `json:"replication,omitzero"`

	// database is the engine of each node's metadata.
	// +optional
	Database *DatabaseSpec `json:"database,omitempty"`

	// blocks is about the blocks that objects are cut into. A change restarts the nodes one at a time.
	// +optional
	Blocks BlocksSpec `json:"blocks,omitzero"`

	// s3Api is the S3 listener, which is always there.
	// +optional
	S3API *S3APISpec `json:"s3Api,omitempty"`

	// k2vApi turns the K2V listener on; without it there is none. A change restarts the nodes one at a time.
	// +optional
	K2VAPI *K2VAPISpec `json:"k2vApi,omitempty"`

	// webApi is the listener that serves buckets as web sites; it is on when unset.
	// +optional
	WebAPI *WebAPISpec `json:"webApi,omitempty"`

	// admin is the listener of the Admin API, which is always there.
	// +optional
	Admin *AdminSpec `json:"admin,omitempty"`

	// network is how nodes reach each other, and the Service that clients use.
	// +optional
	Network *NetworkSpec `json:"network,omitempty"`

	// security are settings that loosen Garage's own checks. A change restarts the nodes one at a time.
	// +optional
	Security SecuritySpec `json:"security,omitzero"`

	// logging is what the nodes log and where to. A change restarts them one at a time.
	// +optional
	Logging Logging `json:"logging,omitzero"`

	// workers are settings of Garage's background workers, written to each node while it runs.
	// +optional
	Workers WorkersSpec `json:"workers,omitzero"`

	// maintenance stops the controller from changing anything.
	// +optional
	Maintenance Maintenance `json:"maintenance,omitzero"`

	// layoutManagement is about changes of the layout.
	// +optional
	LayoutManagement LayoutManagementSpec `json:"layoutManagement,omitzero"`

	// deletionPolicy says what becomes of the store when the GarageCluster is deleted: with Destroy, which it is when unset, its nodes
	// stop and go, and claims are kept or deleted as storage.pvcRetentionPolicy.whenDeleted says. Buckets are not looked at.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// DeletionPolicy says what becomes of a store whose GarageCluster is deleted.
//
// +kubebuilder:validation:Enum=Destroy
type DeletionPolicy string

// LayoutPolicy says who makes the GarageNodes.
//
// +kubebuilder:validation:Enum=Auto;Manual
type LayoutPolicy string

const (
	// LayoutPolicyAuto leaves the GarageNodes to the controller.
	LayoutPolicyAuto LayoutPolicy = "Auto"
	// LayoutPolicyManual leaves them to users.
	LayoutPolicyManual LayoutPolicy = "Manual"
)
