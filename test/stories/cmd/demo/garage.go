package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/test/ledger"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
	"github.com/holdfast-dev/holdfast/test/stories/lab/garagelab"
)

const (
	garageNamespace = "demo-garage"
	// minimumWrites is how many writes must be acknowledged during a change for the table to mean something.
	minimumWrites = 100
)

// A growth is what was seen of a node's joining.
type growth struct {
	name          string
	before, after map[string]v1beta1.GarageNode
}

// showGarage shows a store that gets a fourth node.
func showGarage(ctx context.Context, on *lab.Lab) error {
	l := garagelab.Lab{Lab: on}
	say("a Garage cluster from config/samples/garage-quickstart.yaml")
	if err := l.Apply(ctx, garageNamespace, os.DirFS(l.Box.Root), "config/samples/garage-quickstart.yaml"); err != nil {
		return err
	}
	cluster, err := watchGarage(ctx, l, 4*time.Minute)
	if err != nil {
		return err
	}
	say("starting writers and readers that keep account of every object")
	book, err := l.StartLedger(ctx, cluster)
	if err != nil {
		return err
	}
	seen, err := grow(ctx, l, book)
	if err != nil {
		return err
	}
	say("comparing what was acknowledged with what each node has")
	report, err := book.Finish(ctx)
	if err != nil {
		return err
	}
	return concludeGarage(os.Stdout, report, seen)
}

// grow edits the GarageCluster, as a person would, and watches until the new node has its role.
func grow(ctx context.Context, l garagelab.Lab, book *ledger.Client) (seen growth, err error) {
	seen.name = "a fourth node"
	say("changing replicas to 4")
	if seen.before, err = l.Nodes(ctx, garageNamespace); err != nil {
		return seen, err
	}
	if err := book.Mark(ctx, seen.name); err != nil {
		return seen, err
	}
	cluster := &v1beta2.GarageCluster{ObjectMeta: metav1.ObjectMeta{Namespace: garageNamespace, Name: garagelab.Name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"storage":{"replicas":4}}}`))
	if err := l.Client.Patch(ctx, cluster, patch, client.FieldOwner(lab.FieldOwner)); err != nil {
		return seen, err
	}
	if _, err := watchGarage(ctx, l, 8*time.Minute); err != nil {
		return seen, err
	}
	if err := book.End(ctx); err != nil {
		return seen, err
	}
	seen.after, err = l.Nodes(ctx, garageNamespace)
	return seen, err
}

// watchGarage shows the GarageCluster until it is ready.
func watchGarage(ctx context.Context, l garagelab.Lab, within time.Duration) (*v1beta2.GarageCluster, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	show, finish := stage(stop)
	defer finish()
	return l.UntilReady(ctx, within, garageNamespace, func(cluster *v1beta2.GarageCluster) {
		if nodes, err := l.Nodes(ctx, garageNamespace); err == nil { // the next look may read them
			show(frameGarage(cluster, nodes))
		}
	})
}

func frameGarage(cluster *v1beta2.GarageCluster, nodes map[string]v1beta1.GarageNode) picture {
	p := picture{head: row{"NODE", "STATE", "VERSION", "IDENTITY", "PARTITIONS"}, sentence: "waiting for the controller to look at it"}
	if c := meta.FindStatusCondition(cluster.Status.Conditions, v1beta2.ConditionReady); c != nil && c.ObservedGeneration == cluster.Generation {
		p.sentence = fmt.Sprintf("%s: %s", c.Reason, c.Message)
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		status := nodes[name].Status
		state := "starting"
		if c := meta.FindStatusCondition(status.Conditions, v1beta1.ConditionReady); c != nil {
			state = c.Reason
		}
		p.rows = append(p.rows, row{name, state, status.Version, brief(status.NodeID), partitions(nodes[name])})
	}
	return p
}

// partitions are how many of the store's 256 a node has a copy of.
func partitions(node v1beta1.GarageNode) string {
	if node.Status.Partitions == nil {
		return "-"
	}
	return fmt.Sprint(*node.Status.Partitions)
}

// concludeGarage prints the table and says whether the change was what it promises to be.
func concludeGarage(out io.Writer, report ledger.Report, seen growth) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\nCHANGE\tNODE\tIDENTITY\tPARTITIONS BEFORE\tPARTITIONS AFTER\n")
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(seen.after)) {
		before, there := seen.before[name]
		after := seen.after[name]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", seen.name, name, brief(after.Status.NodeID), partitions(before), partitions(after))
		if there && (before.Status.NodeID != after.Status.NodeID || before.Status.ObservedPodUID != after.Status.ObservedPodUID) {
			wrong = append(wrong, fmt.Sprintf("%s is not who it was, in the Pod that it had", name))
		}
		if ptr.Deref(after.Status.Partitions, 0) == 0 {
			wrong = append(wrong, name+" holds nothing")
		}
	}
	if len(seen.after) != len(seen.before)+1 {
		wrong = append(wrong, fmt.Sprintf("%d nodes became %d", len(seen.before), len(seen.after)))
	}
	fmt.Fprintln(table)
	if err := errors.Join(table.Flush(), ledger.WriteTable(out, report)); err != nil {
		return err
	}
	if wrong = append(wrong, judge(report, 1, minimumWrites)...); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}
