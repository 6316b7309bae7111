//go:build linux

package initd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/holdfast-dev/holdfast/test/cluster/internal/cgroups"
	"github.com/holdfast-dev/holdfast/test/cluster/internal/components"
	"github.com/holdfast-dev/holdfast/test/cluster/internal/layout"
)

const bridge = "holdfast"

// hubNetwork makes the bridge that the nodes are plugged into. It runs in a network of the hub's own.
func hubNetwork(c *layout.Cluster) error {
	if err := upLoopback(); err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = bridge
	link := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(link); err != nil {
		return fmt.Errorf("adding a bridge: %w", err)
	}
	if err := addAddress(link, layout.HubIP); err != nil {
		return err
	}
	for _, n := range c.AllNodes() {
		if err := addRoute(link, n.PodCIDR(), n.IP()); err != nil {
			return err
		}
	}
	// A Service's address must lead somewhere, else nothing is sent that kube-proxy could turn elsewhere.
	if err := addRoute(link, layout.ServiceNet, ""); err != nil {
		return err
	}
	return forwarding()
}

// boot starts a node's first process and plugs its network in. What an earlier life of the node left is gone
// but for its disk.
func (o *Orders) boot(n layout.Node) error {
	if _, running := o.get(n.Name); running {
		return fmt.Errorf("node %s is running already", n.Name)
	}
	if err := o.join(n); err != nil {
		return err
	}
	// The cgroups of the pods of an earlier life, empty now, would cost the kubelet many seconds of asking
	// containerd after them.
	if err := cgroups.Remove(n.Cgroup()); err != nil {
		return err
	}
	if _, err := cgroups.Make(n.Cgroup()); err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	defer write.Close()
	p, err := o.start(components.Process{
		Name: n.Name, Path: "/proc/self/exe", As: NodeName, Args: []string{o.cluster.Dir, n.Name},
		Log: o.cluster.Path("logs", n.Name, "node.log"),
	}, true, &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
	}, read.Fd())
	if err != nil {
		return err
	}
	if err := plug(n, p.pid); err != nil {
		o.kill(p)
		return fmt.Errorf("plugging in node %s: %w", n.Name, err)
	}
	_, err = write.Write([]byte{1})
	return err
}

// plug connects the network of the process to the bridge.
func plug(n layout.Node, pid int) error {
	link, err := netlink.LinkByName(bridge)
	if err != nil {
		return err
	}
	// The port of an earlier life goes away some time after it, and its name is needed now.
	if old, err := netlink.LinkByName(n.Port()); err == nil {
		if err := netlink.LinkDel(old); err != nil && !errors.Is(err, syscall.ENODEV) {
			return err
		}
	}
	mac, err := net.ParseMAC(n.MAC())
	if err != nil {
		return err
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = n.Port()
	attrs.MasterIndex = link.Attrs().Index
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: "eth0", PeerHardwareAddr: mac, PeerNamespace: netlink.NsPid(pid)}
	if err := netlink.LinkAdd(veth); err != nil {
		return err
	}
	return netlink.LinkSetUp(veth)
}

// nodeNetwork sets up the network of a node from inside.
func nodeNetwork(c *layout.Cluster, n layout.Node) error {
	if err := upLoopback(); err != nil {
		return err
	}
	link, err := netlink.LinkByName("eth0")
	if err != nil {
		return err
	}
	if err := addAddress(link, n.IP()); err != nil {
		return err
	}
	for _, other := range c.AllNodes() {
		if other.Name == n.Name {
			continue
		}
		if err := addRoute(link, other.PodCIDR(), other.IP()); err != nil {
			return err
		}
	}
	if err := addRoute(link, "0.0.0.0/0", layout.HubIP); err != nil {
		return err
	}
	return forwarding()
}

// end ends a node with a signal and waits until nothing of it is left.
func (o *Orders) end(name string, signal syscall.Signal, patience time.Duration) error {
	o.power.Lock()
	defer o.power.Unlock()
	if _, err := o.cluster.Node(name); err != nil {
		return err
	}
	p, running := o.get(name)
	if !running {
		return fmt.Errorf("node %s is not running", name)
	}
	_ = syscall.Kill(p.pid, signal)
	select {
	case <-p.gone:
		return nil
	case <-time.After(patience):
		o.kill(p)
		<-p.gone
		return fmt.Errorf("node %s did not shut down within %s and was killed; see logs/%s/node.log", name, patience, name)
	}
}

// cut drops a node's traffic at its port of the bridge: both ways by taking the link down, which the node
// sees as a pulled cable, or one way by a rule.
func (o *Orders) cut(order CutOrder) error {
	n, err := o.cluster.Node(order.Node)
	if err != nil {
		return err
	}
	if _, running := o.get(n.Name); !running {
		return fmt.Errorf("node %s is not running", n.Name)
	}
	if err := o.join(n); err != nil {
		return err
	}
	hook := map[Direction]string{CutOut: "ingress", CutIn: "egress"}[order.Direction]
	switch {
	case order.Direction == CutBoth:
		err = setPort(n, netlink.LinkSetDown)
	case hook != "":
		rule := fmt.Sprintf("table netdev %s { chain cut { type filter hook %s device %q priority 0; policy drop; }; }", table(n), hook, n.Port())
		err = o.nft(rule)
	default:
		return fmt.Errorf("direction %q: use %s, %s or %s", order.Direction, CutBoth, CutIn, CutOut)
	}
	if err == nil {
		o.setCut(n, order.Direction)
	}
	return err
}

// join undoes whatever cut there is.
func (o *Orders) join(n layout.Node) error {
	direction := o.cutOf(n)
	if direction == CutIn || direction == CutOut {
		// Its device may be gone, and the table's chain with it.
		if err := o.nft("delete table netdev " + table(n)); err != nil {
			return err
		}
	}
	if _, running := o.get(n.Name); running && direction == CutBoth {
		if err := setPort(n, netlink.LinkSetUp); err != nil {
			return err
		}
	}
	o.setCut(n, "")
	return nil
}

func table(n layout.Node) string { return "cut-" + n.Name }

func (o *Orders) nft(rule string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	program, err := exec.LookPath("nft")
	if err != nil {
		return err
	}
	if out, err := o.output(ctx, program, rule); err != nil {
		return fmt.Errorf("nft %s: %w\n%s", rule, err, out)
	}
	return nil
}

func (o *Orders) cutOf(n layout.Node) Direction {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cuts[n.Name]
}

func (o *Orders) setCut(n layout.Node, d Direction) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cuts[n.Name] = d
}

func setPort(n layout.Node, set func(netlink.Link) error) error {
	link, err := netlink.LinkByName(n.Port())
	if err != nil {
		return err
	}
	return set(link)
}

func upLoopback() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}

func addAddress(link netlink.Link, ip string) error {
	addr, err := netlink.ParseAddr(ip + "/24")
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(link, addr); err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

// addRoute routes by way of a neighbour, or to the link itself.
func addRoute(link netlink.Link, to, via string) error {
	_, network, err := net.ParseCIDR(to)
	if err != nil {
		return err
	}
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: network, Gw: net.ParseIP(via)}
	if via == "" {
		route.Scope = netlink.SCOPE_LINK
	}
	if err := netlink.RouteAdd(route); err != nil {
		return fmt.Errorf("route to %s: %w", to, err)
	}
	return nil
}

// forwarding lets the network of this process route. The switch is the network's own, not the host's.
func forwarding() error {
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}
