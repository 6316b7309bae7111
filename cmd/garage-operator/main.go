// Command garage-operator runs Garage clusters on Kubernetes: it reconciles GarageClusters and their GarageNodes.
//
//	garage-operator [flags]     run the controller
//	garage-operator check URL   ask a URL once: exit code 0 if it answers 200
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	garagecontroller "github.com/holdfast-dev/holdfast/internal/garage/controller"
	"github.com/holdfast-dev/holdfast/internal/kit/events"
	"github.com/holdfast-dev/holdfast/internal/kit/manager"
	kitmetrics "github.com/holdfast-dev/holdfast/internal/kit/metrics"
)

// defaultImage is Garage's image where neither the GarageCluster nor the installation names one.
const defaultImage = "dxflrs/garage:v2.4.1"

// parallel is how many GarageClusters are reconciled at a time: a pass waits for processes that do not answer.
const parallel = 8

func main() { manager.Main("garage-operator", run) }

func run(ctx context.Context, args []string) error {
	options, image, err := parse(args)
	if err != nil {
		return err
	}
	return manager.Run(ctx, options, func(mgr ctrlmanager.Manager) error {
		reconciler := &garagecontroller.Reconciler{
			Client:       mgr.GetClient(),
			Live:         mgr.GetAPIReader(),
			Events:       events.Recorder{Events: mgr.GetEventRecorder(garagecontroller.Owner)},
			Metrics:      kitmetrics.New(metrics.Registry, "garage_operator"),
			Clock:        clock.RealClock{},
			DefaultImage: image,
		}
		return reconciler.Setup(mgr, controller.Options{MaxConcurrentReconciles: parallel, RateLimiter: manager.RateLimiter()})
	})
}

func parse(args []string) (options manager.Options, image string, err error) {
	options = manager.Options{Scheme: runtime.NewScheme(), FieldOwner: garagecontroller.Owner, Cached: garagecontroller.Cached()}
	flags := flag.NewFlagSet("garage-operator", flag.ContinueOnError)
	options.Bind(flags, v1beta2.GroupVersion.Group)
	flags.StringVar(&image, "default-garage-image", defaultImage, "Garage's image where a GarageCluster names none")
	alone := flags.Bool("unsafe-allow-no-leader-election", false,
		"admit --leader-elect=false: only where no second replica can ever run, since two would both write layouts")
	if err := flags.Parse(args); err != nil {
		return options, image, err
	}
	switch {
	case flags.NArg() > 0:
		return options, image, fmt.Errorf("unknown argument %q", flags.Arg(0))
	case image == "":
		return options, image, errors.New("--default-garage-image is empty: name an image, or leave the flag out")
	case !options.LeaderElection && !*alone:
		return options, image, errors.New("--leader-elect=false lets two replicas write one layout: " +
			"run one replica and say --unsafe-allow-no-leader-election, or leave leader election on")
	}
	return options, image, errors.Join(clientgoscheme.AddToScheme(options.Scheme), v1beta1.AddToScheme(options.Scheme), v1beta2.AddToScheme(options.Scheme))
}
