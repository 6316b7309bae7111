//go:build linux

// Package cgroups makes, reads and removes the control groups of a cluster, with cgroup v1 (one hierarchy
// per controller), with cgroup v2, and with both mounted. A cluster's processes are all in its cgroup from
// before they do anything, so a cgroup's name is enough to find what a killed run left.
package cgroups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Hierarchy is one mounted tree of cgroups.
type Hierarchy struct {
	// Root is where it is mounted.
	Root string
	// V2 says that it is of the unified kind.
	V2 bool
	// Controllers are the v1 hierarchy's mount options or the v2 root's controllers.
	Controllers []string
}

// Needed are the controllers without which a kubelet does not run its pods.
var Needed = []string{"cpu", "cpuset", "memory", "pids"}

// delegated are the v2 controllers that nodes get where the kernel has them: the kubelet refuses a cgroup
// without hugetlb on a machine that has hugetlb.
var delegated = append([]string{"hugetlb", "io"}, Needed...)

// Hierarchies reads which trees are mounted.
func Hierarchies() ([]Hierarchy, error) {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parse(string(content), func(root string) []string {
		controllers, _ := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
		return strings.Fields(string(controllers))
	}), nil
}

func parse(mountinfo string, unified func(root string) []string) []Hierarchy {
	var out []Hierarchy
	var seen []string
	for line := range strings.Lines(mountinfo) {
		front, back, _ := strings.Cut(line, " - ")
		mount, source := strings.Fields(front), strings.Fields(back)
		if len(mount) < 5 || len(source) < 3 || slices.Contains(seen, mount[2]) {
			continue
		}
		h := Hierarchy{Root: mount[4], V2: source[0] == "cgroup2"}
		switch source[0] {
		case "cgroup":
			h.Controllers = strings.Split(source[2], ",")
		case "cgroup2":
			h.Controllers = unified(h.Root)
		default:
			continue
		}
		seen = append(seen, mount[2])
		out = append(out, h)
	}
	return out
}

// Missing names the needed controllers that no hierarchy has.
func Missing(hierarchies []Hierarchy) []string {
	var missing []string
	for _, controller := range Needed {
		if !slices.ContainsFunc(hierarchies, func(h Hierarchy) bool { return slices.Contains(h.Controllers, controller) }) {
			missing = append(missing, controller)
		}
	}
	return missing
}

// Make makes the cgroup at path (as "a/b") in every hierarchy and, with v2, lets its children have every
// controller. It returns the controllers that it had to turn on at v2's root.
func Make(path string) ([]string, error) {
	hierarchies, err := Hierarchies()
	if err != nil {
		return nil, err
	}
	var opened []string
	for _, h := range hierarchies {
		if h.V2 {
			on, err := delegate(h, "")
			if err != nil {
				return nil, fmt.Errorf("cgroup v2 at %s does not hand out its controllers: %w; run outside any container", h.Root, err)
			}
			opened = append(opened, on...)
		}
		done := ""
		for part := range strings.SplitSeq(path, "/") {
			done = filepath.Join(done, part)
			if err := h.makeOne(done); err != nil {
				return nil, err
			}
		}
	}
	return opened, nil
}

func (h Hierarchy) makeOne(path string) error {
	dir := filepath.Join(h.Root, path)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if h.V2 {
		_, err := delegate(h, path)
		return err
	}
	// A v1 cpuset is born empty, and takes no process until it has CPUs and memory nodes.
	if slices.Contains(h.Controllers, "cpuset") {
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			content, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, file), content, 0o644)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// delegate turns on, for the children of the cgroup at path, every controller that it has, and returns those
// that were off.
func delegate(h Hierarchy, path string) ([]string, error) {
	dir := filepath.Join(h.Root, path)
	has, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	on, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return nil, err
	}
	var off []string
	for controller := range strings.FieldsSeq(string(has)) {
		if slices.Contains(strings.Fields(string(on)), controller) || !slices.Contains(delegated, controller) {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0o644); err != nil {
			return off, err
		}
		off = append(off, controller)
	}
	return off, nil
}

// Close turns off at v2's root the controllers that Make turned on there. While another cluster uses one,
// the kernel keeps it on; that is no error.
func Close(controllers []string) error {
	hierarchies, err := Hierarchies()
	if err != nil {
		return err
	}
	for _, h := range hierarchies {
		if !h.V2 {
			continue
		}
		for _, controller := range controllers {
			err := os.WriteFile(filepath.Join(h.Root, "cgroup.subtree_control"), []byte("-"+controller), 0o644)
			if err != nil && !errors.Is(err, syscall.EBUSY) {
				return err
			}
		}
	}
	return nil
}

// Enter puts a process into the cgroup's leaf "init", in every hierarchy: with v2 a cgroup with children must
// hold no process itself. Process 0 is the caller.
func Enter(path string, pid int) error {
	hierarchies, err := Hierarchies()
	if err != nil {
		return err
	}
	for _, h := range hierarchies {
		if err := h.makeLeaf(path); err != nil {
			return err
		}
		file := filepath.Join(h.Root, path, leaf, "cgroup.procs")
		if err := os.WriteFile(file, []byte(strconv.Itoa(pid)), 0o644); err != nil {
			return fmt.Errorf("joining %s: %w", file, err)
		}
	}
	return nil
}

const leaf = "init"

func (h Hierarchy) makeLeaf(path string) error {
	if !h.V2 {
		return h.makeOne(filepath.Join(path, leaf))
	}
	err := os.Mkdir(filepath.Join(h.Root, path, leaf), 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Processes lists the processes of the cgroup and of all below it, whatever hierarchy they are seen in.
func Processes(path string) ([]int, error) {
	found := map[int]bool{}
	err := walk(path, func(dir string) {
		content, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // gone meanwhile: nothing in it
		for field := range strings.FieldsSeq(string(content)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
				found[pid] = true
			}
		}
	})
	var pids []int
	for pid := range found {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids, err
}

// Remove removes the cgroup and all below it. It waits a moment for the kernel to let go of processes that
// have just ended.
func Remove(path string) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	end := time.After(10 * time.Second)
	for {
		err := removeOnce(path)
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-end:
			return err
		}
	}
}

func removeOnce(path string) error {
	var dirs []string
	failed := walk(path, func(dir string) { dirs = append(dirs, dir) })
	for _, dir := range slices.Backward(dirs) {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
		}
	}
	return failed
}

// walk calls f for the cgroup and each below it, parents first, in every hierarchy.
func walk(path string, f func(dir string)) error {
	hierarchies, err := Hierarchies()
	if err != nil {
		return err
	}
	for _, h := range hierarchies {
		err := filepath.WalkDir(filepath.Join(h.Root, path), func(dir string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && e.IsDir() {
				f(dir)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
