package kubelet

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	garageImage = "docker.io/dxflrs/garage:v2.4.1"
	adminToken  = "0123456789abcdef"
)

func garageMeta(ns, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": "store"}}
}

// garageManifests are what three servers by hand share.
func garageManifests(ns string) []client.Object {
	objects := []client.Object{
		// The API server lets a claim grow only where its class does.
		&storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: ns}, Provisioner: "example.com/none", AllowVolumeExpansion: new(true),
		},
		&corev1.Secret{ObjectMeta: garageMeta(ns, "store"), StringData: map[string]string{
			"rpc-secret": strings.Repeat("0123456789abcdef", 4), "admin-token": adminToken,
		}},
		&corev1.Service{ObjectMeta: garageMeta(ns, "store-headless"), Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{"app": "store"},
			Ports: []corev1.ServicePort{{Name: "rpc", Port: 3901}},
		}},
	}
	for i := range 3 {
		objects = append(objects, &corev1.ConfigMap{
			ObjectMeta: garageMeta(ns, store(i)), Data: map[string]string{"garage.toml": garageTOML(ns, i)},
		})
	}
	return objects
}

// garageTOML is a configuration. The first server's peers are to find it by its name.
func garageTOML(ns string, i int) string {
	public := ""
	if i == 0 {
		public = fmt.Sprintf("rpc_public_addr = \"store-0-0.store-headless.%s.svc:3901\"\n", ns)
	}
	return `metadata_dir = "/data/metadata"
data_dir = "/data/data"
replication_factor = 3
rpc_bind_addr = "[::]:3901"
rpc_secret_file = "/secrets/rpc/rpc-secret"
` + public + `
[s3_api]
api_bind_addr = "[::]:3900"
s3_region = "garage"

[s3_web]
bind_addr = "[::]:3902"
root_domain = ".web"

[admin]
api_bind_addr = "[::]:3903"
`
}

// garageSet is one server. The second has no probe, the third has its configuration as a single file.
func garageSet(ns string, i int) *appsv1.StatefulSet {
	labels := map[string]string{"app": "store", "server": store(i)}
	container := corev1.Container{
		Name: "garage", Image: garageImage, Command: []string{"/garage", "server"},
		Env: []corev1.EnvVar{
			{Name: "GARAGE_CONFIG_FILE", Value: "/etc/garage/garage.toml"},
			{Name: "GARAGE_ADMIN_TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "store"}, Key: "admin-token",
			}}},
		},
		Ports: []corev1.ContainerPort{{Name: "rpc", ContainerPort: 3901}, {Name: "admin", ContainerPort: 3903}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: "/etc/garage"}, {Name: "rpc-secret", MountPath: "/secrets/rpc"},
			{Name: "metadata", MountPath: "/data/metadata"}, {Name: "data", MountPath: "/data/data"},
		},
	}
	if i == 2 {
		config := &container.VolumeMounts[0]
		config.MountPath, config.SubPath = "/etc/garage/garage.toml", "garage.toml"
	}
	if i != 1 {
		container.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
			TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("admin")},
		}}
	}
	return &appsv1.StatefulSet{ObjectMeta: garageMeta(ns, store(i)), Spec: appsv1.StatefulSetSpec{
		ServiceName: "store-headless", Selector: &metav1.LabelSelector{MatchLabels: labels},
		UpdateStrategy:       appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{garageClaim(ns, "metadata"), garageClaim(ns, "data")},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				AutomountServiceAccountToken: new(false), Containers: []corev1.Container{container},
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: new(true), RunAsUser: new(int64(1000)),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Volumes: []corev1.Volume{
					{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: store(i)}}}},
					{Name: "rpc-secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
						SecretName: "store", DefaultMode: new(int32(0o400)), Items: []corev1.KeyToPath{{Key: "rpc-secret", Path: "rpc-secret"}},
					}}},
				},
			},
		},
	}}
}

func garageClaim(class, name string) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}

// secretVolume is the source of the RPC secret's file.
func secretVolume(spec *corev1.PodSpec) *corev1.SecretVolumeSource {
	for _, volume := range spec.Volumes {
		if volume.Name == "rpc-secret" {
			return volume.Secret
		}
	}
	return nil
}
