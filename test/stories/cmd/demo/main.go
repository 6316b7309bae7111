// Command demo shows a change of a NATS cluster as a transaction: a local Kubernetes of three nodes, the chart, a
// NATS cluster from one manifest, producers and consumers that keep account of every message, and then a new
// memory limit, server by server. It ends with a table and leaves nothing behind.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/ledger"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

const (
	kubernetes = "demo" // the local Kubernetes
	namespace  = "demo"
	name       = "demo" // the NatsCluster of the sample
	newMemory  = "8Gi"

	// minimum is how many messages must be acknowledged during the change for the table to mean something.
	minimum = 1000
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run takes the cluster down whatever happened, also after an interrupt.
func run(ctx context.Context) (err error) {
	defer func() {
		ctx, stop := context.WithTimeout(context.Background(), 3*time.Minute)
		defer stop()
		say("taking everything down")
		if downErr := lab.Down(ctx, kubernetes); downErr != nil && err == nil {
			err = downErr
		}
	}()
	l, err := lab.Up(ctx, kubernetes, os.Stdout)
	if err != nil {
		return err
	}
	say("installing the chart")
	if err := l.Install(ctx); err != nil {
		return err
	}
	book, before, err := create(ctx, l)
	if err != nil {
		return err
	}
	say("changing the memory limit to %s", newMemory)
	told, err := change(ctx, l, book)
	if err != nil {
		return err
	}
	after, err := l.Processes(ctx, namespace, name)
	if err != nil {
		return err
	}
	say("comparing what was acknowledged with what is there")
	report, err := book.Finish(ctx)
	if err != nil {
		return err
	}
	return conclude(os.Stdout, report, told, before, after)
}

// create makes the NATS cluster of the sample and starts the load.
func create(ctx context.Context, l *lab.Lab) (*ledger.Client, map[string]lab.Process, error) {
	say("a NATS cluster from config/samples/quickstart.yaml")
	err := l.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, nil, err
	}
	if err := l.Apply(ctx, namespace, os.DirFS(l.Box.Root), "config/samples/quickstart.yaml"); err != nil {
		return nil, nil, err
	}
	if _, err := watch(ctx, l, 4*time.Minute); err != nil {
		return nil, nil, err
	}
	say("starting producers and consumers that keep account of every message")
	cluster, err := l.Get(ctx, namespace, name)
	if err != nil {
		return nil, nil, err
	}
	book, err := l.StartLedger(ctx, namespace, cluster.Status.Endpoints.Client)
	if err != nil {
		return nil, nil, err
	}
	before, err := l.Processes(ctx, namespace, name)
	return book, before, err
}

// change edits the memory limit, as a person would, and watches until it has arrived everywhere.
func change(ctx context.Context, l *lab.Lab, book *ledger.Client) (steps, error) {
	if err := book.Mark(ctx, "memory to "+newMemory); err != nil {
		return nil, err
	}
	cluster := &v1beta1.NatsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	patch := fmt.Appendf(nil, `{"spec":{"resources":{"limits":{"memory":%q}}}}`, newMemory)
	if err := l.Client.Patch(ctx, cluster, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(lab.FieldOwner)); err != nil {
		return nil, err
	}
	told, err := watch(ctx, l, 8*time.Minute)
	if err != nil {
		return nil, err
	}
	return told, book.End(ctx)
}

var start = time.Now()

// say prints a line with the time since the start.
func say(format string, args ...any) {
	fmt.Printf("%5.0fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
}
