package render

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// exporter is the Prometheus exporter beside each server, as it will run.
type exporter struct {
	enabled   bool
	image     string
	resources corev1.ResourceRequirements
}

// exporterOf fills the spec's gaps with the installation's defaults. The default digest belongs to the default
// repository and tag: beside another of either it would silently win over them.
func exporterOf(spec v1beta1.Exporter, defaults ExporterDefaults) (exporter, error) {
	if !on(spec.Enabled) {
		return exporter{}, nil
	}
	image := spec.Image
	if image == (v1beta1.ExporterImage{}) {
		image.Digest = defaults.Digest
	}
	image.Repository = cmp.Or(image.Repository, defaults.Repository)
	image.Tag = cmp.Or(image.Tag, defaults.Tag)
	if image.Repository == "" {
		return exporter{}, &UnsupportedError{Path: "spec.exporter.image.repository", Message: "is needed: the installation " +
			"names no exporter image; set it, or exporter.enabled to false"}
	}
	out := exporter{
		enabled: true,
		image:   imageRef(image.Repository, image.Tag, image.Digest),
		resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("10m"),
				corev1.ResourceMemory: resource.MustParse("32Mi"),
			},
			Limits: corev1.ResourceList{
				corev1.ResourceCPU:    resource.MustParse("100m"),
				corev1.ResourceMemory: resource.MustParse("128Mi"),
			},
		},
	}
	if spec.Resources != nil {
		out.resources = *spec.Resources
	}
	return out, nil
}

func exporterContainer(e exporter) corev1.Container {
	return corev1.Container{
		Name:  containerExporter,
		Image: e.image,
		Args: []string{
			"-connz", "-routez", "-subz", "-varz", "-healthz", "-jsz=all",
			fmt.Sprintf("-port=%d", portMetrics),
			fmt.Sprintf("http://localhost:%d", PortMonitor),
		},
		Ports:           []corev1.ContainerPort{containerPort(nameMetrics, portMetrics)},
		Resources:       e.resources,
		SecurityContext: restricted(),
	}
}
