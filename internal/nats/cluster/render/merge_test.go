package render_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

// patched is the first server's Pod under that podTemplate.spec.
func patched(change func(*v1beta1.NatsClusterSpec), json string) (corev1.PodSpec, error) {
	out, err := render.Render(with(func(_ *render.Input, spec *v1beta1.NatsClusterSpec) {
		spec.PodTemplate.Spec = patch(json)
		if change != nil {
			change(spec)
		}
	}))
	if err != nil {
		return corev1.PodSpec{}, err
	}
	return out.Servers[0].StatefulSet.Spec.Template.Spec, nil
}

func TestPodTemplateMerge(t *testing.T) {
	cases := map[string]struct {
		patch string
		// want changes the rendered Pod into what the merge gives.
		want func(*corev1.PodSpec)
	}{
		"empty": {`{}`, func(*corev1.PodSpec) {}},
		"null":  {`null`, func(*corev1.PodSpec) {}},
		"placement": {
			`{"nodeSelector":{"disk":"fast"},"tolerations":[{"key":"nats"}],"priorityClassName":"high"}`,
			func(s *corev1.PodSpec) {
				s.NodeSelector, s.Tolerations, s.PriorityClassName = map[string]string{"disk": "fast"}, []corev1.Toleration{{Key: "nats"}}, "high"
			},
		},
		"an affinity takes the default's place": {
			`{"affinity":{"nodeAffinity":{}}}`,
			func(s *corev1.PodSpec) { s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}} },
		},
		"no affinity at all": {`{"affinity":null}`, func(s *corev1.PodSpec) { s.Affinity = nil }},
		"a container beside the others comes last": {
			`{"containers":[{"name":"sidecar","image":"busybox"}]}`,
			func(s *corev1.PodSpec) {
				s.Containers = append(s.Containers, corev1.Container{Name: "sidecar", Image: "busybox"})
			},
		},
		"the nats container, by name": {
			`{"containers":[{"name":"nats","imagePullPolicy":"Always","env":[{"name":"GOMEMLIMIT","value":"1GiB"}],
			  "ports":[{"containerPort":4222,"hostPort":4222}],"lifecycle":{"postStart":{"sleep":{"seconds":1}}},
			  "startupProbe":{"failureThreshold":10}}]}`,
			func(s *corev1.PodSpec) {
				nats := &s.Containers[0]
				nats.ImagePullPolicy = corev1.PullAlways
				nats.Env[0].Value = "1GiB"
				nats.Ports[0].HostPort = 4222
				nats.Lifecycle.PostStart = &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}}
				nats.StartupProbe.FailureThreshold = 10
			},
		},
		"the exporter, and a directive": {
			`{"containers":[{"name":"exporter","args":["-varz"],"resources":{"$patch":"delete"}}]}`,
			func(s *corev1.PodSpec) {
				s.Containers[1].Args = []string{"-varz"}
				s.Containers[1].Resources = corev1.ResourceRequirements{}
			},
		},
		"the shortest grace": {
			`{"terminationGracePeriodSeconds":150}`,
			func(s *corev1.PodSpec) { s.TerminationGracePeriodSeconds = ptr.To[int64](150) },
		},
		"the host's network": {
			`{"hostNetwork":true,"dnsPolicy":"ClusterFirstWithHostNet"}`,
			func(s *corev1.PodSpec) { s.HostNetwork, s.DNSPolicy = true, corev1.DNSClusterFirstWithHostNet },
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			want, err := patched(nil, `{}`)
			if err != nil {
				t.Fatal(err)
			}
			test.want(&want)
			got, err := patched(nil, test.patch)
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("merged Pod (-want +got):\n%s", diff)
			}
		})
	}
}

