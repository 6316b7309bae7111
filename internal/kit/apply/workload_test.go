package apply_test

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statefulSet has one of everything that merges, or is compared, in a way of its own: zero and false behind a
// pointer, quantities in an uncommon notation, empty structs, lists by key, lists by a defaulted key, lists that
// are replaced whole, lists of plain values.
func (b *bench) statefulSet() *appsv1.StatefulSet {
	labels := map[string]string{"app": "a"}
	return &appsv1.StatefulSet{ObjectMeta: b.meta("server"), Spec: appsv1.StatefulSetSpec{
		Replicas:    new(int32(0)),
		ServiceName: "service",
		Selector:    &metav1.LabelSelector{MatchLabels: labels},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1024Mi")},
				},
			},
		}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				AutomountServiceAccountToken: new(false),
				SecurityContext:              &corev1.PodSecurityContext{},
				Tolerations:                  []corev1.Toleration{{Key: "disk", Operator: corev1.TolerationOpExists}},
				Volumes: []corev1.Volume{
					{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
					{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
						LocalObjectReference: corev1.LocalObjectReference{Name: "config"},
					}}},
				},
				Containers: []corev1.Container{{
					Name: "nats", Image: "nats:2.15.3", Args: []string{"--config", "/etc/nats.conf"},
					Env: []corev1.EnvVar{{Name: "KEEP", Value: "a"}, {Name: "DROP", Value: "b"}},
					Ports: []corev1.ContainerPort{
						{Name: "client", ContainerPort: 4222}, {Name: "monitor", ContainerPort: 8222, Protocol: corev1.ProtocolTCP},
					},
					Resources: corev1.ResourceRequirements{
						Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5"), corev1.ResourceMemory: resource.MustParse("2048Mi")},
					},
					VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/nats"}, {Name: "data", MountPath: "/data"}},
				}, {Name: "exporter", Image: "exporter:1"}},
			},
		},
	}}
}
