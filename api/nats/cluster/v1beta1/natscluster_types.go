package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
)

// NatsCluster is one NATS cluster: servers that know each other by routes, each a StatefulSet of its own
// (nats-operator v1 design, 4 Cluster controller).
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=natsclusters,singular=natscluster,scope=Namespaced,categories=holdfast;nats
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Settled",type=string,JSONPath=`.status.conditions[?(@.type=="Settled")].status`
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Doing",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Progressing")].message`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 40",message="the name is at most 40 characters: server, Pod and claim names are built from it and a DNS label ends at 63"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z][-a-z0-9]*$')",message="the name begins with a letter and has no dots: it becomes a Service's name and part of every server's host name"
type NatsCluster struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata; its name is also the NATS cluster's name.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the wanted state.
	// +required
	Spec NatsClusterSpec `json:"spec,omitzero"`
	// status is what the cluster controller last saw.
	// +optional
	Status NatsClusterStatus `json:"status,omitzero"`
}

// NatsClusterList is a list of NatsClusters.
//
// +kubebuilder:object:root=true
type NatsClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NatsCluster `json:"items"`
}

// NatsClusterSpec is the wanted state of a NATS cluster.
//
// +kubebuilder:validation:XValidation:rule="has(self.jetstream) == has(oldSelf.jetstream)",fieldPath=".jetstream",reason=FieldValueForbidden,message="jetstream cannot be turned on or off later: without it the servers would forget their streams, and turned on one server at a time they would have no majority; make a second NatsCluster and move the clients over"
// +kubebuilder:validation:XValidation:rule="!has(self.jetstream) || !has(oldSelf.jetstream) || (self.replicas == 1) == (oldSelf.replicas == 1)",fieldPath=".replicas",reason=FieldValueForbidden,message="with jetstream, replicas cannot go from 1 to more or from more to 1: the servers would delete their streams; make a second NatsCluster of the wanted size and bring the data over with a stream mirror, or a stream backup and restore"
// +kubebuilder:validation:XValidation:rule="self.replicas == 1 || oldSelf.replicas == 1 || ((!has(self.routes) || !has(self.routes.tls) || !has(self.routes.tls.enabled) || self.routes.tls.enabled) == (!has(oldSelf.routes) || !has(oldSelf.routes.tls) || !has(oldSelf.routes.tls.enabled) || oldSelf.routes.tls.enabled) && ((!has(self.routes) || !has(self.routes.tls) || !has(self.routes.tls.enabled) || self.routes.tls.enabled) && has(self.routes) && has(self.routes.tls) && has(self.routes.tls.secretRef) ? self.routes.tls.secretRef.name : '-') == ((!has(oldSelf.routes) || !has(oldSelf.routes.tls) || !has(oldSelf.routes.tls.enabled) || oldSelf.routes.tls.enabled) && has(oldSelf.routes) && has(oldSelf.routes.tls) && has(oldSelf.routes.tls.secretRef) ? oldSelf.routes.tls.secretRef.name : '-'))",fieldPath=".routes",reason=FieldValueForbidden,message="routes.tls cannot change under running servers: one that was restarted and one that was not would refuse each other; delete the NatsCluster, whose claims stay, and make it again"
// +kubebuilder:validation:XValidation:rule="has(self.auth) == has(oldSelf.auth)",fieldPath=".auth",reason=FieldValueForbidden,message="auth cannot be turned on or off later: a server that was restarted and one that was not would have no account in common, and streams belong to accounts; make a second NatsCluster and move the clients over"
type NatsClusterSpec struct {
	// version is the nats-server version to run, a semantic version of at least 2.15.0; it is also the image's
	// tag. A change restarts the servers one at a time. Patches may change freely, the minor version by one
	// step up or down, the major version not at all.
	// +required
	// +kubebuilder:validation:MinLength=5
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isSemver(self) && !semver(self).isLessThan(semver('2.15.0')) && !self.contains('+')",message="version must be a semantic version of at least 2.15.0 without build metadata, for example 2.15.3"
	// +kubebuilder:validation:XValidation:rule="!isSemver(self) || !isSemver(oldSelf) || (semver(self).major() == semver(oldSelf).major() && semver(self).minor() - semver(oldSelf).minor() <= 1 && semver(oldSelf).minor() - semver(self).minor() <= 1)",message="version may move by one minor version at a time, up or down, and not to another major version: go through the versions between"
	Version string `json:"version,omitempty"`

	// image is where the servers' image comes from. Its tag is always version.
	// +optional
	Image ServerImage `json:"image,omitzero"`

	// replicas is the number of servers, 1 to 64. One server is a standalone one. With jetstream the number
	// cannot go from 1 to more or back. A larger number adds servers first and then teaches the others their
	// routes, by a reload with auth.systemCredentials and otherwise one restart at a time; a smaller one is held while jetstream is on.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Replicas int32 `json:"replicas,omitempty"`

	// resources are the nats container's requests and limits. limits.memory also sets GOMEMLIMIT, to 90 % of
	// it, and JetStream's memory store. A change restarts the servers one at a time.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// jetstream turns JetStream on; without it the servers only pass messages on. It
	// is chosen when the NatsCluster is made, and stays.
	// +optional
	JetStream *JetStream `json:"jetstream,omitempty"`

	// serverTags are tags that every server carries, written as key:value; streams are placed by them. At most
	// 15. A change is reloaded with auth.systemCredentials, and otherwise restarts the servers one at a time.
	// +optional
	// +kubebuilder:validation:MaxProperties=15
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) >= 1 && size(k) <= 63 && size(self[k]) <= 63)",message="keys and values of serverTags have at most 63 characters, and a key has at least one"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.matches(r'[^\\w.-]'))",message="keys of serverTags are made of the characters A-Z a-z 0-9 _ . -"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !self[k].matches(r'[^\\w.-]'))",message="values of serverTags are made of the characters A-Z a-z 0-9 _ . -"
	ServerTags map[string]string `json:"serverTags,omitempty"`

	// podTemplate is merged over the Pods that the controller renders. A change restarts the servers one at a
	// time.
	// +optional
	PodTemplate PodTemplate `json:"podTemplate,omitzero"`

	// exporter is the Prometheus exporter beside each server.
	// +optional
	Exporter Exporter `json:"exporter,omitzero"`

	// monitor is about the servers' monitoring port, which has no authentication of its own.
	// +optional
	Monitor Monitor `json:"monitor,omitzero"`

	// tls puts the client listener under TLS. Without it clients connect in clear text. A change, and a renewed
	// certificate, restarts the servers one at a time.
	// +optional
	TLS *ListenerTLS `json:"tls,omitempty"`

	// routes is about the connections between the servers.
	// +optional
	Routes Routes `json:"routes,omitzero"`

	// rollout is about restarts, which go from server to server.
	// +optional
	Rollout Rollout `json:"rollout,omitzero"`

	// auth puts the servers under a NATS operator: only users of accounts that it signed may connect. Without it
	// everybody may, as one account. It is chosen when the NatsCluster is made, and stays.
	// +optional
	Auth *Auth `json:"auth,omitempty"`
}

// Rollout is about restarts, which go from server to server.
//
// +kubebuilder:validation:MinProperties=1
type Rollout struct {
	// paused holds a rollout before its next step; a server whose step has begun comes back. What a running server can
	// take over without a restart is not held.
	// +optional
	Paused *bool `json:"paused,omitempty"`
}

// Auth is whom the servers trust, and as whom the controller speaks to them.
type Auth struct {
	// trustRef names the NatsOperatorTrust with the NATS operator and its system account. While it is missing, cannot be
	// used, or is in another namespace that does not admit the reference by a NatsReferenceGrant, the NatsCluster
	// is held at what was rendered last.
	// +required
	TrustRef natsv1beta1.ObjectReference `json:"trustRef,omitzero"`
	// systemCredentials are those of a user of the system account. With them the controller asks the servers over NATS
	// instead of their monitoring ports. The permissions that the user needs are in the guide.
	// +optional
	SystemCredentials *natsv1beta1.Credentials `json:"systemCredentials,omitempty"`
	// resolver is how the servers keep the JWTs of accounts: Full, which is what it is when unset, has every account on
	// every server, and Cache only those that were used of late, which it fetches from servers that have a full one: where
	// there are none, no user gets in. A change restarts the servers one at a time.
	// +optional
	Resolver ResolverKind `json:"resolver,omitempty"`
}

// ResolverKind is how a server keeps the JWTs of accounts.
//
// +kubebuilder:validation:Enum=Full;Cache
type ResolverKind string

const (
	// ResolverFull keeps every account on every server.
	ResolverFull ResolverKind = "Full"
	// ResolverCache keeps the accounts that were used of late.
	ResolverCache ResolverKind = "Cache"
)

// ServerImage is where the servers' image comes from.
//
// +kubebuilder:validation:MinProperties=1
type ServerImage struct {
	// repository is the image's repository without a tag; nats when unset.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^([a-z0-9]+([.-][a-z0-9]+)*(:[0-9]+)?/)?[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`
	Repository string `json:"repository,omitempty"`
	// digest pins the image's content, as sha256: and 64 hexadecimal digits. It must be a digest of the image
	// of version: nothing else is checked.
	// +optional
	// +kubebuilder:validation:MinLength=71
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^sha256:[a-f0-9]{64}$`
	Digest string `json:"digest,omitempty"`
}

// JetStream is the persistence layer of the servers.
type JetStream struct {
	// limits are what JetStream may use per server, where the derived values do not fit.
	// +optional
	Limits JetStreamLimits `json:"limits,omitzero"`
	// volumeClaimTemplate is the claim of each server's store; without it the store is an emptyDir, and what a
	// server holds is lost with its Pod. Once the servers run, a change is held: it would replace their disks.
	// +optional
	VolumeClaimTemplate *VolumeClaimTemplate `json:"volumeClaimTemplate,omitempty"`
}

// JetStreamLimits are JetStream's limits per server. One that is raised is reloaded with auth.systemCredentials; any other
// change restarts the servers one at a time.
//
// +kubebuilder:validation:MinProperties=1
type JetStreamLimits struct {
	// maxMemoryStore bounds what memory streams take, in bytes; 75 % of resources.limits.memory when unset, and
	// nats-server's own default when that is unset too, or when this is 0.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : !quantity(self).isLessThan(quantity('0'))",message="a limit is 0 or more"
	MaxMemoryStore *resource.Quantity `json:"maxMemoryStore,omitempty"`
	// maxFileStore bounds what file streams take, in bytes; 95 % of the claim's storage request when unset, and
	// nats-server's own default without a claim, or when this is 0.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : !quantity(self).isLessThan(quantity('0'))",message="a limit is 0 or more"
	MaxFileStore *resource.Quantity `json:"maxFileStore,omitempty"`
}

// VolumeClaimTemplate is the claim made for each server.
type VolumeClaimTemplate struct {
	// metadata are labels and annotations of the claims, besides the controller's own.
	// +optional
	Metadata EmbeddedObjectMetadata `json:"metadata,omitzero"`
	// spec is the claims' spec. accessModes is [ReadWriteOnce] when empty; resources.requests.storage sets the
	// file store's size.
	// +required
	Spec corev1.PersistentVolumeClaimSpec `json:"spec,omitzero"`
}

// EmbeddedObjectMetadata are the parts of an object's metadata that a template may set.
//
// +kubebuilder:validation:MinProperties=1
type EmbeddedObjectMetadata struct {
	// labels are added to the rendered ones and cannot replace those, at most 64.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
	// annotations are added to the rendered ones and cannot replace those, at most 64.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PodTemplate is a partial Pod template.
//
// +kubebuilder:validation:MinProperties=1
type PodTemplate struct {
	// metadata are further labels and annotations of the Pods.
	// +optional
	Metadata EmbeddedObjectMetadata `json:"metadata,omitzero"`
	// spec is a partial Pod spec, merged over the rendered one as kubectl's strategic merge does: containers by
	// name (the rendered ones are nats and exporter), volumes by name, other fields replaced. It is not
	// checked at apply; one that cannot be merged or names an unknown field holds the NatsCluster with
	// Progressing False, reason UnsupportedSpec.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec *runtime.RawExtension `json:"spec,omitempty"`
}

// Exporter is the Prometheus exporter that runs beside each server and serves its metrics on port 7777.
//
// +kubebuilder:validation:MinProperties=1
type Exporter struct {
	// enabled is true when unset; false renders no exporter and no metrics port. A change restarts the servers
	// one at a time.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// image replaces the exporter's image. Fields that are unset take the controller's default, except that the
	// default digest is used only when none of them is set.
	// +optional
	Image ExporterImage `json:"image,omitzero"`
	// from are peers, besides the cluster controller's namespace, that the NetworkPolicy admits to the metrics
	// port, at most 64.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	From []networkingv1.NetworkPolicyPeer `json:"from,omitempty"`
	// resources are the exporter's requests and limits; requests of 10m CPU and 32Mi memory and limits of 100m
	// and 128Mi when unset. Set, it replaces all four.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

// ExporterImage is the exporter's image.
//
// +kubebuilder:validation:MinProperties=1
type ExporterImage struct {
	// repository is the image's repository without a tag.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^([a-z0-9]+([.-][a-z0-9]+)*(:[0-9]+)?/)?[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`
	Repository string `json:"repository,omitempty"`
	// tag is the image's tag.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`
	Tag string `json:"tag,omitempty"`
	// digest pins the image's content, as sha256: and 64 hexadecimal digits.
	// +optional
	// +kubebuilder:validation:MinLength=71
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^sha256:[a-f0-9]{64}$`
	Digest string `json:"digest,omitempty"`
}

// Monitor is about the servers' monitoring port.
//
// +kubebuilder:validation:MinProperties=1
type Monitor struct {
	// networkPolicy is true when unset: the controller renders a NetworkPolicy that admits the monitoring port
	// only from its own namespace. false renders none.
	// +optional
	NetworkPolicy *bool `json:"networkPolicy,omitempty"`
}

// ListenerTLS names the certificate of a listener.
type ListenerTLS struct {
	// secretRef is the Secret with the certificate, of type kubernetes.io/tls (tls.crt and tls.key, and ca.crt
	// where clients need it), in the NatsCluster's namespace. While it is missing, no server is
	// created and none restarts.
	// +required
	SecretRef SecretReference `json:"secretRef,omitzero"`
}

// SecretReference names a Secret in the referrer's own namespace.
type SecretReference struct {
	// name is the Secret's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// Routes is about the connections between the servers.
//
// +kubebuilder:validation:MinProperties=1
type Routes struct {
	// tls is TLS between the servers: on, and self-signed, when unset.
	// +optional
	TLS RoutesTLS `json:"tls,omitzero"`
}

// RoutesTLS is TLS between the servers. Both ends show a certificate and check the other's. It cannot change while
// there is more than one server; what the Secret holds may, where old and new certificate trust each other.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.secretRef) || !has(self.enabled) || self.enabled",fieldPath=".secretRef",message="a certificate may be named only while routes.tls is enabled: drop secretRef, or enabled: false"
type RoutesTLS struct {
	// enabled is true when unset.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// secretRef is the Secret with the certificate, of type kubernetes.io/tls and with ca.crt, in the
	// NatsCluster's namespace. Unset, the controller keeps a certificate of its own, valid for a year and
	// renewed under the same CA key when a third of that is left.
	// +optional
	SecretRef SecretReference `json:"secretRef,omitzero"`
}