// An emptyDir that holds the store may be bounded.
func TestPodTemplateMayBoundTheStore(t *testing.T) {
	got, err := patched(
		func(spec *v1beta1.NatsClusterSpec) { spec.JetStream.VolumeClaimTemplate = nil },
		`{"volumes":[{"name":"data","emptyDir":{"sizeLimit":"1Gi"}}]}`,
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, volume := range got.Volumes {
		if volume.Name == "data" && volume.EmptyDir.SizeLimit.String() == "1Gi" {
			return
		}
	}
	t.Errorf("no bounded data volume in %v", got.Volumes)
}

func TestPodTemplateRefused(t *testing.T) {
	nats := func(fields string) string { return `{"containers":[{"name":"nats",` + fields + `}]}` }
	cases := map[string]struct {
		patch string
		path  string // below spec.podTemplate.spec
		says  string
	}{
		"no object":                {`[]`, "", "no JSON object"},
		"an unknown field":         {`{"containers":[{"name":"nats","imagePullPolicies":"Always"}]}`, "", `"containers[0].imagePullPolicies"`},
		"a field's wrong case":     {`{"NodeSelector":{}}`, "", `"NodeSelector"`},
		"a field's wrong type":     {`{"priority":"high"}`, "", "no partial Pod spec"},
		"a field twice":            {`{"priority":1,"priority":2}`, "", "duplicate"},
		"a container with no name": {`{"containers":[{"image":"x"}]}`, "", "cannot be merged"},
		"an unknown directive":     {`{"containers":[{"name":"nats","$patch":"explode"}]}`, "", "cannot be merged"},
		"never restarted":          {`{"restartPolicy":"Never"}`, ".restartPolicy", "Always"},
		"hostname":                 {`{"hostname":"x"}`, ".hostname", "StatefulSet"},
		"subdomain":                {`{"subdomain":"x"}`, ".subdomain", "StatefulSet"},
		"deadline":                 {`{"activeDeadlineSeconds":10}`, ".activeDeadlineSeconds", "end the servers"},
		"ephemeral containers":     {`{"ephemeralContainers":[{"name":"x"}]}`, ".ephemeralContainers", "template"},
		"short grace":              {`{"terminationGracePeriodSeconds":149}`, ".terminationGracePeriodSeconds", "150"},
		"no grace":                 {`{"terminationGracePeriodSeconds":null}`, ".terminationGracePeriodSeconds", "150"},
		"the host's DNS":           {`{"dnsPolicy":"Default"}`, ".dnsPolicy", "names of Services"},
		"the host's network":       {`{"hostNetwork":true}`, ".dnsPolicy", "ClusterFirstWithHostNet"},
		"the host's network, said": {`{"hostNetwork":true,"dnsPolicy":"ClusterFirst"}`, ".dnsPolicy", "ClusterFirstWithHostNet"},
		"nats removed":             {nats(`"$patch":"delete"`), ".containers[nats]", "removed"},
		"exporter removed":         {`{"containers":[{"name":"exporter","$patch":"delete"}]}`, ".containers[exporter]", "removed"},
		"all containers removed":   {`{"containers":null}`, ".containers[nats]", "removed"},
		"image":                    {nats(`"image":"nats:2.14.0"`), ".containers[nats].image", "spec.version"},
		"command":                  {nats(`"command":["nats-server","--config","/x"]`), ".containers[nats].command", "configuration"},
		"args":                     {nats(`"args":["--jetstream=false"]`), ".containers[nats].args", "flags"},
		"resources":                {nats(`"resources":{"limits":{"memory":"1Gi"}}`), ".containers[nats].resources", "spec.resources"},
		"no lame duck":             {nats(`"lifecycle":null`), ".containers[nats].lifecycle", "stopped"},
		"another preStop":          {nats(`"lifecycle":{"preStop":{"exec":{"command":["true"]}}}`), ".containers[nats].lifecycle", "stopped"},
		"a stop signal":            {nats(`"lifecycle":{"stopSignal":"SIGKILL"}`), ".containers[nats].lifecycle", "stopped"},
		"nats never restarted":     {nats(`"restartPolicy":"Never"`), ".containers[nats].restartPolicy", "Always"},
		"a port renamed":           {nats(`"ports":[{"containerPort":8222,"name":"http"}]`), ".containers[nats].ports", "8222 as monitor"},
		"a port over UDP":          {nats(`"ports":[{"containerPort":6222,"protocol":"UDP"}]`), ".containers[nats].ports", "6222 as route"},
		"a mount removed":          {nats(`"volumeMounts":[{"mountPath":"/etc/nats-config","$patch":"delete"}]`), ".containers[nats].volumeMounts", "/etc/nats-config"},
		"a mount elsewhere":        {nats(`"volumeMounts":[{"mountPath":"/data","name":"pid"}]`), ".containers[nats].volumeMounts", "/data"},
		"a volume replaced":        {`{"volumes":[{"name":"config","configMap":{"name":"mine"}}]}`, ".volumes[config]", "replaced"},
		"a volume of another kind": {`{"volumes":[{"name":"pid","emptyDir":null,"hostPath":{"path":"/x"}}]}`, ".volumes[pid]", "replaced"},
		"the claim's volume":       {`{"volumes":[{"name":"data","emptyDir":{}}]}`, ".volumes[data]", "claim"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := patched(nil, test.patch)
			var unsupported *render.UnsupportedError
			if !errors.As(err, &unsupported) {
				t.Fatalf("error %v, want an UnsupportedError", err)
			}
			if want := "spec.podTemplate.spec" + test.path; unsupported.Path != want || !strings.Contains(unsupported.Message, test.says) {
				t.Errorf("says %q, want %s and %q", unsupported, want, test.says)
			}
		})
	}
}
