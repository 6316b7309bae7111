package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NatsOperatorTrust is whom a NATS cluster trusts: a NATS operator and its system account (nats-operator v1 design,
// 5.1 Keys and trust). It holds public material only.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=natsoperatortrusts,singular=natsoperatortrust,scope=Namespaced,categories=holdfast;nats
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NatsOperatorTrust struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says whom to trust.
	// +required
	Spec NatsOperatorTrustSpec `json:"spec,omitzero"`
	// status is filled in for a spec with operatorRef.
	// +optional
	Status NatsOperatorTrustStatus `json:"status,omitzero"`
}

// NatsOperatorTrustList is a list of NatsOperatorTrusts.
//
// +kubebuilder:object:root=true
type NatsOperatorTrustList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NatsOperatorTrust `json:"items"`
}

// NatsOperatorTrustSpec is a reference, or the two JWTs themselves.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.operatorJWT) == has(self.systemAccountJWT)",message="operatorJWT and systemAccountJWT go together: set both"
// +kubebuilder:validation:XValidation:rule="has(self.operatorRef) != has(self.operatorJWT)",message="set either operatorRef, or operatorJWT and systemAccountJWT"
type NatsOperatorTrustSpec struct {
	// operatorRef names a NatsOperator of the same Kubernetes cluster, whose controller writes both JWTs into the
	// status.
	// +optional
	OperatorRef ObjectReference `json:"operatorRef,omitzero"`
	// operatorJWT is the NATS operator's JWT. A change restarts the servers of every NatsCluster that trusts it, one at a
	// time.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	OperatorJWT string `json:"operatorJWT,omitempty"`
	// systemAccountJWT is the JWT of the NATS operator's system account, signed by the operator. A change restarts
	// nothing: running servers take it as a claims update, and starting ones read it from their configuration.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	SystemAccountJWT string `json:"systemAccountJWT,omitempty"`
}

// NatsOperatorTrustStatus mirrors the NatsOperator that spec.operatorRef names. A spec with the JWTs themselves has no
// status.
//
// +kubebuilder:validation:MinProperties=1
type NatsOperatorTrustStatus struct {
	// conditions are Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation that the rest of the status speaks of.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// operatorJWT is the NATS operator's JWT.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	OperatorJWT string `json:"operatorJWT,omitempty"`
	// systemAccountJWT is the JWT of its system account.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	SystemAccountJWT string `json:"systemAccountJWT,omitempty"`
}
