package render_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

// serversVariable names the nats-server programs to try: 2.15.2=/path/to/one,2.15.3=/path/to/another.
const serversVariable = "HOLDFAST_NATS_SERVERS"

// realServers are the programs by version. A missing list is a failure: a configuration that no nats-server has
// read is not tested.
func realServers(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for entry := range strings.SplitSeq(os.Getenv(serversVariable), ",") {
		if version, path, ok := strings.Cut(strings.TrimSpace(entry), "="); ok {
			out[version] = path
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s is not set: give it as version=path of nats-server programs, separated by commas "+
			"(tools/toolbox builds them)", serversVariable)
	}
	return out
}

// variants are specs that between them use every key of the configuration.
func variants() map[string]render.Input {
	secret := v1beta1.SecretReference{Name: "demo-cert"}
	return map[string]render.Input{
		"quickstart": quickstart(),
		"everything": with(func(in *render.Input, spec *v1beta1.NatsClusterSpec) {
			spec.TLS = &v1beta1.ListenerTLS{SecretRef: secret}
			in.ClientTLS = &render.Certificate{SecretName: "demo-cert", Digest: "c11e"}
			spec.ServerTags = map[string]string{"zone": "b", "Rack.7": "", "0x1": "1e3"}
		}),
		"standalone": with(func(_ *render.Input, spec *v1beta1.NatsClusterSpec) { spec.Replicas = 1 }),
		"no jetstream, routes in the clear": with(func(_ *render.Input, spec *v1beta1.NatsClusterSpec) {
			spec.JetStream = nil
			spec.Routes.TLS.Enabled = new(false)
		}),
		"two servers, nothing limited": with(func(_ *render.Input, spec *v1beta1.NatsClusterSpec) {
			spec.Replicas = 2
			spec.Resources.Limits = nil
			spec.JetStream.VolumeClaimTemplate = nil
		}),
	}
}

func TestRealServerReadsConfig(t *testing.T) {
	for version, program := range realServers(t) {
		for name, in := range variants() {
			t.Run(version+"/"+name, func(t *testing.T) {
				in.Cluster.Spec.Version = version
				box := newBox(t)
				for _, server := range mustRender(t, in).Servers {
					config := box.write(t, server.Name, box.move(server.Config, 0))
					if out, err := exec.Command(program, "-t", "-c", config).CombinedOutput(); err != nil {
						t.Errorf("nats-server refuses the configuration of %s: %v\n%s\n%s", server.Name, err, out, server.Config)
					}
				}
			})
		}
	}
}

// A server that has really started reports the revision, the tags and the limits that were rendered, and ends by
// itself in lame duck, as the Pod's preStop begins it.
func TestRealServerReportsRevision(t *testing.T) {
	for version, program := range realServers(t) {
		t.Run(version, func(t *testing.T) {
			out := mustRender(t, with(func(_ *render.Input, spec *v1beta1.NatsClusterSpec) {
				spec.Version, spec.Replicas = version, 1
				spec.TLS = &v1beta1.ListenerTLS{SecretRef: v1beta1.SecretReference{Name: "demo-cert"}}
				spec.ServerTags = map[string]string{"zone": "b", "rack": "7"}
			}))
			box := newBox(t)
			base := freePorts(t)
			url := fmt.Sprintf("http://127.0.0.1:%d", base+portShift)
			config := box.write(t, "demo-0", box.move(out.Servers[0].Config, base))
			exited := start(t, program, config)

			g := gomega.NewWithT(t)
			pod := out.Servers[0].StatefulSet.Spec.Template.Spec
			probe := func(path string) func() (int, error) {
				return func() (int, error) { return status(url + path) }
			}
			nats := pod.Containers[0]
			g.Eventually(probe(nats.StartupProbe.HTTPGet.Path), 20*time.Second, 50*time.Millisecond).Should(gomega.Equal(200))
			for _, path := range []string{nats.ReadinessProbe.HTTPGet.Path, nats.LivenessProbe.HTTPGet.Path} {
				if code, err := status(url + path); code != 200 {
					t.Errorf("%s answers %d, %v", path, code, err)
				}
			}
			checkVarz(t, url, version, out)

			stop := nats.Lifecycle.PreStop.Exec.Command
			args := append([]string(nil), stop[1:]...)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "/var/run/nats", box.path("/var/run/nats"))
			}
			if text, err := exec.Command(program, args...).CombinedOutput(); err != nil {
				t.Fatalf("preStop %v: %v\n%s", args, err, text)
			}
			g.Eventually(exited, 20*time.Second).Should(gomega.Receive(gomega.BeNil()), "a server without clients ends at once")
		})
	}
}

