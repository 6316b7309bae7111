//go:build linux

package cgroups

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	v1 = `24 17 0:20 / /sys/fs/cgroup rw - tmpfs none rw,mode=755
25 24 0:21 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup none rw,cpu,cpuacct
26 24 0:22 / /sys/fs/cgroup/cpuset rw - cgroup none rw,cpuset
27 24 0:23 / /sys/fs/cgroup/memory rw - cgroup none rw,memory
`
	pids    = "28 24 0:24 / /sys/fs/cgroup/pids rw - cgroup none rw,pids\n"
	again   = "40 1 0:24 / /mnt/pids rw - cgroup none rw,pids\n"
	unified = "29 24 0:25 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n"
)

func TestHierarchies(t *testing.T) {
	cases := map[string]struct {
		mountinfo string
		unified   []string
		roots     []string
		missing   []string
	}{
		"v1":                            {v1 + pids, nil, []string{"cpu,cpuacct", "cpuset", "memory", "pids"}, nil},
		"v1 without a controller":       {v1, nil, []string{"cpu,cpuacct", "cpuset", "memory"}, []string{"pids"}},
		"v1 mounted twice":              {v1 + pids + again, nil, []string{"cpu,cpuacct", "cpuset", "memory", "pids"}, nil},
		"v2":                            {unified, Needed, []string{"unified"}, nil},
		"v1 and an empty v2":            {v1 + unified, nil, []string{"cpu,cpuacct", "cpuset", "memory", "unified"}, []string{"pids"}},
		"v1 and a v2 that has the rest": {v1 + unified, []string{"pids"}, []string{"cpu,cpuacct", "cpuset", "memory", "unified"}, nil},
		"none":                          {"", nil, nil, Needed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found := parse(c.mountinfo, func(string) []string { return c.unified })
			var roots []string
			for _, h := range found {
				roots = append(roots, h.Root[len("/sys/fs/cgroup/"):])
			}
			if diff := cmp.Diff(c.roots, roots); diff != "" {
				t.Errorf("hierarchies (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.missing, Missing(found)); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLife makes a cgroup on this machine, with whatever is mounted here, puts a process in and removes it.
func TestLife(t *testing.T) {
	top := fmt.Sprintf("holdfast-test.%d", os.Getpid())
	opened, err := Make(top + "/a")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(Remove(top), Close(opened)); err != nil {
			t.Error(err)
		}
	})
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(kill)
	if err := Enter(top+"/a", cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if found, err := Processes(top); err != nil || !slices.Equal(found, []int{cmd.Process.Pid}) {
		t.Errorf("processes %v (%v): want %d, once", found, err, cmd.Process.Pid)
	}
	if err := removeOnce(top); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("removing it with a process in it: %v", err)
	}
	kill()
	if err := Remove(top); err != nil {
		t.Error(err)
	}
	if found, err := Processes(top); err != nil || len(found) > 0 {
		t.Errorf("processes %v (%v) after the end", found, err)
	}
	if err := walk(top, func(dir string) { t.Errorf("%s is still there", dir) }); err != nil {
		t.Error(err)
	}
}
