package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

// An outage is a node that loses its power in the middle of a change, with the server on it that is just being restarted, and
// has it back when Kubernetes has noticed.
type outage struct {
	// may are the servers that it may take, and their nodes.
	may map[string]string

	server, node string
	begin, end   time.Time
}

// see does what is due. A rollout that goes on meanwhile is an error.
func (o *outage) see(ctx context.Context, l *lab.Lab, cluster *v1beta1.NatsCluster) error {
	if !o.end.IsZero() {
		return nil
	}
	if o.node == "" {
		if under, _ := l.MidStep(ctx, cluster); !under || !o.takes(cluster.Status.Rollout) {
			return nil
		}
		o.begin = time.Now()
		return l.Cluster.KillNode(ctx, o.node)
	}
	if !o.holds(cluster.Status.Rollout) {
		return fmt.Errorf("the rollout went on while %s was away", o.server)
	}
	var node corev1.Node
	if err := l.Client.Get(ctx, client.ObjectKey{Name: o.node}, &node); err != nil {
		return err
	}
	if lab.NodeReady(&node) {
		return nil
	}
	o.end = time.Now()
	return l.Cluster.StartNode(ctx, o.node)
}

// takes says whether this is the step to lose a node in: in the middle of the rollout, and with a server that may go.
func (o *outage) takes(rollout *v1beta1.RolloutStatus) bool {
	if len(rollout.Updated) == 0 || o.may[rollout.Current] == "" {
		return false
	}
	o.server, o.node = rollout.Current, o.may[rollout.Current]
	return true
}

func (o *outage) holds(rollout *v1beta1.RolloutStatus) bool {
	return rollout != nil && rollout.Current == o.server
}

// String is empty before it has begun.
func (o *outage) String() string {
	switch {
	case o.node == "":
		return ""
	case o.end.IsZero():
		return fmt.Sprintf("%s has lost its power, and %s with it", o.node, o.server)
	}
	return fmt.Sprintf("%s was without power for %.0f s, and %s with it", o.node, o.end.Sub(o.begin).Seconds(), o.server)
}
