package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NatsReferenceGrant admits references from other namespaces to objects of its own (nats-operator v1 design, 7 Tenancy).
// It is consulted each time that a reference is followed.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=natsreferencegrants,singular=natsreferencegrant,scope=Namespaced,categories=holdfast;nats
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NatsReferenceGrant struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says who may refer to what.
	// +required
	Spec NatsReferenceGrantSpec `json:"spec,omitzero"`
}

// NatsReferenceGrantList is a list of NatsReferenceGrants.
//
// +kubebuilder:object:root=true
type NatsReferenceGrantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NatsReferenceGrant `json:"items"`
}

// NatsReferenceGrantSpec admits every pair of a referrer and an object.
type NatsReferenceGrantSpec struct {
	// from are the referrers.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	From []ReferenceGrantFrom `json:"from,omitempty"`
	// to are the objects that they may name, in the grant's own namespace.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	To []ReferenceGrantTo `json:"to,omitempty"`
}

// ReferenceGrantFrom is every object of one kind in one namespace.
type ReferenceGrantFrom struct {
	// group is the referrer's API group, for example cluster.nats.mikluko.io.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// kind is the referrer's kind, for example NatsCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// namespace is the referrer's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// ReferenceGrantTo is one object of a kind, or all of them, in the grant's namespace.
type ReferenceGrantTo struct {
	// group is the object's API group, for example nats.mikluko.io.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// kind is the object's kind, for example NatsOperatorTrust.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// name is the object's name; every object of the kind when unset.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}
