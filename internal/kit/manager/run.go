package manager

import (
	"context"
	"fmt"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
)

// Main is a controller's whole program: it runs with the command line until it is told to stop, and ends the process with 1
// after an error. With "check" and a URL it does what a chart's test asks for (Check), and nothing else.
func Main(program string, run func(ctx context.Context, args []string) error) {
	ctx, args := signals.SetupSignalHandler(), os.Args[1:]
	if len(args) == 2 && args[0] == "check" {
		run = func(ctx context.Context, args []string) error { return Check(ctx, args[1]) }
	}
	if err := run(ctx, args); err != nil {
		fmt.Fprintln(os.Stderr, program+":", err)
		os.Exit(1)
	}
}

// Run has a manager of these options do what setup adds to it, until ctx is done. The API server is that of the environment.
func Run(ctx context.Context, o Options, setup func(manager.Manager) error) error {
	o.StartLogging()
	cluster, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	mgr, err := New(cluster, o)
	if err != nil {
		return err
	}
	if err := setup(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
