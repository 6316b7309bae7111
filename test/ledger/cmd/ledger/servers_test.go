package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/test/ledger/natsload"
)

const binaryVariable = "HOLDFAST_NATS_SERVER"

func serverBinary(t *testing.T) string {
	t.Helper()
	path := os.Getenv(binaryVariable)
	if path == "" {
		t.Fatalf("%s is not set: it must be the path of a nats-server (make test builds one and sets it)", binaryVariable)
	}
	return path
}

// server is one nats-server process on loopback, restarted on the same ports and disk.
type server struct {
	binary, name, config string
	client, monitor      int
	process              *exec.Cmd
	ended                chan struct{}
}

type servers []*server

// ports asks the kernel for free ports.
func ports(t *testing.T, n int) []int {
	t.Helper()
	var list []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		list = append(list, l.Addr().(*net.TCPAddr).Port)
	}
	return list
}

// startServers starts n servers, clustered when there are several; extra goes into each configuration.
func startServers(t *testing.T, n int, extra map[string]any) servers {
	t.Helper()
	binary, dir, free := serverBinary(t), t.TempDir(), ports(t, 3*n)
	var routes []string
	for i := range n {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", free[3*i+2]))
	}
	var all servers
	for i := range n {
		s := &server{binary: binary, name: fmt.Sprintf("n%d", i), client: free[3*i], monitor: free[3*i+1]}
		config := map[string]any{
			"server_name": s.name, "host": "127.0.0.1", "port": s.client, "http": fmt.Sprintf("127.0.0.1:%d", s.monitor),
			"jetstream": map[string]any{"store_dir": filepath.Join(dir, s.name)},
			// The shortest that the server takes; clients are closed at most a second apart, so few are done sooner.
			"lame_duck_duration": "30s", "lame_duck_grace_period": "1s",
		}
		if n > 1 {
			config["cluster"] = map[string]any{"name": "c", "host": "127.0.0.1", "port": free[3*i+2], "routes": routes}
		}
		maps.Copy(config, extra)
		content, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		s.config = filepath.Join(dir, s.name+".json")
		if err := os.WriteFile(s.config, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s.start(t)
		all = append(all, s)
	}
	return all
}

func (s *server) start(t *testing.T) {
	t.Helper()
	s.process, s.ended = exec.CommandContext(t.Context(), s.binary, "-c", s.config), make(chan struct{})
	if err := s.process.Start(); err != nil {
		t.Fatalf("start %s: %v", s.binary, err)
	}
	process, ended := s.process, s.ended
	go func() {
		_ = process.Wait()
		close(ended)
	}()
	// The context of the test has ended, and with it the process, before clean-up begins.
	t.Cleanup(func() { <-ended })
}

// end sends the signal and waits for the process to be gone.
func (s *server) end(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := s.process.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.ended:
	case <-time.After(40 * time.Second):
		t.Fatalf("%s has not ended 40 s after %v", s.name, signal)
	}
}

func (all servers) url() string {
	var list []string
	for _, s := range all {
		list = append(list, fmt.Sprintf("nats://127.0.0.1:%d", s.client))
	}
	return strings.Join(list, ",")
}

func (all servers) client(t *testing.T) jetstream.JetStream {
	t.Helper()
	c, err := nats.Connect(all.url(), natsload.ClientOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// awaitSettled waits until every server is healthy and every stream and consumer has a leader and only current replicas.
func (all servers) awaitSettled(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	eventually(t, time.Minute, "servers settled", func(ctx context.Context) error {
		for _, s := range all {
			var health struct{}
			if err := s.ask(ctx, "healthz", &health); err != nil {
				return err
			}
		}
		streams := js.ListStreams(ctx)
		for info := range streams.Info() {
			if err := whole(info.Config.Name, info.Cluster); err != nil {
				return err
			}
			stream, err := js.Stream(ctx, info.Config.Name)
			if err != nil {
				return err
			}
			consumers := stream.ListConsumers(ctx)
			for info := range consumers.Info() {
				if err := whole(info.Stream+" "+info.Name, info.Cluster); err != nil {
					return err
				}
			}
			if err := consumers.Err(); err != nil {
				return err
			}
		}
		return streams.Err()
	})
}

// ask reads a page of the server's monitoring port.
func (s *server) ask(ctx context.Context, page string, reply any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/%s", s.monitor, page), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s, %s: %s", s.name, page, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(reply)
}

func whole(what string, cluster *jetstream.ClusterInfo) error {
	if cluster == nil || cluster.Leader == "" {
		return fmt.Errorf("%s has no leader", what)
	}
	for _, replica := range cluster.Replicas {
		if !replica.Current || replica.Offline {
			return fmt.Errorf("%s: %s is not current", what, replica.Name)
		}
	}
	return nil
}

// eventually repeats a check until it returns nil.
func eventually(t *testing.T, bound time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	for {
		attempt, done := context.WithTimeout(ctx, 2*time.Second)
		err := check(attempt)
		done()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %s: %v", what, bound, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// selfSigned writes a certificate for 127.0.0.1 that is its own authority.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ledger test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for path, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}
