package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// ConfigKey is the ConfigMap's key that holds a node's configuration.
const ConfigKey = "garage.toml"

// Keys of Secrets where a reference names none.
const (
	KeyRPCSecret    = "rpc-secret"
	KeyAdminToken   = "admin-token"
	KeyMetricsToken = "metrics-token"
)

// Names of ports, which are also those of the container's.
const (
	PortS3    = "s3"
	PortRPC   = "rpc"
	PortWeb   = "web"
	PortAdmin = "admin"
	PortK2V   = "k2v"
)

// Paths in a node's container.
const (
	dirConfig   = "/etc/garage"
	dirMetadata = "/data/metadata"
	dirData     = "/data/data"
)

// DefaultZone is the zone of nodes where spec.zone is unset.
const DefaultZone = "default"

const (
	managerOperator = "garage-operator"
	managerOfNodes  = "operator"
	hashLength      = 16
)

// NodeName is the name of the GarageNode with that number in the default group, and of its StatefulSet.
func NodeName(cluster string, ordinal int) string {
	return cluster + "-" + v1beta2.TierStorage + "-" + strconv.Itoa(ordinal)
}

// PodName is the name of a node's one Pod.
func PodName(node string) string { return node + "-0" }

// ServiceName is the Service that clients use, and HeadlessName the one with every Pod's address.
func ServiceName(cluster string) string { return cluster }

// HeadlessName is the Service under which every Pod is found, whether it is ready or not.
func HeadlessName(cluster string) string { return cluster + "-headless" }

// BudgetName is the PodDisruptionBudget.
func BudgetName(cluster string) string { return cluster }

// RPCSecretName is the Secret with the RPC secret that the controller makes where none is referred to.
func RPCSecretName(cluster string) string { return cluster + "-rpc-secret" }

// Labels are the labels of every object of a GarageCluster.
func Labels(cluster string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":       "garage",
		"app.kubernetes.io/instance":   cluster,
		"app.kubernetes.io/component":  v1beta2.TierStorage,
		"app.kubernetes.io/managed-by": managerOperator,
		v1beta2.LabelCluster:           cluster,
	}
}

// nodeLabels are the labels of the objects of one node.
func nodeLabels(cluster, node string) map[string]string {
	return overlay(Labels(cluster), map[string]string{
		v1beta2.LabelTier: v1beta2.TierStorage, v1beta2.LabelStorageGroup: v1beta2.StorageGroupDefault, v1beta2.LabelNode: node,
	})
}

// SelectNodes selects the Pods of every node.
func SelectNodes(cluster string) map[string]string {
	return map[string]string{v1beta2.LabelCluster: cluster, v1beta2.LabelTier: v1beta2.TierStorage}
}

// selectNode selects the Pod of one node.
func selectNode(cluster, node string) map[string]string {
	return map[string]string{v1beta2.LabelCluster: cluster, v1beta2.LabelNode: node}
}

// ScaleSelector is status.scaleSelector: what selects the Pods of nodes that the controller made.
func ScaleSelector(cluster *v1beta2.GarageCluster) string {
	target := v1beta2.ScaleTargetStorage
	if Policy(cluster) == v1beta2.LayoutPolicyManual {
		target = v1beta2.ScaleTargetDisabled
	}
	return fmt.Sprintf("%s=%s,%s=%s", v1beta2.LabelCluster, cluster.Name, v1beta2.LabelScaleTarget, target)
}

// Policy says who makes the GarageNodes of the default group.
func Policy(cluster *v1beta2.GarageCluster) v1beta2.LayoutPolicy {
	return orDefault(cluster.Spec.Storage.LayoutPolicy, orDefault(cluster.Spec.LayoutPolicy, v1beta2.LayoutPolicyAuto))
}

// Replicas is the number of nodes that the controller is to make; none with the policy Manual.
func Replicas(cluster *v1beta2.GarageCluster) int32 {
	switch replicas := cluster.Spec.Storage.Replicas; {
	case Policy(cluster) == v1beta2.LayoutPolicyManual:
		return 0
	case replicas == nil:
		return defaultReplicas
	default:
		return *replicas
	}
}

// overlay is base with over's entries put on top; nil when there are none.
func overlay(base, over map[string]string) map[string]string {
	if len(base)+len(over) == 0 {
		return nil
	}
	out := make(map[string]string, len(base)+len(over))
	maps.Copy(out, base)
	maps.Copy(out, over)
	return out
}

// digest is the beginning of the SHA-256 of v's JSON, in which map keys are sorted.
func digest(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		// Only our own types and Kubernetes' come here, and those are written to the API server as JSON.
		panic(fmt.Sprintf("encode for a digest: %v", err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:hashLength]
}

// meta is the metadata of an object that the nodes share.
func (p *Plan) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: p.cluster.Namespace, Labels: Labels(p.cluster.Name)}
}
