package crd

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	garagev1beta1 "github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

// TestGarageRendered holds that a real API server takes what is rendered from each sample, to the last field, and that the Pods meet the
// restricted Pod Security Standard, which the namespace enforces.
func TestGarageRendered(t *testing.T) {
	e := env.Start(t)
	ns := e.Namespace(t)
	take := func(t *testing.T, object client.Object) {
		t.Helper()
		if err := e.Client.Create(t.Context(), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
			t.Errorf("%T %s: %v", object, object.GetName(), err)
		}
	}
	clusters := 0
	for file, objects := range env.Samples(t) {
		cluster, nodes := garageOf(t, ns, objects)
		if cluster == nil {
			continue
		}
		clusters++
		t.Run(file, func(t *testing.T) {
			p, err := render.NewPlan(render.Input{
				Cluster: cluster, DefaultImage: "dxflrs/garage:v2.3.0",
				RPC: render.SecretKey{Name: "rpc", Key: render.KeyRPCSecret}, Admin: render.SecretKey{Name: "admin", Key: render.KeyAdminToken},
			})
			if err != nil {
				t.Fatal(err)
			}
			made, err := p.AutoNodes()
			if err != nil {
				t.Fatal(err)
			}
			for _, node := range made {
				take(t, node.DeepCopy())
			}
			for _, object := range p.Shared(int32(len(made) + len(nodes))) {
				take(t, object)
			}
			for _, node := range append(made, nodes...) {
				for _, object := range objectsOf(t, p, node) {
					take(t, object)
				}
			}
		})
	}
	if clusters < 4 {
		t.Errorf("only %d samples have a GarageCluster", clusters)
	}
}

// objectsOf are what a node runs from, and its Pod; nothing for one that runs elsewhere.
func objectsOf(t *testing.T, p *render.Plan, node *garagev1beta1.GarageNode) []client.Object {
	t.Helper()
	if _, err := p.Role(node); err != nil {
		t.Error(err)
	}
	if node.Spec.External != nil {
		return nil
	}
	out, err := p.Node(node)
	if err != nil {
		t.Fatal(err)
	}
	return []client.Object{out.ConfigMap, podOf(out), out.StatefulSet}
}

// garageOf are the GarageCluster and the GarageNodes of a sample as the API server would store them.
func garageOf(t *testing.T, namespace string, objects []*unstructured.Unstructured) (*v1beta2.GarageCluster, []*garagev1beta1.GarageNode) {
	t.Helper()
	var cluster *v1beta2.GarageCluster
	var nodes []*garagev1beta1.GarageNode
	for _, object := range objects {
		object = object.DeepCopy()
		object.SetNamespace(namespace)
		var into any
		switch object.GetKind() {
		case v1beta2.KindGarageCluster:
			cluster = &v1beta2.GarageCluster{}
			into = cluster
		case garagev1beta1.KindGarageNode:
			nodes = append(nodes, &garagev1beta1.GarageNode{})
			into = nodes[len(nodes)-1]
		default:
			return nil, nil
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
			t.Fatal(err)
		}
	}
	return cluster, nodes
}

// podOf is the Pod as the StatefulSet's controller makes it: with the claims that it makes.
func podOf(node render.Node) *corev1.Pod {
	template := node.StatefulSet.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.Namespace = render.PodName(node.Name), node.StatefulSet.Namespace
	for _, claim := range node.Claims {
		if !claim.Existing {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim.Volume, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
			}})
		}
	}
	return pod
}
