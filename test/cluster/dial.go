//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/test/cluster/internal/layout"
)

// Dial connects, from the host, to an address of the cluster's network: that of a pod, a Service or a node,
// or a Service's full name, as in "nats.default.svc.cluster.local:4222". Networks are those of net.Dial.
func (c *Cluster) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if net.ParseIP(host) == nil {
		found, err := resolver(c.made.HubPID, layout.HubIP).LookupHost(ctx, host)
		if err != nil {
			return nil, err
		}
		host = found[0]
	}
	return dialIn(ctx, c.made.HubPID, network, net.JoinHostPort(host, port))
}

// dialIn connects from the network of the process. The address must be numeric: names are looked up by other
// threads. A socket stays in the network in which it was made.
func dialIn(ctx context.Context, pid int, network, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result, 1)
	go func() {
		// Never unlocked: the thread is in the wrong network now, and ends with the goroutine.
		runtime.LockOSThread()
		conn, err := dialHere(ctx, pid, network, address)
		results <- result{conn, err}
	}()
	r := <-results
	return r.conn, r.err
}

func dialHere(ctx context.Context, pid int, network, address string) (net.Conn, error) {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return nil, err
	}
	defer namespace.Close()
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("entering the cluster's network: %w", err)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}
