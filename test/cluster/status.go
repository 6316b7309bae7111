//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-dev/holdfast/test/cluster/internal/layout"
)

// NodeStatus is what is known of one node.
type NodeStatus struct {
	Name string
	// Running is false while the node is off.
	Running bool
	// Cut is what of its traffic is cut, empty for nothing.
	Cut Direction
	// PID is the node's first process on the host, 0 while it is off: nsenter -a -t PID looks around in it.
	PID int
	// Ready is the status of the Node's Ready condition: True, False or Unknown.
	Ready string
}

// Status tells what the hub and the API server know of each node, in order.
func (c *Cluster) Status(ctx context.Context) ([]NodeStatus, error) {
	states, err := c.nodes(ctx)
	if err != nil {
		return nil, err
	}
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	objects, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("asking the API server of cluster %s: %w", c.made.Name, err)
	}
	var out []NodeStatus
	for _, n := range c.made.AllNodes() {
		status := NodeStatus{Name: n.Name, Running: states[n.Name].Running, Cut: states[n.Name].Cut, Ready: readyOf(objects.Items, n.Name)}
		if status.Running {
			if status.PID, err = hostPID(c.made.HubPID, states[n.Name].PID); err != nil {
				return nil, err
			}
		}
		out = append(out, status)
	}
	return out, nil
}

func (c *Cluster) client() (kubernetes.Interface, error) {
	config, err := c.RESTConfig()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

func readyOf(nodes []corev1.Node, name string) string {
	for _, node := range nodes {
		for _, condition := range node.Status.Conditions {
			if node.Name == name && condition.Type == corev1.NodeReady {
				return string(condition.Status)
			}
		}
	}
	return string(corev1.ConditionUnknown)
}

// complete says what is still missing for pods to be made.
func (c *Cluster) complete(ctx context.Context, client kubernetes.Interface) error {
	objects, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, n := range c.made.AllNodes() {
		if ready := readyOf(objects.Items, n.Name); ready != string(corev1.ConditionTrue) {
			return fmt.Errorf("%s is not ready (see %s/kubelet.log)", n.Name, n.Name)
		}
	}
	if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return fmt.Errorf("%w (see kube-controller-manager.log)", err)
	}
	if _, err := client.StorageV1().StorageClasses().Get(ctx, storageClass, metav1.GetOptions{}); err != nil {
		return fmt.Errorf("%w (see provisioner.log)", err)
	}
	return nil
}

// checkDNS asks the cluster's DNS for the API server from inside a node, through the DNS Service.
func (c *Cluster) checkDNS(ctx context.Context, node string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	states, err := c.nodes(ctx)
	if err != nil {
		return err
	}
	pid, err := hostPID(c.made.HubPID, states[node].PID)
	if err != nil {
		return err
	}
	addresses, err := resolver(pid, layout.DNSService).LookupHost(ctx, "kubernetes.default.svc."+layout.Domain+".")
	if err != nil {
		return fmt.Errorf("%w (see coredns.log and %s/kube-proxy.log)", err, node)
	}
	if !slices.Contains(addresses, layout.FirstSvcIP) {
		return errors.New("DNS gives the API server another address than " + layout.FirstSvcIP)
	}
	return nil
}

// resolver asks the DNS server at the address, from the network of the process.
func resolver(pid int, server string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialIn(ctx, pid, network, net.JoinHostPort(server, "53"))
	}}
}
