// Package v1beta1 is the API group nats.mikluko.io/v1beta1: the kinds that the NATS controllers share, and the
// value types that their own groups have in common (nats-operator v1 design, 2.2 What each controller reads).
//
// +kubebuilder:object:generate=true
// +groupName=nats.mikluko.io
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "nats.mikluko.io", Version: "v1beta1"}

// The kinds' names, as references and grants spell them.
const (
	KindNatsOperatorTrust  = "NatsOperatorTrust"
	KindNatsReferenceGrant = "NatsReferenceGrant"
)

// AddToScheme makes the package's kinds known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&NatsOperatorTrust{}, &NatsOperatorTrustList{},
		&NatsReferenceGrant{}, &NatsReferenceGrantList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
