package hoststate

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

func TestDiff(t *testing.T) {
	cases := map[string]struct {
		before, after State
		want          []string
	}{
		"equal":            {before: State{"link": {"a": "1"}}, after: State{"link": {"a": "1"}}},
		"new":              {before: State{"link": {}}, after: State{"link": {"a": "1"}}, want: []string{"+ link a 1"}},
		"gone":             {before: State{"link": {"a": "1"}}, after: State{"link": {}}, want: []string{"- link a 1"}},
		"changed":          {before: State{"link": {"a": "1"}}, after: State{"link": {"a": "2"}}, want: []string{"~ link a: 2, was 1"}},
		"a kind is new":    {before: State{}, after: State{"link": {"a": "1"}}, want: []string{"+ link a 1"}},
		"a kind is gone":   {before: State{"link": {"a": "1"}}, after: State{}, want: []string{"- link a 1"}},
		"new process":      {before: State{}, after: State{"process": {"7": "x"}}, want: []string{"+ process 7 x"}},
		"ended process":    {before: State{"process": {"7": "x"}}, after: State{}},
		"renamed process":  {before: State{"process": {"7": "x"}}, after: State{"process": {"7": "y"}}},
		"new setting":      {before: State{}, after: State{"sysctl": {"a": "1"}}},
		"gone setting":     {before: State{"sysctl": {"a": "1"}}, after: State{}},
		"changed setting":  {before: State{"sysctl": {"a": "1"}}, after: State{"sysctl": {"a": "0"}}, want: []string{"~ sysctl a: 0, was 1"}},
		"sorted, all kept": {before: State{"b": {"1": ""}}, after: State{"a": {"2": "", "1": ""}}, want: []string{"+ a 1 ", "+ a 2 ", "- b 1 "}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Diff(c.before, c.after)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestThingsOfEqualNamesAreCounted(t *testing.T) {
	got := things{}
	got.add("/mnt", "a")
	got.add("/mnt", "b")
	got.add("/mnt", "c")
	if diff := cmp.Diff(things{"/mnt": "a", "/mnt (2)": "b", "/mnt (3)": "c"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseStat(t *testing.T) {
	got, err := parseStat("42 (a) (b c)) S 7 42 42 0 -1 2097152 0 0 0 0 0 0 0 0 20 0 1 0 98765 0 0")
	want := process{pid: 42, parent: 7, comm: "a) (b c)", state: "S", start: "98765", isKernel: true}
	if err != nil || got != want {
		t.Errorf("parseStat = %+v, %v; want %+v", got, err, want)
	}
	if _, err := parseStat("42 (short) S 7"); err == nil {
		t.Error("half a line was taken")
	}
}

func TestOwnTree(t *testing.T) {
	all := map[int]process{}
	for pid, parent := range map[int]int{1: 0, 10: 1, 20: 10, 30: 20, 40: 30, 21: 10, 50: 1, 60: 61, 61: 60} {
		all[pid] = process{pid: pid, parent: parent}
	}
	cases := map[string]struct {
		self int
		want map[int]bool
	}{
		"with a sibling":               {self: 20, want: map[int]bool{1: true, 10: true, 20: true, 21: true, 30: true, 40: true}},
		"beside what the first adopts": {self: 50, want: map[int]bool{1: true, 50: true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ownTree(all, c.self)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestManagedCgroups(t *testing.T) {
	cases := map[string]struct {
		own  []string
		want []string
	}{
		"at the top":        {own: []string{"/"}},
		"one below":         {own: []string{"/runner"}},
		"a session of many": {own: []string{"/user.slice/session-3.scope", "/"}, want: []string{"/sys/fs/cgroup/user.slice"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, managed("/sys/fs/cgroup", c.own)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Each kind of leftover is made for real, must be found, and must be gone from the comparison once it is
// removed. The thread that does it has network and mount namespaces of its own, with an empty /run.
func TestCaptureFindsEachKind(t *testing.T) {
	isolate(t)
	at := fmt.Sprintf("hs%d", os.Getpid())
	cases := []struct {
		name string
		make func() (undo func() error, err error)
		want []string
	}{
		{"veth", func() (func() error, error) { return makeVeth(at) }, []string{"+ link " + at + "a veth", "+ link " + at + "b veth"}},
		{"link setting", func() (func() error, error) { return withVeth(at, shrink) }, []string{" mtu 1234 "}},
		{"address and route", func() (func() error, error) { return withVeth(at, address) }, []string{
			"+ address 198.51.100.7/24 on " + at + "a", "+ route 203.0.113.0/24 on " + at + "a table 77",
		}},
		{"rule", makeRule, []string{"+ rule family 2 ip rule 4321"}},
		{"sysctl", makeForwarding, []string{"~ sysctl net.ipv4.ip_forward: 1, was 0"}},
		{"nftables", func() (func() error, error) { return makeTable(at) }, []string{
			"+ nftables table inet " + at, "+ nftables chain inet " + at + " forward type \"filter\"", "+ nftables rule of chain inet " + at + " forward handle",
			"+ nftables set inet " + at + " ports", "+ nftables element 1234 of set inet " + at + " ports",
		}},
		{"mount", func() (func() error, error) { return makeMount(t.TempDir()) }, []string{"+ mount /tmp", "tmpfs / of " + mountSource}},
		{"netns", func() (func() error, error) { return makeNamespace(at) }, []string{"+ netns /run/netns/" + at, "+ mount /run/netns/" + at + " nsfs"}},
		{"cgroup", func() (func() error, error) { return makeCgroups(at) }, []string{"/" + at + " "}},
		{"file", func() (func() error, error) { return makeFile("/run/" + at) }, []string{"+ file /run/" + at}},
	}
	for _, c := range cases {
		before := capture(t)
		undo, err := c.make()
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		found := quiet(Diff(before, capture(t)))
		if err := undo(); err != nil {
			t.Fatalf("undoing %s: %v", c.name, err)
		}
		for _, want := range c.want {
			if !slices.ContainsFunc(found, func(line string) bool { return strings.Contains(line, want) }) {
				t.Errorf("%s: no %q among\n%s", c.name, want, strings.Join(found, "\n"))
			}
		}
		if left := quiet(Diff(before, capture(t))); len(left) > 0 {
			t.Errorf("%s: still there after it was undone:\n%s", c.name, strings.Join(left, "\n"))
		}
	}
}

func TestCaptureFindsAProcessThatLostItsParent(t *testing.T) {
	before := capture(t)
	// The shell ends at once, so that the process is no child of the test any more.
	out, err := exec.Command("sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	found := Diff(before, capture(t))
	has := func(lines []string, pid int) bool {
		return slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, fmt.Sprintf("+ process %d started", pid)) })
	}
	if !has(found, pid) {
		t.Errorf("process %d is not among\n%s", pid, strings.Join(found, "\n"))
	}
	if has(found, child.Process.Pid) || has(found, os.Getpid()) || has(found, os.Getppid()) {
		t.Errorf("the test's own processes are among\n%s", strings.Join(found, "\n"))
	}
}

// isolate gives the test's thread namespaces of its own. The thread ends with the test's goroutine, since
// nothing unlocks it, and its namespaces with it.
func isolate(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if err == nil {
		err = unix.Mount("tmpfs", "/run", "tmpfs", 0, "")
	}
	if err != nil {
		t.Fatalf("making namespaces, run this test as root: %v", err)
	}
}

func capture(t *testing.T) State {
	t.Helper()
	state, err := Capture()
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// quiet leaves out what others on this machine may do meanwhile.
func quiet(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool {
		foreignCgroup := strings.Contains(line, " cgroup ") && !strings.Contains(line, fmt.Sprintf("hs%d", os.Getpid()))
		return foreignCgroup || strings.HasPrefix(line, "+ process") || strings.HasPrefix(line, "~ sysctl") && !strings.Contains(line, " net.")
	})
}

func makeVeth(name string) (func() error, error) {
	pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name + "a"}, PeerName: name + "b"}
	return func() error { return netlink.LinkDel(pair) }, netlink.LinkAdd(pair)
}

func withVeth(name string, do func(netlink.Link) error) (func() error, error) {
	undo, err := makeVeth(name)
	if err != nil {
		return undo, err
	}
	link, err := netlink.LinkByName(name + "a")
	if err == nil {
		err = do(link)
	}
	return undo, err
}

func shrink(link netlink.Link) error { return netlink.LinkSetMTU(link, 1234) }

func address(link netlink.Link) error {
	addr, err := netlink.ParseAddr("198.51.100.7/24")
	if err != nil {
		return err
	}
	_, dst, err := net.ParseCIDR("203.0.113.0/24")
	return errors.Join(err, netlink.AddrAdd(link, addr), netlink.LinkSetUp(link),
		netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: dst, Table: 77}))
}

func makeRule() (func() error, error) {
	rule := netlink.NewRule()
	rule.Table, rule.Priority, rule.Mark = 77, 4321, 5
	return func() error { return netlink.RuleDel(rule) }, netlink.RuleAdd(rule)
}

func makeForwarding() (func() error, error) {
	const file = "/proc/sys/net/ipv4/ip_forward"
	set := func(value string) error { return os.WriteFile(file, []byte(value), 0o644) }
	return func() error { return set("0") }, set("1")
}

func makeTable(name string) (func() error, error) {
	conn, err := nftables.New()
	if err != nil {
		return nil, err
	}
	table := conn.AddTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: name})
	chain := conn.AddChain(&nftables.Chain{
		Name: "forward", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter,
	})
	conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
		&expr.Counter{}, &expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, &expr.Verdict{Kind: expr.VerdictDrop},
	}})
	err = conn.AddSet(&nftables.Set{Table: table, Name: "ports", KeyType: nftables.TypeInetService}, []nftables.SetElement{{Key: []byte{0x12, 0x34}}})
	undo := func() error {
		conn.DelTable(table)
		return conn.Flush()
	}
	return undo, errors.Join(err, conn.Flush())
}

const mountSource = "hoststate-test"

func makeMount(dir string) (func() error, error) {
	return func() error { return unix.Unmount(dir, 0) }, unix.Mount(mountSource, dir, "tmpfs", 0, "")
}

func makeNamespace(name string) (func() error, error) {
	home, err := netns.Get()
	if err != nil {
		return nil, err
	}
	defer home.Close()
	made, err := netns.NewNamed(name) // and enters it
	if err != nil {
		return nil, err
	}
	undo := func() error { return errors.Join(netns.DeleteNamed(name), os.Remove("/run/netns")) }
	return undo, errors.Join(netns.Set(home), made.Close())
}

func makeCgroups(name string) (func() error, error) {
	list, err := readMounts()
	if err != nil {
		return nil, err
	}
	var made []string
	for _, m := range list {
		if m.fstype == "cgroup" || m.fstype == "cgroup2" {
			dir := filepath.Join(m.point, name)
			err = errors.Join(err, os.Mkdir(dir, 0o755))
			made = append(made, dir)
		}
	}
	undo := func() error {
		var err error
		for _, dir := range made {
			err = errors.Join(err, os.Remove(dir))
		}
		return err
	}
	return undo, err
}

func makeFile(path string) (func() error, error) {
	return func() error { return os.Remove(path) }, os.WriteFile(path, nil, 0o600)
}
