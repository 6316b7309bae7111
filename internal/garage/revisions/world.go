package revisions

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// World is what the decision rests on.
type World struct {
	// Configs are the GarageCluster's ConfigMaps with a configuration.
	Configs []corev1.ConfigMap
	// StatefulSets and Pods are all that carry the GarageCluster's label, whoever controls them.
	StatefulSets []appsv1.StatefulSet
	Pods         []corev1.Pod
	// Rendered are the names of those that are rendered now.
	Rendered map[string]bool
	// Rolling says that a rollout is wanted or under way.
	Rolling bool
}
