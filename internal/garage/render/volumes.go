package render

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// Names of volumes, of which claims take theirs.
const (
	volumeConfig   = "config"
	volumeMetadata = "metadata"
	volumeData     = "data"
)

// volumes are those of one node.
type volumes struct {
	metadata disk
	data     []disk
}

// disk is one volume of a node.
type disk struct {
	name, mount string
	shape       v1beta1.NodeVolumeShape
	readOnly    bool
	capacity    int64 // bytes that Garage weighs it with; 0 where it has nothing to weigh
}

// all are the disks, that of the metadata first.
func (v volumes) all() []disk { return append([]disk{v.metadata}, v.data...) }

// volumesOf reads a node's volumes. Paths are numbered by their place in the list, which cannot change.
func volumesOf(node *v1beta1.GarageNode) (volumes, error) {
	storage := node.Spec.Storage
	out := volumes{metadata: disk{name: volumeMetadata, mount: dirMetadata, shape: storage.Metadata.NodeVolumeShape}}
	if storage.Data != nil {
		out.data = []disk{{name: volumeData, mount: dirData, shape: storage.Data.NodeVolumeShape}}
	}
	for i, path := range storage.DataPaths {
		next := disk{name: fmt.Sprintf("%s-%d", volumeData, i), mount: path.Path, shape: path.NodeVolumeShape, readOnly: is(path.ReadOnly)}
		size := path.Capacity
		if size == nil {
			size = path.Size
		}
		if !next.readOnly {
			bytes, ok := int64(0), false
			if size != nil {
				bytes, ok = bytesOf(size)
			}
			if !ok {
				return out, &UnsupportedError{Node: node.Name, Path: fmt.Sprintf("spec.storage.dataPaths[%d].capacity", i), Message: "a number " +
					"of bytes from 1 to 64Pi is needed: Garage weighs the disks of a node with it"}
			}
			next.capacity = bytes
		}
		out.data = append(out.data, next)
	}
	return out, checkVolumes(node, out)
}

// disksOfGroup are the disks for blocks of a node that the controller makes.
func disksOfGroup(data *v1beta2.DataVolumeConfig) []disk {
	if len(data.Paths) == 0 {
		return []disk{{name: volumeData, mount: dirData}}
	}
	var out []disk
	for i, path := range data.Paths {
		bytes, _ := bytesOf(orSize(path.Capacity, path.Volume.Size))
		out = append(out, disk{name: fmt.Sprintf("%s-%d", volumeData, i), mount: path.Path, readOnly: is(path.ReadOnly), capacity: bytes})
	}
	return out
}

func orSize(first, second *resource.Quantity) *resource.Quantity {
	switch {
	case first != nil:
		return first
	case second != nil:
		return second
	}
	return &resource.Quantity{}
}

// Claim is a PersistentVolumeClaim of a node.
type Claim struct {
	// Name is the claim's name.
	Name string
	// Volume is the volume of the Pod that it is for.
	Volume string
	// Size is what it is to ask for, and Path the field of the GarageNode that says so; unset where Existing.
	Size resource.Quantity
	Path string
	// Data says that the size counts for the capacity of the node's role.
	Data bool
	// Existing says that a user made it: the controller neither changes nor deletes it.
	Existing bool
}

// Claims are the claims that a GarageNode is to have; none of one that runs elsewhere.
func Claims(node *v1beta1.GarageNode) ([]Claim, error) {
	if node.Spec.Storage == nil {
		return nil, nil
	}
	disks, err := volumesOf(node)
	return claimsOf(node.Name, disks), err
}

// claimsOf are a node's claims.
func claimsOf(node string, disks volumes) []Claim {
	var out []Claim
	for _, disk := range disks.all() {
		switch {
		case disk.shape.ExistingClaim != "":
			out = append(out, Claim{Name: disk.shape.ExistingClaim, Volume: disk.name, Existing: true})
		case disk.shape.Size != nil:
			out = append(out, Claim{
				Name: ClaimName(disk.name, node), Volume: disk.name, Size: disk.shape.Size.DeepCopy(), Path: sizePath(disk.name),
				Data: disk.name != volumeMetadata && !disk.readOnly,
			})
		}
	}
	return out
}

// OwnClaims are the names of the claims that a node's StatefulSet makes, or finds; a user's are none of them.
func OwnClaims(node *v1beta1.GarageNode) []string {
	if node.Spec.Storage == nil {
		return nil
	}
	disks, _ := volumesOf(node) // what is wrong with a disk is not wrong with its claim
	var out []string
	for _, claim := range claimsOf(node.Name, disks) {
		if !claim.Existing {
			out = append(out, claim.Name)
		}
	}
	return out
}

// ClaimName is the claim that a StatefulSet makes for a volume of its one Pod.
func ClaimName(volume, node string) string { return volume + "-" + PodName(node) }

// templates are the claims for the StatefulSet to make.
func templates(cluster, node string, disks volumes) []corev1.PersistentVolumeClaim {
	var out []corev1.PersistentVolumeClaim
	for _, disk := range disks.all() {
		if disk.shape.Size == nil || disk.shape.ExistingClaim != "" {
			continue
		}
		modes := disk.shape.AccessModes
		if len(modes) == 0 {
			modes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		}
		out = append(out, corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Name:        disk.name,
				Labels:      overlay(disk.shape.Labels, overlay(Labels(cluster), map[string]string{v1beta2.LabelNode: node})),
				Annotations: overlay(disk.shape.Annotations, nil),
			},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes:      modes,
				StorageClassName: disk.shape.StorageClassName,
				Selector:         disk.shape.Selector.DeepCopy(),
				Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: disk.shape.Size.DeepCopy()}},
			},
		})
	}
	return out
}

// mounts are a Pod's volumes and where they are in its container. A claim that the StatefulSet makes is none of the volumes: its
// controller adds it. A read-only path is mounted to be written to: Garage keeps a marker on it and moves blocks away.
func mounts(configMap string, disks volumes) ([]corev1.Volume, []corev1.VolumeMount) {
	out := []corev1.Volume{{Name: volumeConfig, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMap},
	}}}}
	at := []corev1.VolumeMount{{Name: volumeConfig, MountPath: dirConfig, ReadOnly: true}}
	for _, disk := range disks.all() {
		at = append(at, corev1.VolumeMount{Name: disk.name, MountPath: disk.mount})
		switch {
		case disk.shape.ExistingClaim != "":
			out = append(out, corev1.Volume{Name: disk.name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: disk.shape.ExistingClaim},
			}})
		case disk.shape.Type == v1beta2.VolumeTypeEmptyDir:
			out = append(out, corev1.Volume{Name: disk.name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		}
	}
	return out, at
}

// sizePath is the field of a GarageNode with a volume's size.
func sizePath(volume string) string {
	var number int
	if _, err := fmt.Sscanf(volume, volumeData+"-%d", &number); err == nil {
		return "spec.storage.dataPaths[" + strconv.Itoa(number) + "].size"
	}
	return "spec.storage." + volume + ".size"
}

// Ephemeral is a volume of a node's Pod that holds its metadata or data and goes with the Pod; empty where none does.
func Ephemeral(spec corev1.PodSpec) string {
	for _, volume := range spec.Volumes {
		ours := volume.Name == volumeMetadata || volume.Name == volumeData || strings.HasPrefix(volume.Name, volumeData+"-")
		if ours && volume.EmptyDir != nil {
			return volume.Name
		}
	}
	return ""
}
