//go:build linux

package initd

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/test/cluster/internal/components"
	"github.com/holdfast-dev/holdfast/test/cluster/internal/layout"
)

// nodeMounts makes the files of a node out of the host's: everything as it is there, but for /proc, /run,
// /tmp, /var/lib and /var/log, which are the node's own. /run is empty each time, as after a boot.
func nodeMounts(c *layout.Cluster, n layout.Node) error {
	// Mounts of the host come in, none goes out; inside, they are shared, so that a pod's see the node's.
	for _, flag := range []uintptr{unix.MS_SLAVE, unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", unix.MS_REC|flag, ""); err != nil {
			return fmt.Errorf("taking the mounts apart from the host's: %w", err)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if err := hideSysctls(n.Dir("sysctl")); err != nil {
		return fmt.Errorf("hiding the host's sysctls: %w", err)
	}
	// Each source is opened before anything is hidden: it may lie below what is.
	sources := map[string]string{
		components.Inside + "/etc":  n.Dir("etc"),
		components.Inside + "/logs": c.Path("logs", n.Name),
	}
	for tool, dir := range c.Tools {
		sources[components.Inside+"/tools/"+tool] = dir
	}
	inner, err := openAll(sources)
	if err != nil {
		return err
	}
	outer, err := openAll(map[string]string{"/var/lib": n.Dir("var-lib"), "/var/log": n.Dir("var-log"), "/tmp": n.Dir("tmp")})
	if err != nil {
		return err
	}
	if err := unix.Mount("run", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mounting /run: %w", err)
	}
	for target := range inner {
		if err := makeDirs(target); err != nil {
			return err
		}
	}
	if err := bindAll(inner); err != nil {
		return err
	}
	return bindAll(outer)
}

// openAll opens the source of each target, to be mounted by way of the descriptor.
func openAll(sources map[string]string) (map[string]*os.File, error) {
	files := map[string]*os.File{}
	for target, source := range sources {
		fd, err := unix.Open(source, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("opening %s: %w", source, err)
		}
		files[target] = os.NewFile(uintptr(fd), source)
	}
	return files, nil
}

func bindAll(files map[string]*os.File) error {
	for target, file := range files {
		if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), target, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting %s on %s: %w", file.Name(), target, err)
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}

// hideSysctls keeps the node's hands off the host's kernel: everything of /proc/sys but the network's, which
// is the node's own, is read-only, and what the kubelet insists on reads as it wants it to be. The boot's id
// is new each time, by which the kubelet knows that its machine has been started again.
func hideSysctls(dir string) error {
	for _, path := range []string{"/proc/sys", "/proc/sys/net"} {
		if err := unix.Mount(path, path, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	if err := unix.Mount("", "/proc/sys", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	shown := map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
		"kernel/random/boot_id": newUUID(),
	}
	for name, value := range shown {
		file := filepath.Join(dir, name)
		if err := writeFile(file, []byte(value+"\n")); err != nil {
			return err
		}
		if err := unix.Mount(file, filepath.Join("/proc/sys", name), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
