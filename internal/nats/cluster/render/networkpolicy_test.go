package render_test

import (
	"net/netip"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

// peer is somebody who dials a server.
type peer struct {
	namespace string // empty for somebody outside of Kubernetes
	labels    map[string]string
	ip        string
}

var (
	outside    = peer{ip: "192.0.2.7"}
	prometheus = peer{namespace: "monitoring", labels: map[string]string{"app": "prometheus"}, ip: "10.1.0.1"}
	controller = peer{namespace: "holdfast-system", ip: "10.1.0.2"}
	server     = peer{namespace: "messaging", labels: map[string]string{v1beta1.LabelCluster: "demo"}, ip: "10.1.0.3"}
	neighbour  = peer{namespace: "messaging", labels: map[string]string{v1beta1.LabelCluster: "other"}, ip: "10.1.0.4"}
	impostor   = peer{namespace: "elsewhere", labels: map[string]string{v1beta1.LabelCluster: "demo"}, ip: "10.1.0.5"}
)

// admits reads an ingress policy as Kubernetes defines it: what no rule admits is refused, and a rule without
// peers admits everybody.
func admits(t *testing.T, policy *networkingv1.NetworkPolicy, port int32, from peer) bool {
	t.Helper()
	for _, rule := range policy.Spec.Ingress {
		if len(rule.Ports) == 0 {
			t.Fatalf("a rule without ports admits to all of them: %v", rule)
		}
		for _, p := range rule.Ports {
			if p.Port.IntVal != port {
				continue
			}
			if len(rule.From) == 0 {
				return true
			}
			for _, one := range rule.From {
				if matches(t, policy.Namespace, one, from) {
					return true
				}
			}
		}
	}
	return false
}

func matches(t *testing.T, home string, one networkingv1.NetworkPolicyPeer, from peer) bool {
	t.Helper()
	if one.IPBlock != nil {
		return netip.MustParsePrefix(one.IPBlock.CIDR).Contains(netip.MustParseAddr(from.ip))
	}
	if from.namespace == "" {
		return false
	}
	if one.NamespaceSelector == nil && from.namespace != home {
		return false
	}
	return selects(t, one.NamespaceSelector, map[string]string{"kubernetes.io/metadata.name": from.namespace}) &&
		selects(t, one.PodSelector, from.labels)
}

func selects(t *testing.T, selector *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	if selector == nil {
		return true
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(labels.Set(of))
}

func TestNetworkPolicyAdmits(t *testing.T) {
	const client, route, monitor, metrics, other = 4222, 6222, 8222, 7777, 9999
	everybody := []peer{outside, prometheus, controller, server, neighbour, impostor}
	names := []string{"outside", "prometheus", "controller", "server", "neighbour", "impostor"}
	scrape := []networkingv1.NetworkPolicyPeer{
		{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "monitoring"}}},
		{IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.0/24"}},
	}
	all, nobody := "yyyyyy", "------"
	cases := map[string]struct {
		change func(*render.Input, *v1beta1.NatsClusterSpec)
		want   map[int32]string // one letter per peer, in the order above
	}{
		"default": {
			func(*render.Input, *v1beta1.NatsClusterSpec) {},
			map[int32]string{client: all, route: "---y--", monitor: "--y---", metrics: "--y---", other: nobody},
		},
		"exporter.from": {
			func(_ *render.Input, spec *v1beta1.NatsClusterSpec) { spec.Exporter.From = scrape },
			map[int32]string{client: all, route: "---y--", monitor: "--y---", metrics: "yyy---", other: nobody},
		},
		"no exporter": {
			func(_ *render.Input, spec *v1beta1.NatsClusterSpec) {
				spec.Exporter.From, spec.Exporter.Enabled = scrape, new(false)
			},
			map[int32]string{client: all, route: "---y--", monitor: "--y---", metrics: nobody, other: nobody},
		},
		"controller outside of a Pod": {
			func(in *render.Input, _ *v1beta1.NatsClusterSpec) { in.ControllerNamespace = "" },
			map[int32]string{client: all, route: "---y--", monitor: nobody, metrics: nobody, other: nobody},
		},
		"controller outside of a Pod, exporter.from": {
			func(in *render.Input, spec *v1beta1.NatsClusterSpec) {
				in.ControllerNamespace, spec.Exporter.From = "", scrape
			},
			map[int32]string{client: all, route: "---y--", monitor: nobody, metrics: "yy----", other: nobody},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			policy := find[*networkingv1.NetworkPolicy](t, mustRender(t, with(test.change)).Shared)
			if len(policy.Spec.PolicyTypes) != 1 || policy.Spec.PolicyTypes[0] != networkingv1.PolicyTypeIngress {
				t.Errorf("policy types %v: the servers dial out freely, and are dialled as the rules say", policy.Spec.PolicyTypes)
			}
			if !selects(t, &policy.Spec.PodSelector, server.labels) || selects(t, &policy.Spec.PodSelector, neighbour.labels) {
				t.Errorf("the policy is not over exactly the servers: %v", policy.Spec.PodSelector)
			}
			for port, want := range test.want {
				for i, from := range everybody {
					if got := admits(t, policy, port, from); got != (want[i] == 'y') {
						t.Errorf("port %d from %s: admitted %v", port, names[i], got)
					}
				}
			}
		})
	}
}
