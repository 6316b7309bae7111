// Package components holds how each program of a cluster is started: its flags and its configuration.
package components

import (
	"github.com/holdfast-dev/holdfast/test/cluster/internal/layout"
)

// A Process is a long-running program of the cluster.
type Process struct {
	// Name is also the log's.
	Name string
	// Path is the program, Args what follows its name. The program is called As, if that is set, else Name.
	Path string
	Args []string
	As   string
	// Log is the file that its output is added to.
	Log string
	// After are files that must be there before it starts.
	After []string
}

const kubernetes = "kubernetes"

// Etcd keeps nothing safe from a crash of the host's kernel, which saves a sync for each write: the cluster's
// state is not meant to outlive the machine.
func Etcd(c *layout.Cluster) Process {
	return hub(c, "etcd", c.Program("etcd", "etcd"),
		"--name=hub", "--data-dir="+c.Path("etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=hub=http://127.0.0.1:2380",
	)
}

// APIServer reaches kubelets by address: nothing resolves a node's name.
func APIServer(c *layout.Cluster) Process {
	return hub(c, "kube-apiserver", c.Program(kubernetes, "kube-apiserver"),
		"--etcd-servers=http://127.0.0.1:2379",
		"--advertise-address="+layout.HubIP,
		"--service-cluster-ip-range="+layout.ServiceNet,
		"--cert-dir="+c.Path("pki"),
		"--tls-cert-file="+c.PKI("apiserver.crt"), "--tls-private-key-file="+c.PKI("apiserver.key"),
		"--client-ca-file="+c.PKI("ca.crt"),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--service-account-issuer=https://kubernetes.default.svc."+layout.Domain,
		"--service-account-key-file="+c.PKI("sa.pub"), "--service-account-signing-key-file="+c.PKI("sa.key"),
		"--kubelet-certificate-authority="+c.PKI("ca.crt"),
		"--kubelet-client-certificate="+c.PKI("kubelet-client.crt"), "--kubelet-client-key="+c.PKI("kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--allow-privileged",
	)
}

// ControllerManager runs alone, so it takes no lease first, which would cost seconds. The ranges of pods are
// given to the nodes by the tool: handed out here they would follow the order in which nodes register.
func ControllerManager(c *layout.Cluster) Process {
	p := hub(c, "kube-controller-manager", c.Program(kubernetes, "kube-controller-manager"),
		"--kubeconfig="+c.KubeconfigOf("controller-manager"), "--bind-address=127.0.0.1", "--leader-elect=false",
		"--use-service-account-credentials", "--root-ca-file="+c.PKI("ca.crt"),
		"--service-account-private-key-file="+c.PKI("sa.key"),
		"--cluster-signing-cert-file="+c.PKI("ca.crt"), "--cluster-signing-key-file="+c.PKI("ca.key"),
		"--cluster-cidr="+layout.PodNet, "--allocate-node-cidrs=false",
		// Its default is a folder of the host, which it makes.
		"--flex-volume-plugin-dir="+c.Path("flexvolume"),
	)
	if c.NodeMonitorGrace > 0 {
		p.Args = append(p.Args, "--node-monitor-grace-period="+c.NodeMonitorGrace.String(), "--node-monitor-period=1s")
	}
	return p
}

// Scheduler runs alone too.
func Scheduler(c *layout.Cluster) Process {
	return hub(c, "kube-scheduler", c.Program(kubernetes, "kube-scheduler"),
		"--kubeconfig="+c.KubeconfigOf("scheduler"), "--bind-address=127.0.0.1", "--leader-elect=false")
}

// HubProxy lets the API server, for webhooks, and tests reach Services from the hub. It borrows the first
// node's name, since a proxy waits for the Node that it is called after.
func HubProxy(c *layout.Cluster) Process {
	p := hub(c, "kube-proxy", c.Program(kubernetes, "kube-proxy"))
	p.Args = proxyFlags(c.KubeconfigOf("kube-proxy"), c.AllNodes()[0].Name)
	return p
}

// CoreDNS runs in the hub, on its address.
func CoreDNS(c *layout.Cluster) Process {
	return hub(c, "coredns", c.Program("coredns", "coredns"), "-conf", c.Path("Corefile"))
}

// Corefile is CoreDNS' configuration. There is no cache, as in kubeadm's default for the cluster's own names.
func Corefile(c *layout.Cluster) string {
	return `.:53 {
    errors
    ready 127.0.0.1:8181
    kubernetes ` + layout.Domain + ` in-addr.arpa ip6.arpa {
        kubeconfig ` + c.KubeconfigOf("coredns") + `
        pods insecure
    }
}
`
}

// Provisioner is this program again, called by another name.
func Provisioner(c *layout.Cluster, as string) Process {
	p := hub(c, "provisioner", "/proc/self/exe", c.KubeconfigOf("provisioner"), c.Dir)
	p.As = as
	return p
}

func hub(c *layout.Cluster, name, path string, args ...string) Process {
	return Process{Name: name, Path: path, Args: args, Log: c.Path("logs", name+".log")}
}

// proxyFlags leave the size of the connection table alone: it is the host's.
func proxyFlags(kubeconfig, node string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig, "--hostname-override=" + node, "--proxy-mode=nftables",
		"--detect-local-mode=ClusterCIDR", "--cluster-cidr=" + layout.PodNet,
		"--conntrack-max-per-core=0", "--conntrack-min=0", "--oom-score-adj=0",
	}
}
