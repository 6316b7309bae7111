package render_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/reload"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi/minted"
)

// A keyChange is a change of one key on a running server.
type keyChange struct {
	what string
	// to is the new value; nil takes the key away.
	to any
	// reload says that the allow-list has it.
	reload bool
	// seen reads from /varz what the change should show in; nil where nothing shows it.
	seen []string
}

// signedAnew stands for the server's own operator's JWT with one more signing key.
type signedAnew struct{}

// renewal stands for another certificate in the files of that folder, whose names stay.
type renewal struct{ dir string }

// keyChanges has a row for each key that is rendered.
func keyChanges(b box) map[string][]keyChange {
	other := minted.NewOperator("other")
	memory, file := []string{"jetstream", "config", "max_memory"}, []string{"jetstream", "config", "max_storage"}
	return map[string][]keyChange{
		"server_name":            {{what: "changed", to: "other", seen: []string{"server_name"}}},
		"listen":                 {{what: "changed", to: "127.0.0.1:1", seen: []string{"port"}}},
		"http":                   {{what: "changed", to: 1, seen: []string{"http_port"}}},
		"pid_file":               {{what: "changed", to: b.path("/var/run/nats/other.pid")}},
		"lame_duck_duration":     {{what: "changed", to: "3m"}},
		"lame_duck_grace_period": {{what: "changed", to: "5s"}},
		"server_tags": {
			{what: "changed", to: []string{"zone:c"}, reload: true, seen: []string{"tags"}},
			{what: "taken away", to: nil, reload: true, seen: []string{"tags"}},
		},
		"server_metadata":        {{what: "changed", to: map[string]string{"config_revision": "other"}, reload: true, seen: []string{"metadata"}}},
		"tls.cert_file":          {{what: "changed", to: b.path("/etc/nats-client-tls/ca.crt")}},
		"tls.key_file":           {{what: "changed", to: b.path("/etc/nats-routes-tls/tls.key")}},
		reload.ClientCertificate: {{what: "renewed", to: renewal{"/etc/nats-client-tls"}, reload: true, seen: []string{"tls_cert_not_after"}}},
		reload.RouteCertificate:  {{what: "renewed", to: renewal{"/etc/nats-routes-tls"}, reload: true, seen: []string{"cluster", "tls_cert_not_after"}}},
		"tls.ca_file":            {{what: "set", to: b.path("/etc/nats-client-tls/ca.crt")}},
		"cluster.name":           {{what: "changed", to: "other", seen: []string{"cluster", "name"}}},
		"cluster.listen":         {{what: "changed", to: "127.0.0.1:1", seen: []string{"cluster", "cluster_port"}}},
		"cluster.routes": {
			{what: "one more", to: []string{"nats-route://127.0.0.1:2", "nats-route://127.0.0.1:3", "nats-route://127.0.0.1:4"}, reload: true, seen: []string{"cluster", "urls"}},
			{what: "one less", to: []string{"nats-route://127.0.0.1:2"}, reload: true, seen: []string{"cluster", "urls"}},
		},
		"cluster.tls":         {{what: "taken away", to: nil, seen: []string{"cluster", "tls_required"}}},
		"jetstream.store_dir": {{what: "changed", to: b.path("/data/other"), seen: []string{"jetstream", "config", "store_dir"}}},
		"jetstream.max_memory_store": {
			{what: "raised", to: 8 << 30, reload: true, seen: memory},
			{what: "lowered", to: 1 << 20, seen: memory},
			{what: "taken away", to: nil, seen: memory},
		},
		"jetstream.max_file_store": {
			{what: "raised", to: 40 << 30, reload: true, seen: file},
			{what: "lowered", to: 1 << 20, seen: file},
			{what: "taken away", to: nil, seen: file},
		},
		"operator": {
			{what: "another", to: other.JWT, seen: []string{"trusted_operators_jwt"}},
			{what: "signed anew", to: signedAnew{}, seen: []string{"trusted_operators_jwt"}},
		},
		"system_account":        {{what: "another", to: other.System.Key, seen: []string{"system_account"}}},
		"resolver.type":         {{what: "cache", to: "cache"}},
		"resolver.dir":          {{what: "changed", to: b.path("/data/other")}},
		"resolver.allow_delete": {{what: "taken away", to: nil}},
		"resolver_preload":      {{what: "changed", to: map[string]string{}}},
	}
}

// Every key that is rendered is changed on a running server of each version, which is then asked to reload. What the
// allow-list has must be taken over; of the rest it is printed what the server did.
func TestRealServerReloads(t *testing.T) {
	rows := keyChanges(newBox(t))
	for _, key := range render.ConfigKeys() {
		if rows[key] == nil {
			t.Errorf("no row changes %s", key)
		}
	}
	for version, program := range realServers(t) {
		for _, key := range slices.Sorted(maps.Keys(rows)) {
			for i := range rows[key] {
				what := rows[key][i].what
				t.Run(version+"/"+key+" "+what, func(t *testing.T) {
					b := newBox(t)
					tryReload(t, b, version, program, key, keyChanges(b)[key][i])
				})
			}
		}
	}
}

