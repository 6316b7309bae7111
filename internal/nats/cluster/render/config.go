package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// metadataRevision is the key of server_metadata under which a server reports the revision that it runs:
// /varz shows it as metadata.config_revision.
const metadataRevision = "config_revision"

// config is nats.conf. nats-server reads JSON, and refuses a key that it does not know.
type config struct {
	ServerName string `json:"server_name"`
	Listen     string `json:"listen"`
	// HTTP is the port of the monitoring listener, on the address of the client listener.
	HTTP    int    `json:"http"`
	PIDFile string `json:"pid_file"`
	// Lame duck: clients are left alone for the grace period and then told to go over the rest of the duration.
	LameDuckDuration    string            `json:"lame_duck_duration"`
	LameDuckGracePeriod string            `json:"lame_duck_grace_period"`
	ServerTags          []string          `json:"server_tags,omitempty"`
	ServerMetadata      map[string]string `json:"server_metadata,omitempty"`
	TLS                 *tlsConfig        `json:"tls,omitempty"`
	Cluster             *clusterConfig    `json:"cluster,omitempty"`
	JetStream           *jetStreamConfig  `json:"jetstream,omitempty"`
	// Operator is its JWT. SystemAccount is a public key.
	Operator        string            `json:"operator,omitempty"`
	SystemAccount   string            `json:"system_account,omitempty"`
	Resolver        *resolverConfig   `json:"resolver,omitempty"`
	ResolverPreload map[string]string `json:"resolver_preload,omitempty"`
}

// resolverConfig is where a server keeps the JWTs of accounts. A full resolver has all of them, and drops one when it is
// told to; a cache has those that were used of late.
type resolverConfig struct {
	Type        string `json:"type"`
	Dir         string `json:"dir"`
	AllowDelete bool   `json:"allow_delete,omitempty"`
}

type tlsConfig struct {
	CertFile string `json:"cert_file"`
	KeyFile  string `json:"key_file"`
	// CAFile is what routes are checked against, both ways. The client listener has none: it asks for no
	// certificate, and nats-server reads a CA there only to check one.
	CAFile string `json:"ca_file,omitempty"`
}

type clusterConfig struct {
	Name   string     `json:"name"`
	Listen string     `json:"listen"`
	Routes []string   `json:"routes"`
	TLS    *tlsConfig `json:"tls,omitempty"`
}

type jetStreamConfig struct {
	StoreDir       string `json:"store_dir"`
	MaxMemoryStore int64  `json:"max_memory_store,omitempty"`
	MaxFileStore   int64  `json:"max_file_store,omitempty"`
}

// configFor is the configuration of one server, without the revision.
func configFor(p plan, ordinal int) config {
	out := config{
		ServerName:          ServerName(p.cluster.Name, ordinal),
		Listen:              fmt.Sprintf("0.0.0.0:%d", PortClient),
		HTTP:                PortMonitor,
		PIDFile:             filePID,
		LameDuckDuration:    "2m",
		LameDuckGracePeriod: "10s",
		ServerTags:          tags(p.cluster.Spec.ServerTags),
	}
	if p.clientTLS != nil {
		out.TLS = tlsAt(dirClientTLS)
	}
	if p.clustered() {
		out.Cluster = &clusterConfig{
			Name:   p.cluster.Name,
			Listen: fmt.Sprintf("0.0.0.0:%d", portRoute),
			Routes: routes(p.cluster),
		}
		if p.routesTLS != nil {
			out.Cluster.TLS = tlsAt(dirRoutesTLS)
			out.Cluster.TLS.CAFile = dirRoutesTLS + "/" + KeyCA
		}
	}
	if p.cluster.Spec.JetStream != nil {
		out.JetStream = &jetStreamConfig{
			StoreDir:       dirJetStream,
			MaxMemoryStore: p.limits.memory,
			MaxFileStore:   p.limits.file,
		}
	}
	if p.trust != nil {
		out.Operator, out.SystemAccount = p.trust.OperatorJWT, p.trust.SystemAccount
		out.Resolver = resolverFor(p.cluster.Spec.Auth.Resolver)
	}
	return out
}

func resolverFor(kind v1beta1.ResolverKind) *resolverConfig {
	if kind == v1beta1.ResolverCache {
		return &resolverConfig{Type: "cache", Dir: dirResolver}
	}
	return &resolverConfig{Type: "full", Dir: dirResolver, AllowDelete: true}
}

// preload has a server know its system account before it reaches another server.
func (t *Trust) preload() map[string]string {
	if t == nil {
		return nil
	}
	return map[string]string{t.SystemAccount: t.SystemAccountJWT}
}

func tlsAt(dir string) *tlsConfig {
	return &tlsConfig{CertFile: dir + "/" + corev1.TLSCertKey, KeyFile: dir + "/" + corev1.TLSPrivateKeyKey}
}

// routes names every server, the one that reads it too: nats-server drops the route to itself, but takes the
// number of routes for the size of the meta group that it founds. A list without the reader would found it one
// server too small.
func routes(cluster *v1beta1.NatsCluster) []string {
	out := make([]string, 0, cluster.Spec.Replicas)
	for ordinal := range int(cluster.Spec.Replicas) {
		out = append(out, fmt.Sprintf("nats-route://%s:%d", RouteHost(cluster, ordinal), portRoute))
	}
	return out
}

// tags are the server tags, sorted by key.
func tags(from map[string]string) []string {
	out := make([]string, 0, len(from))
	for _, key := range slices.Sorted(maps.Keys(from)) {
		out = append(out, key+":"+from[key])
	}
	return out
}

// encode writes the configuration as nats-server reads it: indented, for whoever looks into the ConfigMap.
func (c config) encode() []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(c); err != nil {
		// The type holds strings, numbers and lists of strings: there is nothing that JSON cannot say.
		panic(fmt.Sprintf("encode nats.conf: %v", err))
	}
	return out.Bytes()
}
