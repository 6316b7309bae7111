//go:build linux

package cluster

import (
	"context"

	"github.com/holdfast-dev/holdfast/test/cluster/internal/initd"
)

// Direction is what of a node's traffic is cut, as the node sees it.
type Direction = initd.Direction

// The ways to cut a node off: nothing reaches it, nothing comes from it, or both.
const (
	CutIn   = initd.CutIn
	CutOut  = initd.CutOut
	CutBoth = initd.CutBoth
)

// StopNode shuts a node down as systemd would: the kubelet ends, every container is asked to end and has up to
// 30 s, then the rest is ended. It returns when nothing of the node runs. Its disk stays.
func (c *Cluster) StopNode(ctx context.Context, node string) error {
	return c.order(ctx, "Stop", node, &initd.None{})
}

// KillNode ends everything in a node at once, pods included, as a power loss does: no connection is closed. What a
// program had written is on its disk all the same, since the host's kernel lives on. It returns when nothing of the
// node runs.
func (c *Cluster) KillNode(ctx context.Context, node string) error {
	return c.order(ctx, "Kill", node, &initd.None{})
}

// StartNode starts a node that was stopped or killed, with the disk that it had. It returns when the node's
// processes are being started, not when the node is ready.
func (c *Cluster) StartNode(ctx context.Context, node string) error {
	return c.order(ctx, "Boot", node, &initd.None{})
}

// CutNode drops the node's traffic with everything outside it; an earlier cut of the node is replaced. What
// runs in the node goes on. Starting the node again undoes it.
func (c *Cluster) CutNode(ctx context.Context, node string, direction Direction) error {
	return c.order(ctx, "Cut", initd.CutOrder{Node: node, Direction: direction}, &initd.None{})
}

// JoinNode undoes CutNode.
func (c *Cluster) JoinNode(ctx context.Context, node string) error {
	return c.order(ctx, "Join", node, &initd.None{})
}
