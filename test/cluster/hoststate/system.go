package hoststate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A mount is one line of mountinfo.
type mount struct {
	root, point, options, propagation, fstype, source, super string
}

func readMounts() ([]mount, error) {
	content, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return nil, err
	}
	var list []mount
	for line := range strings.SplitSeq(strings.TrimSpace(string(content)), "\n") {
		left, right, found := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !found || len(l) < 6 || len(r) < 3 {
			return nil, fmt.Errorf("cannot read this line of mountinfo: %q", line)
		}
		m := mount{root: l[3], point: l[4], options: l[5], fstype: r[0], source: r[1], super: r[2]}
		for _, field := range l[6:] {
			kind, _, _ := strings.Cut(field, ":") // the group's number is any free one
			m.propagation += " " + kind
		}
		list = append(list, m)
	}
	return list, nil
}

func mounts() (things, error) {
	list, err := readMounts()
	if err != nil {
		return nil, err
	}
	found := things{}
	for _, m := range list {
		found.add(m.point, fmt.Sprintf("%s %s of %s (%s; %s)%s", m.fstype, m.root, m.source, m.options, m.super, m.propagation))
	}
	return found, nil
}

// cgroups lists the folders of every mounted hierarchy. Those beside the caller's own group, unless that is
// at the top, belong to what started the caller, such as a session manager that makes one for each command.
func cgroups() (things, error) {
	list, err := readMounts()
	if err != nil {
		return nil, err
	}
	own, err := ownCgroups()
	if err != nil {
		return nil, err
	}
	found := things{}
	for _, m := range list {
		if m.fstype != "cgroup" && m.fstype != "cgroup2" {
			continue
		}
		skip := managed(m.point, own)
		err := filepath.WalkDir(m.point, func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !e.IsDir() || path == m.point {
				return err
			}
			if slices.Contains(skip, path) {
				return fs.SkipDir
			}
			found.add(path, "")
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// managed are the folders of a hierarchy whose content belongs to what started the caller.
func managed(point string, own []string) []string {
	var folders []string
	for _, group := range own {
		if above := filepath.Dir(group); above != "/" {
			folders = append(folders, filepath.Join(point, above))
		}
	}
	return folders
}

func ownCgroups() ([]string, error) {
	content, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	var groups []string
	for line := range strings.FieldsSeq(string(content)) {
		if parts := strings.SplitN(line, ":", 3); len(parts) == 3 && !slices.Contains(groups, parts[2]) {
			groups = append(groups, parts[2])
		}
	}
	return groups, nil
}

// A process is one line of /proc/<pid>/stat.
type process struct {
	pid, parent        int
	comm, state, start string
	isKernel           bool
}

// kernelThread is the kernel's flag PF_KTHREAD.
const kernelThread = 0x00200000

func parseStat(line string) (process, error) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return process{}, fmt.Errorf("cannot read this line of a process: %q", line)
	}
	// The name stands in brackets because it may hold spaces and brackets itself.
	rest := strings.Fields(line[end+1:])
	if len(rest) < 20 {
		return process{}, fmt.Errorf("cannot read this line of a process: %q", line)
	}
	pid, err1 := strconv.Atoi(strings.TrimSpace(line[:open]))
	parent, err2 := strconv.Atoi(rest[1])
	flags, err3 := strconv.ParseUint(rest[6], 10, 64)
	return process{
		pid: pid, parent: parent, comm: line[open+1 : end], state: rest[0], start: rest[19], isKernel: flags&kernelThread != 0,
	}, errors.Join(err1, err2, err3)
}

// processes lists those that run. One is known by its number and start time; its name can change. One that
// has ended and waits for its parent runs no more.
func processes() (things, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	all := map[int]process{}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil {
			continue // it ended while we were looking
		}
		p, err := parseStat(string(line))
		if err != nil {
			return nil, err
		}
		all[p.pid] = p
	}
	ours := ownTree(all, os.Getpid())
	found := things{}
	for pid, p := range all {
		if !p.isKernel && p.state != "Z" && p.state != "X" && !ours[pid] {
			found.add(fmt.Sprintf("%d started %s", pid, p.start), fmt.Sprintf("%s, child of %d", p.comm, p.parent))
		}
	}
	return found, nil
}

// ownTree is the process, its ancestors and its descendants, and its siblings: the other commands of a pipe.
// What a program leaves behind is no sibling; the first process adopts it.
func ownTree(all map[int]process, self int) map[int]bool {
	tree := map[int]bool{}
	for pid := self; pid != 0 && !tree[pid]; pid = all[pid].parent {
		tree[pid] = true
	}
	for pid, p := range all {
		if p.parent == all[self].parent && p.parent > 1 {
			tree[pid] = true
		}
		for up, steps := pid, 0; up != 0 && steps <= len(all); up, steps = all[up].parent, steps+1 {
			if up == self {
				tree[pid] = true
				break
			}
		}
	}
	return tree
}

// places are where container software keeps its files, each with the number of levels below it to list.
var places = map[string]int{
	"/run": 1, "/var/lib/holdfast": 2, "/var/lib/kubelet": 1, "/var/lib/cni": 1, "/var/lib/containerd": 1, "/var/lib/etcd": 1,
	"/var/lib/holdfast-volumes": 1, "/var/log/pods": 1, "/var/log/containers": 1,
	"/etc/cni": 2, "/etc/kubernetes": 1, "/opt/cni": 2, "/usr/libexec/kubernetes": 2,
}

func files() (things, error) {
	found := things{}
	for place, depth := range places {
		err := filepath.WalkDir(place, func(path string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			found.add(path, e.Type().String())
			if e.IsDir() && strings.Count(strings.TrimPrefix(path, place), "/") >= depth {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
