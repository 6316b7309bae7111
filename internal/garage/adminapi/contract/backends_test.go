package contract

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi/garagefake"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi/realgarage"
)

// backend makes clusters of one version.
type backend struct {
	name, version string
	make          func(*testing.T, setup) cluster
	// groups says which groups of rows it can be held to: those that wait for blocks to go, and those that do not.
	slow, quick bool
}

func backends(t *testing.T) []backend {
	t.Helper()
	var all []backend
	for _, version := range []string{"2.0.0", "2.3.0", "2.4.1"} {
		all = append(all, backend{
			name: "fake " + version, version: version, quick: true, slow: version == "2.4.1",
			make: func(t *testing.T, s setup) cluster {
				t.Helper()
				return newFake(t, version, s)
			},
		})
	}
	programs, err := realgarage.Programs()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		all = append(all, backend{
			name: "real " + program.Version, version: program.Version, quick: true,
			make: func(t *testing.T, s setup) cluster {
				t.Helper()
				return newReal(t, program, s)
			},
		})
	}
	short, err := realgarage.ShortDelay()
	if err != nil {
		t.Fatal(err)
	}
	return append(all, backend{
		name: "real with a short block delay", version: short.Version, slow: true,
		make: func(t *testing.T, s setup) cluster {
			t.Helper()
			return newReal(t, short, s)
		},
	})
}

// fake is a cluster in memory.
type fake struct {
	*garagefake.Cluster
	clock *clocktesting.FakeClock
}

func newFake(t *testing.T, version string, s setup) cluster {
	t.Helper()
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC))
	c, err := garagefake.New(garagefake.Options{
		Version: version, Nodes: s.nodes, ReplicationFactor: s.factor, Clock: clock, Degraded: s.degraded, DisableScrub: s.noScrub,
	})
	if err != nil {
		t.Fatal(err)
	}
	return fake{c, clock}
}

func (f fake) address(i int) (string, string)        { return f.Admin(i), garagefake.Token }
func (f fake) transport() http.RoundTripper          { return f.Cluster }
func (f fake) id(i int) string                       { return f.ID(i) }
func (f fake) rpc(i int) string                      { return f.RPC(i) }
func (f fake) stop(i int) error                      { f.Stop(i); return nil }
func (f fake) kill(i int) error                      { f.Stop(i); return nil }
func (f fake) start(i int) error                     { f.Start(i); return nil }
func (f fake) wipe(i int) error                      { f.Wipe(i); return nil }
func (f fake) cut(i int)                             { f.Cut(i) }
func (f fake) heal(i int)                            { f.Heal(i) }
func (f fake) store(_ *testing.T, objects int) error { return f.Store(objects) }
func (f fake) blocks(i int) (int, error)             { return f.Blocks(i), nil }
func (f fake) loseBlock(i int) error                 { f.LoseBlock(i); return nil }
func (f fake) delays() (time.Duration, time.Duration) {
	return garagefake.BlockDelay, garagefake.PullDelay
}
func (f fake) now() time.Time       { return f.clock.Now() }
func (f fake) wait(d time.Duration) { f.clock.Step(d) }

// realCluster is processes.
type realCluster struct {
	realgarage.Cluster
	block time.Duration
}

// rpcTimeout makes nodes look after twice that time whether they have a new block.
const rpcTimeout = 5 * time.Second

func newReal(t *testing.T, program realgarage.Program, s setup) cluster {
	t.Helper()
	t.Helper()
	settings := map[string]any{"rpc_timeout_msec": rpcTimeout.Milliseconds(), "disable_scrub": s.noScrub}
	if s.degraded {
		settings["consistency_mode"] = "degraded"
	}
	servers, err := realgarage.New(program, t.TempDir(), realgarage.Options{
		Nodes: s.nodes, ReplicationFactor: s.factor, Settings: func(int) map[string]any { return settings },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := servers.Close(); err != nil {
			t.Error(err)
		}
		for _, server := range servers {
			if log, err := os.ReadFile(server.Log()); t.Failed() && err == nil {
				t.Logf("%s:\n%s", server.Name, log[max(0, len(log)-8000):])
			}
		}
	})
	for _, server := range servers {
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, server := range servers {
		if err := server.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return realCluster{servers, program.BlockDelay}
}

func (r realCluster) address(i int) (string, string) { return r.Cluster[i].Admin, realgarage.Token }
func (r realCluster) transport() http.RoundTripper   { return http.DefaultTransport }
func (r realCluster) rpc(i int) string               { return r.Cluster[i].RPC }
func (r realCluster) stop(i int) error               { return r.Cluster[i].Stop() }
func (r realCluster) kill(i int) error               { return r.Cluster[i].Kill() }
func (r realCluster) start(i int) error              { return r.Cluster[i].Start() }
func (r realCluster) wipe(i int) error               { return r.Cluster[i].Wipe() }
func (r realCluster) cut(i int)                      { r.Cut(i) }
func (r realCluster) heal(i int)                     { r.Heal(i) }
func (r realCluster) now() time.Time                 { return time.Now() }

func (r realCluster) wait(d time.Duration) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	<-tick.C
}

func (r realCluster) id(i int) string {
	id, err := r.Cluster[i].ID()
	if err != nil {
		return err.Error()
	}
	return id
}

func (r realCluster) delays() (time.Duration, time.Duration) { return r.block, 2 * rpcTimeout }

// store writes objects of one block each, through each server in turn.
func (r realCluster) store(t *testing.T, objects int) error {
	t.Helper()
	bucket, err := realgarage.NewBucket(t.Context(), r.Cluster[0], "contract")
	if err != nil {
		return err
	}
	for i := range objects {
		body := fmt.Appendf(make([]byte, 10_000), "object %d", i)
		if err := bucket.Put(t.Context(), r.Cluster[i%len(r.Cluster)], fmt.Sprintf("o%d", i), body); err != nil {
			return err
		}
	}
	return nil
}

var blockFile = regexp.MustCompile(`^[0-9a-f]{64}(\.zst)?$`)

func (r realCluster) blockFiles(i int) (found []string, err error) {
	err = filepath.WalkDir(r.Cluster[i].DataDir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
			return nil
		}
		if err == nil && blockFile.MatchString(e.Name()) {
			found = append(found, path)
		}
		return err
	})
	return found, err
}

func (r realCluster) blocks(i int) (int, error) {
	found, err := r.blockFiles(i)
	return len(found), err
}

func (r realCluster) loseBlock(i int) error {
	found, err := r.blockFiles(i)
	if err != nil {
		return err
	}
	return os.Remove(found[0])
}

func parseVersion(t *testing.T, text string) adminapi.Version {
	t.Helper()
	version, known := adminapi.ParseVersion(text).Get()
	if !known {
		t.Fatalf("%q is not a version", text)
	}
	return version
}
