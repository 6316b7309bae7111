package natscluster

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/sim/kubelet"
)

// A mark is a place in the kubelet's history.
type mark int

func (l *lab) mark() mark { return mark(len(l.kubelet.History())) }

// since is what has happened after the mark.
func (l *lab) since(m mark) []kubelet.Event { return l.kubelet.History()[m:] }

// stops are the servers whose processes were told to stop after the mark, in order.
func (l *lab) stops(m mark) []string {
	var order []string
	for _, event := range l.since(m) {
		if event.Kind == kubelet.Stopping {
			order = append(order, event.Server)
		}
	}
	return order
}

// oneAtATime fails where two of the servers were down together after the mark: from the moment that one is told to
// stop, or ends by itself, until it is ready again. Servers that had never been ready by then do not count.
func (l *lab) oneAtATime(m mark) {
	l.Helper()
	l.oneAtATimeOf(m)
}

// endings are what takes a server that was up down.
var endings = []kubelet.EventKind{kubelet.NotReady, kubelet.Halted, kubelet.Stopping, kubelet.Exited}

// oneAtATimeOf is oneAtATime for some servers; for all, if none is named.
func (l *lab) oneAtATimeOf(m mark, servers ...string) {
	l.Helper()
	for _, found := range l.downTogether(m, servers...) {
		l.Error(found)
	}
}

// downTogether says each time when two of the servers were down together after the mark.
func (l *lab) downTogether(m mark, servers ...string) []string {
	var found []string
	up := map[string]bool{}
	for i, event := range l.kubelet.History() {
		if len(servers) > 0 && !slices.Contains(servers, event.Server) {
			continue
		}
		if event.Kind == kubelet.Ready || event.Kind == kubelet.Resumed {
			up[event.Server] = true
		}
		if _, known := up[event.Server]; known && slices.Contains(endings, event.Kind) {
			up[event.Server] = false
		}
		var down []string
		for server, isUp := range up {
			if !isUp {
				down = append(down, server)
			}
		}
		if i >= int(m) && len(down) > 1 {
			slices.Sort(down)
			found = append(found, fmt.Sprintf("down together: %v, at %v", down, event))
		}
	}
	return found
}

// processes are the processes that run, by server.
func (l *lab) processes() map[string]int {
	running := map[string]int{}
	for _, event := range l.kubelet.History() {
		if event.Kind == kubelet.Started {
			running[event.Server] = event.PID
		}
		if event.Kind == kubelet.Exited {
			delete(running, event.Server)
		}
	}
	return running
}

// allNew fails unless exactly the servers of the first map run, each as a new process.
func (l *lab) allNew(before map[string]int) {
	l.Helper()
	after := l.processes()
	if !slices.Equal(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))) {
		l.Errorf("%v ran, now %v", before, after)
	}
	for server, pid := range before {
		if after[server] == pid {
			l.Errorf("%s runs as the same process", server)
		}
	}
}

// chosen are the servers of demo in the order in which the journal has named them, from the generation on. Each choice is
// checked: the highest ordinal among those that do not lead the meta group, the leader when nobody else is left.
// What is chosen from is what the same status lists.
func (l *lab) chosen(generation int64) []string {
	l.Helper()
	var order []string
	for _, version := range l.versions.of("demo") {
		rollout := version.Status.Rollout
		if rollout == nil || rollout.Current == "" || version.Status.ObservedGeneration < generation ||
			slices.Contains(order, rollout.Current) {
			continue
		}
		order = append(order, rollout.Current)
		leader := ""
		if version.Status.JetStream != nil {
			leader = version.Status.JetStream.MetaLeader
		}
		candidates := append(slices.Clone(rollout.Pending), rollout.Current)
		if best := slices.MaxFunc(candidates, later(leader)); best != rollout.Current {
			l.Errorf("%s was chosen from %v while %q led the meta group", rollout.Current, candidates, leader)
		}
	}
	return order
}

// later orders servers by their turn: a larger one comes sooner.
func later(leader string) func(a, b string) int {
	turn := func(server string) int {
		ordinal := 0
		if _, err := fmt.Sscanf(server[len(server)-1:], "%d", &ordinal); err != nil || server == leader {
			return -1
		}
		return ordinal
	}
	return func(a, b string) int { return turn(a) - turn(b) }
}

// firstTouch is the first status whose journal names the server.
func (l *lab) firstTouch(name, server string) *v1beta1.NatsCluster {
	for _, version := range l.versions.of(name) {
		if version.Status.Rollout != nil && version.Status.Rollout.Current == server {
			return version
		}
	}
	return nil
}
