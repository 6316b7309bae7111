//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/rpc"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-dev/holdfast/test/cluster/internal/initd"
	"github.com/holdfast-dev/holdfast/test/cluster/internal/layout"
	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

// KubernetesVersion is the version of every component.
const KubernetesVersion = toolbox.KubernetesVersion

// DefaultName is the cluster's name where none is given.
const DefaultName = "holdfast"

// DefaultNodes is the number of nodes where none is given.
const DefaultNodes = 3

func init() { initd.Main() }

// Config is what a cluster is brought up with. The zero value is good.
type Config struct {
	// Name is at most 30 lower-case letters, digits and dashes; by default DefaultName.
	Name string
	// Nodes is 1 to 50, by default DefaultNodes. They are called node-0, node-1 and so on.
	Nodes int
	// NodeMonitorGrace is how long a node may be silent before Kubernetes takes it for not ready; by default
	// Kubernetes' own 50 s. At least 4 s.
	NodeMonitorGrace time.Duration
	// Progress gets a line as each phase begins; by default nothing is said.
	Progress io.Writer
	// Images are OCI archives that are loaded into every node before Up returns.
	Images []string
}

// Cluster is one that was brought up.
type Cluster struct{ made *layout.Cluster }

// ErrNone is the error of everything that wants a cluster that is not there.
var ErrNone = errors.New("no such cluster: bring it up with holdfast-cluster up")

// Open finds a cluster that is up.
func Open(name string) (*Cluster, error) {
	wanted, err := layout.New(name, 1)
	if err != nil {
		return nil, err
	}
	c, err := layout.Load(wanted.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cluster %s: %w", name, ErrNone)
	}
	if err != nil {
		return nil, err
	}
	if !sameProcess(c.HubPID, c.HubStart) {
		return nil, fmt.Errorf("cluster %s does not run any more: %w, which cleans up first", name, ErrNone)
	}
	return &Cluster{c}, nil
}

// Kubeconfig is the path of a file with which kubectl and client-go reach the cluster from the host, with
// every right.
func (c *Cluster) Kubeconfig() string { return c.made.Path("kubeconfig") }

// Kubectl is the path of a kubectl of the cluster's version.
func (c *Cluster) Kubectl() string { return c.made.Program(toolbox.Kubernetes, "kubectl") }

// Logs is the folder with the output of every component.
func (c *Cluster) Logs() string { return c.made.Path("logs") }

// LoadImage loads an OCI archive into every node that runs.
func (c *Cluster) LoadImage(ctx context.Context, archive string) error {
	archive, err := filepath.Abs(archive)
	if err != nil {
		return err
	}
	if _, err := os.Stat(archive); err != nil {
		return err
	}
	nodes, err := c.nodes(ctx)
	if err != nil {
		return err
	}
	return eachNode(c.made, func(n layout.Node) error {
		if !nodes[n.Name].Running {
			return nil
		}
		return c.order(ctx, "Import", initd.ImportOrder{Node: n.Name, Archive: archive}, &initd.None{})
	})
}

// eachNode does something for all nodes at once.
func eachNode(c *layout.Cluster, do func(n layout.Node) error) error {
	results := make(chan error)
	nodes := c.AllNodes()
	for _, n := range nodes {
		go func() { results <- do(n) }()
	}
	var all error
	for range nodes {
		all = errors.Join(all, <-results)
	}
	return all
}

// order has the hub do something and waits for its reply.
func (c *Cluster) order(ctx context.Context, method string, argument, reply any) error {
	folder, err := os.Open(c.made.Dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	client, err := rpc.Dial("unix", initd.ControlSocket(folder))
	if err != nil {
		return fmt.Errorf("the hub of cluster %s does not answer: %w; see %s/hub.log", c.made.Name, err, c.Logs())
	}
	defer client.Close()
	select {
	case call := <-client.Go("Hub."+method, argument, reply, make(chan *rpc.Call, 1)).Done:
		return call.Error
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Cluster) nodes(ctx context.Context) (map[string]initd.NodeState, error) {
	var nodes map[string]initd.NodeState
	err := c.order(ctx, "Nodes", initd.None{}, &nodes)
	return nodes, err
}
