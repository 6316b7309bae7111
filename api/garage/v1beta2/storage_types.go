package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// StorageSpec are the nodes that hold data.
//
// +kubebuilder:validation:XValidation:rule="oldSelf.replicas == 0 || !has(oldSelf.metadata) || (has(self.metadata) && (has(self.metadata.type) ? self.metadata.type : '-') == (has(oldSelf.metadata.type) ? oldSelf.metadata.type : '-'))",message="storage.metadata cannot be removed, and its type cannot change, once there are nodes: they would lose who they are; put it back, or make a new GarageCluster"
// +kubebuilder:validation:XValidation:rule="oldSelf.replicas == 0 || !has(oldSelf.metadata) || !has(self.metadata) || (has(self.metadata.storageClassName) == has(oldSelf.metadata.storageClassName) && (!has(self.metadata.storageClassName) || self.metadata.storageClassName == oldSelf.metadata.storageClassName) && has(self.metadata.accessModes) == has(oldSelf.metadata.accessModes) && (!has(self.metadata.accessModes) || self.metadata.accessModes == oldSelf.metadata.accessModes) && has(self.metadata.selector) == has(oldSelf.metadata.selector) && (!has(self.metadata.selector) || self.metadata.selector == oldSelf.metadata.selector) && has(self.metadata.labels) == has(oldSelf.metadata.labels) && (!has(self.metadata.labels) || self.metadata.labels == oldSelf.metadata.labels) && has(self.metadata.annotations) == has(oldSelf.metadata.annotations) && (!has(self.metadata.annotations) || self.metadata.annotations == oldSelf.metadata.annotations))",message="storageClassName, accessModes, selector, labels and annotations of storage.metadata cannot change once there are nodes: claims that exist do not change; only size may grow"
// +kubebuilder:validation:XValidation:rule="oldSelf.replicas == 0 || !has(oldSelf.data) || (has(self.data) && (has(self.data.type) ? self.data.type : '-') == (has(oldSelf.data.type) ? oldSelf.data.type : '-'))",message="storage.data cannot be removed, and its type cannot change, once there are nodes: they would lose what they hold; put it back, or make a new GarageCluster"
// +kubebuilder:validation:XValidation:rule="oldSelf.replicas == 0 || !has(oldSelf.data) || !has(self.data) || (has(self.data.storageClassName) == has(oldSelf.data.storageClassName) && (!has(self.data.storageClassName) || self.data.storageClassName == oldSelf.data.storageClassName) && has(self.data.accessModes) == has(oldSelf.data.accessModes) && (!has(self.data.accessModes) || self.data.accessModes == oldSelf.data.accessModes) && has(self.data.selector) == has(oldSelf.data.selector) && (!has(self.data.selector) || self.data.selector == oldSelf.data.selector) && has(self.data.labels) == has(oldSelf.data.labels) && (!has(self.data.labels) || self.data.labels == oldSelf.data.labels) && has(self.data.annotations) == has(oldSelf.data.annotations) && (!has(self.data.annotations) || self.data.annotations == oldSelf.data.annotations))",message="storageClassName, accessModes, selector, labels and annotations of storage.data cannot change once there are nodes: claims that exist do not change; only size may grow"
// +kubebuilder:validation:XValidation:rule="oldSelf.replicas == 0 || !has(oldSelf.data) || !has(self.data) || (has(self.data.paths) ? self.data.paths.map(p, p.path) : []) == (has(oldSelf.data.paths) ? oldSelf.data.paths.map(p, p.path) : [])",message="storage.data.paths cannot be added, moved or removed once there are nodes: a path is a disk's identity; grow a size, mark a path readOnly, or make a new GarageCluster"
type StorageSpec struct {
	// replicas is the number of nodes that the controller makes, 0 to 50; 3 when unset. 0 is for a GarageCluster whose
	// nodes users make, and only when it is made. More nodes are added one settled layout at a time; of fewer, the last one
	// goes first, once what it holds is elsewhere. Not looked at with the layout policy Manual.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=50
	// +kubebuilder:validation:XValidation:rule="self > 0 || oldSelf == 0",message="replicas cannot go down to 0: the last node would have nobody to give its data to; delete the GarageCluster, or keep at least as many nodes as replication.factor"
	Replicas *int32 `json:"replicas,omitempty"`

	// layoutPolicy says who makes the GarageNodes of this group; spec.layoutPolicy when unset. Auto may become Manual,
	// Manual stays.
	// +optional
	LayoutPolicy LayoutPolicy `json:"layoutPolicy,omitempty"`

	// metadata is where each node keeps its identity and its tables. Needed while replicas is above 0 and nodes are made
	// by the controller. Once there are nodes only its size may change, and only grow.
	// +optional
	Metadata *VolumeConfig `json:"metadata,omitempty"`

	// data is where each node keeps blocks. Needed as metadata is. Once there are nodes, sizes may grow, and capacity and
	// readOnly of a path may change.
	// +optional
	Data *DataVolumeConfig `json:"data,omitempty"`

	// PodTemplate is what users add to the Pods.
	PodTemplate `json:",inline"`

	// capacityReservePercent is how much of the data volumes a node's role in the layout leaves free, in percent, 0 to 50;
	// 0 when unset. A change moves data.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=50
	CapacityReservePercent *int32 `json:"capacityReservePercent,omitempty"`

	// metadataFsync has the database write through to its disk before it answers; false when unset. A change restarts the
	// nodes one at a time.
	// +optional
	MetadataFsync *bool `json:"metadataFsync,omitempty"`

	// dataFsync is the same for blocks; false when unset.
	// +optional
	DataFsync *bool `json:"dataFsync,omitempty"`

	// metadataAutoSnapshotInterval is how often a node takes a snapshot of its database, as numbers with units (6h, 1d 12h),
	// at least 10m; never when unset. Garage keeps the newest two. A change restarts the nodes one at a time.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^(\d+(\.\d+)?\s*(ns|us|ms|s|m|h|d|w|M|y)\s*)+$`
	MetadataAutoSnapshotInterval string `json:"metadataAutoSnapshotInterval,omitempty"`

	// metadataSnapshotsDir is the folder for those, in the container and on one of the node's volumes;
	// /data/metadata/snapshots when unset. A change restarts the nodes one at a time.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^(/[A-Za-z0-9._@%+=,-]+)+$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(s, s == '.' || s == '..')",message="a path has no parts . or .."
	MetadataSnapshotsDir string `json:"metadataSnapshotsDir,omitempty"`

	// podDisruptionBudget is how many nodes an eviction may take at a time; one when unset.
	// +optional
	PodDisruptionBudget *PodDisruptionBudget `json:"podDisruptionBudget,omitempty"`

	// pvcRetentionPolicy says what becomes of claims; they are kept when unset.
	// +optional
	PVCRetentionPolicy *PVCRetentionPolicy `json:"pvcRetentionPolicy,omitempty"`

	// rpcPublicAddr is the host:port under which the other nodes reach a node; {ordinal} in it becomes the node's number. It
	// goes before network.rpcPublicAddr. Without it they use the Pod's address. A change restarts the nodes one at a time.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=262
	// +kubebuilder:validation:Pattern=`^(\[[0-9A-Fa-f:.]+\]|([A-Za-z0-9._-]|\{ordinal\})+):([0-9]|\{ordinal\})+$`
	RPCPublicAddr string `json:"rpcPublicAddr,omitempty"`
}

