package render

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// clientService is what clients dial. The monitoring port has no authentication and is not on it.
func clientService(p plan) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta(p.cluster, p.cluster.Name),
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: selectServers(p.cluster.Name),
			Ports:    []corev1.ServicePort{servicePort(nameClient, PortClient)},
		},
	}
}

// headlessService gives every Pod its name. Addresses are published before the Pods are Ready: a server is Ready
// only after it has found the others by these names.
func headlessService(p plan) *corev1.Service {
	ports := []corev1.ServicePort{
		servicePort(nameClient, PortClient),
		servicePort(nameRoute, portRoute),
		servicePort(nameMonitor, PortMonitor),
	}
	if p.exporter.enabled {
		ports = append(ports, servicePort(nameMetrics, portMetrics))
	}
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta(p.cluster, headlessName(p.cluster)),
		Spec: corev1.ServiceSpec{
			Type:                     corev1.ServiceTypeClusterIP,
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 selectServers(p.cluster.Name),
			Ports:                    ports,
		},
	}
}

func servicePort(name string, port int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Protocol: corev1.ProtocolTCP, Port: port, TargetPort: intstr.FromInt32(port)}
}

// disruptionBudget lets a drain take one server at a time. A Pod that is still catching up is not Ready, so it
// counts as the one.
func disruptionBudget(p plan) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: meta(p.cluster, p.cluster.Name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(1)),
			Selector:       &metav1.LabelSelector{MatchLabels: selectServers(p.cluster.Name)},
		},
	}
}

// networkPolicy admits clients from anywhere, routes from the servers, and the monitoring port, which has no
// authentication, from the controller's namespace alone. The exporter republishes that port, so it is closed
// too but to the peers that the spec names. The exporter itself reads over the Pod's loopback, and the kubelet's
// probes come from the node: no policy governs either.
func networkPolicy(p plan) *networkingv1.NetworkPolicy {
	var controller []networkingv1.NetworkPolicyPeer
	if p.controllerNamespace != "" {
		controller = []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: p.controllerNamespace},
		}}}
	}
	servers := []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{
		MatchLabels: selectServers(p.cluster.Name),
	}}}
	rules := []networkingv1.NetworkPolicyIngressRule{
		{Ports: policyPort(PortClient)},
		{Ports: policyPort(portRoute), From: servers},
	}
	// A rule without peers admits everybody: with nobody to admit there must be no rule.
	if len(controller) > 0 {
		rules = append(rules, networkingv1.NetworkPolicyIngressRule{Ports: policyPort(PortMonitor), From: controller})
	}
	scrapers := append(slices.Clip(controller), p.cluster.Spec.Exporter.From...)
	if p.exporter.enabled && len(scrapers) > 0 {
		rules = append(rules, networkingv1.NetworkPolicyIngressRule{Ports: policyPort(portMetrics), From: scrapers})
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: meta(p.cluster, p.cluster.Name),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: selectServers(p.cluster.Name)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     rules,
		},
	}
}

func policyPort(port int32) []networkingv1.NetworkPolicyPort {
	return []networkingv1.NetworkPolicyPort{{Protocol: ptr.To(corev1.ProtocolTCP), Port: new(intstr.FromInt32(port))}}
}
