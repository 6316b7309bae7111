package render_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/pelletier/go-toml/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/internal/garage/render"
)

// serversVariable names the garage programs to try: 2.3.0=/path/to/one,2.4.1=/path/to/another, oldest first.
const serversVariable = "HOLDFAST_GARAGE_SERVERS"

type program struct{ version, path string }

// realServers are the programs. A missing list is a failure: a configuration that no Garage has read is not tested.
func realServers(t *testing.T) []program {
	t.Helper()
	var out []program
	for entry := range strings.SplitSeq(os.Getenv(serversVariable), ",") {
		if version, path, ok := strings.Cut(strings.TrimSpace(entry), "="); ok {
			out = append(out, program{version, path})
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s is not set: `make test` builds garage and sets it, as version=path, separated by commas and oldest first", serversVariable)
	}
	return out
}

// box is a directory that stands for a container's root, with a garage.toml whose paths are in it and whose listeners are on
// loopback.
type box struct {
	root, file string
	config     map[string]any
	disks      []string
	container  corev1.Container
	admin      string // its Admin API's address
}

func newBox(t *testing.T, in render.Input) *box {
	t.Helper()
	node := first(t, in)
	b := &box{root: t.TempDir(), config: parse(t, node.Config), container: container(node)}
	b.file = filepath.Join(b.root, render.ConfigKey)
	for _, key := range []string{"metadata_dir", "metadata_snapshots_dir"} {
		b.move(t, b.config, key)
	}
	if disks, ok := b.config["data_dir"].([]any); !ok {
		b.disks = append(b.disks, b.move(t, b.config, "data_dir"))
	} else {
		for _, disk := range disks {
			b.disks = append(b.disks, b.move(t, disk.(map[string]any), "path"))
		}
	}
	free := freeAddresses(t, 5)
	b.config["rpc_bind_addr"] = free[0]
	if _, announced := b.config["rpc_public_addr"]; announced {
		b.config["rpc_public_addr"] = free[0]
	}
	for i, at := range [][2]string{{"s3_api", "api_bind_addr"}, {"s3_web", "bind_addr"}, {"k2v_api", "api_bind_addr"}, {"admin", "api_bind_addr"}} {
		if of, there := b.config[at[0]].(map[string]any); there {
			of[at[1]] = free[i+1]
		}
	}
	b.admin = free[4]
	return b
}

// move puts the path under a key, if there is one, into the box.
func (b *box) move(t *testing.T, table map[string]any, key string) string {
	t.Helper()
	path, ok := table[key].(string)
	if !ok {
		return ""
	}
	path = filepath.Join(b.root, path)
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	table[key] = path
	return path
}

// freeAddresses are on loopback, and nobody listens on them.
func freeAddresses(t *testing.T, n int) []string {
	t.Helper()
	var out []string
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close() // once all are known, lest one is given out twice
		out = append(out, listener.Addr().String())
	}
	return out
}

// secrets are what the Secrets of an Input hold, by their keys.
var secrets = map[string]string{
	render.KeyRPCSecret: strings.Repeat("5e", 32), render.KeyAdminToken: strings.Repeat("ad", 16), render.KeyMetricsToken: strings.Repeat("3e", 16),
}

// command is the server on the box's configuration, with the variables that the Pod's container has.
func (b *box) command(ctx context.Context, t *testing.T, garage string) *exec.Cmd {
	t.Helper()
	text, err := toml.Marshal(b.config)
	if err == nil {
		err = os.WriteFile(b.file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, garage, b.container.Command[1:]...)
	for _, variable := range b.container.Env {
		value := strings.Replace(variable.Value, "/etc/garage/"+render.ConfigKey, b.file, 1)
		if variable.ValueFrom != nil {
			value = secrets[variable.ValueFrom.SecretKeyRef.Key]
		}
		command.Env = append(command.Env, variable.Name+"="+value)
	}
	return command
}

// TestRealServerStarts holds that each kind of configuration starts a server whose Admin API answers.
func TestRealServerStarts(t *testing.T) {
	for _, garage := range realServers(t) {
		for name, in := range variants() {
			if name == withFjall {
				continue
			}
			t.Run(garage.version+"/"+name, func(t *testing.T) {
				b := newBox(t, in)
				b.start(t, garage.path)
				g := gomega.NewWithT(t)
				// The token is the one of the Secret: with another one the Admin API answers that it is forbidden.
				g.Eventually(func() error { return b.asks("/v2/GetClusterStatus", render.KeyAdminToken) }, 30*time.Second, 50*time.Millisecond).Should(gomega.Succeed())
				g.Expect(b.asks("/v2/GetClusterStatus", render.KeyRPCSecret)).NotTo(gomega.Succeed())
				if name == "everything" {
					g.Expect(b.asks("/metrics", "")).NotTo(gomega.Succeed(), "metrics_require_token")
					g.Expect(b.asks("/metrics", render.KeyMetricsToken)).To(gomega.Succeed())
				}
				for _, disk := range b.disks {
					if _, err := os.Stat(filepath.Join(disk, "garage-marker")); err != nil {
						t.Errorf("a disk without Garage's marker: %v", err)
					}
				}
			})
		}
	}
}

// start runs a server until the test ends.
func (b *box) start(t *testing.T, garage string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	command := b.command(ctx, t, garage)
	var log bytes.Buffer
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // it is killed
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			text, _ := os.ReadFile(b.file)
			t.Logf("%s\n%s", log.String(), text)
		}
	})
}

