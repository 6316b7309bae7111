package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// Node is what one node runs from. The objects carry no owner reference: whoever writes them sets it.
type Node struct {
	// Name is the GarageNode's name, which is also its StatefulSet's.
	Name string
	// Config is garage.toml.
	Config []byte
	// ConfigHash stands for Config, and PodSpecHash for everything else that a restart brings: 16 hexadecimal digits each.
	ConfigHash, PodSpecHash string
	// ConfigMap carries Config under ConfigKey. Its name tells its contents, and it cannot change; nodes with the same file may
	// have the same one, and then Shared is set and its owner should be the GarageCluster.
	ConfigMap *corev1.ConfigMap
	// Shared says that the ConfigMap is of no one node.
	Shared bool
	// StatefulSet runs the node's one Pod, and does not restart it by itself.
	StatefulSet *appsv1.StatefulSet
	// Claims are the node's claims.
	Claims []Claim
}

// Node builds what one node runs from. A GarageNode with spec.external runs from nothing here and must not be passed.
func (p *Plan) Node(node *v1beta1.GarageNode) (Node, error) {
	if err := p.checkNode(node); err != nil {
		return Node{}, err
	}
	disks, err := volumesOf(node)
	if err != nil {
		return Node{}, err
	}
	t := p.templateOf(node)
	for _, err := range []error{p.checkVersion(node, t.image), checkTemplate(node.Name, t), p.checkSnapshots(node.Name, disks)} {
		if err != nil {
			return Node{}, err
		}
	}
	out := Node{Name: node.Name, Config: p.nodeConfig(node, disks).encode(), Claims: claimsOf(node.Name, disks)}
	out.ConfigHash = hashOf(out.Config)
	out.ConfigMap, out.Shared = p.configMap(node.Name, out.Config, out.ConfigHash)
	out.StatefulSet = p.statefulSet(node, t, disks)
	out.PodSpecHash = p.stamp(out.StatefulSet, out.ConfigMap.Name, out.ConfigHash)
	return out, nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:hashLength]
}

// configMap carries a configuration. A change makes another object and leaves this one to the Pods that still have it.
func (p *Plan) configMap(node string, config []byte, hash string) (*corev1.ConfigMap, bool) {
	name, shared := fmt.Sprintf("%s-config-%s", p.cluster.Name, hash), true
	labels := overlay(Labels(p.cluster.Name), map[string]string{v1beta2.LabelTier: v1beta2.TierStorage})
	if group, known := p.groupConfig(); !known || string(group.encode()) != string(config) {
		name, shared = fmt.Sprintf("%s-nodecfg-%s-%s-%s", p.cluster.Name, node, hashOf([]byte(node))[:8], hash), false
		labels = nodeLabels(p.cluster.Name, node)
	}
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: p.cluster.Namespace, Labels: labels,
			Annotations: map[string]string{v1beta2.AnnotationConfigHash: hash},
		},
		Immutable: new(true),
		Data:      map[string]string{ConfigKey: string(config)},
	}, shared
}

// statefulSet runs one node. Only its claims and its Pod's identity are what a StatefulSet is used for: restarts are the
// controller's alone (OnDelete).
func (p *Plan) statefulSet(node *v1beta1.GarageNode, t template, disks volumes) *appsv1.StatefulSet {
	labels := nodeLabels(p.cluster.Name, node.Name)
	podLabels := overlay(t.PodLabels, labels)
	if _, auto := Ordinal(node); auto {
		podLabels[v1beta2.LabelScaleTarget] = v1beta2.ScaleTargetStorage
	}
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Namespace: p.cluster.Namespace, Labels: labels},
		Spec: appsv1.StatefulSetSpec{
			Replicas:            ptr.To[int32](1),
			ServiceName:         HeadlessName(p.cluster.Name),
			PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Selector:            &metav1.LabelSelector{MatchLabels: selectNode(p.cluster.Name, node.Name)},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
			},
			VolumeClaimTemplates: templates(p.cluster.Name, node.Name, disks),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: podLabels, Annotations: t.PodAnnotations},
				// The ConfigMap's name is set by stamp.
				Spec: p.podSpec(t, "", disks),
			},
		},
	}
}

// DropsClaims says that a node's claims are to be deleted with its GarageNode: scaledAway says that storage.replicas took it away. Its
// StatefulSet never deletes them: its deletion proves nothing, and going down to no Pod is how a node is fenced.
func DropsClaims(cluster *v1beta2.GarageCluster, scaledAway bool) bool {
	policy := cluster.Spec.Storage.PVCRetentionPolicy
	switch {
	case policy == nil:
		return false
	case scaledAway:
		return policy.WhenScaled == v1beta2.RetentionDelete
	}
	return policy.WhenDeleted == v1beta2.RetentionDelete
}

// stamp names the ConfigMap and writes the hashes to the StatefulSet and its Pod template, so that a Pod tells what it was started
// with. The secrets' digests are part of one, as their names need not change with them.
func (p *Plan) stamp(set *appsv1.StatefulSet, configMap, configHash string) string {
	podSpecHash := digest([]any{set.Spec.Template, p.rpc.Digest, p.admin.Digest, p.metrics.Digest})
	hashes := map[string]string{v1beta2.AnnotationConfigHash: configHash, v1beta2.AnnotationPodSpecHash: podSpecHash}
	set.Annotations = overlay(set.Annotations, hashes)
	template := &set.Spec.Template
	template.Annotations = overlay(template.Annotations, hashes)
	template.Spec.Volumes[0].ConfigMap.Name = configMap
	return podSpecHash
}

// WithClaimsOf is the StatefulSet with the claim templates of one that is there, which cannot change: sizes grow on the claims
// themselves.
func WithClaimsOf(rendered, live *appsv1.StatefulSet) *appsv1.StatefulSet {
	out := rendered.DeepCopy()
	out.Spec.VolumeClaimTemplates = nil
	for _, claim := range live.Spec.VolumeClaimTemplates {
		claim = *claim.DeepCopy()
		out.Spec.VolumeClaimTemplates = append(out.Spec.VolumeClaimTemplates, corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: claim.Name, Labels: claim.Labels, Annotations: claim.Annotations}, Spec: claim.Spec,
		})
	}
	return out
}
