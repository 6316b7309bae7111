//go:build linux

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/test/cluster/internal/cgroups"
	"github.com/holdfast-dev/holdfast/test/cluster/internal/layout"
)

// Down ends a cluster and leaves nothing of it, whatever state it is in and however it came into it. A
// cluster that is not there is no error.
func Down(ctx context.Context, name string) error {
	c, err := layout.New(name, 1)
	if err != nil {
		return err
	}
	if err := checkRoot(); err != nil {
		return err
	}
	unlock, err := lockFolder(c.Dir, false)
	if err != nil {
		return err
	}
	defer unlock()
	if err := clean(ctx, c); err != nil {
		return err
	}
	return removeFolder(c)
}

// clean removes what there is of a cluster, but for its folder, which is left empty. It goes by the cgroup's
// name, and by the record of the hub if it can be read: the one is enough where the other is missing.
func clean(ctx context.Context, c *layout.Cluster) error {
	if err := killAll(ctx, c); err != nil {
		return err
	}
	if err := cgroups.Remove(c.Cgroup()); err != nil {
		return fmt.Errorf("removing the cgroups of cluster %s: %w", c.Name, err)
	}
	var opened []string
	if content, err := os.ReadFile(c.Path(openedFile)); err == nil && json.Unmarshal(content, &opened) == nil {
		if err := cgroups.Close(opened); err != nil {
			return fmt.Errorf("turning cgroup controllers off again: %w", err)
		}
	}
	entries, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(c.Path(entry.Name())))
	}
	if err != nil {
		return fmt.Errorf("removing what cluster %s had on the disk: %w", c.Name, err)
	}
	return nil
}

func removeFolder(c *layout.Cluster) error {
	if err := os.Remove(c.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if os.Getenv(layout.StateVariable) != "" {
		return nil // the folder above is the user's
	}
	clusters := filepath.Dir(c.Dir)
	for _, dir := range []string{clusters, filepath.Dir(clusters)} {
		err := syscall.Rmdir(dir)
		if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.ENOENT) {
			return nil // another cluster is in it, or was and took it along
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openedFile lists the cgroup controllers that the cluster had to turn on.
const openedFile = "cgroup-controllers.json"

func killAll(ctx context.Context, c *layout.Cluster) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		left, err := killOnce(c)
		if err != nil || left == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes of cluster %s do not end, though they were killed: they may wait for a disk; try again", left, c.Name)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// killOnce kills what there is and tells how much that was. The hub's death takes all others along, but they
// are looked for too, should the hub have been killed by someone halfway.
func killOnce(c *layout.Cluster) (int, error) {
	left := 0
	if record, err := layout.Load(c.Dir); err == nil && sameProcess(record.HubPID, record.HubStart) {
		left++
		if err := kill(record.HubPID, record.HubStart); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return left, fmt.Errorf("ending the hub: %w", err)
		}
	}
	pids, err := cgroups.Processes(c.Cgroup())
	if err != nil {
		return left, err
	}
	for _, pid := range pids {
		start, err := startOf(pid)
		if err != nil {
			continue // ended
		}
		left++
		if err := kill(pid, start); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return left, fmt.Errorf("ending process %d: %w", pid, err)
		}
	}
	return left, nil
}

// lockFolder keeps other runs of the tool away from the cluster while one is at work. The lock ends with the
// process that holds it. A folder that is not there is made if make is set, and otherwise needs no lock.
func lockFolder(dir string, create bool) (func(), error) {
	for {
		if create {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return nil, fmt.Errorf("making the cluster's folder: %w; HOLDFAST_STATE names another place", err)
			}
		}
		f, err := os.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			if create {
				continue // removed meanwhile by another run
			}
			return func() {}, nil
		}
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			return nil, errors.Join(fmt.Errorf("another run of the tool is at work on the cluster in %s: wait for it or end it", dir), f.Close())
		}
		if sameFile(f, dir) {
			return func() { _ = f.Close() }, nil
		}
		_ = f.Close() // it was removed, and perhaps made anew, before the lock was had
	}
}

func sameFile(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}