// VolumeType is what a volume is made of.
//
// +kubebuilder:validation:Enum=PersistentVolumeClaim;EmptyDir
type VolumeType string

const (
	// VolumeTypeClaim is a PersistentVolumeClaim.
	VolumeTypeClaim VolumeType = "PersistentVolumeClaim"
	// VolumeTypeEmptyDir is a folder that goes with its Pod, and with it the node's identity or data: for tests.
	VolumeTypeEmptyDir VolumeType = "EmptyDir"
)

// VolumeShape is what a volume is like.
type VolumeShape struct {
	// type is PersistentVolumeClaim, which it is when unset, or EmptyDir. It cannot change once there are nodes.
	// +optional
	Type VolumeType `json:"type,omitempty"`
	// size is the claim's size in bytes: a number with k, M, G, T, P or Ki, Mi, Gi, Ti, Pi. It may grow, where the storage
	// class can. A node's role in the layout takes
	// its capacity from the size of its data, so that a larger one moves data. With EmptyDir it is nothing but that.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,14}(\.[0-9]{1,3})?([kMGTP]|[KMGTP]i)?$`
	// +kubebuilder:validation:XValidation:rule="double(self.find('^[0-9.]+')) * {'': 1.0, 'k': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12, 'P': 1e15, 'Ki': 1024.0, 'Mi': 1048576.0, 'Gi': 1073741824.0, 'Ti': 1099511627776.0, 'Pi': 1125899906842624.0}[self.find('[a-zA-Z]*$')] >= double(oldSelf.find('^[0-9.]+')) * {'': 1.0, 'k': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12, 'P': 1e15, 'Ki': 1024.0, 'Mi': 1048576.0, 'Gi': 1073741824.0, 'Ti': 1099511627776.0, 'Pi': 1125899906842624.0}[oldSelf.find('[a-zA-Z]*$')]",message="size can only grow: a claim does not shrink; put the old size back, or move the data to nodes with smaller volumes"
	Size *resource.Quantity `json:"size,omitempty"`
	// accessModes are the claim's; [ReadWriteOnce] when unset. They cannot change once there are nodes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=ReadWriteOnce;ReadWriteOncePod;ReadWriteMany
	AccessModes []corev1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`
	// storageClassName is the claim's; the Kubernetes cluster's default class when unset. It cannot change once there are
	// nodes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`
	// selector chooses among volumes that exist. It cannot change once there are nodes.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// labels are the claim's besides the controller's own, at most 64. They cannot change once there are nodes.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
	// annotations are the claim's, at most 64. They cannot change once there are nodes.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
}

