package render

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// Names in a rendered Pod, which podTemplate merges by.
const (
	containerNATS     = "nats"
	containerExporter = "exporter"

	volumeConfig    = "config"
	volumePID       = "pid"
	volumeData      = "data"
	volumeClientTLS = "client-tls"
	volumeRoutesTLS = "routes-tls"
)

const (
	natsUser = 1000 // UID, GID and fsGroup
	// gracePeriod is how long the kubelet leaves a server to end, in seconds: two minutes of lame duck and the
	// shutdown after it fit well.
	gracePeriod = 300
)

// podSpec is the Pod of one server, before podTemplate. It meets the restricted Pod Security Standard.
func podSpec(p plan, server string) corev1.PodSpec {
	spec := corev1.PodSpec{
		AutomountServiceAccountToken:  new(false),
		TerminationGracePeriodSeconds: ptr.To[int64](gracePeriod),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsUser:           ptr.To[int64](natsUser),
			RunAsGroup:          ptr.To[int64](natsUser),
			RunAsNonRoot:        new(true),
			FSGroup:             ptr.To[int64](natsUser),
			FSGroupChangePolicy: ptr.To(corev1.FSGroupChangeOnRootMismatch),
			SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Affinity:   apart(p.cluster.Name),
		Containers: []corev1.Container{natsContainer(p)},
	}
	if p.exporter.enabled {
		spec.Containers = append(spec.Containers, exporterContainer(p.exporter))
	}
	spec.Volumes, spec.Containers[0].VolumeMounts = volumes(p, server)
	return spec
}

// apart prefers a node for each server, and takes a shared one where there are too few.
func apart(cluster string) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				TopologyKey:   corev1.LabelHostname,
				LabelSelector: &metav1.LabelSelector{MatchLabels: selectServers(cluster)},
			},
		}},
	}}
}

func natsContainer(p plan) corev1.Container {
	startup, readiness, liveness := probes()
	return corev1.Container{
		Name:  containerNATS,
		Image: serverImage(p.cluster.Spec),
		// The program is found by PATH: the official images keep it in different places, and have no shell.
		Command: []string{"nats-server", "--config", dirConfig + "/" + ConfigKey},
		Env:     p.limits.goMemoryLimit(),
		Ports: []corev1.ContainerPort{
			containerPort(nameClient, PortClient),
			containerPort(nameRoute, portRoute),
			containerPort(nameMonitor, PortMonitor),
		},
		Resources:       p.cluster.Spec.Resources,
		SecurityContext: restricted(),
		StartupProbe:    startup,
		ReadinessProbe:  readiness,
		LivenessProbe:   liveness,
		// The signal begins the lame duck and the command ends; the kubelet's SIGTERM that follows is ignored by a
		// server in lame duck, which ends by itself when its clients have been moved.
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{
			Command: []string{"nats-server", "--signal", "ldm=" + filePID},
		}}},
	}
}

// probes ask nats-server three questions.
//
// Startup, /healthz: has this server caught up? With JetStream that needs a meta leader, and each stream and
// consumer held here to be current, so a Pod is not Ready, and the disruption budget spent, until the server is
// as good as before. It cannot lock the servers of a new cluster out of each other: their StatefulSets are
// written together, none waits for another's Pod, and the headless Service publishes their addresses before they
// are Ready. While half of the servers are missing no server passes; a server that has already started goes on
// serving, as this probe is over. After 15 minutes the kubelet starts the container again, which costs a server that
// nobody uses yet little. The second between probes is what a start may wait too long.
//
// Readiness: does it take clients? Liveness: does it, and is JetStream still on (nats-server turns it off when its
// disk fails)? Neither looks at streams: a stream without a leader is no reason to turn clients away, and much
// less to restart.
func probes() (startup, readiness, liveness *corev1.Probe) {
	startup = probe("/healthz", 1, 900)
	readiness = probe("/healthz?js-server-only=true", 2, 3)
	liveness = probe("/healthz?js-enabled-only=true", 30, 3)
	return startup, readiness, liveness
}

// probe leaves a server five seconds to answer: one second, the default, is short for a busy one with thousands of
// streams to look at.
func probe(path string, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromString(nameMonitor),
		}},
		PeriodSeconds:    period,
		FailureThreshold: failures,
		TimeoutSeconds:   5,
	}
}

func containerPort(name string, port int32) corev1.ContainerPort {
	return corev1.ContainerPort{Name: name, ContainerPort: port, Protocol: corev1.ProtocolTCP}
}

// restricted is what the restricted Pod Security Standard asks of a container.
func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// volumes are what a server reads and writes, and where. The volume of a claim is not among them: the StatefulSet
// controller adds it.
func volumes(p plan, server string) ([]corev1.Volume, []corev1.VolumeMount) {
	var (
		out    []corev1.Volume
		mounts []corev1.VolumeMount
	)
	add := func(name, dir string, readOnly bool, source corev1.VolumeSource) {
		out = append(out, corev1.Volume{Name: name, VolumeSource: source})
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: dir, ReadOnly: readOnly})
	}
	add(volumeConfig, dirConfig, true, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMapName(server)},
	}})
	add(volumePID, dirPID, false, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	if p.clientTLS != nil {
		add(volumeClientTLS, dirClientTLS, true, secretVolume(p.clientTLS, corev1.TLSCertKey, corev1.TLSPrivateKeyKey))
	}
	if p.routesTLS != nil {
		add(volumeRoutesTLS, dirRoutesTLS, true, secretVolume(p.routesTLS, corev1.TLSCertKey, corev1.TLSPrivateKeyKey, KeyCA))
	}
	switch {
	case p.claim() != nil:
		mounts = append(mounts, corev1.VolumeMount{Name: volumeData, MountPath: dirData})
	case p.keepsData():
		add(volumeData, dirData, false, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	}
	return out, mounts
}

// secretVolume mounts only the keys that the server reads, for its user and group alone.
func secretVolume(certificate *Certificate, keys ...string) corev1.VolumeSource {
	items := make([]corev1.KeyToPath, 0, len(keys))
	for _, key := range keys {
		items = append(items, corev1.KeyToPath{Key: key, Path: key})
	}
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName:  certificate.SecretName,
		Items:       items,
		DefaultMode: ptr.To[int32](0o440),
	}}
}

// imageRef joins an image's parts; tag and digest may be empty.
func imageRef(repository, tag, digest string) string {
	out := repository
	if tag != "" {
		out = fmt.Sprintf("%s:%s", out, tag)
	}
	if digest != "" {
		out = fmt.Sprintf("%s@%s", out, digest)
	}
	return out
}
