package render

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// template is what users want of a node's Pod: the GarageCluster's, with what the GarageNode has put in place of it.
type template struct {
	v1beta2.PodTemplate
	image              string
	pullPolicy         corev1.PullPolicy
	pullSecrets        []corev1.LocalObjectReference
	serviceAccountName string
	logging            v1beta2.Logging
}

// templateOf merges: a field that the node sets replaces the group's, labels, annotations and variables by name.
func (p *Plan) templateOf(node *v1beta1.GarageNode) template {
	spec, own := p.cluster.Spec, node.Spec
	return template{
		PodTemplate:        mergeTemplate(spec.Storage.PodTemplate, own.PodTemplate),
		image:              p.imageOf(node),
		pullPolicy:         orDefault(own.ImagePullPolicy, orDefault(spec.ImagePullPolicy, corev1.PullIfNotPresent)),
		pullSecrets:        orList(own.ImagePullSecrets, spec.ImagePullSecrets),
		serviceAccountName: orDefault(own.ServiceAccountName, spec.ServiceAccountName),
		logging: v1beta2.Logging{
			Level:    orDefault(own.Logging.Level, spec.Logging.Level),
			Syslog:   orDefault(own.Logging.Syslog, spec.Logging.Syslog),
			Journald: orDefault(own.Logging.Journald, spec.Logging.Journald),
		},
	}
}

func mergeTemplate(group, node v1beta2.PodTemplate) v1beta2.PodTemplate {
	out := v1beta2.PodTemplate{
		Resources:                 orDefault(node.Resources, group.Resources),
		NodeSelector:              group.NodeSelector,
		Tolerations:               orList(node.Tolerations, group.Tolerations),
		Affinity:                  orDefault(node.Affinity, group.Affinity),
		PodAnnotations:            overlay(group.PodAnnotations, node.PodAnnotations),
		PodLabels:                 overlay(group.PodLabels, node.PodLabels),
		PriorityClassName:         orDefault(node.PriorityClassName, group.PriorityClassName),
		SecurityContext:           orDefault(node.SecurityContext, group.SecurityContext),
		ContainerSecurityContext:  orDefault(node.ContainerSecurityContext, group.ContainerSecurityContext),
		TopologySpreadConstraints: orList(node.TopologySpreadConstraints, group.TopologySpreadConstraints),
		Env:                       mergeEnv(group.Env, node.Env),
		EnvFrom:                   orList(node.EnvFrom, group.EnvFrom),
	}
	if node.NodeSelector != nil {
		out.NodeSelector = node.NodeSelector
	}
	// The result shares nothing with either spec.
	return *out.DeepCopy()
}

// orList is the list, or another one where it is unset. One that is set and empty is a choice, too.
func orList[T any](list, other []T) []T {
	if list != nil {
		return list
	}
	return other
}

// mergeEnv keeps the order of the group's variables, with the node's value where both have one, and appends the others.
func mergeEnv(group, node []corev1.EnvVar) []corev1.EnvVar {
	out := slices.Clone(group)
	for _, variable := range node {
		at := slices.IndexFunc(out, func(other corev1.EnvVar) bool { return other.Name == variable.Name })
		if at < 0 {
			out = append(out, variable)
			continue
		}
		out[at] = variable
	}
	return out
}

// reserved are the variables by which a node gets its configuration and its secrets.
var reserved = map[string]bool{
	"GARAGE_CONFIG_FILE": true, "GARAGE_RPC_SECRET": true, "GARAGE_RPC_SECRET_FILE": true, "GARAGE_ADMIN_TOKEN": true,
	"GARAGE_ADMIN_TOKEN_FILE": true, "GARAGE_METRICS_TOKEN": true, "GARAGE_METRICS_TOKEN_FILE": true,
}
