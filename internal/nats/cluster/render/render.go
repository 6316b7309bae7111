package render

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// plan is the Input, checked, with what follows from it.
type plan struct {
	cluster             *v1beta1.NatsCluster
	controllerNamespace string
	exporter            exporter
	limits              limits
	// clientTLS and routesTLS are the certificates to mount, nil where the listener has none.
	clientTLS, routesTLS *Certificate
	// trust is whom the servers trust, nil where they take everybody.
	trust *Trust
}

// clustered says that there are servers to make routes to. One server runs alone: nats-server refuses a
// clustered JetStream without routes, and cannot found a meta group of one.
func (p plan) clustered() bool { return p.cluster.Spec.Replicas > 1 }

// keepsData says that the servers have something to store: streams, or the JWTs of accounts.
func (p plan) keepsData() bool { return p.cluster.Spec.JetStream != nil || p.trust != nil }

// claim is the template of each server's claim, nil where the store, if any, ends with the Pod.
func (p plan) claim() *v1beta1.VolumeClaimTemplate {
	if p.cluster.Spec.JetStream == nil {
		return nil
	}
	return p.cluster.Spec.JetStream.VolumeClaimTemplate
}

// Render builds the objects of a NatsCluster. A spec that cannot be carried out gives an *UnsupportedError, which
// names the field; there is no other error.
func Render(in Input) (Output, error) {
	p, err := planOf(in)
	if err != nil {
		return Output{}, err
	}
	servers := make([]Server, p.cluster.Spec.Replicas)
	configs := make([]config, len(servers))
	for ordinal := range servers {
		name := ServerName(p.cluster.Name, ordinal)
		set, err := statefulSet(p, name)
		if err != nil {
			return Output{}, err
		}
		configs[ordinal] = configFor(p, ordinal)
		servers[ordinal] = Server{Name: name, Config: configs[ordinal].encode(), StatefulSet: set}
	}
	revision := revisionOf(p, servers)
	for ordinal := range servers {
		configs[ordinal].ServerMetadata = map[string]string{metadataRevision: revision}
		configs[ordinal].ResolverPreload = p.trust.preload()
		servers[ordinal].Config = configs[ordinal].encode()
		servers[ordinal].ConfigMap = configMap(p, servers[ordinal].Name, servers[ordinal].Config)
		stamp(&servers[ordinal], revision)
	}
	shared := []client.Object{clientService(p), headlessService(p), disruptionBudget(p)}
	if on(p.cluster.Spec.Monitor.NetworkPolicy) {
		shared = append(shared, networkPolicy(p))
	}
	return Output{
		Revision:  revision,
		Shared:    shared,
		Servers:   servers,
		Limits:    p.limits.effective(),
		Endpoints: endpoints(p),
		ClientTLS: p.clientTLS,
		RoutesTLS: p.routesTLS,
	}, nil
}

func planOf(in Input) (plan, error) {
	spec := in.Cluster.Spec
	if err := check(in.Cluster); err != nil {
		return plan{}, err
	}
	limits, err := limitsOf(spec)
	if err != nil {
		return plan{}, err
	}
	exporter, err := exporterOf(spec.Exporter, in.Exporter)
	if err != nil {
		return plan{}, err
	}
	p := plan{
		cluster:             in.Cluster,
		controllerNamespace: in.ControllerNamespace,
		exporter:            exporter,
		limits:              limits,
		trust:               in.Trust,
	}
	if spec.TLS != nil {
		p.clientTLS = orNamed(in.ClientTLS, spec.TLS.SecretRef.Name)
	}
	if !p.clustered() || !on(spec.Routes.TLS.Enabled) {
		return p, nil
	}
	// Without ca.crt nats-server would check its peers against the system's roots: any public certificate
	// would be a server of this cluster.
	if in.RoutesTLS != nil && !in.RoutesTLS.CA {
		return plan{}, &UnsupportedError{Path: "spec.routes.tls.secretRef", Message: "the Secret has no ca.crt, which the " +
			"servers check each other against; add it"}
	}
	name := spec.Routes.TLS.SecretRef.Name
	if name == "" {
		name = RoutesSecretName(in.Cluster.Name)
	}
	p.routesTLS = orNamed(in.RoutesTLS, name)
	return p, nil
}

// orNamed is the certificate, or one of that name that is still waited for: a listener that is to have TLS is
// never rendered without it.
func orNamed(certificate *Certificate, name string) *Certificate {
	if certificate != nil {
		return certificate
	}
	return &Certificate{SecretName: name}
}

// on reads a switch that is on when unset.
func on(b *bool) bool { return b == nil || *b }

func endpoints(p plan) v1beta1.Endpoints {
	scheme := "nats"
	if p.clientTLS != nil {
		scheme = "tls"
	}
	return v1beta1.Endpoints{
		Client:  fmt.Sprintf("%s://%s:%d", scheme, ClientHost(p.cluster), PortClient),
		Monitor: fmt.Sprintf("http://%s.%s.svc:%d", headlessName(p.cluster), p.cluster.Namespace, PortMonitor),
	}
}
