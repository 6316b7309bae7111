package v1beta2

// S3APISpec is the S3 listener.
type S3APISpec struct {
	// bindAddress is 0.0.0.0 or [::] with a port, and goes before bindPort; [::] and bindPort when unset. A change restarts
	// the nodes one at a time.
	// +optional
	// +kubebuilder:validation:MinLength=6
	// +kubebuilder:validation:MaxLength=13
	// +kubebuilder:validation:Pattern=`^(0\.0\.0\.0|\[::\]):[1-9][0-9]{0,4}$`
	BindAddress string `json:"bindAddress,omitempty"`
	// bindPort is the port, 1 to 65535; 3900 when unset. A change restarts the nodes one at a time.
	// +optional
	// +kubebuilder:default=3900
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	BindPort int32 `json:"bindPort,omitempty"`
	// region is the region that clients sign for; garage when unset. A change restarts the nodes one at a time.
	// +optional
	// +kubebuilder:default=garage
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._-]*$`
	Region string `json:"region,omitempty"`
	// rootDomain is the domain under which a bucket's name is a host name, with or without the dot before it; without it
	// buckets are only reached by path. A change restarts the nodes one at a time.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^\.?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`
	RootDomain string `json:"rootDomain,omitempty"`
}

// K2VAPISpec is the K2V listener.
type K2VAPISpec struct {
	// bindAddress is 0.0.0.0 or [::] with a port, and goes before bindPort; [::] and bindPort when unset.
	// +optional
	// +kubebuilder:validation:MinLength=6
	// +kubebuilder:validation:MaxLength=13
	// +kubebuilder:validation:Pattern=`^(0\.0\.0\.0|\[::\]):[1-9][0-9]{0,4}$`
	BindAddress string `json:"bindAddress,omitempty"`
	// bindPort is the port, 1 to 65535; 3904 when unset.
	// +optional
	// +kubebuilder:default=3904
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	BindPort int32 `json:"bindPort,omitempty"`
}

// WebAPISpec is the listener that serves buckets as web sites.
type WebAPISpec struct {
	// enabled is true when unset; false has no listener. A change restarts the nodes one at a time.
	// +optional
	// +kubebuilder:default=true
	Enabled *bool `json:"enabled,omitempty"`
	// bindAddress is 0.0.0.0 or [::] with a port, and goes before bindPort; [::] and bindPort when unset.
	// +optional
	// +kubebuilder:validation:MinLength=6
	// +kubebuilder:validation:MaxLength=13
	// +kubebuilder:validation:Pattern=`^(0\.0\.0\.0|\[::\]):[1-9][0-9]{0,4}$`
	BindAddress string `json:"bindAddress,omitempty"`
	// bindPort is the port, 1 to 65535; 3902 when unset.
	// +optional
	// +kubebuilder:default=3902
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	BindPort int32 `json:"bindPort,omitempty"`
	// rootDomain is the domain under which a bucket's name is a site's host name; .<name>.<namespace>.svc when unset. A
	// change restarts the nodes one at a time.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^\.?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`
	RootDomain string `json:"rootDomain,omitempty"`
	// addHostToMetrics adds the host name of a request to the metrics; false when unset.
	// +optional
	AddHostToMetrics *bool `json:"addHostToMetrics,omitempty"`
}

// AdminSpec is the listener of the Admin API. Its port cannot change.
type AdminSpec struct {
	// bindAddress is 0.0.0.0 or [::] with a port, and goes before bindPort; [::] and bindPort when unset.
	// +optional
	// +kubebuilder:validation:MinLength=6
	// +kubebuilder:validation:MaxLength=13
	// +kubebuilder:validation:Pattern=`^(0\.0\.0\.0|\[::\]):[1-9][0-9]{0,4}$`
	BindAddress string `json:"bindAddress,omitempty"`
	// bindPort is the port, 1 to 65535; 3903 when unset.
	// +optional
	// +kubebuilder:default=3903
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	BindPort int32 `json:"bindPort,omitempty"`
	// adminTokenSecretRef is the token that opens the Admin API, hexadecimal and so without a dot, in the key admin-token when
	// none is given. Another token restarts the nodes one at a time.
	// +optional
	AdminTokenSecretRef *SecretKeyRef `json:"adminTokenSecretRef,omitempty"`
	// metricsTokenSecretRef is the token that opens /metrics besides the admin token, in the key metrics-token when none is
	// given. Another token restarts the nodes one at a time.
	// +optional
	MetricsTokenSecretRef *SecretKeyRef `json:"metricsTokenSecretRef,omitempty"`
	// metricsRequireToken closes /metrics to those without a token; false when unset. A change restarts the nodes one at a
	// time.
	// +optional
	MetricsRequireToken *bool `json:"metricsRequireToken,omitempty"`
	// traceSink is the URL of an OpenTelemetry collector that traces are sent to; none are when unset. A change restarts
	// the nodes one at a time.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https?://[^\s"\\]+$`
	TraceSink string `json:"traceSink,omitempty"`
}

