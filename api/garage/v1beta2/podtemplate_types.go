package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
)

// PodTemplate is what users add to the Pods of nodes. A change restarts them one at a time.
type PodTemplate struct {
	// resources are requests and limits of the container garage; none when unset.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// nodeSelector is which Kubernetes nodes the Pods may run on, at most 64 labels.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations are the Pods', at most 64.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// affinity is the Pods'; when unset they prefer Kubernetes nodes that have none of them.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// podAnnotations are annotations of the Pods, at most 64.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('garage.rajsingh.info/'))",message="annotations that begin with garage.rajsingh.info/ are the controller's own; drop them"
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
	// podLabels are labels of the Pods, at most 64.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('garage.rajsingh.info/') && !(k in ['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/component', 'app.kubernetes.io/managed-by']))",message="labels that begin with garage.rajsingh.info/, and app.kubernetes.io/name, instance, component and managed-by, are the controller's own; drop them"
	PodLabels map[string]string `json:"podLabels,omitempty"`
	// priorityClassName is the Pods' priority class.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// securityContext replaces the Pods' whole one, which is user, group and fsGroup 1000, not root, and the runtime's
	// seccomp profile.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`
	// containerSecurityContext replaces the container's whole one, which is no more privileges, none of the capabilities, and
	// a root file system that is only read.
	// +optional
	ContainerSecurityContext *corev1.SecurityContext `json:"containerSecurityContext,omitempty"`
	// topologySpreadConstraints are the Pods', at most 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// env are further variables of the container garage, at most 256. The names by which it gets its configuration and
	// secrets are taken.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:XValidation:rule="self.all(e, !(e.name in ['GARAGE_CONFIG_FILE', 'GARAGE_RPC_SECRET', 'GARAGE_RPC_SECRET_FILE', 'GARAGE_ADMIN_TOKEN', 'GARAGE_ADMIN_TOKEN_FILE', 'GARAGE_METRICS_TOKEN', 'GARAGE_METRICS_TOKEN_FILE']))",message="GARAGE_CONFIG_FILE, and GARAGE_RPC_SECRET, GARAGE_ADMIN_TOKEN and GARAGE_METRICS_TOKEN with and without _FILE, are the controller's own; use network.rpcSecretRef, admin.adminTokenSecretRef or admin.metricsTokenSecretRef"
	Env []corev1.EnvVar `json:"env,omitempty"`
	// envFrom are sources of further variables, at most 32, each with a prefix that keeps them apart from Garage's own.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(e, has(e.prefix) && e.prefix != '' && !(e.prefix in ['G', 'GA', 'GAR', 'GARA', 'GARAG', 'GARAGE']) && !e.prefix.startsWith('GARAGE_'))",message="each needs a prefix with which no variable can begin with GARAGE_, such as EXTRA_: the controller gives Garage its secrets by those"
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
}

// Logging is what a node logs and where to.
//
// +kubebuilder:validation:MinProperties=1
type Logging struct {
	// level is the filter of the log as RUST_LOG has it, such as garage=debug; garage=info when unset.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Level string `json:"level,omitempty"`
	// syslog sends the log to syslog; false when unset.
	// +optional
	Syslog *bool `json:"syslog,omitempty"`
	// journald sends the log to journald; false when unset.
	// +optional
	Journald *bool `json:"journald,omitempty"`
}

// Maintenance stops the controller.
//
// +kubebuilder:validation:MinProperties=1
type Maintenance struct {
	// suspended stops the controller from changing anything here but a deletion; false when unset. It may change at any time.
	// +optional
	Suspended *bool `json:"suspended,omitempty"`
}

// SecretKeyRef is a key of a Secret in the same namespace.
type SecretKeyRef struct {
	// name is the Secret's name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// key is the key in it. When unset it is rpc-secret, admin-token or metrics-token, after what is referred to.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key,omitempty"`
}
