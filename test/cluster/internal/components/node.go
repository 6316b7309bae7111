package components

import (
	"encoding/json"
	"os"
	"time"

	"github.com/holdfast-dev/holdfast/test/cluster/images"
	"github.com/holdfast-dev/holdfast/test/cluster/internal/layout"
)

// Inside is the folder, in a node, of what the host gives it: tools, configuration, logs.
const Inside = "/run/holdfast"

// ContainerdSocket is where containerd listens, in a node.
const ContainerdSocket = "/run/containerd/containerd.sock"

const nodeKubeconfig = Inside + "/etc/kubeconfig"

// OfNode are the processes of a node, with paths as the node sees them.
func OfNode(n layout.Node) []Process {
	containerd := node("containerd", "containerd", "--config", Inside+"/etc/containerd.toml")
	kubelet := node(kubernetes, "kubelet",
		"--config="+Inside+"/etc/kubelet.json", "--kubeconfig="+nodeKubeconfig,
		"--hostname-override="+n.Name, "--node-ip="+n.IP(), "--cert-dir=/var/lib/kubelet/pki")
	// The tool writes the kubeconfig when the API server is there: tried earlier, a kubelet backs off for seconds.
	kubelet.After = []string{ContainerdSocket, nodeKubeconfig}
	proxy := node(kubernetes, "kube-proxy", proxyFlags(Inside+"/etc/kube-proxy.kubeconfig", n.Name)...)
	proxy.After = []string{nodeKubeconfig}
	return []Process{containerd, kubelet, proxy}
}

func node(tool, program string, args ...string) Process {
	return Process{
		Name: program, Path: Inside + "/tools/" + tool + "/" + program, Args: args,
		Log: Inside + "/logs/" + program + ".log",
	}
}

// NodeFiles are the files of a node's configuration by name. The kubeconfig is not among them: it is what
// the kubelet waits for.
func NodeFiles(c *layout.Cluster, n layout.Node) (map[string][]byte, error) {
	files := map[string][]byte{
		"containerd.toml": []byte(containerdConfig),
		// A pod that does not ask the cluster's DNS finds it all the same: there is no other.
		"resolv.conf": []byte("nameserver " + layout.HubIP + "\n"),
	}
	for name, value := range map[string]any{"kubelet.json": kubeletConfig(c, n), "cni/10-bridge.conflist": cniConfig(n)} {
		content, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return nil, err
		}
		files[name] = content
	}
	for name, path := range map[string]string{
		"ca.crt": c.PKI("ca.crt"), "kubelet.crt": c.PKI(n.Name + ".crt"), "kubelet.key": c.PKI(n.Name + ".key"),
		"kube-proxy.kubeconfig": c.KubeconfigOf("kube-proxy"),
	} {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files[name] = content
	}
	return files, nil
}

type object = map[string]any

// kubeletConfig keeps to Kubernetes' defaults where they do not stand in the way of a node that shares its
// kernel, its disk and perhaps its memory with others.
func kubeletConfig(c *layout.Cluster, n layout.Node) object {
	config := object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"containerRuntimeEndpoint": "unix://" + ContainerdSocket,
		"clusterDNS":               []string{layout.DNSService},
		"clusterDomain":            layout.Domain,
		"resolvConf":               Inside + "/etc/resolv.conf",
		"authentication": object{
			"anonymous": object{"enabled": false},
			"x509":      object{"clientCAFile": Inside + "/etc/ca.crt"},
		},
		"tlsCertFile": Inside + "/etc/kubelet.crt", "tlsPrivateKeyFile": Inside + "/etc/kubelet.key",

		"cgroupDriver": "cgroupfs", "cgroupRoot": "/" + n.Cgroup(), "failCgroupV1": false,
		"enforceNodeAllocatable": []string{},
		"failSwapOn":             false,
		// The disk is the host's: no node may clean it up or evict because of it.
		"localStorageCapacityIsolation": false,
		"imageGCHighThresholdPercent":   100,
		"evictionHard":                  object{"memory.available": "100Mi"},
		"oomScoreAdj":                   0,
		// Its default is a folder of the host, which the kubelet makes.
		"volumePluginDir": "/var/lib/kubelet/volume-plugins",

		"maxPods":                   200,
		"nodeStatusUpdateFrequency": "2s",
		"nodeStatusReportFrequency": "5m", // else what follows the line above: a write per node and two seconds
		"registryPullQPS":           0,
		"eventRecordQPS":            0,
		"kubeAPIQPS":                100, "kubeAPIBurst": 200,
		"serializeImagePulls": false,
	}
	if c.NodeMonitorGrace > 0 {
		// A kubelet renews its lease every quarter of this.
		config["nodeLeaseDurationSeconds"] = max(4, int(c.NodeMonitorGrace/time.Second))
	}
	return config
}

func cniConfig(n layout.Node) object {
	return object{
		"cniVersion": "1.0.0", "name": "pods",
		"plugins": []object{{
			"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false,
			"hairpinMode": true, // a pod reaches itself through its Service
			"ipam": object{
				"type": "host-local", "ranges": [][]object{{{"subnet": n.PodCIDR()}}},
				"routes": []object{{"dst": "0.0.0.0/0"}},
				// Forgotten at power loss, as the pods' networks are.
				"dataDir": "/run/cni-addresses",
			},
		}},
	}
}

// containerdConfig: without CAP_SYS_RESOURCE, as in many virtual machines, runc may not lower an
// oom_score_adj; an AppArmor profile would be loaded into the host's kernel and stay; the opt plugin would
// make /opt/containerd on the host.
const containerdConfig = `version = 3
root = '/var/lib/containerd'
state = '/run/containerd'
disabled_plugins = ['io.containerd.nri.v1.nri', 'io.containerd.snapshotter.v1.btrfs', 'io.containerd.snapshotter.v1.zfs', 'io.containerd.snapshotter.v1.devmapper', 'io.containerd.snapshotter.v1.erofs', 'io.containerd.snapshotter.v1.blockfile']

[grpc]
  address = '` + ContainerdSocket + `'

[plugins.'io.containerd.internal.v1.opt']
  path = '/var/lib/containerd/opt'

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = '` + images.PauseImage + `'

[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  disable_apparmor = true

  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ['` + Inside + `/tools/cni']
    conf_dir = '` + Inside + `/etc/cni'

  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = 'io.containerd.runc.v2'

    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      BinaryName = '` + Inside + `/tools/runc/runc'
      SystemdCgroup = false
`
