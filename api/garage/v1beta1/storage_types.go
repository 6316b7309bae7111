package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// NodeStorage is where a node keeps what it holds.
//
// +kubebuilder:validation:XValidation:rule="has(self.data) != has(self.dataPaths)",message="give either data, for one volume, or dataPaths, for several; not both and not neither"
// +kubebuilder:validation:XValidation:rule="has(self.data) == has(oldSelf.data)",message="data cannot become dataPaths or the other way round: a path is a disk's identity; make another GarageNode and drain this one"
type NodeStorage struct {
	// metadata is where the node keeps its identity and its tables. Only its size may change, and only grow.
	// +required
	Metadata NodeVolume `json:"metadata,omitzero"`
	// data is where it keeps blocks. Only its size may change, and only grow.
	// +optional
	Data *NodeVolume `json:"data,omitempty"`
	// dataPaths are one volume for each disk, at most 32, in place of data. Of each, capacity and readOnly may change, and size
	// may grow.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.exists(p, !has(p.readOnly) || !p.readOnly)",message="Garage needs a path that it can write to: leave at least one without readOnly"
	// +kubebuilder:validation:XValidation:rule="self.all(p, self.all(q, p.path == q.path || !q.path.startsWith(p.path + '/')))",message="a path cannot lie inside another: each is a disk of its own"
	// +kubebuilder:validation:XValidation:rule="self.map(p, p.path) == oldSelf.map(p, p.path)",message="dataPaths cannot be added, moved or removed: a path is a disk's identity; mark one readOnly, or make another GarageNode and drain this one"
	DataPaths []NodeDataPath `json:"dataPaths,omitempty"`
}

// NodeVolumeShape is what a node's volume is like.
type NodeVolumeShape struct {
	// existingClaim is a claim that is there already. The controller neither changes nor deletes it. It cannot change.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ExistingClaim string `json:"existingClaim,omitempty"`
	// type is PersistentVolumeClaim, which it is when unset, or EmptyDir. It cannot change.
	// +optional
	Type v1beta2.VolumeType `json:"type,omitempty"`
	// size is the size of the claim that the controller makes, in bytes: a number with k, M, G, T, P or Ki, Mi, Gi, Ti, Pi. It may
	// grow, where the storage class can.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,14}(\.[0-9]{1,3})?([kMGTP]|[KMGTP]i)?$`
	// +kubebuilder:validation:XValidation:rule="double(self.find('^[0-9.]+')) * {'': 1.0, 'k': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12, 'P': 1e15, 'Ki': 1024.0, 'Mi': 1048576.0, 'Gi': 1073741824.0, 'Ti': 1099511627776.0, 'Pi': 1125899906842624.0}[self.find('[a-zA-Z]*$')] >= double(oldSelf.find('^[0-9.]+')) * {'': 1.0, 'k': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12, 'P': 1e15, 'Ki': 1024.0, 'Mi': 1048576.0, 'Gi': 1073741824.0, 'Ti': 1099511627776.0, 'Pi': 1125899906842624.0}[oldSelf.find('[a-zA-Z]*$')]",message="size can only grow: a claim does not shrink; put the old size back, or move the data to a node with a smaller volume"
	Size *resource.Quantity `json:"size,omitempty"`
	// accessModes are the claim's; [ReadWriteOnce] when unset. They cannot change.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=ReadWriteOnce;ReadWriteOncePod;ReadWriteMany
	AccessModes []corev1.PersistentVolumeAccessMode `json:"accessModes,omitempty"`
	// storageClassName is the claim's; the Kubernetes cluster's default class when unset. It cannot change.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`
	// selector chooses among volumes that exist. It cannot change.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// labels are the claim's besides the controller's own, at most 64. They cannot change.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
	// annotations are the claim's, at most 64. They cannot change.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
}