// asks is an error unless the Admin API answers OK to a request with the token that lies under the key of a Secret.
func (b *box) asks(path, key string) error {
	request, err := http.NewRequest(http.MethodGet, "http://"+b.admin+path, nil)
	if err != nil {
		return err
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+secrets[key])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", path, response.Status)
	}
	return nil
}

// TestRealServerKnowsEveryKey gives each key that there is a value of a wrong type, and wants a server to refuse it and to say which
// one: it takes a key that it does not know without a word, whatever the value is.
func TestRealServerKnowsEveryKey(t *testing.T) {
	for _, garage := range realServers(t) {
		t.Run(garage.version, func(t *testing.T) {
			for key, kind := range render.ConfigKeys() {
				t.Run(key, func(t *testing.T) {
					b := newBox(t, everything())
					tables := strings.Split(key, ".")
					set(b.config, tables, wrong(kind))
					ended, output := b.refuses(t, garage.path)
					if !ended {
						t.Fatalf("a server starts with %s = %v: it does not know the key\n%s", key, wrong(kind), output)
					}
					// Garage shows the line with the key. Of a disk it only says that the whole list is wrong.
					about := tables[len(tables)-1] + " = "
					if tables[0] == "data_dir" {
						about = "data_dir"
					}
					if !strings.Contains(output, "TOML parse error") || !strings.Contains(output, about) {
						t.Errorf("refused, but not for %s:\n%s", key, output)
					}
				})
			}
			for _, key := range []string{"made_up", "s3_api.made_up", "s3_web.made_up", "k2v_api.made_up", "admin.made_up", "data_dir.made_up"} {
				t.Run(key, func(t *testing.T) {
					b := newBox(t, everything())
					set(b.config, strings.Split(key, "."), true)
					if ended, output := b.refuses(t, garage.path); ended {
						t.Errorf("a key that it does not know is refused: there is a simpler way to ask\n%s", output)
					}
				})
			}
		})
	}
}

// wrong is a value that no key of that kind takes. One of any type is a path, a list, a number or a word.
func wrong(kind reflect.Kind) any {
	if kind == reflect.Bool {
		return "wrong"
	}
	return true
}

// set puts a value under a path of tables; into each entry of a list.
func set(table map[string]any, path []string, value any) {
	if len(path) == 1 {
		table[path[0]] = value
		return
	}
	switch below := table[path[0]].(type) {
	case map[string]any:
		set(below, path[1:], value)
	case []any:
		for _, entry := range below {
			set(entry.(map[string]any), path[1:], value)
		}
	default:
		table[path[0]] = map[string]any{path[1]: value}
	}
}

// refuses starts a server and says whether it ended by itself with an error, before its Admin API answered.
func (b *box) refuses(t *testing.T, garage string) (bool, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	command := b.command(ctx, t, garage)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended, failed := make(chan struct{}), false
	go func() {
		defer close(ended)
		failed = command.Wait() != nil
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return failed, output.String()
		case <-tick.C:
			if b.asks("/v2/GetClusterStatus", render.KeyAdminToken) == nil {
				cancel()
				<-ended
				return false, output.String()
			}
		}
	}
}

// TestRealServerRunsWithoutFjall says why that variant is not started: the servers of the tests are built without it, and say so. When
// they are not, this fails, and the variant belongs to the others.
func TestRealServerRunsWithoutFjall(t *testing.T) {
	for _, garage := range realServers(t) {
		ended, output := newBox(t, variants()[withFjall]).refuses(t, garage.path)
		if !ended || !slices.ContainsFunc(strings.Split(strings.ToLower(output), "\n"), func(line string) bool { return strings.Contains(line, "fjall") }) {
			t.Errorf("%s does not refuse the engine:\n%s", garage.version, output)
		}
	}
}
