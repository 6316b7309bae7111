package controller

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi"
)

// observe asks the servers: over the system account where the spec names credentials, and else over their monitoring
// ports. It never goes from one to the other by itself: whoever took the credentials away from a cluster whose
// monitoring ports are closed would read a verdict that nobody gave.
func (p *pass) observe(ctx context.Context, servers facts.Servers) settled.Verdict {
	api, targets, err := p.api(ctx, servers)
	if err != nil {
		return settled.NotObserved(err.Error())
	}
	verdict := settled.Look(ctx, api, targets, p.cluster.Spec.JetStream != nil)
	if p.system == nil || verdict.Known {
		return verdict
	}
	if denied := p.system.Denied(); denied != "" {
		return settled.NotObserved("the system user may not ask: " + denied)
	}
	return verdict
}

// streams asks every server which streams it holds.
func (p *pass) streams(ctx context.Context, servers facts.Servers) fact.Fact[[]string] {
	api, targets, err := p.api(ctx, servers)
	if err != nil {
		return fact.Unknown[[]string](err.Error())
	}
	return settled.Observe(ctx, api, targets, true).Streams()
}

// api is how the servers are asked, and which.
func (p *pass) api(ctx context.Context, servers facts.Servers) (settled.MonitorAPI, []settled.Target, error) {
	var targets []settled.Target
	if !p.hasSystemUser() {
		for _, server := range servers.Running() {
			targets = append(targets, settled.Target{Name: server.Name, At: address(server, "http", render.PortMonitor)})
		}
		return p.Monitor, targets, nil
	}
	system, err := p.connect(ctx, servers)
	if err != nil {
		return nil, nil, err
	}
	p.system = system
	for _, server := range servers.Running() {
		targets = append(targets, settled.Target{Name: server.Name, At: server.Name})
	}
	return system, targets, nil
}

// address is where a server's Pod answers: at its IP, since its name has none before the Pod is published.
func address(server facts.Server, scheme string, port int) string {
	if server.Pod == nil || server.Pod.Status.PodIP == "" {
		return ""
	}
	return scheme + "://" + net.JoinHostPort(server.Pod.Status.PodIP, strconv.Itoa(port))
}

func (p *pass) hasSystemUser() bool {
	return p.cluster.Spec.Auth != nil && p.cluster.Spec.Auth.SystemCredentials != nil
}

// connect is a connection to the system account as the user that the spec names.
func (p *pass) connect(ctx context.Context, servers facts.Servers) (System, error) {
	ref := p.cluster.Spec.Auth.SystemCredentials.SecretKeyRef
	credentials, err := p.secretKey(ctx, ref.Name, ref.Key)
	if err != nil {
		return nil, err
	}
	options := sysapi.Options{Credentials: credentials}
	if p.cluster.Spec.Replicas > 1 {
		options.Cluster = p.cluster.Name
	}
	var ca []byte
	if listener := p.cluster.Spec.TLS; listener != nil {
		if options.TLS, ca, err = p.clientTLS(ctx, listener.SecretRef.Name); err != nil {
			return nil, err
		}
	}
	for _, server := range servers.Running() {
		if at := address(server, "nats", render.PortClient); at != "" {
			options.URLs = append(options.URLs, at)
		}
	}
	return p.System(ctx, string(p.cluster.UID), options, ca)
}

// clientTLS checks the servers' certificate by the CA in its Secret, or where that has none by the system's roots. The
// name is that of the client Service: Pods come and go with their addresses.
func (p *pass) clientTLS(ctx context.Context, name string) (*tls.Config, []byte, error) {
	secret, err := p.secret(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: render.ClientHost(p.cluster)}
	ca := secret.Data[render.KeyCA]
	if len(ca) == 0 {
		return config, nil, nil
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(ca) {
		return nil, nil, fmt.Errorf("connect to the system account: Secret %s has no certificate in %s", name, render.KeyCA)
	}
	return config, ca, nil
}

func (p *pass) secretKey(ctx context.Context, name, key string) ([]byte, error) {
	secret, err := p.secret(ctx, name)
	if err != nil {
		return nil, err
	}
	value, has := secret.Data[key]
	if !has {
		return nil, fmt.Errorf("connect to the system account: Secret %s has no key %s", name, key)
	}
	return value, nil
}

// secret reads a Secret by its name from the API server. What the error says never has anything of its content.
func (p *pass) secret(ctx context.Context, name string) (*corev1.Secret, error) {
	var secret corev1.Secret
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.cluster.Namespace, Name: name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("connect to the system account: Secret %s does not exist", name)
	case err != nil:
		return nil, fmt.Errorf("connect to the system account: %w", err)
	}
	return &secret, nil
}
