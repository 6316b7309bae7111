package manager

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Options are what a controller's process is started with. The upper fields are the program's, the lower ones
// have flags (see Bind).
type Options struct {
	// Scheme knows every kind that the controller reads or writes.
	Scheme *runtime.Scheme
	// FieldOwner is the controller's field owner and its user agent.
	FieldOwner string
	// Cached are the kinds that are listed and watched, and the labels that narrow them. Every other kind can
	// only be read through the manager's API reader; a kind that is not here cannot be cached by mistake.
	Cached map[client.Object]cache.ByObject

	// MetricsAddress is where metrics are served over HTTPS, to bearers of a token that may get /metrics.
	// "0" serves none.
	MetricsAddress string
	// MetricsCertDir is a folder with tls.crt and tls.key; empty for a certificate signed by itself.
	MetricsCertDir string
	// ProbeAddress is where /healthz and /readyz are served over HTTP.
	ProbeAddress string
	// LeaderElection lets one of several replicas act.
	LeaderElection bool
	// LeaderElectionID is the name of the Lease.
	LeaderElectionID string
	// LeaderElectionNamespace is the Lease's namespace; empty for the pod's own.
	LeaderElectionNamespace string
	// WatchNamespaces are the only namespaces to look at; empty for all.
	WatchNamespaces []string
	// LogLevel is the lowest level that is logged.
	LogLevel slog.Level
}

// Bind adds the flags to a flag set, and gives the fields the flags' defaults: those of "nats-operator API, 10
// Process surface", but for leader election, which is on. leaseName is the default name of the Lease.
func (o *Options) Bind(flags *flag.FlagSet, leaseName string) {
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8080",
		"address of the metrics, served over HTTPS to those who may get /metrics; 0 serves none")
	flags.StringVar(&o.MetricsCertDir, "metrics-cert-dir", "",
		"folder with tls.crt and tls.key of the metrics; without it, the certificate is signed by itself")
	flags.StringVar(&o.ProbeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	flags.BoolVar(&o.LeaderElection, "leader-elect", true, "let one of several replicas act")
	flags.StringVar(&o.LeaderElectionID, "leader-election-id", leaseName, "name of the Lease")
	flags.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", "",
		"namespace of the Lease (default the pod's own)")
	flags.Func("watch-namespaces", "comma-separated namespaces to look at (default all)", func(list string) error {
		namespaces, err := parseNamespaces(list)
		o.WatchNamespaces = namespaces
		return err
	})
	flags.TextVar(&o.LogLevel, "log-level", slog.LevelInfo, "lowest level that is logged: debug, info, warn or error")
}

// parseNamespaces refuses what is no namespace: a list that ends up empty, or a wildcard, would widen the view
// to the whole cluster, or silence it.
func parseNamespaces(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	namespaces := strings.Split(list, ",")
	for i, namespace := range namespaces {
		namespaces[i] = strings.TrimSpace(namespace)
		if problems := validation.IsDNS1123Label(namespaces[i]); len(problems) > 0 {
			return nil, fmt.Errorf("%q is not a namespace: %s", namespace, strings.Join(problems, ", "))
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces), nil
}

// StartLogging sends all logs of the process to standard error, as one JSON object per line.
func (o *Options) StartLogging() {
	logger := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: o.LogLevel}))
	log.SetLogger(logger)
	klog.SetLogger(logger)
}
