package kubelet

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestGarageView holds that nothing of a configuration changes but the addresses to listen on, and what is missing.
func TestGarageView(t *testing.T) {
	const full = `# bind_addr = "[::]:1"
metadata_dir = "/data/metadata" # kept
rpc_bind_addr = '[::]:3901' # kept
rpc_public_addr = "name:3901"
rpc_bind_outgoing = false
bootstrap_peers = ["a@[::]:3901"]

[s3_api]
	api_bind_addr="0.0.0.0:3900"
s3_region = "garage"
[s3_web]
bind_addr = ":3902"
[k2v_api]
api_bind_addr = "[::1]:3904"
[admin]
api_bind_addr = "/run/admin.sock"
rpc_public_addr = "of no meaning here"`
	for name, test := range map[string]struct{ give, want string }{
		"all is said": {give: full, want: strings.NewReplacer(
			"'[::]:3901'", "'127.1.2.3:3901'", "0.0.0.0:3900", "127.1.2.3:3900", `":3902"`, `"127.1.2.3:3902"`, "[::1]:3904", "127.1.2.3:3904",
		).Replace(full)},
		"no address for peers": {
			give: "rpc_bind_addr = \"[::]:4901\"\r\n[admin]\r\nrpc_public_addr = \"x\"\r\n",
			want: "rpc_public_addr = \"127.1.2.3:4901\"\nrpc_bind_outgoing = true\nrpc_bind_addr = \"127.1.2.3:4901\"\r\n[admin]\r\nrpc_public_addr = \"x\"\r\n",
		},
		"keys with dots": {
			give: "rpc_bind_outgoing = true\nrpc_public_addr = \"x:1\"\nadmin.api_bind_addr = \"[::]:3903\"\n",
			want: "rpc_bind_outgoing = true\nrpc_public_addr = \"x:1\"\nadmin.api_bind_addr = \"127.1.2.3:3903\"\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, string(garageServer{}.view([]byte(test.give), "127.1.2.3"))); diff != "" {
				t.Errorf("what is shown (-want +got):\n%s", diff)
			}
			if _, revision, err := (garageServer{}).start([]byte(test.give), "127.1.2.3"); err != nil || len(revision) != 16 {
				t.Errorf("the revision is %q, %v", revision, err)
			}
		})
	}
	for name, content := range map[string]string{
		"nothing":        "",
		"another string": "rpc_bind_addr = \"\"\"[::]:3901\"\"\"\n",
		"another form":   "rpc_bind_addr = \"[::]:3901\"\nadmin = { api_bind_addr = \"[::]:3903\" }\n",
		"no port":        "rpc_bind_addr = \"[::]\"\n",
	} {
		if _, _, err := (garageServer{}).start([]byte(content), "127.1.2.3"); err == nil {
			t.Errorf("%s: a server would be started that listens on every Pod's address", name)
		}
	}
}

func TestGarageConfig(t *testing.T) {
	env := []string{"PATH=/", "GARAGE_CONFIG_FILE=/env.toml"}
	for want, got := range map[string]string{
		"/etc/garage.toml": garageServer{}.config([]string{"/garage", "server"}, []string{"PATH=/"}),
		"/env.toml":        garageServer{}.config([]string{"/garage", "server"}, env),
		"/flag.toml":       garageServer{}.config([]string{"/garage", "-c", "/flag.toml", "server"}, env),
		"/long.toml":       garageServer{}.config([]string{"/garage", "--config=/long.toml", "server"}, env),
	} {
		if got != want {
			t.Errorf("the configuration is %s, want %s", got, want)
		}
	}
}

// TestServerContainer holds how the container with the server, and what that is, are told.
func TestServerContainer(t *testing.T) {
	container := func(name, image string) corev1.Container { return corev1.Container{Name: name, Image: image} }
	for name, test := range map[string]struct {
		containers []corev1.Container
		want       string
		service    service
	}{
		"by its name": {
			containers: []corev1.Container{container("other", "nats:1"), container("garage", "x")}, want: "garage", service: garageServer{},
		},
		"by its image": {
			containers: []corev1.Container{container("a", "example.com:5000/b/garage:v2@sha256:00")}, want: "a", service: garageServer{},
		},
		"by nothing": {containers: []corev1.Container{container("a", "b")}, want: "a", service: natsServer{}},
	} {
		got, service := serverContainer(&corev1.Pod{Spec: corev1.PodSpec{Containers: test.containers}})
		if got.Name != test.want || service != test.service {
			t.Errorf("%s: container %s runs %T, want %s and %T", name, got.Name, service, test.want, test.service)
		}
	}
}

func TestProgramsFromEnv(t *testing.T) {
	t.Setenv(natsVariable, "2.15.2=/a,2.15.3=/b")
	t.Setenv(garageVariable, "2.3.0=/c,2.4.1=/d")
	t.Setenv(shortDelayVariable, "/e")
	got := ServersFromEnv(t)
	maps.Copy(got, GarageFromEnv(t))
	want := map[string]string{"nats:2.15.2": "/a", "nats:2.15.3": "/b", "garage:v2.3.0": "/c", "garage:v2.4.1": "/d"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
	want = map[string]string{"garage:v2.3.0": "/c", "garage:v2.4.1": "/e"}
	if diff := cmp.Diff(want, ShortDelayGarageFromEnv(t)); diff != "" {
		t.Errorf("with a short delay (-want +got):\n%s", diff)
	}
}