// VolumeConfig is a volume that each node has one of.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.type) && self.type == 'EmptyDir' || has(self.size)",message="a claim needs a size; give size, such as 100Gi"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'EmptyDir' || !(has(self.storageClassName) || has(self.selector) || has(self.accessModes) || has(self.labels) || has(self.annotations))",message="storageClassName, selector, accessModes, labels and annotations are of claims; drop them, or type: EmptyDir"
type VolumeConfig struct {
	VolumeShape `json:",inline"`
}

// DataVolumeConfig is where a node keeps blocks: on one volume, or on one for each path.
//
// +kubebuilder:validation:XValidation:rule="has(self.paths) != has(self.size)",message="give either size, for one volume, or paths, for several; not both and not neither"
// +kubebuilder:validation:XValidation:rule="!has(self.paths) || !(has(self.type) || has(self.storageClassName) || has(self.selector) || has(self.accessModes) || has(self.labels) || has(self.annotations))",message="with paths each path has a volume of its own: move type, storageClassName, selector, accessModes, labels and annotations to paths[].volume"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'EmptyDir' || !(has(self.storageClassName) || has(self.selector) || has(self.accessModes) || has(self.labels) || has(self.annotations))",message="storageClassName, selector, accessModes, labels and annotations are of claims; drop them, or type: EmptyDir"
type DataVolumeConfig struct {
	VolumeShape `json:",inline"`
	// paths are one volume for each disk, at most 32, in place of size. A node's role takes the sum of their capacities. Paths
	// cannot be added, moved or removed once there are nodes.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.exists(p, !has(p.readOnly) || !p.readOnly)",message="Garage needs a path that it can write to: leave at least one without readOnly"
	// +kubebuilder:validation:XValidation:rule="self.all(p, self.all(q, p.path == q.path || !q.path.startsWith(p.path + '/')))",message="a path cannot lie inside another: each is a disk of its own"
	Paths []DataPath `json:"paths,omitempty"`
}

