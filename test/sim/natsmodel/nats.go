package natsmodel

import (
	"fmt"
	"slices"
)

// group is one Raft group. The meta group has no name.
type group struct {
	name    string
	members []string
	since   int64 // when it was made
	leader  string
	current map[string]bool
}

// led says that the group has a leader that more than half of its members follow.
func (w *World) led(g *group) bool {
	if !w.alive(g.leader) || !slices.Contains(g.members, g.leader) {
		return false
	}
	return 2*w.members(g) > len(g.members)
}

// members is how many of a group's members are alive.
func (w *World) members(g *group) int {
	count := 0
	for _, member := range g.members {
		if w.alive(member) {
			count++
		}
	}
	return count
}

// meta is the meta group; nil before it is founded.
func (w *World) meta() *group {
	for _, g := range w.groups {
		if g.name == "" {
			return g
		}
	}
	return nil
}

// lose has the server's copies fall behind.
func (w *World) lose(server string) {
	for _, g := range w.groups {
		g.current[server] = false
	}
	w.handOver(server)
}

// handOver has the server lead nothing any more. A group of one has nobody else.
func (w *World) handOver(server string) {
	for _, g := range w.groups {
		if g.leader == server && len(g.members) > 1 {
			g.leader = ""
		}
	}
}

// natsTransitions are what the servers may do next.
func (w *World) natsTransitions() []Transition {
	found := w.serverTransitions()
	if w.Cluster().Spec.JetStream == nil {
		return found
	}
	for _, g := range w.groups {
		found = append(found, w.groupTransitions(g)...)
	}
	if meta := w.meta(); meta != nil && !w.placed && w.led(meta) && w.members(meta) == len(meta.members) {
		found = append(found, Transition{"the streams are made", w.place})
	}
	return found
}

func (w *World) serverTransitions() []Transition {
	var found []Transition
	add := func(name string, do func()) { found = append(found, Transition{name, do}) }
	for _, p := range w.sorted() {
		if p.process == nil || p.process.frozen {
			continue
		}
		switch process := p.process; process.phase {
		case begun:
			add(p.server+" finds the others", func() { process.phase = recovering })
		case recovering:
			add(p.server+" has read its disk", func() { w.found(p); process.phase = up; w.everUp[p.server] = true })
		case up:
			meta := w.meta()
			if meta != nil && process.routes > 0 && !slices.Contains(meta.members, p.server) && w.led(meta) {
				add(p.server+" joins the meta group", func() { meta.members = append(meta.members, p.server) })
			}
		}
	}
	return found
}

// found founds the meta group, as large as the first server has routes.
func (w *World) found(p *pod) {
	if w.meta() != nil || p.process.routes == 0 || w.Cluster().Spec.JetStream == nil {
		return
	}
	g := &group{current: map[string]bool{}}
	for i := range p.process.routes {
		g.members = append(g.members, fmt.Sprintf("%s-%d", Name, i))
	}
	w.groups = append(w.groups, g)
}

// place makes a few streams: one copy on each server, and one that three servers have.
func (w *World) place() {
	w.placed = true
	members := slices.Clone(w.meta().members)
	for _, member := range members {
		w.groups = append(w.groups, &group{name: "ONE-" + member, members: []string{member}, since: w.Tick, leader: member, current: map[string]bool{member: true}})
	}
	for i := 0; i+3 <= len(members); i += 2 {
		w.groups = append(w.groups, &group{name: fmt.Sprintf("THREE-%d", i), members: members[i : i+3], since: w.Tick, current: map[string]bool{}})
	}
}

// streams are the groups of streams.
func (w *World) streams() []*group {
	return slices.DeleteFunc(slices.Clone(w.groups), func(g *group) bool { return g.name == "" })
}

func (w *World) groupTransitions(g *group) []Transition {
	var found []Transition
	if !w.led(g) {
		return w.elections(g)
	}
	for _, member := range g.members {
		if w.alive(member) && !g.current[member] && w.node(member) != nil {
			found = append(found, Transition{fmt.Sprintf("%s is current in %q", member, g.name), func() { g.current[member] = true }})
		}
	}
	return found
}

// elections are who may lead the group next: one that is current, where there is one.
func (w *World) elections(g *group) []Transition {
	if 2*w.members(g) <= len(g.members) {
		return nil
	}
	var fit, all []Transition
	for _, member := range g.members {
		p := w.running(member)
		if !w.alive(member) || p.process.lameDuck {
			continue
		}
		elect := Transition{fmt.Sprintf("%s is elected in %q", member, g.name), func() { g.leader = member; g.current[member] = true }}
		all = append(all, elect)
		if g.current[member] {
			fit = append(fit, elect)
		}
	}
	if len(fit) > 0 {
		return fit
	}
	return all
}

// caughtUp is what the startup probe asks: is all that the server holds current?
func (w *World) caughtUp(p *pod) bool {
	process := p.process
	if process.frozen || process.phase != up {
		return false
	}
	if w.Cluster().Spec.JetStream == nil || process.routes == 0 {
		return true
	}
	meta := w.meta()
	if meta == nil || !w.led(meta) || !slices.Contains(meta.members, p.server) {
		return false
	}
	return w.currentEverywhere(p.server)
}

// currentEverywhere says that the server is current in each of its groups, and that these are led.
func (w *World) currentEverywhere(server string) bool {
	for _, g := range w.groups {
		if slices.Contains(g.members, server) && (!g.current[server] || !w.led(g)) {
			return false
		}
	}
	return true
}
