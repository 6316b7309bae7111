//go:build linux

// Package initd is the processes that a cluster lives in. Each is process 1 of a process namespace, so that
// its death, at the kernel's hand, is the death of everything below it, pods included:
//
//	hub      the cluster's network, control plane and forwarder
//	└ node   one machine: containerd, kubelet, kube-proxy, and the pods
//
// Nothing of a cluster is pinned anywhere on the host: namespaces, links, routes, firewall and mounts exist
// as long as these processes do. What is left to clean up is cgroups and one folder.
//
// They are this program again under another name, so that any program that imports the package cluster can
// bring a cluster up.
package initd

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/test/cluster/internal/layout"
)

// The names under which the program is started again.
const (
	HubName         = "holdfast-hub"
	NodeName        = "holdfast-node"
	ProvisionerName = "holdfast-provisioner"
)

// Descriptors that the hub inherits: the listener of the API server's port on the host's loopback, which
// stays in the host's network although the hub is not, and a pipe on which the word to go on comes once the
// hub has been written down. If the tool is killed before that, the pipe ends and so does the hub.
const (
	listenerFD = 3
	goFD       = 4
	// nodeGoFD is the node's pipe, on which the hub says that the network is plugged in.
	nodeGoFD = 3
)

// Main runs what the program was started as, and does not return; started as anything else, it returns at once.
func Main() {
	run := map[string]func(args []string) error{
		HubName: runHub, NodeName: runNode, ProvisionerName: runProvisioner,
	}[os.Args[0]]
	if run == nil {
		return
	}
	if err := run(os.Args[1:]); err != nil {
		log.Print(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// awaitGo returns when the starter says so, or an error when it is gone.
func awaitGo(fd uintptr) error {
	pipe := os.NewFile(fd, "go")
	defer pipe.Close()
	if n, err := pipe.Read(make([]byte, 1)); n != 1 {
		return fmt.Errorf("the process that started this one is gone: %w", err)
	}
	return nil
}

// ControlSocket is where the hub takes orders. The path is kept short enough for a socket's name by way of a
// descriptor of the folder, which the caller must hold open.
func ControlSocket(folder *os.File) string {
	return filepath.Join("/proc/self/fd", fmt.Sprint(folder.Fd()), "control.sock")
}

func load(dir string) (*layout.Cluster, error) {
	c, err := layout.Load(dir)
	if err != nil {
		return nil, fmt.Errorf("reading what to run: %w", err)
	}
	return c, nil
}
