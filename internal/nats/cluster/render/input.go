package render

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// Input is everything that the objects depend on.
type Input struct {
	// Cluster is the NatsCluster; only its name, namespace and spec are looked at.
	Cluster *v1beta1.NatsCluster
	// ControllerNamespace is where the cluster controller runs; empty outside a Pod, and then the NetworkPolicy
	// admits the monitoring port from nowhere.
	ControllerNamespace string
	// Exporter is the exporter's image where spec.exporter.image says nothing.
	Exporter ExporterDefaults
	// ClientTLS is the certificate of spec.tls; nil without that, and while the certificate is waited for. In the
	// latter case the objects are rendered with the Secret's name, and must not be written: their revision
	// does not know the certificate.
	ClientTLS *Certificate
	// RoutesTLS is the certificate of the route listener, as ClientTLS. It is not looked at with one server.
	RoutesTLS *Certificate
	// Trust is whom the servers trust; nil without spec.auth.
	Trust *Trust
}

// Trust is a NATS operator and its system account.
type Trust struct {
	// OperatorJWT is the operator's JWT.
	OperatorJWT string
	// SystemAccount is the public key of the system account, and SystemAccountJWT its JWT. The latter is no part of
	// the revision: servers that run take a new one as a claims update.
	SystemAccount, SystemAccountJWT string
}

// ExporterDefaults is the exporter's image as the installation names it. Digest may be empty.
type ExporterDefaults struct{ Repository, Tag, Digest string }

// Certificate is a Secret of type kubernetes.io/tls that is ready to be mounted.
type Certificate struct {
	// SecretName is the Secret's name, in the NatsCluster's namespace.
	SecretName string
	// Digest identifies what the servers read of the Secret.
	Digest string
	// Authorities identifies the keys that are trusted by ca.crt, which stay the same when only a CA's certificate is
	// renewed; empty where ca.crt is not read.
	Authorities string
	// Ends is when the certificate ends.
	Ends time.Time
	// CA says that the Secret has ca.crt.
	CA bool
}

// Output is what was rendered. The objects carry no owner reference: whoever writes them sets it.
type Output struct {
	// Revision names everything that a restart brings to the servers: 10 hexadecimal digits.
	Revision string
	// Shared are the Services, the PodDisruptionBudget and, unless spec.monitor.networkPolicy is false, the
	// NetworkPolicy.
	Shared []client.Object
	// Servers has one entry per planned server, lowest ordinal first.
	Servers []Server
	// Limits are JetStream's limits per server as rendered; one that is left to nats-server is nil.
	Limits v1beta1.JetStreamEffectiveLimits
	// Endpoints are the addresses of the NATS cluster.
	Endpoints v1beta1.Endpoints
	// ClientTLS and RoutesTLS are the certificates that the servers mount, nil where a listener has none.
	ClientTLS, RoutesTLS *Certificate
}

// Server is the planned server of that name; false when none is planned.
func (o Output) Server(name string) (Server, bool) {
	for _, server := range o.Servers {
		if server.Name == name {
			return server, true
		}
	}
	return Server{}, false
}

// Server is what one server runs from.
type Server struct {
	// Name is the server's name, which is also its StatefulSet's.
	Name string
	// Config is nats.conf, as JSON.
	Config []byte
	// ConfigMap carries Config under ConfigKey.
	ConfigMap *corev1.ConfigMap
	// StatefulSet runs the server's one Pod.
	StatefulSet *appsv1.StatefulSet
}

// StartedWith are the annotations of a Pod template that say what its servers start with and may come to by a reload as well. A
// ConfigMap has the same ones.
var StartedWith = []string{v1beta1.AnnotationConfigRevision, v1beta1.AnnotationClientCertificate, v1beta1.AnnotationRouteCertificate}

// StatefulSetLike is the server's StatefulSet under the revision and with the certificates of another one's Pod template, as it
// is rendered again and again while a reload brings newer ones to the process.
func (s Server) StatefulSetLike(other *appsv1.StatefulSet) *appsv1.StatefulSet {
	set, annotations := s.StatefulSet.DeepCopy(), other.Spec.Template.Annotations
	for _, key := range StartedWith {
		if value, has := annotations[key]; has {
			metav1.SetMetaDataAnnotation(&set.Spec.Template.ObjectMeta, key, value)
		}
	}
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, v1beta1.AnnotationConfigRevision, annotations[v1beta1.AnnotationConfigRevision])
	return set
}

// UnsupportedError says that a spec cannot be carried out as it stands.
type UnsupportedError struct {
	// Path is the field that is in the way, from the object's root.
	Path string
	// Message says what is wrong with it and what to do.
	Message string
}

// Error is the path and the message.
func (e *UnsupportedError) Error() string { return e.Path + ": " + e.Message }
