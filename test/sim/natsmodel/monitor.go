package natsmodel

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/test/sim/fault"
)

// Monitor is the servers' monitoring ports as an instance of the controller reaches them.
type Monitor struct {
	World    *World
	Instance *fault.Instance
}

// Varz implements settled.MonitorAPI.
func (m Monitor) Varz(_ context.Context, at string) (monitorapi.Varz, error) {
	return ask(m.Instance, "varz", m.World.serverAt(at), func() *pod { return m.World.answering(at) }, m.World.varz)
}

// Jsz implements settled.MonitorAPI. There is one account, and so one page.
func (m Monitor) Jsz(_ context.Context, at string, _, _ int) (monitorapi.Jsz, error) {
	return ask(m.Instance, "jsz", m.World.serverAt(at), func() *pod { return m.World.answering(at) }, m.World.jsz)
}

// ask puts one question to a server, if its process answers when the question arrives.
func ask[T any](instance *fault.Instance, what, server string, answering func() *pod, read func(*pod) T) (answer T, err error) {
	call := fault.Call{Verb: what, Kind: "Server", Name: server, Class: fault.Service}
	err = instance.Do(call, func() (func(), error) {
		p := answering()
		if p == nil {
			return nil, fmt.Errorf("%s does not answer: %w", server, context.DeadlineExceeded)
		}
		reply := read(p)
		return func() { answer = reply }, nil
	})
	return answer, err
}

// hostOf is the address in a URL.
func hostOf(at string) string {
	address, _, _ := strings.Cut(strings.TrimPrefix(at, "http://"), ":")
	return address
}

// serverAt is whose Pod has, or had, the address of that URL.
func (w *World) serverAt(at string) string {
	for _, p := range w.pods {
		if p.ip == hostOf(at) {
			return p.server
		}
	}
	return at
}

// answering is the Pod at the address of that URL, if its process answers.
func (w *World) answering(at string) *pod {
	for _, p := range w.pods {
		if p.ip == hostOf(at) && p.process != nil && !p.process.frozen {
			return p
		}
	}
	return nil
}

func (w *World) varz(p *pod) monitorapi.Varz {
	answer := monitorapi.Varz{
		ID: p.process.id, Name: p.server, Version: p.process.version, Start: p.process.start,
		Metadata: map[string]string{"config_revision": p.process.revision}, ConfigDigest: p.process.digest(), Loaded: p.process.loaded,
	}
	if p.process.phase > begun {
		for _, other := range w.pods {
			if other != p && other.process != nil && other.process.phase > begun && !other.process.frozen {
				answer.Remotes++
			}
		}
	}
	return answer
}

func (w *World) jsz(p *pod) monitorapi.Jsz {
	answer := monitorapi.Jsz{ServerID: p.process.id, Disabled: p.process.phase == begun}
	if p.process.phase == begun {
		return answer
	}
	streams := monitorapi.Account{ID: "$G", Name: "$G"}
	for _, g := range w.groups {
		switch {
		case !slices.Contains(g.members, p.server):
		case g.name == "" && p.process.phase == up:
			seen := w.seen(g, p)
			answer.Meta = &monitorapi.Meta{Leader: seen.Leader, Replicas: seen.Replicas}
		case g.name != "":
			streams.Streams = append(streams.Streams, monitorapi.Stream{
				Name: g.name, Config: &monitorapi.StreamConfig{Replicas: len(g.members), Retention: "limits"}, Cluster: w.seen(g, p),
			})
		}
	}
	if answer.Meta == nil && p.process.phase == up && p.process.routes > 0 { // it has not joined yet, and knows nobody
		answer.Meta = &monitorapi.Meta{}
	}
	if len(streams.Streams) > 0 {
		answer.Accounts, answer.Total = []monitorapi.Account{streams}, 1
	}
	return answer
}

// seen is a group as one of its members sees it.
func (w *World) seen(g *group, p *pod) *monitorapi.Group {
	if p.process.phase == recovering || len(g.members) == 1 { // no Raft node: it names itself
		return &monitorapi.Group{Leader: p.server}
	}
	view := &monitorapi.Group{RaftGroup: "R"}
	if w.led(g) {
		view.Leader = g.leader
	}
	for _, member := range g.members {
		if member == p.server && view.Leader != "" {
			continue
		}
		// Only a leader knows who is current.
		current := view.Leader == p.server && g.current[member]
		view.Replicas = append(view.Replicas, monitorapi.Peer{Name: member, Current: current && w.alive(member), Offline: w.running(member) == nil})
	}
	return view
}
