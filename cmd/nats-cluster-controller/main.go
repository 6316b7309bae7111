// Command nats-cluster-controller runs NATS clusters on Kubernetes: it reconciles NatsClusters
// (nats-operator v1 design, 4 Cluster controller).
//
//	nats-cluster-controller [flags]     run the controller
//	nats-cluster-controller check URL   ask a URL once: exit code 0 if it answers 200
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	_ "golang.org/x/crypto/x509roots/fallback" // the image has no roots, and a NatsCluster may have a public certificate
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/events"
	"github.com/holdfast-dev/holdfast/internal/kit/manager"
	kitmetrics "github.com/holdfast-dev/holdfast/internal/kit/metrics"
	clustercontroller "github.com/holdfast-dev/holdfast/internal/nats/cluster/controller"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi"
)

// The exporter's image where neither the NatsCluster nor the installation names one. Its digest is the
// installer's to set: none can be verified where this is built.
const (
	exporterRepository = "natsio/prometheus-nats-exporter"
	exporterTag        = "0.20.2"
)

// parallel is how many NatsClusters are reconciled at a time: a pass waits for servers that do not answer.
const parallel = 8

func main() { manager.Main("nats-cluster-controller", run) }

func run(ctx context.Context, args []string) error {
	options, exporter, err := parse(args)
	if err != nil {
		return err
	}
	pool := &sysapi.Pool{Clock: clock.RealClock{}, Dial: sysapi.Dial}
	defer pool.Close()
	return manager.Run(ctx, options, func(mgr ctrlmanager.Manager) error {
		reconciler := &clustercontroller.Reconciler{
			Client: mgr.GetClient(),
			Live:   mgr.GetAPIReader(),
			// Pods are asked at their own addresses, never through a proxy that the environment names.
			Monitor:   &monitorapi.Client{HTTP: &http.Client{Transport: &http.Transport{IdleConnTimeout: time.Minute}}},
			System:    clustercontroller.Pooled(pool),
			Events:    events.Recorder{Events: mgr.GetEventRecorder(clustercontroller.Owner)},
			Metrics:   kitmetrics.New(metrics.Registry, "nats_operator"),
			Clock:     clock.RealClock{},
			Namespace: os.Getenv("POD_NAMESPACE"),
			Exporter:  exporter,
		}
		return reconciler.Setup(mgr, controller.Options{MaxConcurrentReconciles: parallel, RateLimiter: manager.RateLimiter()})
	})
}

func parse(args []string) (manager.Options, render.ExporterDefaults, error) {
	options := manager.Options{Scheme: runtime.NewScheme(), FieldOwner: clustercontroller.Owner, Cached: clustercontroller.Cached()}
	exporter := render.ExporterDefaults{}
	flags := flag.NewFlagSet("nats-cluster-controller", flag.ContinueOnError)
	options.Bind(flags, v1beta1.GroupVersion.Group)
	flags.StringVar(&exporter.Repository, "exporter-repository", exporterRepository, "repository of the Prometheus exporter's image")
	flags.StringVar(&exporter.Tag, "exporter-tag", exporterTag, "tag of the Prometheus exporter's image")
	flags.StringVar(&exporter.Digest, "exporter-digest", "", "digest of the Prometheus exporter's image (default none)")
	if err := flags.Parse(args); err != nil {
		return options, exporter, err
	}
	if flags.NArg() > 0 {
		return options, exporter, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	return options, exporter, errors.Join(clientgoscheme.AddToScheme(options.Scheme), v1beta1.AddToScheme(options.Scheme), natsv1beta1.AddToScheme(options.Scheme))
}
