package render

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// configMap carries a server's configuration.
func configMap(p plan, server string, config []byte) *corev1.ConfigMap {
	// Beside the configuration, because with it they reach a process that runs.
	certificates := certificateAnnotations(p)
	if p.routesTLS != nil {
		certificates[v1beta1.AnnotationRouteAuthorities] = p.routesTLS.Authorities
	}
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        configMapName(server),
			Namespace:   p.cluster.Namespace,
			Labels:      serverLabels(p.cluster.Name, server),
			Annotations: certificates,
		},
		Data: map[string]string{ConfigKey: string(config)},
	}
}

// statefulSet runs one server (ADR 0004 of the nats-operator v1 design): its own StatefulSet lets it be restarted
// alone, and keep its claim when others go.
func statefulSet(p plan, server string) (*appsv1.StatefulSet, error) {
	spec, err := mergePod(podSpec(p, server), p.cluster.Spec.PodTemplate.Spec)
	if err != nil {
		return nil, err
	}
	labels := serverLabels(p.cluster.Name, server)
	extra := p.cluster.Spec.PodTemplate.Metadata
	set := &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      server,
			Namespace: p.cluster.Namespace,
			Labels:    labels,
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas:            ptr.To[int32](1),
			ServiceName:         headlessName(p.cluster),
			PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType},
			Selector:            &metav1.LabelSelector{MatchLabels: selectServer(p.cluster.Name, server)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      overlay(extra.Labels, labels),
					Annotations: overlay(extra.Annotations, certificateAnnotations(p)),
				},
				Spec: spec,
			},
		},
	}
	if p.claim() != nil {
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claimTemplate(p, server)}
	}
	return set, nil
}

// certificateAnnotations name the certificates. A Pod tells by them which ones it was started with; of the routes' it is asked by
// the concern that keeps them: it replaces a lost CA only once every Pod trusts the new one.
func certificateAnnotations(p plan) map[string]string {
	out := map[string]string{}
	if p.routesTLS != nil {
		out[v1beta1.AnnotationRouteCertificate] = p.routesTLS.Digest
	}
	if p.clientTLS != nil {
		out[v1beta1.AnnotationClientCertificate] = p.clientTLS.Digest
	}
	return out
}

// claimTemplate is the claim of one server's store.
func claimTemplate(p plan, server string) corev1.PersistentVolumeClaim {
	template := p.claim()
	spec := *template.Spec.DeepCopy()
	if len(spec.AccessModes) == 0 {
		spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	var own map[string]string
	if !p.clustered() {
		own = map[string]string{v1beta1.AnnotationStandalone: "true"}
	}
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:        volumeData,
			Labels:      overlay(template.Metadata.Labels, selectServer(p.cluster.Name, server)),
			Annotations: overlay(template.Metadata.Annotations, own),
		},
		Spec: spec,
	}
}
