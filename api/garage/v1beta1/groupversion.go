// Package v1beta1 is the version v1beta1 of the API group garage.rajsingh.info: GarageNode (Additive node-local pools, API
// contract). It borrows value types from v1beta2, the version that the group's other kinds are stored in.
//
// +kubebuilder:object:generate=true
// +groupName=garage.rajsingh.info
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "garage.rajsingh.info", Version: "v1beta1"}

// KindGarageNode is the kind's name, as owner references and events spell it.
const KindGarageNode = "GarageNode"

// AddToScheme makes the package's kinds known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &GarageNode{}, &GarageNodeList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
