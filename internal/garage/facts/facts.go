// Package facts reads what the API server says of a GarageCluster's nodes, and what each node's process says of itself.
// Every concern of the controller decides on these facts, so there is one reading of them.
package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/kit/pods"
)

// A Node is a GarageNode with its objects; nil is an object that does not exist.
type Node struct {
	// GarageNode is always there.
	GarageNode  *v1beta1.GarageNode
	StatefulSet *appsv1.StatefulSet
	Pod         *corev1.Pod
	// Claims are those of the GarageNode's name, by their names.
	Claims []corev1.PersistentVolumeClaim
}

// Name is the GarageNode's.
func (n Node) Name() string { return n.GarageNode.Name }

// External says that the process is run by somebody else.
func (n Node) External() bool { return n.GarageNode.Spec.External != nil }

// Ready says whether the Pod is, and is to stay.
func (n Node) Ready() bool {
	return n.Pod != nil && n.Pod.DeletionTimestamp == nil && pods.Ready(n.Pod)
}

// Address is where the Pod is reached, empty while it is not.
func (n Node) Address() string {
	if n.Pod == nil {
		return ""
	}
	return n.Pod.Status.PodIP
}

// Restarts is how often the Pod's Garage was started again; with the Pod's UID it names one life of the process.
func (n Node) Restarts() int32 {
	if n.Pod == nil {
		return 0
	}
	for _, status := range n.Pod.Status.ContainerStatuses {
		if status.Name == render.ContainerGarage {
			return status.RestartCount
		}
	}
	return 0
}

// OwnClaims are those of its claims that are no user's.
func (n Node) OwnClaims() []corev1.PersistentVolumeClaim {
	names := render.OwnClaims(n.GarageNode)
	return slices.DeleteFunc(slices.Clone(n.Claims), func(claim corev1.PersistentVolumeClaim) bool { return !slices.Contains(names, claim.Name) })
}

// Nodes are a GarageCluster's nodes by name.
type Nodes []Node

// Get is the node of that name, and false if there is none.
func (n Nodes) Get(name string) (Node, bool) {
	for _, node := range n {
		if node.Name() == name {
			return node, true
		}
	}
	return Node{}, false
}

// Read lists the nodes and their objects with four requests, or none at all where reader is a cache. A GarageNode that
// refers to another GarageCluster is none of them; a StatefulSet that its GarageNode does not control, and a Pod that no
// such StatefulSet controls, are left out.
func Read(ctx context.Context, reader client.Reader, cluster *v1beta2.GarageCluster) fact.Fact[Nodes] {
	var (
		garageNodes v1beta1.GarageNodeList
		sets        appsv1.StatefulSetList
		pods        corev1.PodList
		claims      corev1.PersistentVolumeClaimList
		inNamespace = client.InNamespace(cluster.Namespace)
		inCluster   = client.MatchingLabels{v1beta2.LabelCluster: cluster.Name}
	)
	for list, options := range map[client.ObjectList][]client.ListOption{
		&garageNodes: {inNamespace}, // a user's own need not have labels
		&sets:        {inNamespace, inCluster},
		&pods:        {inNamespace, inCluster},
		&claims:      {inNamespace, inCluster},
	} {
		if err := reader.List(ctx, list, options...); err != nil {
			return fact.Unknown[Nodes](fmt.Sprintf("the API server did not list the nodes' objects: %v", err))
		}
	}
	nodes := Nodes{}
	for i := range garageNodes.Items {
		if node := &garageNodes.Items[i]; node.Spec.ClusterRef.Name == cluster.Name {
			nodes = append(nodes, assemble(node, sets.Items, pods.Items, claims.Items))
		}
	}
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Name(), b.Name()) })
	return fact.Known(nodes)
}

func assemble(node *v1beta1.GarageNode, sets []appsv1.StatefulSet, pods []corev1.Pod, claims []corev1.PersistentVolumeClaim) Node {
	found := Node{GarageNode: node}
	for i := range sets {
		if sets[i].Name == node.Name && metav1.IsControlledBy(&sets[i], node) {
			found.StatefulSet = &sets[i]
		}
	}
	for i := range pods {
		if pods[i].Name == render.PodName(node.Name) && pods[i].Labels[v1beta2.LabelNode] == node.Name && isOf(&pods[i], found.StatefulSet) {
			found.Pod = &pods[i]
		}
	}
	for i := range claims {
		if claims[i].Labels[v1beta2.LabelNode] == node.Name {
			found.Claims = append(found.Claims, claims[i])
		}
	}
	slices.SortFunc(found.Claims, func(a, b corev1.PersistentVolumeClaim) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// isOf says that the Pod is the StatefulSet's, or that of one that is gone: its process may still run.
func isOf(pod *corev1.Pod, set *appsv1.StatefulSet) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "StatefulSet" && (set == nil || owner.UID == set.UID)
}

// Recorded is the identity that is on record for a GarageNode: that of its status, or of an external one that of its spec.
// It is empty while there is none.
func Recorded(node *v1beta1.GarageNode) adminapi.NodeID {
	if node.Spec.External != nil {
		return adminapi.NodeID(strings.ToLower(node.Spec.NodeID))
	}
	return adminapi.NodeID(node.Status.NodeID)
}
