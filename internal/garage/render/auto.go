package render

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// AutoNodes are the GarageNodes that the controller is to make, lowest number first; none with the policy Manual.
func (p *Plan) AutoNodes() ([]*v1beta1.GarageNode, error) {
	var out []*v1beta1.GarageNode
	for ordinal := range int(Replicas(p.cluster)) {
		node, err := p.AutoNode(ordinal)
		if err != nil {
			return nil, err
		}
		out = append(out, node)
	}
	return out, nil
}

// AutoNode is the GarageNode with that number. It says where the node is and what it has; image, Pod template and the rest it
// takes from the GarageCluster as long as it has none of its own.
func (p *Plan) AutoNode(ordinal int) (*v1beta1.GarageNode, error) {
	spec := p.cluster.Spec
	storage, capacity, err := nodeStorage(spec.Storage)
	if err != nil {
		return nil, err
	}
	return &v1beta1.GarageNode{
		TypeMeta: metav1.TypeMeta{APIVersion: v1beta1.GroupVersion.String(), Kind: v1beta1.KindGarageNode},
		ObjectMeta: metav1.ObjectMeta{
			Name: NodeName(p.cluster.Name, ordinal), Namespace: p.cluster.Namespace,
			Labels: overlay(Labels(p.cluster.Name), map[string]string{
				"app.kubernetes.io/managed-by": managerOfNodes,
				v1beta2.LabelTier:              v1beta2.TierStorage,
				v1beta2.LabelStorageGroup:      v1beta2.StorageGroupDefault,
				v1beta2.LabelAutoNodeSlot:      strconv.Itoa(ordinal),
			}),
		},
		Spec: v1beta1.GarageNodeSpec{
			ClusterRef: v1beta1.ClusterReference{Name: p.cluster.Name},
			Zone:       orDefault(spec.Zone, DefaultZone),
			Capacity:   resource.NewQuantity(capacity, resource.BinarySI),
			Storage:    storage,
		},
	}, nil
}

// Ordinal is the number of a GarageNode that the controller made; false for a user's.
func Ordinal(node *v1beta1.GarageNode) (int, bool) {
	number, err := strconv.Atoi(node.Labels[v1beta2.LabelAutoNodeSlot])
	return number, err == nil && number >= 0
}

// nodeStorage is the group's storage as a GarageNode has it, and the capacity of the role that goes with it: what the volumes or
// paths have that can be written to, less the reserve.
func nodeStorage(group v1beta2.StorageSpec) (*v1beta1.NodeStorage, int64, error) {
	if group.Metadata == nil || group.Data == nil {
		return nil, 0, refuse("spec.storage", "metadata and data are needed for the nodes that the controller makes")
	}
	out := &v1beta1.NodeStorage{Metadata: v1beta1.NodeVolume{NodeVolumeShape: nodeShape(group.Metadata.VolumeShape)}}
	total := int64(0)
	if len(group.Data.Paths) == 0 {
		bytes, ok := bytesOf(orSize(group.Data.Size, nil))
		if !ok {
			return nil, 0, refuse("spec.storage.data.size", "a number of bytes from 1 to 64Pi is needed")
		}
		out.Data, total = &v1beta1.NodeVolume{NodeVolumeShape: nodeShape(group.Data.VolumeShape)}, bytes
	}
	for i, path := range group.Data.Paths {
		size := orSize(path.Capacity, path.Volume.Size)
		bytes, ok := bytesOf(size)
		if !ok {
			return nil, 0, refuse("spec.storage.data.paths["+strconv.Itoa(i)+"].volume.size", "a number of bytes from 1 to 64Pi is needed")
		}
		if !is(path.ReadOnly) {
			total += bytes
		}
		disk := v1beta1.NodeDataPath{Path: path.Path, Capacity: new(size.DeepCopy()), NodeVolumeShape: nodeShape(path.Volume.VolumeShape)}
		if is(path.ReadOnly) {
			disk.ReadOnly = new(true)
		}
		out.DataPaths = append(out.DataPaths, disk)
	}
	reserve := int64(0)
	if group.CapacityReservePercent != nil {
		reserve = int64(*group.CapacityReservePercent)
	}
	capacity := total/100*(100-reserve) + total%100*(100-reserve)/100
	if capacity < minCapacity {
		return nil, 0, refuse("spec.storage.data", "a node would have a capacity of %d bytes, and Garage refuses less than %d", capacity, minCapacity)
	}
	return out, capacity, nil
}

// nodeShape leaves out the size of a folder that goes with its Pod: a GarageNode has the capacity instead.
func nodeShape(shape v1beta2.VolumeShape) v1beta1.NodeVolumeShape {
	shape = *shape.DeepCopy()
	out := v1beta1.NodeVolumeShape{
		Type: shape.Type, Size: shape.Size, AccessModes: shape.AccessModes, StorageClassName: shape.StorageClassName, Selector: shape.Selector,
		Labels: shape.Labels, Annotations: shape.Annotations,
	}
	if shape.Type == v1beta2.VolumeTypeEmptyDir {
		out.Size = nil
	}
	return out
}
