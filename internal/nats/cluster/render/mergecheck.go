package render

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// minGracePeriod is the shortest grace period in seconds that holds two minutes of lame duck and the shutdown.
const minGracePeriod = 150

// checkMerged refuses what podTemplate may not change: what the controller's promises rest on (the configuration,
// the version, the lame duck, the derived limits), and what a StatefulSet overwrites or refuses.
func checkMerged(base, merged corev1.PodSpec) error {
	for _, rule := range slices.Concat(podRules(merged), containerRules(base, merged), volumeRules(base, merged)) {
		if rule.broken {
			return &UnsupportedError{Path: pathPodSpec + "." + rule.field, Message: rule.message}
		}
	}
	return nil
}

// rule is something that podTemplate must keep.
type rule struct {
	field   string
	broken  bool
	message string
}

func podRules(merged corev1.PodSpec) []rule {
	const byStatefulSet = "is set by the StatefulSet: the servers find each other by it; leave it out"
	grace := merged.TerminationGracePeriodSeconds
	return []rule{
		{"restartPolicy", merged.RestartPolicy != "" && merged.RestartPolicy != corev1.RestartPolicyAlways, "must be Always"},
		{"hostname", merged.Hostname != "", byStatefulSet},
		{"subdomain", merged.Subdomain != "", byStatefulSet},
		{"activeDeadlineSeconds", merged.ActiveDeadlineSeconds != nil, "would end the servers; leave it out"},
		{"ephemeralContainers", len(merged.EphemeralContainers) > 0, "cannot be part of a template; leave it out"},
		{
			"terminationGracePeriodSeconds", grace == nil || *grace < minGracePeriod,
			fmt.Sprintf("must be at least %d: a server has two minutes to move its clients, and then shuts down", minGracePeriod),
		},
		{
			"dnsPolicy", !resolvesServices(merged),
			"does not resolve the names of Services, by which the servers find each other; with hostNetwork " +
				"set ClusterFirstWithHostNet",
		},
	}
}

// resolvesServices says that the Pod asks the cluster's DNS. ClusterFirst means the node's on the host's network.
func resolvesServices(spec corev1.PodSpec) bool {
	switch spec.DNSPolicy {
	case corev1.DNSDefault:
		return false
	case corev1.DNSClusterFirstWithHostNet, corev1.DNSNone:
		return true
	case corev1.DNSClusterFirst:
	}
	return !spec.HostNetwork // unset is ClusterFirst
}

func containerRules(base, merged corev1.PodSpec) []rule {
	var rules []rule
	for _, want := range base.Containers {
		if containerNamed(merged, want.Name) == nil {
			rules = append(rules, rule{fmt.Sprintf("containers[%s]", want.Name), true, "may not be removed or renamed"})
		}
	}
	if len(rules) > 0 {
		return rules
	}
	want, got := containerNamed(base, containerNATS), containerNamed(merged, containerNATS)
	at := func(field string) string { return fmt.Sprintf("containers[%s].%s", containerNATS, field) }
	rules = []rule{
		{at("image"), got.Image != want.Image, "is set by spec.image and spec.version; leave it out"},
		{at("command"), !slices.Equal(got.Command, want.Command), "may not be changed: it names the configuration"},
		{at("args"), len(got.Args) > 0, "may not be set: the flags of nats-server win over its configuration"},
		{
			at("resources"), !apiequality.Semantic.DeepEqual(got.Resources, want.Resources),
			"is set by spec.resources, from which GOMEMLIMIT and JetStream's memory follow; leave it out",
		},
		{at("lifecycle"), !sameStop(want.Lifecycle, got.Lifecycle), "may not change how a server is stopped, only add postStart"},
		{
			at("restartPolicy"), got.RestartPolicy != nil && *got.RestartPolicy != corev1.ContainerRestartPolicyAlways,
			"must be Always",
		},
	}
	for _, port := range want.Ports {
		rules = append(rules, rule{
			at("ports"), !slices.ContainsFunc(got.Ports, func(p corev1.ContainerPort) bool { return samePort(p, port) }),
			fmt.Sprintf("must keep port %d as %s/TCP", port.ContainerPort, port.Name),
		})
	}
	for _, mount := range want.VolumeMounts {
		rules = append(rules, rule{
			at("volumeMounts"),
			!slices.ContainsFunc(got.VolumeMounts, func(m corev1.VolumeMount) bool { return apiequality.Semantic.DeepEqual(m, mount) }),
			"must keep " + mount.MountPath + " as it is",
		})
	}
	return rules
}

func containerNamed(spec corev1.PodSpec, name string) *corev1.Container {
	i := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &spec.Containers[i]
}

// samePort leaves hostPort and hostIP to the user.
func samePort(a, b corev1.ContainerPort) bool {
	return a.Name == b.Name && a.ContainerPort == b.ContainerPort && a.Protocol == b.Protocol
}

// sameStop says that the container is stopped as before, whatever happens after its start.
func sameStop(want, got *corev1.Lifecycle) bool {
	if got == nil {
		return false
	}
	stop := *got
	stop.PostStart = nil
	return apiequality.Semantic.DeepEqual(*want, stop)
}

func volumeRules(base, merged corev1.PodSpec) []rule {
	var rules []rule
	claimed := true // the rendered Pod has no data volume where a claim provides it
	for _, want := range base.Volumes {
		claimed = claimed && want.Name != volumeData
		rules = append(rules, rule{
			fmt.Sprintf("volumes[%s]", want.Name),
			!slices.ContainsFunc(merged.Volumes, func(v corev1.Volume) bool { return sameVolume(v, want) }),
			"may not be removed or replaced",
		})
	}
	return append(rules, rule{
		fmt.Sprintf("volumes[%s]", volumeData),
		claimed && slices.ContainsFunc(merged.Volumes, func(v corev1.Volume) bool { return v.Name == volumeData }),
		"is the claim's: the StatefulSet would put the claim in its place; choose another name",
	})
}

// sameVolume leaves the size and the medium of an emptyDir to the user.
func sameVolume(a, b corev1.Volume) bool {
	if a.EmptyDir != nil && b.EmptyDir != nil {
		a.EmptyDir, b.EmptyDir = nil, nil
	}
	return apiequality.Semantic.DeepEqual(a, b)
}
