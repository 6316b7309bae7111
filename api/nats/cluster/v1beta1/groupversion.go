// Package v1beta1 is the API group cluster.nats.mikluko.io/v1beta1: the kinds of the cluster controller
// (nats-operator v1 design, 2.1 Controllers and API groups).
//
// +kubebuilder:object:generate=true
// +groupName=cluster.nats.mikluko.io
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "cluster.nats.mikluko.io", Version: "v1beta1"}

// KindNatsCluster is the kind's name, as owner references and events spell it.
const KindNatsCluster = "NatsCluster"

// AddToScheme makes the package's kinds known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &NatsCluster{}, &NatsClusterList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