func tryReload(t *testing.T, b box, version, program, key string, change keyChange) {
	t.Helper()
	operator := minted.NewOperator("main")
	out := mustRender(t, with(func(in *render.Input, spec *v1beta1.NatsClusterSpec) {
		spec.Version, spec.Replicas = version, 2
		spec.TLS = &v1beta1.ListenerTLS{SecretRef: v1beta1.SecretReference{Name: "demo-cert"}}
		spec.ServerTags = map[string]string{"zone": "b"}
		in.Trust = &render.Trust{OperatorJWT: operator.JWT, SystemAccount: operator.System.Key, SystemAccountJWT: operator.System.JWT}
		spec.Auth = &v1beta1.Auth{}
	}))
	base := freePorts(t)
	config := decode(t, b.move(out.Servers[0].Config, base))
	cluster := config["cluster"].(map[string]any)
	routes := freePorts(t)
	cluster["listen"] = fmt.Sprintf("127.0.0.1:%d", routes)
	cluster["routes"] = []string{"nats-route://127.0.0.1:2", "nats-route://127.0.0.1:3"} // nobody answers there
	write := func() string { return b.write(t, "demo-0", encode(t, config)) }
	start(t, program, write())

	client := systemClient(t, b, operator, base)
	url := fmt.Sprintf("http://127.0.0.1:%d/varz", base+portShift)
	before, process := varz(t, url), mustVarz(t, client)
	if got, want := process.ConfigDigest, reload.Digest(string(encode(t, config))); got != want {
		t.Errorf("the server reports digest %s, and %s was computed", got, want)
	}
	var old any
	certificate, renews := change.to.(renewal)
	if renews {
		b.renew(t, certificate.dir)
	} else {
		old = set(config, key, change.value(operator))
		write()
	}
	err := client.Reload(t.Context(), process.ID)
	text := encode(t, config)
	listed := reload.Reloads(version, key, old, at(decode(t, text), strings.SplitN(key, ".", 2)))
	seen := change.seen != nil && fmt.Sprint(at(before, change.seen)) != fmt.Sprint(at(varz(t, url), change.seen))
	fmt.Printf("%-7s %-30s %-10s listed %-5t  %s\n", version, key, change.what, listed, verdict(err, change.seen != nil, seen))
	if listed != change.reload || listed && (err != nil || !seen) {
		t.Errorf("listed: %t, want %t; the reload: %s", listed, change.reload, verdict(err, change.seen != nil, seen))
	}
	if renews {
		b.shown(t, certificate.dir, base, routes)
	}
	after, digest := mustVarz(t, client), reload.Digest(string(text))
	if err != nil {
		digest = process.ConfigDigest
	}
	if after.ID != process.ID || after.ConfigDigest != digest {
		t.Errorf("afterwards the server is %s with digest %s, want %s with %s", after.ID, after.ConfigDigest, process.ID, digest)
	}
}

// renew replaces the certificate and the key in the box, and leaves the CA.
func (b box) renew(t *testing.T, dir string) {
	t.Helper()
	certificate, key := selfSigned(t, 2*time.Hour)
	for name, data := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(b.path(dir), name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// shown checks that the listener of that folder's certificate shows it to whoever connects, which is what the end of a certificate
// in /varz is taken for.
func (b box) shown(t *testing.T, dir string, client, routes int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.path(dir), "tls.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text) // nobody else signed it
	port := routes
	if dir == "/etc/nats-client-tls" {
		port = client
	}
	connection, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if port == client { // which says in the clear that it wants TLS
		if _, err := bufio.NewReader(connection).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, ServerName: certificateName, RootCAs: roots}
	if err := tls.Client(connection, config).HandshakeContext(t.Context()); err != nil {
		t.Errorf("port %d does not show the new certificate: %v", port, err)
	}
}

// value is what the key is set to.
func (c keyChange) value(operator *minted.Operator) any {
	if _, is := c.to.(signedAnew); !is {
		return c.to
	}
	operator.Sign("main", minted.NewOperator("signer").Key)
	return operator.JWT
}

// verdict says in words what the server did.
func verdict(err error, visible, seen bool) string {
	switch {
	case err != nil:
		return "refused: " + err.Error()[strings.LastIndex(err.Error(), ": ")+2:]
	case !visible:
		return "accepted, nothing shows whether it took effect"
	case seen:
		return "accepted, took effect"
	}
	return "accepted, took no effect"
}

func systemClient(t *testing.T, b box, operator *minted.Operator, port int) *sysapi.Client {
	t.Helper()
	ca, err := os.ReadFile(b.path("/etc/nats-client-tls/ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	var client *sysapi.Client
	gomega.NewWithT(t).Eventually(func() (err error) {
		client, err = sysapi.Dial(t.Context(), sysapi.Options{
			URLs:        []string{fmt.Sprintf("nats://127.0.0.1:%d", port)},
			Credentials: operator.System.User("controller", minted.ClusterController()),
			TLS:         &tls.Config{MinVersion: tls.VersionTLS12, ServerName: certificateName, RootCAs: roots},
		})
		return err
	}).WithTimeout(20 * time.Second).WithPolling(20 * time.Millisecond).Should(gomega.Succeed())
	t.Cleanup(client.Close)
	return client
}

func mustVarz(t *testing.T, client *sysapi.Client) monitorapi.Varz {
	t.Helper()
	process, err := client.Varz(t.Context(), "demo-0")
	if err != nil {
		t.Fatal(err)
	}
	return process
}

func varz(t *testing.T, url string) map[string]any {
	t.Helper()
	var out map[string]any
	get(t, url, &out)
	return out
}

// at is the value under that path, nil where there is none.
func at(from map[string]any, path []string) any {
	value := from[path[0]]
	if inner, is := value.(map[string]any); is && len(path) > 1 {
		return at(inner, path[1:])
	}
	if len(path) > 1 {
		return nil
	}
	return value
}

// set changes one key, or takes it away, and returns what it was.
func set(config map[string]any, path string, to any) any {
	key, deeper, nested := strings.Cut(path, ".")
	if nested {
		return set(config[key].(map[string]any), deeper, to)
	}
	old := config[key]
	if config[key] = to; to == nil {
		delete(config, key)
	}
	return old
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var out map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func encode(t *testing.T, config map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
