package hoststate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func links() (things, error) {
	list, err := netlink.LinkList()
	if err != nil {
		return nil, err
	}
	names := linkNames(list)
	found := things{}
	for _, link := range list {
		a := link.Attrs()
		// The index tells a link from one that was made anew under its name. Whether the peer is there is left
		// out: it changes with a cable.
		found.add(a.Name, fmt.Sprintf("%s index %d address %s mtu %d flags %s master %s",
			link.Type(), a.Index, a.HardwareAddr, a.MTU, a.Flags, names[a.MasterIndex]))
	}
	return found, nil
}

func linkNames(list []netlink.Link) map[int]string {
	names := map[int]string{0: "none"}
	for _, link := range list {
		names[link.Attrs().Index] = link.Attrs().Name
	}
	return names
}

func addresses() (things, error) {
	list, err := netlink.LinkList()
	if err != nil {
		return nil, err
	}
	found := things{}
	for _, link := range list {
		addrs, err := netlink.AddrList(link, netlink.FAMILY_ALL)
		if err != nil {
			return nil, err
		}
		for _, addr := range addrs {
			if addr.Flags&unix.IFA_F_TEMPORARY == 0 { // a privacy address is replaced every day
				found.add(fmt.Sprintf("%s on %s", addr.IPNet, link.Attrs().Name), fmt.Sprintf("scope %d peer %v", addr.Scope, addr.Peer))
			}
		}
	}
	return found, nil
}

func routes() (things, error) {
	list, err := netlink.LinkList()
	if err != nil {
		return nil, err
	}
	names := linkNames(list)
	found := things{}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		all, err := netlink.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
		if err != nil {
			return nil, err
		}
		for _, r := range all {
			if r.Protocol == unix.RTPROT_RA { // routers announce these, and withdraw them
				continue
			}
			found.add(fmt.Sprintf("%v on %s table %d metric %d", r.Dst, names[r.LinkIndex], r.Table, r.Priority),
				fmt.Sprintf("via %v %v source %v type %d scope %d protocol %d", r.Gw, r.MultiPath, r.Src, r.Type, r.Scope, r.Protocol))
		}
	}
	return found, nil
}

func rules() (things, error) {
	found := things{}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		list, err := netlink.RuleList(family)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			found.add(fmt.Sprintf("family %d %s", family, r), fmt.Sprintf("mark %d", r.Mark))
		}
	}
	return found, nil
}

// namespaces lists the names that `ip netns` keeps. Namespaces without a name live in their processes and
// mounts, which are kinds of their own.
func namespaces() (things, error) {
	found := things{}
	for _, dir := range []string{"/run/netns", "/var/run/netns"} {
		target, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, fs.ErrNotExist) || (err == nil && target != dir) {
			continue // most often the second is the first under another name
		}
		if err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			found.add(filepath.Join(dir, entry.Name()), "")
		}
	}
	return found, nil
}

// unsettled are settings that are no settings: counters, random figures, and figures that the kernel tunes by
// itself. A folder ends with a slash. Keys of the host are left out too: a State is a file that people pass on.
var unsettled = []string{
	"/proc/sys/fs/aio-nr", "/proc/sys/fs/binfmt_misc/", "/proc/sys/fs/dentry-state", "/proc/sys/fs/file-nr",
	"/proc/sys/fs/inode-nr", "/proc/sys/fs/inode-state", "/proc/sys/fs/quota/",
	"/proc/sys/kernel/ns_last_pid", "/proc/sys/kernel/perf_event_max_sample_rate", "/proc/sys/kernel/pty/nr",
	"/proc/sys/kernel/random/", "/proc/sys/kernel/tainted",
	"/proc/sys/net/core/netdev_rss_key", "/proc/sys/net/ipv4/tcp_fastopen_key", "/proc/sys/net/netfilter/nf_conntrack_count",
	"/proc/sys/vm/stat_refresh",
}

// sysctls reads all of the kernel's settings, not the network's alone: a kubelet changes some of the others,
// which no namespace keeps apart.
func sysctls() (things, error) {
	found := things{}
	err := filepath.WalkDir("/proc/sys", func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone with its link
		}
		if err != nil {
			return err
		}
		if e.IsDir() {
			path += "/"
		}
		for _, skip := range unsettled {
			if path == skip && e.IsDir() {
				return fs.SkipDir
			} else if path == skip {
				return nil
			}
		}
		if e.IsDir() {
			return nil
		}
		// Some settings can only be written, some have no value yet: neither is an error here.
		if value, err := os.ReadFile(path); err == nil {
			name := strings.ReplaceAll(strings.TrimPrefix(path, "/proc/sys/"), "/", ".")
			found.add(name, strings.Join(strings.Fields(string(value)), " "))
		}
		return nil
	})
	return found, err
}
