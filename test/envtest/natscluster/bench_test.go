package natscluster

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
	"github.com/holdfast-dev/holdfast/test/sim/kubelet"
)

const (
	// rounds is how often each figure is measured.
	rounds = 3
	// frozen is how long a server stands still: longer than publishers may have to wait for another to take over.
	frozen = 20 * time.Second
)

// trio are the servers.
var trio = []string{"demo-0", "demo-1", "demo-2"}

// report reports the median of what was measured in each round, and the worst.
func report(b *testing.B, unit string, measured []float64) {
	b.Helper()
	b.ReportMetric(median(measured), unit)
	b.ReportMetric(slices.Max(measured), unit+"-worst")
}

func median(measured []float64) float64 {
	return slices.Sorted(slices.Values(measured))[len(measured)/2]
}

// BenchmarkUnderLoad restarts, kills and freezes servers of three while the ledger publishes with the options that are
// recommended to clients. It fails where an acknowledged message is lost.
func BenchmarkUnderLoad(b *testing.B) {
	l := start(b)
	l.create(withJetStream("demo", 3))
	l.untilAtRest("demo")
	l.untilMeshed(trio...)
	program := l.buildLedger()
	b.Run("restart", func(b *testing.B) { l.measureRestarts(b, program) })
	b.Run("kill", func(b *testing.B) {
		l.measureGaps(b, program, func(server string) {
			from := l.mark()
			l.kubelet.Kill(server + "-0")
			l.whenCurrent(from, server)
			l.Eventually(func() bool { return l.happened(from, kubelet.Ready, server) }).Should(gomega.BeTrue())
		})
	})
	b.Run("freeze", func(b *testing.B) {
		l.measureGaps(b, program, func(server string) {
			thaw := l.kubelet.Freeze(server + "-0")
			<-time.After(frozen)
			thaw()
		})
	})
}

// measureRestarts has a change restart the servers, and compares how long that takes with what the servers themselves need.
// Each round has clients of its own, which are spread over all servers: those of the round before are on two of them.
func (l *lab) measureRestarts(b *testing.B, program string) {
	b.Helper()
	var ratios, p99, longest []float64
	parts := map[string][]float64{}
	for round := range rounds {
		book := l.startLedger(program, fmt.Sprintf("restart%d", round))
		var r rolled
		gaps := book.during("restart", func() { r = l.restart(fmt.Sprintf("%dGi", 5+round)) })
		book.finish()
		ratios = append(ratios, r.whole().Seconds()/r.own().Seconds())
		p99, longest = append(p99, gaps.P99Millis), append(longest, gaps.LongestMillis)
		for part, took := range r.parts() {
			parts[part] = append(parts[part], took.Seconds())
		}
	}
	report(b, "whole/servers", ratios)
	report(b, "gap-p99-ms", p99)
	report(b, "gap-longest-ms", longest)
	for part, took := range parts {
		b.ReportMetric(median(took), part+"-s")
	}
}

// measureGaps does something to each server in turn, and measures how long a publisher waited at most.
func (l *lab) measureGaps(b *testing.B, program string, do func(server string)) {
	b.Helper()
	book := l.startLedger(program, strings.ReplaceAll(b.Name(), "/", "-"))
	from := l.mark()
	var longest []float64
	for _, server := range trio {
		gaps := book.during(server, func() {
			do(server)
			l.untilAtRest("demo")
		})
		longest = append(longest, gaps.LongestMillis)
	}
	if stops := l.stops(from); len(stops) > 0 {
		b.Fatalf("%v were stopped", stops)
	}
	book.finish()
	report(b, "gap-longest-ms", longest)
}

// rolled is a rollout as its processes saw it.
type rolled struct {
	begun, ended time.Time
	servers      []restarted
}

// restarted is one server: signalled, exited, started again and current.
type restarted struct{ signalled, exited, started, current time.Time }

