package render

import (
	"fmt"
	"maps"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// ConfigKey is the ConfigMap's key that holds a server's configuration.
const ConfigKey = "nats.conf"

// KeyCA is the key beside tls.crt and tls.key of a Secret under which the CA of the peers lies.
const KeyCA = "ca.crt"

// Ports of a server; a container port and a Service port of one name have the same number.
const (
	// PortClient is where a server's clients connect.
	PortClient  = 4222
	portRoute   = 6222
	portMetrics = 7777
	// PortMonitor is where a server's HTTP monitoring answers; it has no authentication.
	PortMonitor = 8222

	nameClient  = "client"
	nameRoute   = "route"
	nameMetrics = "metrics"
	nameMonitor = "monitor"
)

// Paths in a server's container.
const (
	dirConfig    = "/etc/nats-config"
	dirClientTLS = "/etc/nats-client-tls"
	dirRoutesTLS = "/etc/nats-routes-tls"
	dirPID       = "/var/run/nats"
	dirData      = "/data"

	filePID      = dirPID + "/nats.pid"
	dirJetStream = dirData + "/jetstream"
	dirResolver  = dirData + "/resolver"
)

// ServerName is the name of the server with that ordinal, and of its StatefulSet.
func ServerName(cluster string, ordinal int) string {
	return cluster + "-" + strconv.Itoa(ordinal)
}

// ServerNames are the names of all servers that the spec asks for, lowest ordinal first.
func ServerNames(cluster *v1beta1.NatsCluster) []string {
	names := make([]string, 0, cluster.Spec.Replicas)
	for ordinal := range int(cluster.Spec.Replicas) {
		names = append(names, ServerName(cluster.Name, ordinal))
	}
	return names
}

// RoutesSecretName is the Secret of the route certificate that the controller keeps itself.
func RoutesSecretName(cluster string) string { return cluster + "-routes-tls" }

// ClientHost is the name of the client Service, for which the client listener's certificate has to be valid.
func ClientHost(cluster *v1beta1.NatsCluster) string {
	return fmt.Sprintf("%s.%s.svc", cluster.Name, cluster.Namespace)
}

// RouteDomain is the domain of the names under which the servers dial each other.
func RouteDomain(cluster *v1beta1.NatsCluster) string {
	return fmt.Sprintf("%s.%s.svc", headlessName(cluster), cluster.Namespace)
}

// RouteHost is the name under which the other servers dial that server, and under which its certificate has to
// be valid.
func RouteHost(cluster *v1beta1.NatsCluster, ordinal int) string {
	return fmt.Sprintf("%s-0.%s", ServerName(cluster.Name, ordinal), RouteDomain(cluster))
}

func headlessName(cluster *v1beta1.NatsCluster) string { return cluster.Name + "-headless" }

func configMapName(server string) string { return server + "-config" }

// Labels are the labels of every object of a NatsCluster.
func Labels(cluster string) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":       "nats",
		"app.kubernetes.io/instance":   cluster,
		"app.kubernetes.io/managed-by": "cluster-controller",
		v1beta1.LabelCluster:           cluster,
	}
}

// serverLabels are the labels of the objects of one server.
func serverLabels(cluster, server string) map[string]string {
	return overlay(Labels(cluster), map[string]string{v1beta1.LabelServer: server})
}

// selectServers selects the Pods of every server.
func selectServers(cluster string) map[string]string {
	return map[string]string{v1beta1.LabelCluster: cluster}
}

// selectServer selects the Pod of one server.
func selectServer(cluster, server string) map[string]string {
	return map[string]string{v1beta1.LabelCluster: cluster, v1beta1.LabelServer: server}
}

// overlay is base with over's entries put on top; nil when there are none.
func overlay(base, over map[string]string) map[string]string {
	if len(base)+len(over) == 0 {
		return nil
	}
	out := make(map[string]string, len(base)+len(over))
	maps.Copy(out, base)
	maps.Copy(out, over)
	return out
}

// meta is the metadata of an object that the servers share.
func meta(cluster *v1beta1.NatsCluster, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: cluster.Namespace, Labels: Labels(cluster.Name)}
}
