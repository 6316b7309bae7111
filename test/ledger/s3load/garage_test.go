package s3load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const garagesVariable = "HOLDFAST_GARAGE_SERVERS"

// garagePrograms are those that the environment names, by version.
func garagePrograms(t *testing.T) iter.Seq2[string, string] {
	t.Helper()
	list := os.Getenv(garagesVariable)
	if list == "" {
		t.Fatalf("%s is not set: it gives Garage programs as 2.3.0=/path,2.4.1=/path; make test builds them and sets it", garagesVariable)
	}
	return func(yield func(string, string) bool) {
		for pair := range strings.SplitSeq(list, ",") {
			if version, binary, _ := strings.Cut(pair, "="); !yield(version, binary) {
				return
			}
		}
	}
}

// garage is one Garage process that keeps everything once, restarted at the same address and on the same disk.
type garage struct {
	binary, config string
	s3, admin      string
	process        *exec.Cmd
	ended          chan struct{}
}

const garageToken = "6d657472696373"

var garages atomic.Int32

// startGarage starts one with a layout, the bucket and an access key, which is set in the environment.
func startGarage(t *testing.T, binary string) *garage {
	t.Helper()
	// An address of this test process's own: nobody else's ports can be in the way, also between two starts.
	ip := fmt.Sprintf("127.%d.%d.%d", 100+garages.Add(1), os.Getpid()/250%250, 1+os.Getpid()%250)
	dir := t.TempDir()
	g := &garage{binary: binary, config: filepath.Join(dir, "garage.toml"), s3: "http://" + ip + ":3900", admin: "http://" + ip + ":3903"}
	config := fmt.Sprintf(`
metadata_dir = "%[1]s/meta"
data_dir = "%[1]s/data"
db_engine = "sqlite"
replication_factor = 1
rpc_bind_addr = "%[2]s:3901"
rpc_public_addr = "%[2]s:3901"
rpc_secret = "%[3]s"
[s3_api]
s3_region = "garage"
api_bind_addr = "%[2]s:3900"
[admin]
api_bind_addr = "%[2]s:3903"
admin_token = "%[4]s"
`, dir, ip, strings.Repeat("ab", 32), garageToken)
	if err := os.WriteFile(g.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	g.start(t)
	g.prepare(t)
	return g
}

func (g *garage) start(t *testing.T) {
	t.Helper()
	process, ended := exec.CommandContext(t.Context(), g.binary, "-c", g.config, "server"), make(chan struct{})
	process.Env = append(os.Environ(), "RUST_LOG=garage=warn")
	process.Stdout, process.Stderr = t.Output(), t.Output()
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		t.Fatalf("start %s: %v", g.binary, err)
	}
	go func() {
		_ = process.Wait()
		close(ended)
	}()
	t.Cleanup(func() { <-ended })
	g.process, g.ended = process, ended
}

// end sends the signal and waits for the process to be gone.
func (g *garage) end(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := g.process.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	select {
	case <-g.ended:
	case <-time.After(30 * time.Second):
		t.Fatalf("Garage has not ended 30 s after %v", signal)
	}
}

// prepare gives it a layout, a bucket and a key.
func (g *garage) prepare(t *testing.T) {
	t.Helper()
	var node struct {
		Success map[string]struct{ NodeID string }
	}
	eventually(t, time.Minute, "Garage to answer", func(ctx context.Context) error {
		return g.ask(ctx, "GetNodeInfo?node=self", nil, &node)
	})
	must := func(call string, body, reply any) {
		t.Helper()
		if err := g.ask(t.Context(), call, body, reply); err != nil {
			t.Fatal(err)
		}
	}
	var roles []map[string]any
	for id := range node.Success {
		roles = append(roles, map[string]any{"id": id, "zone": "z", "tags": []string{}, "capacity": 1 << 30})
	}
	must("UpdateClusterLayout", map[string]any{"roles": roles}, nil)
	must("ApplyClusterLayout", map[string]any{"version": 1}, nil)
	var made struct{ ID string }
	eventually(t, time.Minute, "a bucket to be made", func(ctx context.Context) error {
		return g.ask(ctx, "CreateBucket", map[string]any{"globalAlias": bucket}, &made)
	})
	var key struct{ AccessKeyID, SecretAccessKey string }
	must("CreateKey", map[string]any{"name": "ledger"}, &key)
	must("AllowBucketKey", map[string]any{
		"bucketId": made.ID, "accessKeyId": key.AccessKeyID, "permissions": map[string]bool{"read": true, "write": true, "owner": false},
	}, nil)
	t.Setenv("AWS_ACCESS_KEY_ID", key.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", key.SecretAccessKey)
}

// ask calls the Admin API: a POST when there is a body.
func (g *garage) ask(ctx context.Context, call string, body, reply any) error {
	method, content := http.MethodGet, []byte(nil)
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return err
		}
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, g.admin+"/v2/"+call, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+garageToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var said json.RawMessage
	if err := json.NewDecoder(response.Body).Decode(&said); err != nil {
		return fmt.Errorf("%s: %s: %w", call, response.Status, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", call, response.Status, said)
	}
	if reply == nil {
		return nil
	}
	return json.Unmarshal(said, reply)
}

// eventually repeats a check until it returns nil.
func eventually(t *testing.T, bound time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	for {
		attempt, done := context.WithTimeout(ctx, 5*time.Second)
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

// The same on real servers as on the one in memory.
func TestGarage(t *testing.T) {
	for version, binary := range garagePrograms(t) {
		t.Run(version, func(t *testing.T) { onGarage(t, startGarage(t, binary)) })
	}
}

func onGarage(t *testing.T, g *garage) {
	t.Helper()
	s := through(t, g.s3)
	t.Run("clean run", func(t *testing.T) { cleanRun(t, s) })
	t.Run("tampering", func(t *testing.T) { tamper(t, s) })
	t.Run("unanswered writes", func(t *testing.T) { unanswered(t, s) })
	t.Run("restarts under load", func(t *testing.T) { restarts(t, s, g) })
}

// restarts stops the server and kills it while everything goes on.
func restarts(t *testing.T, s *service, g *garage) {
	t.Helper()
	client := s.startRun(t, nil)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := client.Mark(t.Context(), signal.String()); err != nil {
			t.Fatal(err)
		}
		g.end(t, signal)
		g.start(t)
		awaitWrites(t, client, 30)
		if err := client.End(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	report := finish(t, client)
	expect(t, report, nil)
	if !report.OK || len(report.Changes) != 2 || report.Changes[0].Retries == 0 || report.Changes[0].Gaps.LongestMillis < 20 {
		t.Errorf("ok %t, reasons %q, changes %+v", report.OK, report.Reasons, report.Changes)
	}
	logTable(t, report)
}
