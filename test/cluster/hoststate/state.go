package hoststate

import (
	"fmt"
	"maps"
	"slices"
)

// State is what was found: per kind of thing, each thing by its name with a description. Kinds and names are
// made for people; a State is kept as JSON.
type State map[string]map[string]string

// The kinds whose comparison has rules of its own.
const (
	kindSysctl  = "sysctl"
	kindProcess = "process"
)

// Capture reads the state of the host. It reads the network and mount namespaces of the calling thread, and
// leaves out what comes and goes by itself, kernel threads, and the caller with its ancestors, siblings and
// children. Some of it can only be read by root: as another user it reports an error, not a part.
func Capture() (State, error) {
	state := State{}
	for kind, read := range map[string]func() (things, error){
		"link": links, "address": addresses, "route": routes, "rule": rules,
		kindSysctl: sysctls, "nftables": nftRules, "iptables": xtRules,
		"mount": mounts, "netns": namespaces, "cgroup": cgroups,
		kindProcess: processes, "file": files,
	} {
		found, err := read()
		if err != nil {
			return nil, fmt.Errorf("reading the host's state, %s: %w; run as root", kind, err)
		}
		state[kind] = found
	}
	return state, nil
}

// Diff lists the differences, one line each, by kind and name: "+" for what is new, "-" for what is gone, "~"
// for what changed. A process that ended is no difference, and a kernel setting is one only when its value
// changed: settings appear and vanish with links and modules.
func Diff(before, after State) []string {
	kinds := map[string]bool{}
	for kind := range before {
		kinds[kind] = true
	}
	for kind := range after {
		kinds[kind] = true
	}
	var lines []string
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		lines = append(lines, diffKind(kind, before[kind], after[kind])...)
	}
	return lines
}

func diffKind(kind string, before, after map[string]string) []string {
	names := things{}
	maps.Copy(names, before)
	maps.Copy(names, after)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := before[name]
		is, has := after[name]
		line := ""
		switch {
		case !had:
			line = fmt.Sprintf("+ %s %s %s", kind, name, is)
		case !has:
			line = fmt.Sprintf("- %s %s %s", kind, name, was)
		case was != is:
			line = fmt.Sprintf("~ %s %s: %s, was %s", kind, name, is, was)
		}
		if line != "" && counts(kind, line[0]) {
			lines = append(lines, line)
		}
	}
	return lines
}

// counts tells whether a thing of that kind that is new (+), gone (-) or changed (~) is a difference.
func counts(kind string, change byte) bool {
	switch kind {
	case kindProcess:
		return change == '+'
	case kindSysctl:
		return change == '~'
	default:
		return true
	}
}

// things are the findings of one kind.
type things map[string]string

// add keeps things of equal names apart: the second mount on a folder hides the first, but is one more.
func (t things) add(name, description string) {
	unique := name
	for n := 2; ; n++ {
		if _, taken := t[unique]; !taken {
			break
		}
		unique = fmt.Sprintf("%s (%d)", name, n)
	}
	t[unique] = description
}