// restart changes the memory of demo and returns when the NatsCluster says that this is done.
func (l *lab) restart(memory string) rolled {
	l.Helper()
	from := l.mark()
	var watching sync.WaitGroup
	current := map[string]time.Time{}
	var mu sync.Mutex
	for _, server := range trio {
		watching.Go(func() {
			at := l.whenCurrent(from, server)
			mu.Lock()
			defer mu.Unlock()
			current[server] = at
		})
	}
	r := rolled{begun: time.Now()}
	l.change("demo", withMemory(memory))
	l.untilAtRest("demo")
	r.ended = time.Now()
	watching.Wait()
	at := map[string]*restarted{}
	for _, event := range l.since(from) {
		switch event.Kind {
		case kubelet.Stopping:
			at[event.Server] = &restarted{signalled: event.Time}
		case kubelet.Exited:
			at[event.Server].exited = event.Time
		case kubelet.Started:
			at[event.Server].started = event.Time
		default:
		}
	}
	for _, server := range l.stops(from) {
		at[server].current = current[server]
		r.servers = append(r.servers, *at[server])
	}
	if len(r.servers) != 3 {
		l.Fatalf("%d servers were restarted", len(r.servers))
	}
	return r
}

// whenCurrent is when a server that is started after the mark first says by itself that it is current.
func (l *lab) whenCurrent(from mark, server string) time.Time {
	ctx, cancel := context.WithTimeout(l.Context(), wait)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			l.Errorf("%s has not become current", server)
			return time.Time{}
		case <-look.C:
		}
		if l.happened(from, kubelet.Started, server) && healthy(ctx, l.kubelet.Addr(server+"-0")) {
			return time.Now()
		}
	}
}

// happened says whether something has happened to the server after the mark.
func (l *lab) happened(from mark, kind kubelet.EventKind, server string) bool {
	return slices.ContainsFunc(l.since(from), func(event kubelet.Event) bool { return event.Kind == kind && event.Server == server })
}

func healthy(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+":8222/healthz", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// whole is how long it took from the change to the status that says it is done.
func (r rolled) whole() time.Duration { return r.ended.Sub(r.begun) }

// own is what the servers took one after the other: from the signal to the end, and from the start until they were current.
func (r rolled) own() time.Duration {
	parts := r.parts()
	return parts["exits"] + parts["starts"]
}

// parts are what the whole is made of.
func (r rolled) parts() map[string]time.Duration {
	parts := map[string]time.Duration{}
	idle := r.begun
	for _, s := range r.servers {
		parts["deciding"] += s.signalled.Sub(idle)
		parts["exits"] += s.exited.Sub(s.signalled)
		parts["new-pods"] += s.started.Sub(s.exited)
		parts["starts"] += s.current.Sub(s.started)
		idle = s.current
	}
	parts["reporting"] = r.ended.Sub(idle)
	return parts
}

// BenchmarkCreate counts what a new NatsCluster of three asks of the API server until it is Ready.
func BenchmarkCreate(b *testing.B) {
	l := newLab(b)
	l.startKubelet()
	count := &env.Requests{}
	l.startController(controllerOptions{transport: count.Through})
	var all, took []float64
	by := map[string][]float64{}
	for round := range rounds {
		name := fmt.Sprintf("n%d", round)
		begin := time.Now()
		count.Take()
		l.create(withJetStream(name, 3))
		l.until(name, "Ready", reason(v1beta1.ConditionReady, v1beta1.ReasonAllServersReady))
		requests, verbs := count.Take(), map[string]float64{}
		took = append(took, time.Since(begin).Seconds())
		for what, n := range requests {
			if what.Verb != "watch" { // those of the controller's start, which are in the first round only
				verbs[what.Verb] += float64(n)
				verbs["all"] += float64(n)
			}
		}
		all = append(all, verbs["all"])
		for _, verb := range []string{"get", "list", "create", "update", "patch", "delete"} {
			by[verb] = append(by[verb], verbs[verb])
		}
		l.delete(l.cluster(name))
		l.Eventually(l.processes).Should(gomega.BeEmpty())
	}
	report(b, "requests", all)
	report(b, "until-ready-s", took)
	for verb, n := range by {
		b.ReportMetric(median(n), verb)
	}
}
