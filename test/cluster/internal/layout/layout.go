// Package layout says what a cluster on this machine is made of and where its files lie. The tool, the hub
// and the nodes are separate processes; this is what they agree on.
package layout

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Addresses are the same in every cluster: a cluster's network is not connected to anything else.
const (
	HubIP       = "172.30.0.1"
	HubNet      = "172.30.0.0/24"
	APIPort     = 6443
	PodNet      = "10.244.0.0/16"
	ServiceNet  = "10.96.0.0/16"
	FirstSvcIP  = "10.96.0.1"
	DNSService  = "10.96.0.10"
	Domain      = "cluster.local"
	maxNodes    = 50
	firstNodeIP = 10
)

// Cluster is one cluster: what was asked for, and what was found out while it came up. It is kept in the
// cluster's folder.
type Cluster struct {
	Name string
	// Dir is the cluster's folder, absolute.
	Dir string `json:"-"`
	// Nodes is their number.
	Nodes int
	// Tools is the folder of programs of each tool.
	Tools map[string]string
	// APIPort is the port on the host's loopback that leads to the API server.
	APIPort int
	// NodeMonitorGrace is how long a node may be silent before it counts as not ready; 0 is Kubernetes' default.
	NodeMonitorGrace time.Duration
	// HubPID and HubStart tell the hub's process, as the host sees it: a number alone may have been given to another process since.
	HubPID   int
	HubStart uint64
}

// StateVariable is the environment variable that names the folder for clusters.
const StateVariable = "HOLDFAST_STATE"

// Root is the folder with a folder for each cluster: $HOLDFAST_STATE, or /var/lib/holdfast/clusters.
func Root() (string, error) {
	if dir := os.Getenv(StateVariable); dir != "" {
		return filepath.Abs(dir)
	}
	return "/var/lib/holdfast/clusters", nil
}

var nameRule = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$`)

// New is a cluster of that name whose folder need not exist yet.
func New(name string, nodes int) (*Cluster, error) {
	if !nameRule.MatchString(name) {
		return nil, fmt.Errorf("cluster name %q: use at most 30 lower-case letters, digits and dashes, a letter first", name)
	}
	if nodes < 1 || nodes > maxNodes {
		return nil, fmt.Errorf("%d nodes: a cluster has 1 to %d", nodes, maxNodes)
	}
	root, err := Root()
	if err != nil {
		return nil, err
	}
	return &Cluster{Name: name, Dir: filepath.Join(root, name), Nodes: nodes}, nil
}

// Load reads what the cluster's folder says. The error is fs.ErrNotExist when there is no such cluster.
func Load(dir string) (*Cluster, error) {
	content, err := os.ReadFile(filepath.Join(dir, "cluster.json"))
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir}
	if err := json.Unmarshal(content, c); err != nil {
		return nil, fmt.Errorf("%s/cluster.json: %w", dir, err)
	}
	return c, nil
}

// Save writes it, whole or not at all.
func (c *Cluster) Save() error {
	content, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	path := c.Path("cluster.json")
	if err := os.WriteFile(path+".part", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// Path is a path below the cluster's folder.
func (c *Cluster) Path(elements ...string) string {
	return filepath.Join(append([]string{c.Dir}, elements...)...)
}

// PKI is the path of a certificate or key.
func (c *Cluster) PKI(file string) string { return c.Path("pki", file) }

// KubeconfigOf is the path of the file with which that user reaches the API server from inside the hub.
func (c *Cluster) KubeconfigOf(user string) string { return c.Path("pki", user+".kubeconfig") }

// Program is the path of one of a tool's programs.
func (c *Cluster) Program(tool, program string) string {
	return filepath.Join(c.Tools[tool], program)
}

// Cgroup is the cluster's cgroup below the root of each hierarchy. The dot keeps apart the clusters "a" and "a-b".
func (c *Cluster) Cgroup() string { return CgroupOf(c.Name) }

// CgroupOf is the cgroup of the cluster with that name.
func CgroupOf(name string) string { return "holdfast." + name }

// Node is one node.
type Node struct {
	cluster *Cluster
	Name    string
	index   int
}

// AllNodes lists the nodes in order.
func (c *Cluster) AllNodes() []Node {
	nodes := make([]Node, c.Nodes)
	for i := range nodes {
		nodes[i] = Node{cluster: c, Name: fmt.Sprintf("node-%d", i), index: i}
	}
	return nodes
}

// Node finds a node by name.
func (c *Cluster) Node(name string) (Node, error) {
	var names []string
	for _, n := range c.AllNodes() {
		if n.Name == name {
			return n, nil
		}
		names = append(names, n.Name)
	}
	return Node{}, fmt.Errorf("cluster %s has no node %q; it has %s", c.Name, name, strings.Join(names, ", "))
}

// Dir is a folder of the node on the host's disk. "var-lib", "var-log" and "tmp" are what the node sees as
// /var/lib, /var/log and /tmp.
func (n Node) Dir(elements ...string) string {
	return n.cluster.Path(append([]string{"nodes", n.Name}, elements...)...)
}

// IP is the node's address on the hub's bridge.
func (n Node) IP() string { return fmt.Sprintf("172.30.0.%d", firstNodeIP+n.index) }

// MAC stays the same when the node comes up again, as a network card's does.
func (n Node) MAC() string { return fmt.Sprintf("02:68:66:00:00:%02x", firstNodeIP+n.index) }

// Port is the name of the bridge's port that the node is plugged into.
func (n Node) Port() string { return "v-" + n.Name }

// PodCIDR is the range of the node's pods.
func (n Node) PodCIDR() string { return fmt.Sprintf("10.244.%d.0/24", n.index) }

// Cgroup is the node's cgroup, below which the kubelet makes those of the pods.
func (n Node) Cgroup() string { return n.cluster.Cgroup() + "/" + n.Name }