// NetworkSpec is how nodes reach each other, and the Service that clients use.
type NetworkSpec struct {
	// rpcBindAddress is 0.0.0.0 or [::] with a port, and goes before rpcBindPort; [::] and rpcBindPort when unset. A change
	// restarts the nodes one at a time.
	// +optional
	// +kubebuilder:validation:MinLength=6
	// +kubebuilder:validation:MaxLength=13
	// +kubebuilder:validation:Pattern=`^(0\.0\.0\.0|\[::\]):[1-9][0-9]{0,4}$`
	RPCBindAddress string `json:"rpcBindAddress,omitempty"`
	// rpcBindPort is the port on which nodes speak with each other, 1 to 65535; 3901 when unset. A change restarts the nodes
	// one at a time.
	// +optional
	// +kubebuilder:default=3901
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	RPCBindPort int32 `json:"rpcBindPort,omitempty"`
	// rpcBindOutgoing has a node's own connections begin at the address of rpcBindAddress; false when unset. A change
	// restarts the nodes one at a time.
	// +optional
	RPCBindOutgoing *bool `json:"rpcBindOutgoing,omitempty"`
	// rpcPublicAddr is the host:port under which every node is reached, for stores with one node here; storage.rpcPublicAddr
	// and a GarageNode's own go before it. A change restarts the nodes one at a time.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=262
	// +kubebuilder:validation:Pattern=`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}$`
	RPCPublicAddr string `json:"rpcPublicAddr,omitempty"`
	// rpcPublicAddrSubnet is a range (10.0.0.0/8) from which a node picks one of its own addresses to be reached under, where
	// no rpcPublicAddr is given. A change restarts the nodes one at a time.
	// +optional
	// +kubebuilder:validation:MinLength=4
	// +kubebuilder:validation:MaxLength=49
	// +kubebuilder:validation:Pattern=`^[0-9A-Fa-f:.]+/[0-9]{1,3}$`
	RPCPublicAddrSubnet string `json:"rpcPublicAddrSubnet,omitempty"`
	// rpcPingTimeout is how long a node waits for a ping's answer, as a duration of at least 1ms; 10s when unset. A change
	// restarts the nodes one at a time.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}(\.[0-9]{1,9})?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1ms') && duration(self) <= duration('24h')",message="give at least 1ms and at most 24h"
	RPCPingTimeout string `json:"rpcPingTimeout,omitempty"`
	// rpcTimeout is how long a node waits for another's answer, as a duration of at least 1ms; 5m when unset. A longer one
	// makes a drain wait longer. A change restarts the nodes one at a time.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}(\.[0-9]{1,9})?(ns|us|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1ms') && duration(self) <= duration('24h')",message="give at least 1ms and at most 24h"
	RPCTimeout string `json:"rpcTimeout,omitempty"`
	// rpcSecretRef is the secret that all nodes of a store share, 64 hexadecimal digits, in the key rpc-secret when none is
	// given; the controller makes one when unset. It is chosen when the GarageCluster is made, and stays.
	// +optional
	RPCSecretRef *SecretKeyRef `json:"rpcSecretRef,omitempty"`
	// bootstrapPeers are further nodes to look for, as id@host:port, at most 256. Host names are looked up again every minute. A
	// change restarts the nodes one at a time.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=68
	// +kubebuilder:validation:items:MaxLength=330
	// +kubebuilder:validation:items:Pattern=`^[0-9a-f]{64}@(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}$`
	BootstrapPeers []string `json:"bootstrapPeers,omitempty"`
	// service is the Service that clients use, which has the GarageCluster's name.
	// +optional
	Service *ServiceSpec `json:"service,omitempty"`
}

// ServiceType is how the Service is reached.
//
// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
type ServiceType string

const (
	// ServiceTypeClusterIP is reached from inside the Kubernetes cluster.
	ServiceTypeClusterIP ServiceType = "ClusterIP"
	// ServiceTypeNodePort is reached on a port of every Kubernetes node.
	ServiceTypeNodePort ServiceType = "NodePort"
	// ServiceTypeLoadBalancer is reached through a load balancer.
	ServiceTypeLoadBalancer ServiceType = "LoadBalancer"
)

// ServiceSpec is the Service that clients use. All of it may change.
//
// +kubebuilder:validation:XValidation:rule="!has(self.externalTrafficPolicy) || self.type != 'ClusterIP'",message="externalTrafficPolicy is for type LoadBalancer or NodePort; drop it, or change type"
// +kubebuilder:validation:XValidation:rule="!(has(self.loadBalancerIP) || has(self.loadBalancerSourceRanges)) || self.type == 'LoadBalancer'",message="loadBalancerIP and loadBalancerSourceRanges are for type LoadBalancer; drop them, or change type"
type ServiceSpec struct {
	// type is ClusterIP, which it is when unset, NodePort or LoadBalancer.
	// +optional
	// +kubebuilder:default=ClusterIP
	Type ServiceType `json:"type,omitempty"`
	// annotations are the Service's, at most 64.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
	// labels are the Service's besides the controller's own, at most 64.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
	// externalTrafficPolicy is Cluster or Local.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	ExternalTrafficPolicy string `json:"externalTrafficPolicy,omitempty"`
	// loadBalancerIP is the address to ask the load balancer for.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:Pattern=`^[0-9A-Fa-f:.]+$`
	LoadBalancerIP string `json:"loadBalancerIP,omitempty"`
	// loadBalancerSourceRanges are the address ranges that the load balancer admits, at most 64; all when unset.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=4
	// +kubebuilder:validation:items:MaxLength=49
	// +kubebuilder:validation:items:Pattern=`^[0-9A-Fa-f:.]+/[0-9]{1,3}$`
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty"`
}
