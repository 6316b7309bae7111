package manager_test

import (
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-dev/holdfast/internal/kit/manager"
)

func TestBind(t *testing.T) {
	defaults := manager.Options{
		MetricsAddress: ":8080", ProbeAddress: ":8081", LeaderElection: true, LeaderElectionID: "cluster.example.io",
	}
	for name, c := range map[string]struct {
		arguments []string
		want      func(*manager.Options)
		fails     string
	}{
		"defaults": {want: func(*manager.Options) {}},
		"everything": {
			arguments: []string{
				"--metrics-bind-address=:9", "--metrics-cert-dir=/certs", "--health-probe-bind-address=:10",
				"--leader-elect=false", "--leader-election-id=mine", "--leader-election-namespace=system",
				"--watch-namespaces=b, a,b", "--log-level=debug",
			},
			want: func(o *manager.Options) {
				o.MetricsAddress, o.MetricsCertDir, o.ProbeAddress = ":9", "/certs", ":10"
				o.LeaderElection, o.LeaderElectionID, o.LeaderElectionNamespace = false, "mine", "system"
				o.WatchNamespaces, o.LogLevel = []string{"a", "b"}, slog.LevelDebug
			},
		},
		"no namespaces are all":     {arguments: []string{"--watch-namespaces="}, want: func(*manager.Options) {}},
		"an empty name is none":     {arguments: []string{"--watch-namespaces=a,"}, fails: `"" is not a namespace`},
		"a wildcard is none either": {arguments: []string{"--watch-namespaces=*"}, fails: `"*" is not a namespace`},
		"an unknown level":          {arguments: []string{"--log-level=loud"}, fails: "log-level"},
	} {
		t.Run(name, func(t *testing.T) {
			var got manager.Options
			flags := flag.NewFlagSet("test", flag.ContinueOnError)
			flags.SetOutput(io.Discard)
			got.Bind(flags, "cluster.example.io")
			err := flags.Parse(c.arguments)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("error %v, want one with %q", err, c.fails)
				}
				return
			}
			want := defaults
			c.want(&want)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func TestRateLimiter(t *testing.T) {
	limiter, one := manager.RateLimiter(), reconcile.Request{}
	var got []time.Duration
	for range 10 {
		got = append(got, limiter.When(one))
	}
	want := []time.Duration{
		250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second,
		8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute, time.Minute,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Without a word, the metrics would be served with another certificate than the one that was asked for.
func TestNewRefusesAMissingCertificate(t *testing.T) {
	for missing, present := range map[string]string{"tls.crt": "tls.key", "tls.key": "tls.crt"} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, present), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := manager.New(&rest.Config{}, manager.Options{MetricsCertDir: folder})
		if err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("without %s: error %v", missing, err)
		}
	}
}
