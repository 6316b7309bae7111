// Package v1beta2 is the version v1beta2 of the API group garage.rajsingh.info: GarageCluster, and the value types that
// the group's other kinds share with it (Additive node-local pools, API contract).
//
// +kubebuilder:object:generate=true
// +groupName=garage.rajsingh.info
package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "garage.rajsingh.info", Version: "v1beta2"}

// KindGarageCluster is the kind's name, as owner references and events spell it.
const KindGarageCluster = "GarageCluster"

// AddToScheme makes the package's kinds known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &GarageCluster{}, &GarageClusterList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
