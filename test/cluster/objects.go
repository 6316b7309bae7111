//go:build linux

package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-dev/holdfast/test/cluster/internal/layout"
)

const (
	dnsUser = "system:coredns"
	dnsName = "kube-dns"
	// storageClass is the default class of volumes; the provisioner makes it.
	storageClass = "local"
)

// firstObjects are what a cluster has beside what Kubernetes makes itself. The nodes are among them since
// their ranges of pods are ours to give.
func firstObjects(c *layout.Cluster) []runtime.Object {
	objects := []runtime.Object{
		&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: dnsUser},
			Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{""}, Resources: []string{"services", "pods", "namespaces"}, Verbs: []string{"list", "watch"}},
				{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}},
			},
		},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: dnsUser},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: dnsUser},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: dnsUser}},
		},
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: dnsName, Namespace: metav1.NamespaceSystem},
			Spec: corev1.ServiceSpec{ClusterIP: layout.DNSService, Ports: []corev1.ServicePort{
				{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53}, {Name: "dns-tcp", Protocol: corev1.ProtocolTCP, Port: 53},
			}},
		},
		&discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Name: dnsName, Namespace: metav1.NamespaceSystem, Labels: map[string]string{discoveryv1.LabelServiceName: dnsName}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{layout.HubIP}}},
			Ports: []discoveryv1.EndpointPort{
				{Name: new("dns"), Protocol: new(corev1.ProtocolUDP), Port: new(int32(53))},
				{Name: new("dns-tcp"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(53))},
			},
		},
	}
	for _, n := range c.AllNodes() {
		objects = append(objects, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name},
			Spec:       corev1.NodeSpec{PodCIDR: n.PodCIDR(), PodCIDRs: []string{n.PodCIDR()}},
		})
	}
	return objects
}

// createAll creates them, waiting for the namespaces that the API server makes after it is ready.
func (u *upRun) createAll(ctx context.Context, objects []runtime.Object) error {
	for _, object := range objects {
		err := poll(ctx, "an object of the cluster's own to be created", func(ctx context.Context) error {
			err := u.create(ctx, object)
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *upRun) create(ctx context.Context, object runtime.Object) error {
	options := metav1.CreateOptions{}
	var err error
	switch o := object.(type) {
	case *rbacv1.ClusterRole:
		_, err = u.client.RbacV1().ClusterRoles().Create(ctx, o, options)
	case *rbacv1.ClusterRoleBinding:
		_, err = u.client.RbacV1().ClusterRoleBindings().Create(ctx, o, options)
	case *corev1.Service:
		_, err = u.client.CoreV1().Services(o.Namespace).Create(ctx, o, options)
	case *discoveryv1.EndpointSlice:
		_, err = u.client.DiscoveryV1().EndpointSlices(o.Namespace).Create(ctx, o, options)
	case *corev1.Node:
		_, err = u.client.CoreV1().Nodes().Create(ctx, o, options)
	default:
		err = fmt.Errorf("no way to create a %T", object)
	}
	return err
}
