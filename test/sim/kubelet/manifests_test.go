package kubelet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// manifests are three servers by hand.
func manifests(t *testing.T, ns string) []client.Object {
	t.Helper()
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": "demo"}}
	}
	objects := []client.Object{
		&corev1.Secret{ObjectMeta: meta("demo-tls"), Data: certificate(t, "*.demo-headless."+ns+".svc")},
		&corev1.Service{ObjectMeta: meta("demo-headless"), Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: map[string]string{"app": "demo"},
			Ports: []corev1.ServicePort{{Name: "client", Port: 4222}},
		}},
	}
	for i := range 3 {
		name := fmt.Sprintf("demo-%d", i)
		objects = append(objects,
			&corev1.ConfigMap{ObjectMeta: meta(name + "-config"), Data: map[string]string{"nats.conf": natsConf(t, ns, name)}},
			&appsv1.StatefulSet{ObjectMeta: meta(name), Spec: setSpec(name)})
	}
	return objects
}

func natsConf(t *testing.T, ns, name string) string {
	t.Helper()
	var routes []string
	for i := range 3 {
		routes = append(routes, fmt.Sprintf("nats-route://demo-%d-0.demo-headless.%s.svc:6222", i, ns))
	}
	const tls = "/etc/nats-routes-tls/"
	conf, err := json.Marshal(map[string]any{
		"server_name": name, "listen": "0.0.0.0:4222", "http": 8222, "pid_file": "/var/run/nats/nats.pid",
		"server_metadata": map[string]any{"config_revision": "r1"},
		"jetstream":       map[string]any{"store_dir": "/data/jetstream", "max_memory_store": 67108864},
		"cluster": map[string]any{
			"name": "demo", "listen": "0.0.0.0:6222", "routes": routes,
			"tls": map[string]any{"cert_file": tls + "tls.crt", "key_file": tls + "tls.key", "ca_file": tls + "ca.crt", "verify": true},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(conf)
}

func setSpec(name string) appsv1.StatefulSetSpec {
	labels := map[string]string{"app": "demo", "server": name}
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 3, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("monitor")},
		}}
	}
	startup := probe("/healthz")
	startup.FailureThreshold = 60
	return appsv1.StatefulSetSpec{
		ServiceName: "demo-headless", PodManagementPolicy: appsv1.ParallelPodManagement,
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			},
		}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: new(int64(60)), AutomountServiceAccountToken: new(false),
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: new(true), RunAsUser: new(int64(1000)),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Volumes: []corev1.Volume{
					{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name + "-config"}}}},
					{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "demo-tls"}}},
					{Name: "run", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				},
				Containers: []corev1.Container{{
					Name: "nats", Image: "nats:2.15.3", Command: []string{"nats-server"}, Args: []string{"--config", "/etc/nats-config/nats.conf"},
					Ports:        []corev1.ContainerPort{{Name: "client", ContainerPort: 4222}, {Name: "monitor", ContainerPort: 8222}},
					StartupProbe: startup, ReadinessProbe: probe("/healthz?js-server-only=true"), LivenessProbe: probe("/healthz?js-enabled-only=true"),
					Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{
						Command: []string{"nats-server", "--signal", "ldm=/var/run/nats/nats.pid"},
					}}},
					SecurityContext: &corev1.SecurityContext{
						AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					},
					VolumeMounts: []corev1.VolumeMount{
						{Name: "config", MountPath: "/etc/nats-config"}, {Name: "tls", MountPath: "/etc/nats-routes-tls"},
						{Name: "run", MountPath: "/var/run/nats"}, {Name: "data", MountPath: "/data"},
					},
				}},
			},
		},
	}
}

// certificate is a Secret's data with a certificate for both ends of a connection, its own authority.
func certificate(t *testing.T, name string) map[string][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "demo"}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	crt := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return map[string][]byte{"tls.crt": crt, "ca.crt": crt, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})}
}