// NodeVolume is one volume of a node.
//
// +kubebuilder:validation:XValidation:rule="[has(self.existingClaim), has(self.size), has(self.type) && self.type == 'EmptyDir'].filter(x, x).size() == 1",message="a volume is exactly one of existingClaim, size and type: EmptyDir; give one of them"
// +kubebuilder:validation:XValidation:rule="has(self.size) || !(has(self.storageClassName) || has(self.selector) || has(self.accessModes) || has(self.labels) || has(self.annotations))",message="storageClassName, selector, accessModes, labels and annotations are of claims that the controller makes; drop them, or give size"
// +kubebuilder:validation:XValidation:rule="(has(self.existingClaim) ? self.existingClaim : '-') == (has(oldSelf.existingClaim) ? oldSelf.existingClaim : '-') && has(self.size) == has(oldSelf.size)",message="a volume cannot be exchanged: what is on it would be lost; make another GarageNode and drain this one"
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName) && has(self.accessModes) == has(oldSelf.accessModes) && (!has(self.accessModes) || self.accessModes == oldSelf.accessModes) && has(self.selector) == has(oldSelf.selector) && (!has(self.selector) || self.selector == oldSelf.selector) && has(self.labels) == has(oldSelf.labels) && (!has(self.labels) || self.labels == oldSelf.labels) && has(self.annotations) == has(oldSelf.annotations) && (!has(self.annotations) || self.annotations == oldSelf.annotations)",message="storageClassName, accessModes, selector, labels and annotations cannot change: a claim that exists does not; only size may grow"
type NodeVolume struct {
	NodeVolumeShape `json:",inline"`
}

// NodeDataPath is one of several disks of a node.
//
// +kubebuilder:validation:XValidation:rule="[has(self.existingClaim), has(self.size), has(self.type) && self.type == 'EmptyDir'].filter(x, x).size() == 1",message="a volume is exactly one of existingClaim, size and type: EmptyDir; give one of them"
// +kubebuilder:validation:XValidation:rule="has(self.size) || !(has(self.storageClassName) || has(self.selector) || has(self.accessModes) || has(self.labels) || has(self.annotations))",message="storageClassName, selector, accessModes, labels and annotations are of claims that the controller makes; drop them, or give size"
// +kubebuilder:validation:XValidation:rule="has(self.size) || has(self.capacity) || (has(self.readOnly) && self.readOnly)",message="capacity is needed: the controller does not know the size of a disk that it does not make; give capacity, such as 1Ti"
// +kubebuilder:validation:XValidation:rule="(has(self.existingClaim) ? self.existingClaim : '-') == (has(oldSelf.existingClaim) ? oldSelf.existingClaim : '-') && has(self.size) == has(oldSelf.size)",message="a volume cannot be exchanged: what is on it would be lost; make another GarageNode and drain this one"
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName) && has(self.accessModes) == has(oldSelf.accessModes) && (!has(self.accessModes) || self.accessModes == oldSelf.accessModes) && has(self.selector) == has(oldSelf.selector) && (!has(self.selector) || self.selector == oldSelf.selector) && has(self.labels) == has(oldSelf.labels) && (!has(self.labels) || self.labels == oldSelf.labels) && has(self.annotations) == has(oldSelf.annotations) && (!has(self.annotations) || self.annotations == oldSelf.annotations)",message="storageClassName, accessModes, selector, labels and annotations cannot change: a claim that exists does not; only size may grow"
type NodeDataPath struct {
	// path is where the disk is in the container: absolute, without . or .., and not in or above /data/metadata, /etc/garage
	// or /secrets. It is the disk's identity and cannot change.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^(/[A-Za-z0-9._@%+=,-]+)+$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(s, s == '.' || s == '..')",message="a path has no parts . or .."
	// +kubebuilder:validation:XValidation:rule="['/data/metadata/', '/etc/garage/', '/secrets/'].all(r, !r.startsWith(self + '/') && !(self + '/').startsWith(r))",message="the path is in the way of /data/metadata, /etc/garage or /secrets, which have other contents; choose one such as /data/hdd1"
	Path string `json:"path,omitempty"`
	// capacity is how much of the disk Garage counts with, in bytes, as size is written; size when unset. It weighs the disks of
	// the node against each other. It may change.
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

	NodeVolumeShape `json:",inline"`
}