// checkVarz compares what the server says of itself with what was rendered.
func checkVarz(t *testing.T, url, version string, out render.Output) {
	t.Helper()
	var varz struct {
		ServerName string            `json:"server_name"`
		Version    string            `json:"version"`
		Tags       []string          `json:"tags"`
		Metadata   map[string]string `json:"metadata"`
		TLS        bool              `json:"tls_required"`
		JetStream  struct {
			Config struct {
				MaxMemory int64 `json:"max_memory"`
				MaxFile   int64 `json:"max_storage"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	get(t, url+"/varz", &varz)
	if want := map[string]string{"config_revision": out.Revision}; !cmp.Equal(want, varz.Metadata) {
		t.Errorf("reports metadata %v, want %v", varz.Metadata, want)
	}
	if want := []string{"rack:7", "zone:b"}; !cmp.Equal(want, varz.Tags) {
		t.Errorf("reports tags %v, want %v", varz.Tags, want)
	}
	if varz.ServerName != "demo-0" || varz.Version != version || !varz.TLS {
		t.Errorf("reports name %q, version %q, TLS %v", varz.ServerName, varz.Version, varz.TLS)
	}
	js := varz.JetStream.Config
	if js.MaxMemory != out.Limits.MaxMemoryStore.Value() || js.MaxFile != out.Limits.MaxFileStore.Value() {
		t.Errorf("reports limits %d and %d, want %v", js.MaxMemory, js.MaxFile, out.Limits)
	}
}

// portShift is how far the monitoring port lies from the client port while a test runs: see move.
const portShift = 1

// box is a directory that stands for a container's root.
type box struct{ root string }

func newBox(t *testing.T) box {
	t.Helper()
	b := box{root: t.TempDir()}
	for _, dir := range []string{"/var/run/nats", "/data/jetstream", "/etc/nats-client-tls", "/etc/nats-routes-tls"} {
		if err := os.MkdirAll(b.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	certificate, key := selfSigned(t, time.Hour)
	for _, dir := range []string{"/etc/nats-client-tls", "/etc/nats-routes-tls"} {
		for name, data := range map[string][]byte{"tls.crt": certificate, "ca.crt": certificate, "tls.key": key} {
			if err := os.WriteFile(filepath.Join(b.path(dir), name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b
}

func (b box) path(inContainer string) string { return b.root + inContainer }

// move puts the configuration's paths into the box and, with a base, its listeners on loopback.
func (b box) move(config []byte, base int) []byte {
	text := string(config)
	for _, dir := range []string{"/var/run", "/data", "/etc"} {
		text = strings.ReplaceAll(text, `"`+dir+"/", `"`+b.path(dir)+"/")
	}
	if base > 0 {
		text = strings.ReplaceAll(text, "0.0.0.0:4222", fmt.Sprintf("127.0.0.1:%d", base))
		text = strings.ReplaceAll(text, `"http": 8222`, fmt.Sprintf(`"http": %d`, base+portShift))
	}
	return []byte(text)
}

func (b box) write(t *testing.T, name string, config []byte) string {
	t.Helper()
	path := b.path("/" + name + ".conf")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// start runs nats-server until the test ends; the channel gets how it ended.
func start(t *testing.T, program, config string) <-chan error {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, program, "--config", config)
	var log strings.Builder
	command.Stderr = &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	exited, done := make(chan error, 1), make(chan struct{})
	go func() {
		exited <- command.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		if t.Failed() {
			t.Logf("nats-server:\n%s", log.String())
		}
	})
	return exited
}

// freePorts finds two neighbouring ports of loopback that nobody listens on.
func freePorts(t *testing.T) int {
	t.Helper()
	for range 50 {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := first.Addr().(*net.TCPAddr).Port
		second, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+portShift))
		first.Close()
		if err == nil {
			second.Close()
			return port
		}
	}
	t.Fatal("no two free ports beside each other")
	return 0
}

func status(url string) (int, error) {
	response, err := http.Get(url)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

func get(t *testing.T, url string, into any) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(errors.Join(errors.New(url), err))
	}
}

// certificateName is whom the certificates of a box are of.
const certificateName = "demo.default.svc"

func selfSigned(t *testing.T, life time.Duration) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(life), IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{certificateName},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}
