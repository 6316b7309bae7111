package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	garagev1beta1 "github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/cluster/images"
)

// A System is what stories are told of.
type System struct {
	// Name is that of its images.
	Name string
	// Release is its chart's release.
	Release string
	// chart is the chart's folder, program its controller, of the key of that in the values.
	chart, program, of string
	// kind is an empty object of what is made of one manifest, kinds the names of its kinds for kubectl, label that of its Pods.
	kind         client.Object
	kinds, label string
	// letGo is the annotation by which such an object does not hold its deletion; empty where it never does.
	letGo string
	// look is how often it is looked at when nothing wakes the controller.
	look time.Duration
	// lists are the kinds of its own that the controller writes, version what tells two states of an object apart.
	lists   func() map[string]client.ObjectList
	version func(client.Object) string
}

// NATS is told of a NatsCluster.
func NATS() System {
	return System{
		Name: images.NATS, Release: Namespace, chart: "holdfast-nats", program: "nats-cluster-controller", of: "cluster",
		kind: &v1beta1.NatsCluster{}, kinds: "natsclusters", label: v1beta1.LabelCluster, letGo: v1beta1.AnnotationForceDelete,
		look: 15 * time.Second,
		lists: func() map[string]client.ObjectList {
			return map[string]client.ObjectList{"NatsCluster": &v1beta1.NatsClusterList{}}
		},
		version: client.Object.GetResourceVersion,
	}
}

// Garage is told of a GarageCluster.
func Garage() System {
	return System{
		Name: images.Garage, Release: Namespace + "-garage", chart: "holdfast-garage", program: "garage-operator", of: "operator",
		kind: &v1beta2.GarageCluster{}, kinds: "garageclusters,garagenodes", label: v1beta2.LabelCluster,
		look: 75 * time.Second,
		lists: func() map[string]client.ObjectList {
			return map[string]client.ObjectList{"GarageCluster": &v1beta2.GarageClusterList{}, "GarageNode": &garagev1beta1.GarageNodeList{}}
		},
		version: versionOfGarage,
	}
}

// versionOfGarage leaves out how full a node's file system is: all of them are on one machine's, which fills up by itself.
func versionOfGarage(object client.Object) string {
	node, is := object.(*garagev1beta1.GarageNode)
	if !is {
		return object.GetResourceVersion()
	}
	seen := node.DeepCopy()
	seen.ResourceVersion, seen.ManagedFields, seen.Status.DataPartition, seen.Status.MetadataPartition = "", nil, nil, nil
	content, err := json.Marshal(seen)
	if err != nil {
		return err.Error()
	}
	return string(content)
}

// Install installs the system's chart and waits until the controllers are ready.
func (l *Lab) Install(ctx context.Context, system System) error {
	_, err := l.Helm(ctx, "upgrade", "--install", system.Release, filepath.Join(l.Box.Root, "charts", system.chart),
		"--namespace", Namespace, "--create-namespace", "--wait", "--timeout", "3m",
		"--set", system.of+".image.repository=holdfast.dev/"+system.program, "--set", system.of+".image.tag=dev")
	return err
}

// Uninstall removes the chart and waits until the controllers are gone.
func (l *Lab) Uninstall(ctx context.Context, system System) error {
	_, err := l.Helm(ctx, "uninstall", system.Release, "--namespace", Namespace, "--wait", "--timeout", "3m")
	return err
}

// End deletes what was made of manifests in a namespace, and waits until its servers are gone.
func (l *Lab) End(ctx context.Context, system System, namespace string) error {
	gvk, err := apiutil.GVKForObject(system.kind, l.Client.Scheme())
	if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := l.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return err
	}
	for _, object := range list.Items {
		if system.letGo == "" {
			break
		}
		before := object.DeepCopy()
		object.SetAnnotations(with(object.GetAnnotations(), system.letGo))
		if err := l.Client.Patch(ctx, &object, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	if err := l.Client.DeleteAllOf(ctx, system.kind, client.InNamespace(namespace)); err != nil {
		return err
	}
	return Until(ctx, 3*time.Minute, "the servers to be gone", func(ctx context.Context) (bool, string) {
		var pods corev1.PodList
		err := l.Client.List(ctx, &pods, client.InNamespace(namespace), client.HasLabels{system.label})
		return err == nil && len(pods.Items) == 0, fmt.Sprintf("%d Pods, %v", len(pods.Items), err)
	})
}

func with(annotations map[string]string, name string) map[string]string {
	meta := metav1.ObjectMeta{Annotations: annotations}
	metav1.SetMetaDataAnnotation(&meta, name, "")
	return meta.Annotations
}
