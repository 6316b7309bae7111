package provisioner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

const (
	// folder holds a node's volumes, below the node's /var/lib.
	folder = "holdfast-volumes"
	// annotationNode keeps the node's name with the volume: its affinity names a label's value, which need
	// not be the name.
	annotationNode = "holdfast.dev/node"
)

// errNodeAway says that a node's disk cannot be reached now.
var errNodeAway = errors.New("node is not ready")

// disks are the nodes' disks as the provisioner library sees them.
type disks struct {
	client  kubernetes.Interface
	nodeDir func(node string) string
}

var _ controller.Provisioner = (*disks)(nil)

// Provision makes the volume's folder on the selected node. A node that is away sends the pod back to the
// scheduler, which may find another.
func (d *disks) Provision(ctx context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	if err := refuse(o); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	node, err := d.ready(ctx, o.SelectedNodeName)
	if errors.Is(err, errNodeAway) || apierrors.IsNotFound(err) {
		return nil, controller.ProvisioningReschedule, err
	}
	if err != nil {
		return nil, controller.ProvisioningNoChange, err
	}
	if err := d.makeFolder(node.Name, o.PVName); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	return volume(o, node), controller.ProvisioningFinished, nil
}

// refuse says why a claim cannot have a volume of this kind.
func refuse(o controller.ProvisionOptions) error {
	if o.SelectedNodeName == "" {
		return fmt.Errorf("StorageClass %s makes volumes before a pod needs them; set volumeBindingMode: WaitForFirstConsumer", o.StorageClass.Name)
	}
	if o.PVC.Spec.Selector != nil {
		return errors.New("a claim with a selector cannot be served by a new volume; remove spec.selector")
	}
	single := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteOncePod}
	for _, mode := range o.PVC.Spec.AccessModes {
		if !slices.Contains(single, mode) {
			return fmt.Errorf("access mode %s needs a volume that several nodes reach; a local one has %v", mode, single)
		}
	}
	return nil
}

func (d *disks) makeFolder(node, name string) error {
	disk := d.nodeDir(node)
	// A disk made here would not be the one that the node sees. An empty name is no disk either.
	if _, err := os.Stat(disk); err != nil {
		return fmt.Errorf("disk of node %s: %w", node, err)
	}
	return os.MkdirAll(filepath.Join(disk, folder, name), 0o755)
}

func volume(o controller.ProvisionOptions, node *corev1.Node) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName, Annotations: map[string]string{annotationNode: node.Name}},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: o.PVC.Spec.Resources.Requests[corev1.ResourceStorage]},
			MountOptions:                  o.StorageClass.MountOptions,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				Local: &corev1.LocalVolumeSource{Path: filepath.Join("/var/lib", folder, o.PVName)},
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node.Labels[corev1.LabelHostname]},
				}}}},
			}},
		},
	}
}

// Delete removes the volume's folder. While its node is away the data stays, and so does the volume; once the
// node is no part of the cluster any more, nobody else would remove it.
func (d *disks) Delete(ctx context.Context, v *corev1.PersistentVolume) error {
	name := v.Annotations[annotationNode]
	if name == "" {
		return fmt.Errorf("volume %s does not say on which node it is; restore its annotation %s", v.Name, annotationNode)
	}
	_, err := d.ready(ctx, name)
	if errors.Is(err, errNodeAway) {
		return &controller.VolumeInUseError{Reason: err.Error() + "; the data is removed when it is back"}
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	disk := d.nodeDir(name)
	if disk == "" {
		return nil // the node has left and taken its disk along
	}
	return os.RemoveAll(filepath.Join(disk, folder, v.Name))
}

// ready is the node, or errNodeAway. It asks the API server itself: a node that went away a moment ago counts.
func (d *disks) ready(ctx context.Context, name string) (*corev1.Node, error) {
	node, err := d.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return node, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", errNodeAway, name)
}
