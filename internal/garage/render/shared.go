package render

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// Shared are the objects that are there once: the Services and, unless it is turned off, the PodDisruptionBudget. nodes is the number of
// storage nodes with a Pod here, wanted or still there.
func (p *Plan) Shared(nodes int32) []client.Object {
	out := []client.Object{p.service(), p.headless()}
	if budget := p.cluster.Spec.Storage.PodDisruptionBudget; budget == nil || on(budget.Enabled) {
		out = append(out, p.budget(max(nodes, Replicas(p.cluster))))
	}
	return out
}

// service is what clients use. It has the Pods that the controller has marked: a node that is not in the layout has no keys and
// would refuse every request.
func (p *Plan) service() *corev1.Service {
	spec := v1beta2.ServiceSpec{}
	if network := p.cluster.Spec.Network; network != nil && network.Service != nil {
		spec = *network.Service.DeepCopy()
	}
	out := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: p.meta(ServiceName(p.cluster.Name)),
		Spec: corev1.ServiceSpec{
			Type:                     corev1.ServiceType(orDefault(spec.Type, v1beta2.ServiceTypeClusterIP)),
			Selector:                 overlay(SelectNodes(p.cluster.Name), map[string]string{v1beta2.LabelS3Member: "true"}),
			ExternalTrafficPolicy:    corev1.ServiceExternalTrafficPolicy(spec.ExternalTrafficPolicy),
			LoadBalancerIP:           spec.LoadBalancerIP,
			LoadBalancerSourceRanges: spec.LoadBalancerSourceRanges,
		},
	}
	out.Labels = overlay(spec.Labels, out.Labels)
	out.Annotations = overlay(spec.Annotations, nil)
	for _, l := range p.listeners.all() {
		// The Admin API can do everything, and the RPC port is the nodes' own: neither is for those outside.
		if l.name == PortRPC || l.name == PortAdmin && out.Spec.Type != corev1.ServiceTypeClusterIP {
			continue
		}
		out.Spec.Ports = append(out.Spec.Ports, servicePort(l))
	}
	return out
}

// headless gives every Pod its name, and is where nodes and the controller find each other: also those that are not ready, since a
// node that starts is ready only after it has been found.
func (p *Plan) headless() *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: p.meta(HeadlessName(p.cluster.Name)),
		Spec: corev1.ServiceSpec{
			Type:                     corev1.ServiceTypeClusterIP,
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 SelectNodes(p.cluster.Name),
			Ports:                    []corev1.ServicePort{servicePort(p.listeners.rpc), servicePort(p.listeners.admin)},
		},
	}
}

// servicePort leads to the container's port of that name, which during a change of its number is not the same on every Pod.
func servicePort(l listener) corev1.ServicePort {
	return corev1.ServicePort{Name: l.name, Protocol: corev1.ProtocolTCP, Port: l.port, TargetPort: intstr.FromString(l.name)}
}

// budget lets an eviction take one node at a time. It counts those that stay rather than those that go: a node that is fenced has no
// Pod to expect, and would not count as one that is away.
func (p *Plan) budget(nodes int32) *policyv1.PodDisruptionBudget {
	out := &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: p.meta(BudgetName(p.cluster.Name)),
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: SelectNodes(p.cluster.Name)}},
	}
	switch of := p.cluster.Spec.Storage.PodDisruptionBudget; {
	case of != nil && of.MinAvailable != nil:
		out.Spec.MinAvailable = new(*of.MinAvailable)
	case of != nil && of.MaxUnavailable != nil:
		out.Spec.MaxUnavailable = new(*of.MaxUnavailable)
	case nodes > 1:
		out.Spec.MinAvailable = new(intstr.FromInt32(nodes - 1))
	default:
		out.Spec.MaxUnavailable = new(intstr.FromInt32(1))
	}
	return out
}
