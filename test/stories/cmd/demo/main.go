// Command demo shows changes of a service as transactions: a local Kubernetes of three nodes, the charts, and then each system
// in its turn, under a load that keeps account of everything that was acknowledged.
//
// NATS: a NATS cluster from one manifest, producers and consumers, and two changes, server by server: a new memory limit, and the
// next nats-server, in the middle of which a node loses its power. Garage: a store from one manifest, writers and readers of
// objects, and a fourth node that joins. Each ends with a table, and nothing is left behind.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

// kubernetes is the name of the local Kubernetes.
const kubernetes = "demo"

// A show is what one system has to show.
type show struct {
	system    lab.System
	namespace string
	run       func(context.Context, *lab.Lab) error
}

func main() {
	system := flag.String("system", "", "show this system alone: nats or garage")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *system); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run takes the cluster down whatever happened, also after an interrupt.
func run(ctx context.Context, only string) (err error) {
	shows := slices.DeleteFunc([]show{{lab.NATS(), namespace, showNATS}, {lab.Garage(), garageNamespace, showGarage}}, func(s show) bool {
		return only != "" && only != s.system.Name
	})
	if len(shows) == 0 {
		return fmt.Errorf("no system is called %q", only)
	}
	defer func() {
		ctx, stop := context.WithTimeout(context.Background(), 3*time.Minute)
		defer stop()
		say("taking everything down")
		if downErr := lab.Down(ctx, kubernetes); downErr != nil && err == nil {
			err = downErr
		}
	}()
	systems := make([]lab.System, 0, len(shows))
	for _, show := range shows {
		systems = append(systems, show.system)
	}
	l, err := lab.Up(ctx, kubernetes, os.Stdout, systems...)
	if err != nil {
		return err
	}
	for _, show := range shows {
		if err := show.play(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// play runs the show in its namespace, and leaves the machine to the next.
func (s show) play(ctx context.Context, l *lab.Lab) error {
	err := l.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := s.run(ctx, l); err != nil {
		return err
	}
	return l.End(ctx, s.system, s.namespace)
}

var start = time.Now()

// say prints a line with the time since the start.
func say(format string, args ...any) {
	fmt.Printf("%5.0fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
}
