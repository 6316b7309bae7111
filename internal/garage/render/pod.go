package render

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// ContainerGarage is the name of a node's container.
const ContainerGarage = "garage"

const (
	garageUser = 1000 // UID, GID and fsGroup
	// gracePeriod is how long the kubelet leaves a node to end, in seconds. Garage takes up to 18.
	gracePeriod = 60
	// defaultLogFilter is what a node logs where nobody has said.
	defaultLogFilter = "garage=info"
)

// podSpec is a node's Pod. Where users do not replace the security contexts it meets the restricted Pod Security Standard.
func (p *Plan) podSpec(t template, configMap string, disks volumes) corev1.PodSpec {
	spec := corev1.PodSpec{
		AutomountServiceAccountToken: new(false),
		// The variables that Kubernetes makes of Services begin with their names, and one may be called garage-…
		EnableServiceLinks:            new(false),
		TerminationGracePeriodSeconds: ptr.To[int64](gracePeriod),
		ServiceAccountName:            t.serviceAccountName,
		ImagePullSecrets:              t.pullSecrets,
		NodeSelector:                  t.NodeSelector,
		Tolerations:                   t.Tolerations,
		Affinity:                      t.Affinity,
		PriorityClassName:             t.PriorityClassName,
		TopologySpreadConstraints:     t.TopologySpreadConstraints,
		SecurityContext:               t.SecurityContext,
		Containers:                    []corev1.Container{p.container(t)},
	}
	if spec.Affinity == nil {
		spec.Affinity = apart(p.cluster.Name)
	}
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{
			RunAsUser:    ptr.To[int64](garageUser),
			RunAsGroup:   ptr.To[int64](garageUser),
			RunAsNonRoot: new(true),
			// So that the claims can be written to; changing the owner of millions of blocks at each start would take hours.
			FSGroup:             ptr.To[int64](garageUser),
			FSGroupChangePolicy: ptr.To(corev1.FSGroupChangeOnRootMismatch),
			SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}
	}
	spec.Volumes, spec.Containers[0].VolumeMounts = mounts(configMap, disks)
	return spec
}

func (p *Plan) container(t template) corev1.Container {
	out := corev1.Container{
		Name:            ContainerGarage,
		Image:           t.image,
		ImagePullPolicy: t.pullPolicy,
		Command:         []string{"/garage", "server"},
		Env:             p.env(t),
		EnvFrom:         t.EnvFrom,
		SecurityContext: t.ContainerSecurityContext,
		// A node that is not in the layout cannot serve S3 and is no member of the Service, whatever this says; but one that hangs
		// leaves the Service and counts as disrupted before the controller has noticed. Garage's own health answers for the
		// whole store and would take every node out at once.
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString(PortS3)}},
			PeriodSeconds: 5, TimeoutSeconds: 3, FailureThreshold: 3,
		},
	}
	if t.Resources != nil {
		out.Resources = *t.Resources
	}
	if out.SecurityContext == nil {
		out.SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
	for _, l := range p.listeners.all() {
		out.Ports = append(out.Ports, corev1.ContainerPort{Name: l.name, ContainerPort: l.port, Protocol: corev1.ProtocolTCP})
	}
	return out
}

// env are the variables of the container: the file, the log and the secrets, then the user's. Those that are reserved have been
// refused; of the log, the user's go before ours.
func (p *Plan) env(t template) []corev1.EnvVar {
	own := []corev1.EnvVar{
		{Name: "GARAGE_CONFIG_FILE", Value: dirConfig + "/" + ConfigKey},
		{Name: "RUST_LOG", Value: orDefault(t.logging.Level, defaultLogFilter)},
	}
	if is(t.logging.Syslog) {
		own = append(own, corev1.EnvVar{Name: "GARAGE_LOG_TO_SYSLOG", Value: "true"})
	}
	if is(t.logging.Journald) {
		own = append(own, corev1.EnvVar{Name: "GARAGE_LOG_TO_JOURNALD", Value: "true"})
	}
	own = append(own, secretEnv("GARAGE_RPC_SECRET", p.rpc), secretEnv("GARAGE_ADMIN_TOKEN", p.admin))
	if p.metrics.Name != "" {
		own = append(own, secretEnv("GARAGE_METRICS_TOKEN", p.metrics))
	}
	return mergeEnv(own, t.Env)
}

func secretEnv(name string, secret SecretKey) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: secret.Name}, Key: secret.Key,
	}}}
}

// apart prefers a Kubernetes node for each, and takes a shared one where there are too few.
func apart(cluster string) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				TopologyKey:   corev1.LabelHostname,
				LabelSelector: &metav1.LabelSelector{MatchLabels: SelectNodes(cluster)},
			},
		}},
	}}
}
