//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
func check(ctx context.Context, stateDir string, progress io.Writer) error {
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
	return checkDisk(stateDir)
}

func checkDisk(dir string) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return err
	}
	if fs.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return fmt.Errorf("%s lies on an overlay file system, as in a container, on which no container can be made: set HOLDFAST_STATE to a folder on a disk", dir)
	}
	return nil
}
