package main

import (
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/ledger"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

const (
	namespace  = "demo"
	name       = "demo" // the NatsCluster of the sample
	newMemory  = "8Gi"
	oldVersion = "2.15.2"
	newVersion = "2.15.3" // the sample's

	// minimum is how many messages must be acknowledged during the change for the table to mean something.
	minimum = 1000
)

// showNATS shows a NATS cluster.
func showNATS(ctx context.Context, l *lab.Lab) error {
	book, err := create(ctx, l)
	if err != nil {
		return err
	}
	acts, err := play(ctx, l, book)
	if err != nil {
		return err
	}
	say("comparing what was acknowledged with what is there")
	report, err := book.Finish(ctx)
	if err != nil {
		return err
	}
	return conclude(os.Stdout, report, acts)
}

// create makes the NATS cluster of the sample, on the version before, and starts the load.
func create(ctx context.Context, l *lab.Lab) (*ledger.Client, error) {
	say("a NATS cluster from config/samples/quickstart.yaml, with nats-server %s", oldVersion)
	if err := l.Apply(ctx, namespace, os.DirFS(l.Box.Root), "config/samples/quickstart.yaml", "version: "+newVersion, "version: "+oldVersion); err != nil {
		return nil, err
	}
	if _, err := watch(ctx, l, 4*time.Minute, nil); err != nil {
		return nil, err
	}
	say("starting producers and consumers that keep account of every message")
	cluster, err := l.Get(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return l.StartLedger(ctx, namespace, cluster.Status.Endpoints.Client)
}

// An act is one change of the NatsCluster, and what was seen of it.
type act struct {
	name, patch string
	// version is what every server runs at its end.
	version string
	// lost is the node that is lost in the middle of it; nil for none.
	lost *outage

	told          steps
	before, after map[string]server
}

// A server is one as it runs.
type server struct {
	lab.Process
	version string
}

// play does one change after the other.
func play(ctx context.Context, l *lab.Lab, book *ledger.Client) ([]*act, error) {
	elsewhere, err := l.Elsewhere(ctx, namespace, name, "ledger")
	if err != nil {
		return nil, err
	}
	acts := []*act{
		{name: "memory to " + newMemory, patch: fmt.Sprintf(`{"spec":{"resources":{"limits":{"memory":%q}}}}`, newMemory), version: oldVersion},
		{name: "nats-server to " + newVersion, patch: fmt.Sprintf(`{"spec":{"version":%q}}`, newVersion), version: newVersion,
			lost: &outage{may: elsewhere}},
	}
	for _, a := range acts {
		say("changing %s", a.name)
		if err := a.play(ctx, l, book); err != nil {
			return nil, err
		}
	}
	return acts, nil
}

// play edits the NatsCluster, as a person would, and watches until the change has arrived everywhere.
func (a *act) play(ctx context.Context, l *lab.Lab, book *ledger.Client) (err error) {
	if a.before, err = running(ctx, l); err != nil {
		return err
	}
	if err := book.Mark(ctx, a.name); err != nil {
		return err
	}
	cluster := &v1beta1.NatsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := l.Client.Patch(ctx, cluster, client.RawPatch(types.MergePatchType, []byte(a.patch)), client.FieldOwner(lab.FieldOwner)); err != nil {
		return err
	}
	if a.told, err = watch(ctx, l, 8*time.Minute, a.lost); err != nil {
		return err
	}
	if err := book.End(ctx); err != nil {
		return err
	}
	a.after, err = running(ctx, l)
	return err
}

// running asks the servers who they are, and the NatsCluster which version each runs.
func running(ctx context.Context, l *lab.Lab) (map[string]server, error) {
	processes, err := l.Processes(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	cluster, err := l.Get(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	found := map[string]server{}
	for _, status := range cluster.Status.Servers {
		found[status.Name] = server{Process: processes[status.Name], version: status.Version}
	}
	return found, nil
}
