//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/test/cluster/internal/cgroups"
	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

func checkRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("a cluster needs root, for namespaces, mounts and cgroups: run this as root")
	}
	return nil
}

// check says in one sentence what this machine lacks.
func check(ctx context.Context, stateDir string, nodes int, progress io.Writer) error {
	if err := checkRoot(); err != nil {
		return err
	}
	if err := toolbox.EnsureNeeds(ctx, progress,
		toolbox.Need{Command: "nft", Package: "nftables"},
		toolbox.Need{Command: "mount", Package: "mount"},
		toolbox.Need{Command: "conntrack", Package: "conntrack"},
		toolbox.Need{Command: "nsenter", Package: "util-linux"},
		toolbox.Need{Command: "ip", Package: "iproute2"},
	); err != nil {
		return err
	}
	hierarchies, err := cgroups.Hierarchies()
	if err != nil {
		return err
	}
	if missing := cgroups.Missing(hierarchies); len(missing) > 0 {
		return fmt.Errorf("this machine's cgroups lack %s: mount cgroup v2, or these v1 controllers, below /sys/fs/cgroup", strings.Join(missing, ", "))
	}
	for _, namespace := range []string{"net", "mnt", "pid", "uts", "ipc"} {
		if _, err := os.Stat("/proc/self/ns/" + namespace); err != nil {
			return fmt.Errorf("this kernel has no %s namespaces: a kernel that runs containers is needed", namespace)
		}
	}
	if err := checkWatches(nodes); err != nil {
		return err
	}
	return checkDisk(stateDir)
}

// checkWatches looks whether enough inotify instances are left, which the kernel counts per user, all
// clusters together. Without one, containerd comes up half and its kubelet never.
func checkWatches(nodes int) error {
	const setting, hub, perNode, spare = "/proc/sys/fs/inotify/max_user_instances", 8, 8, 8
	content, err := os.ReadFile(setting)
	if err != nil {
		return err
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return err
	}
	descriptors, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return err
	}
	used := 0
	for _, descriptor := range descriptors {
		if target, err := os.Readlink(descriptor); err == nil && target == "anon_inode:inotify" {
			used++
		}
	}
	if need := hub + perNode*nodes + spare; used+need > limit {
		return fmt.Errorf("this machine lets root watch files with %d inotify instances, of which %d are in use, and this cluster needs %d: take another cluster down, or run sysctl fs.inotify.max_user_instances=%d",
			limit, used, need, used+need+limit)
	}
	return nil
}

func checkDisk(dir string) error {
	var fs syscall.Statfs_t
	err := syscall.Statfs(dir, &fs)
	for errors.Is(err, syscall.ENOENT) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir) // not made yet
		err = syscall.Statfs(dir, &fs)
	}
	if err != nil {
		return fmt.Errorf("looking at the disk below %s: %w", dir, err)
	}
	if fs.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return fmt.Errorf("%s lies on an overlay file system, as in a container, on which no container can be made: set HOLDFAST_STATE to a folder on a disk", dir)
	}
	return nil
}