// DataPath is one of several disks of a node.
type DataPath struct {
	// path is where the disk is in the container: absolute, without . or .., and not in or above /data/metadata, /etc/garage
	// or /secrets. It is the disk's identity and cannot change.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^(/[A-Za-z0-9._@%+=,-]+)+$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(s, s == '.' || s == '..')",message="a path has no parts . or .."
	// +kubebuilder:validation:XValidation:rule="['/data/metadata/', '/etc/garage/', '/secrets/'].all(r, !r.startsWith(self + '/') && !(self + '/').startsWith(r))",message="the path is in the way of /data/metadata, /etc/garage or /secrets, which have other contents; choose one such as /data/hdd1"
	Path string `json:"path,omitempty"`
	// capacity is how much of the disk Garage counts with, in bytes, as size is written; the volume's size when unset. It
	// weighs the disks of a node against each other, and adds to the role's capacity. It may change, which moves data.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,14}(\.[0-9]{1,3})?([kMGTP]|[KMGTP]i)?$`
	Capacity *resource.Quantity `json:"capacity,omitempty"`
	// readOnly has Garage read from the disk and write to the others; false when unset. It may change.
	// +optional
	ReadOnly *bool `json:"readOnly,omitempty"`
	// volume is the disk.
	// +required
	// +kubebuilder:validation:XValidation:rule="(has(self.type) ? self.type : '') == (has(oldSelf.type) ? oldSelf.type : '')",message="a disk's type cannot change: what is on it would be lost"
	// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName) && has(self.accessModes) == has(oldSelf.accessModes) && (!has(self.accessModes) || self.accessModes == oldSelf.accessModes) && has(self.selector) == has(oldSelf.selector) && (!has(self.selector) || self.selector == oldSelf.selector) && has(self.labels) == has(oldSelf.labels) && (!has(self.labels) || self.labels == oldSelf.labels) && has(self.annotations) == has(oldSelf.annotations) && (!has(self.annotations) || self.annotations == oldSelf.annotations)",message="storageClassName, accessModes, selector, labels and annotations cannot change: a claim that exists does not; only size may grow"
	// +kubebuilder:validation:XValidation:rule="has(self.size)",message="a disk needs a size; give volume.size, such as 1Ti"
	Volume VolumeConfig `json:"volume,omitzero"`
}

// PodDisruptionBudget is how many nodes an eviction may take at a time.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.minAvailable) && has(self.maxUnavailable))",message="minAvailable and maxUnavailable exclude each other; drop one"
type PodDisruptionBudget struct {
	// enabled is true when unset; false makes no PodDisruptionBudget.
	// +optional
	// +kubebuilder:default=true
	Enabled *bool `json:"enabled,omitempty"`
	// minAvailable is how many nodes, or percent of them, have to stay; all but one when unset and there are several.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="give a number of nodes, or a percentage such as 50%"
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`
	// maxUnavailable is how many nodes, or percent of them, may be away, in place of minAvailable.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="give a number of nodes, or a percentage such as 50%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// RetentionPolicy says what becomes of a claim.
//
// +kubebuilder:validation:Enum=Retain;Delete
type RetentionPolicy string

const (
	// RetentionRetain keeps it.
	RetentionRetain RetentionPolicy = "Retain"
	// RetentionDelete deletes it.
	RetentionDelete RetentionPolicy = "Delete"
)

// PVCRetentionPolicy says what becomes of claims.
type PVCRetentionPolicy struct {
	// whenDeleted is what becomes of a node's claims when its GarageNode or the GarageCluster is deleted; Retain when unset. It
	// may change.
	// +optional
	// +kubebuilder:default=Retain
	WhenDeleted RetentionPolicy `json:"whenDeleted,omitempty"`
	// whenScaled is the same for nodes that a smaller storage.replicas takes away; Retain when unset. It may change.
	// +optional
	// +kubebuilder:default=Retain
	WhenScaled RetentionPolicy `json:"whenScaled,omitempty"`
}
