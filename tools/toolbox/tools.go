package toolbox

// A Tool is one pinned module under tools/ and the programs that are built from it. The module's own go.mod
// holds the version, so an update is an edit of that file and nothing else. A Crate names its version here too.
type Tool struct {
	// Name is also the module's folder under tools/.
	Name string
	// Programs are the files that the build makes, by name, with the import path of each.
	Programs map[string]string
	// Links are further names under which a program must be found, by name, with the program's name.
	Links map[string]string
	// CGO says that the build needs a C compiler; everything else is built static.
	CGO bool
	// Tags and Vars are build tags and the string variables that the linker sets.
	Tags []string
	Vars map[string]string
	// Crate is set for a program that is not Go's: then there are no Programs, and cargo builds it.
	Crate *Crate
	// Needs are the host's commands and libraries that the build wants.
	Needs []Need
}

const (
	// Kubernetes is the program with every component of Kubernetes, and kubectl, in it.
	Kubernetes = "kubernetes"
	// KubernetesVersion is the version that its components report.
	KubernetesVersion = "v1.37.2"
)

// NATSServers are the versions of nats-server that tests run, oldest first.
var NATSServers = []string{"2.15.2", "2.15.3"}

// NATSServer is the tool's name of one version of nats-server.
func NATSServer(version string) string { return "nats-server/" + version }

// GarageServers are the versions of Garage that tests run, oldest first.
var GarageServers = []string{"2.3.0", "2.4.1"}

// GarageShortDelay is a variant of the newest of them in which a block without references is deleted after 20 seconds
// and not after ten minutes. It is for tests alone.
const GarageShortDelay = "garage-short-block-delay"

// GarageServer is the tool's name of one version of Garage.
func GarageServer(version string) string { return "garage/" + version }

// garage is one version of the server, with the variant if it is the newest.
func garage(version string) Tool {
	crate := &Crate{Name: "garage", Version: version, Features: "bundled-libs,lmdb,metrics,sqlite"}
	if version == GarageServers[len(GarageServers)-1] {
		const delay = "const BLOCK_GC_DELAY: Duration = Duration::from_secs("
		crate.Variant = &Variant{Program: GarageShortDelay, Crate: "garage_block", File: "manager.rs", Old: delay + "600);", New: delay + "20);"}
	}
	return Tool{Name: GarageServer(version), Crate: crate, Needs: []Need{
		{Command: "cargo", Hint: "Rust 1.91 or newer, with cargo"}, {Command: "gcc", Package: "gcc libc6-dev"}, {Command: "make", Package: "make"},
	}}
}

// Tools lists every tool of the repository.
func Tools() []Tool {
	const versionVar = "k8s.io/component-base/version."
	tools := []Tool{
		{
			Name:     Kubernetes,
			Programs: map[string]string{"kubernetes": "."},
			Links: map[string]string{
				"kube-apiserver": "kubernetes", "kube-controller-manager": "kubernetes", "kube-scheduler": "kubernetes",
				"kubelet": "kubernetes", "kube-proxy": "kubernetes", "kubectl": "kubernetes",
			},
			// Unset, the components call themselves v0.0.0 and refuse each other.
			Vars: map[string]string{versionVar + "gitVersion": KubernetesVersion, versionVar + "gitMajor": "1", versionVar + "gitMinor": "37"},
		},
		{Name: "etcd", Programs: map[string]string{"etcd": "go.etcd.io/etcd/server/v3"}},
		{Name: "containerd", Programs: map[string]string{
			"containerd":              "github.com/containerd/containerd/v2/cmd/containerd",
			"containerd-shim-runc-v2": "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
			"ctr":                     "github.com/containerd/containerd/v2/cmd/ctr",
		}},
		{
			Name: "runc", Programs: map[string]string{"runc": "github.com/opencontainers/runc"},
			CGO: true, Tags: []string{"seccomp"},
			Needs: []Need{
				{Command: "gcc", Package: "gcc"}, {Command: "pkg-config", Package: "pkg-config"},
				{Library: "libseccomp", Package: "libseccomp-dev"},
			},
		},
		{Name: "cni", Programs: map[string]string{
			"bridge":     "github.com/containernetworking/plugins/plugins/main/bridge",
			"loopback":   "github.com/containernetworking/plugins/plugins/main/loopback",
			"host-local": "github.com/containernetworking/plugins/plugins/ipam/host-local",
		}},
		{Name: "coredns", Programs: map[string]string{"coredns": "."}},
		{Name: "controller-gen", Programs: map[string]string{"controller-gen": "sigs.k8s.io/controller-tools/cmd/controller-gen"}},
		{Name: "golangci-lint", Programs: map[string]string{"golangci-lint": "."}},
		{Name: "helm", Programs: map[string]string{"helm": "helm.sh/helm/v4/cmd/helm"}},
		{Name: "gremlins", Programs: map[string]string{"gremlins": "github.com/go-gremlins/gremlins/cmd/gremlins"}},
	}
	for _, version := range NATSServers {
		tools = append(tools, Tool{
			Name:     NATSServer(version),
			Programs: map[string]string{"nats-server": "github.com/nats-io/nats-server/v2"},
		})
	}
	for _, version := range GarageServers {
		tools = append(tools, garage(version))
	}
	return tools
}
