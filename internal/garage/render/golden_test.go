package render_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
)

// TestGoldenObjects holds every object of a store's first node to the letter.
func TestGoldenObjects(t *testing.T) {
	for name, in := range map[string]render.Input{
		"quickstart": quickstart(),
		"paths":      paths(),
		"exposed": with(func(in *render.Input, spec *v1beta2.GarageClusterSpec) {
			in.Metrics = render.SecretKey{Name: "demo-metrics", Key: render.KeyMetricsToken}
			spec.Zone = "ber-1"
			spec.DefaultNodeTags = []string{"ssd"}
			spec.Storage.RPCPublicAddr = "node{ordinal}.example.com:3901"
			spec.Storage.CapacityReservePercent = new(int32(10))
			spec.Storage.PodLabels = map[string]string{"team": "storage"}
			spec.Storage.Env = []corev1.EnvVar{{Name: "TZ", Value: "Europe/Berlin"}}
			spec.Storage.PVCRetentionPolicy = &v1beta2.PVCRetentionPolicy{WhenDeleted: v1beta2.RetentionDelete}
			spec.K2VAPI = &v1beta2.K2VAPISpec{}
			spec.Network = &v1beta2.NetworkSpec{Service: &v1beta2.ServiceSpec{
				Type: v1beta2.ServiceTypeLoadBalancer, Labels: map[string]string{"exposed": "yes"}, Annotations: map[string]string{"example.com/pool": "a"},
				ExternalTrafficPolicy: "Local", LoadBalancerIP: "192.0.2.7", LoadBalancerSourceRanges: []string{"192.0.2.0/24"},
			}}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			p := plan(t, in)
			node := auto(t, p, 0)
			out := rendered(t, p, node)
			objects := append(p.Shared(3), node, out.ConfigMap, out.StatefulSet)
			golden(t, name+".yaml", documents(t, objects...))
		})
	}
}

// TestGoldenConfig holds a garage.toml with every key.
func TestGoldenConfig(t *testing.T) {
	golden(t, "everything.toml", first(t, everything()).Config)
}
