//go:build linux

package initd

import (
	"encoding/json"
	"errors"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/test/cluster/internal/cgroups"
	"github.com/holdfast-dev/holdfast/test/cluster/internal/components"
)

const (
	// podPatience is how long a shutdown waits for containers, systemd's usual share for its services being 90 s.
	podPatience = 30 * time.Second
	// servicePatience is how long it waits for each of the node's own processes.
	servicePatience = 5 * time.Second
)

func runNode(args []string) error {
	if err := awaitGo(nodeGoFD); err != nil {
		return err
	}
	c, err := load(args[0])
	if err != nil {
		return err
	}
	n, err := c.Node(args[1])
	if err != nil {
		return err
	}
	if err := errors.Join(cgroups.Enter(n.Cgroup(), 0), unix.Sethostname([]byte(n.Name))); err != nil {
		return err
	}
	if err := nodeMounts(c, n); err != nil {
		return err
	}
	if err := nodeNetwork(c, n); err != nil {
		return err
	}
	off := make(chan os.Signal, 1)
	signal.Notify(off, syscall.SIGTERM)
	s := newSupervisor()
	for _, p := range components.OfNode(n) {
		s.run(p)
	}
	log.Printf("%s is up", n.Name)
	<-off
	shutDown(s)
	return nil
}

// shutDown is what systemd does with a node whose kubelet has no grace period configured, which is
// Kubernetes' default: the kubelet goes first, so that it does not start again what ends, then every
// container is asked to end and given time, then the rest goes. No preStop hook runs.
func shutDown(s *supervisor) {
	log.Print("shutting down")
	s.stop("kubelet", servicePatience)
	for _, pid := range containers(bundles) {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
	// containerd removes a container's folder once it has noted how the container ended: ended before that,
	// it would know nothing of it afterwards.
	await(func() bool { return len(containers(bundles)) == 0 }, podPatience)
	s.stop("kube-proxy", servicePatience)
	s.stop("containerd", servicePatience)
	s.shutdown()
	log.Print("off")
}

// bundles is where containerd keeps a folder for each container that runs.
const bundles = "/run/containerd/io.containerd.runtime.v2.task/k8s.io"

// containers reads the first process of each container. Sandboxes are left out: where a pod shares its
// process namespace, the sandbox's end is a kill of the containers.
func containers(dir string) []int {
	folders, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Printf("listing containers: %v", err)
	}
	var found []int
	for _, folder := range folders {
		var spec struct{ Annotations map[string]string }
		content, err := os.ReadFile(filepath.Join(dir, folder.Name(), "config.json"))
		if err != nil || json.Unmarshal(content, &spec) != nil || spec.Annotations["io.kubernetes.cri.container-type"] != "container" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, folder.Name(), "init.pid"))
		if err != nil {
			continue // not started, or gone
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && pid > 1 {
			found = append(found, pid)
		}
	}
	return found
}
