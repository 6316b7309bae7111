package realgarage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "garage")
	if err := os.WriteFile(path, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		list, want string
		programs   []Program
	}{
		"two": {list: "2.3.0=" + path + ",2.4.1=" + path, programs: []Program{
			{Version: "2.3.0", Path: path, BlockDelay: 10 * time.Minute}, {Version: "2.4.1", Path: path, BlockDelay: 10 * time.Minute},
		}},
		"not set":      {want: "`make test` builds"},
		"no version":   {list: path, want: "is not version=path"},
		"no such file": {list: "2.3.0=" + path + ".gone", want: "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(ProgramsVariable, tc.list)
			programs, err := Programs()
			if diff := cmp.Diff(tc.programs, programs); diff != "" {
				t.Error(diff)
			}
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
	t.Setenv(ShortDelayVariable, path)
	if program, err := ShortDelay(); err != nil || program.BlockDelay != 20*time.Second {
		t.Errorf("%+v %v", program, err)
	}
	for _, bad := range []string{"", path + ".gone"} {
		t.Setenv(ShortDelayVariable, bad)
		if program, err := ShortDelay(); err == nil {
			t.Errorf("%q: %+v", bad, program)
		}
	}
}

func TestConfiguration(t *testing.T) {
	config := map[string]any{"a": "x\"y", "admin": map[string]any{"api_bind_addr": "1.2.3.4:5", "admin_token": "t"}, "n": 7, "list": []string{"p", "q"}}
	merge(config, map[string]any{"n": 8, "on": true, "admin": map[string]any{"admin_token": "u"}, "s3_web": map[string]any{"root_domain": ".w"}})
	const want = `a = "x\"y"
list = ["p", "q"]
n = 8
on = true

[admin]
admin_token = "u"
api_bind_addr = "1.2.3.4:5"

[s3_web]
root_domain = ".w"
`
	if diff := cmp.Diff(want, string(toml(config))); diff != "" {
		t.Error(diff)
	}
}

// TestServersHaveTheirOwn prepares two clusters, whose servers share nothing but the secret.
func TestServersHaveTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		servers, err := New(Program{}, t.TempDir(), Options{Nodes: 3, Settings: func(int) map[string]any { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		for _, server := range servers {
			id, err := server.ID()
			if err != nil || len(id) != 64 {
				t.Errorf("%s: %q %v", server.Name, id, err)
			}
			for _, own := range []string{id, server.Admin, server.S3, server.RPC, server.MetadataDir, server.DataDir} {
				if seen[own] {
					t.Errorf("two servers have %s", own)
				}
				seen[own] = true
			}
			if peers, _ := server.Config["bootstrap_peers"].([]string); len(peers) != 3 || server.Running() {
				t.Errorf("%s: %v", server.Name, server.Config)
			}
			if err := server.Stop(); err != nil {
				t.Errorf("to stop what does not run: %v", err)
			}
		}
	}
}
