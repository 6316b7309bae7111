// Record writes what real nats-servers answer in the states that the tests of package settled judge, one file per state,
// server and path. It is run by hand when a new nats-server is to be judged:
//
//	HOLDFAST_NATS_SERVER=… go run ./internal/nats/settled/testdata/record internal/nats/settled/testdata
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi/realnats"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, into string) error {
	program, err := realnats.Program()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	servers, err := realnats.New(program, dir, 3, 0)
	if err != nil {
		return err
	}
	r := recorder{into: into, servers: servers}
	for _, server := range servers {
		defer func() { _ = server.Kill() }()
	}
	return r.states(ctx)
}

// states walks the servers through the states, in an order in which each follows from the one before.
func (r *recorder) states(ctx context.Context) error {
	last := r.servers[2:]
	for _, step := range []struct {
		do    func() error
		state string
		is    func(settled.Verdict) bool
	}{
		{do: r.each(r.servers, (*realnats.Server).Start), is: whole},
		{do: func() error { return r.fill(ctx) }, state: "settled", is: whole},
		{do: r.each(last, (*realnats.Server).Kill), state: "killed", is: func(v settled.Verdict) bool {
			return len(v.Silent) == 1 && len(v.Groups) > 4 && v.Groups[0].Reason == v1beta1.ReasonGroupsCatchingUp
		}},
		{do: r.each(last, (*realnats.Server).Start), is: whole},
		{do: r.each(last, (*realnats.Server).Stop), state: "stopped", is: func(v settled.Verdict) bool {
			return len(v.Silent) == 1 && len(v.Groups) > 4 && v.Groups[0].Reason == v1beta1.ReasonMembersOffline
		}},
		{do: func() error { return r.publish(ctx, 60_000) }, is: func(settled.Verdict) bool { return true }},
		{do: r.each(last, (*realnats.Server).Start), state: "catching-up", is: func(v settled.Verdict) bool {
			return v.Reason == v1beta1.ReasonGroupsCatchingUp
		}},
		{is: whole},
		{do: r.each(r.servers, (*realnats.Server).Kill), is: func(v settled.Verdict) bool { return !v.Known }},
		{do: r.each(r.servers, (*realnats.Server).Start), state: "starting", is: func(v settled.Verdict) bool {
			return v.Known && len(v.Silent) == 0 && v.MetaLeader == ""
		}},
		{state: "leaderless", is: func(v settled.Verdict) bool {
			return v.MetaLeader != "" && len(v.Silent) == 0 && v.Reason == v1beta1.ReasonGroupsLeaderless
		}},
		{is: whole},
	} {
		if step.do != nil {
			if err := step.do(); err != nil {
				return err
			}
		}
		if err := r.until(ctx, step.state, step.is); err != nil {
			return err
		}
	}
	return nil
}

func whole(v settled.Verdict) bool { return v.Settled && len(v.OutsideMeta) == 0 }

func (r *recorder) each(servers []*realnats.Server, do func(*realnats.Server) error) func() error {
	return func() error {
		for _, server := range servers {
			if err := do(server); err != nil {
				return err
			}
		}
		return nil
	}
}

// fill makes a stream of three copies and one of a single copy in two accounts, each with consumers.
func (r *recorder) fill(ctx context.Context) error {
	return r.inAccounts(func(js jetstream.JetStream) error {
		for name, replicas := range map[string]int{"ORDERS": 3, "NOTES": 1} {
			stream, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}, Replicas: replicas})
			if err != nil {
				return err
			}
			for _, consumer := range []jetstream.ConsumerConfig{{Durable: "all"}, {Durable: "one", Replicas: 1}} {
				consumer.AckPolicy = jetstream.AckExplicitPolicy
				if _, err := stream.CreateConsumer(ctx, consumer); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// publish puts messages into the streams of three copies.
func (r *recorder) publish(ctx context.Context, messages int) error {
	return r.inAccounts(func(js jetstream.JetStream) error {
		for range messages {
			if _, err := js.PublishAsync("ORDERS.x", bytes.Repeat([]byte("x"), 1024), jetstream.WithStallWait(time.Minute)); err != nil {
				return err
			}
		}
		select {
		case <-js.PublishAsyncComplete():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

func (r *recorder) inAccounts(do func(jetstream.JetStream) error) error {
	for _, account := range realnats.Accounts[:2] {
		conn, err := nats.Connect(r.servers[0].Client, nats.UserInfo(account, account))
		if err != nil {
			return err
		}
		defer conn.Close()
		js, err := jetstream.New(conn)
		if err != nil {
			return err
		}
		if err := do(js); err != nil {
			return err
		}
	}
	return nil
}

type recorder struct {
	into    string
	servers []*realnats.Server
}

// until observes until the verdict is as wanted, and then writes the replies that led to it.
func (r *recorder) until(ctx context.Context, state string, wanted func(settled.Verdict) bool) error {
	var targets []settled.Target
	for _, server := range r.servers {
		targets = append(targets, settled.Target{Name: server.Name, At: server.URL})
	}
	var said string
	for {
		tape := &tape{}
		o := settled.Observe(ctx, monitorapi.Client{HTTP: &http.Client{Transport: tape}}, targets, true)
		v := settled.Judge(o)
		if now := fmt.Sprint(v.Reason, ": ", v.Message, " ", v.Groups, " outside ", v.OutsideMeta); now != said {
			said = now
			log.Print(said)
		}
		if wanted(v) {
			log.Printf("recorded %q", state)
			return r.write(state, tape)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("waiting for %q: %w; last verdict %+v", state, ctx.Err(), v)
		}
	}
}

func (r *recorder) write(state string, tape *tape) error {
	if state == "" {
		return nil
	}
	dir := filepath.Join(r.into, state)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, reply := range tape.replies() {
		for _, server := range r.servers {
			if strings.HasPrefix(reply.url, server.URL) {
				path := strings.TrimPrefix(strings.Split(reply.url, "?")[0], server.URL+"/")
				if err := os.WriteFile(filepath.Join(dir, server.Name+"."+path+".json"), reply.body, 0o644); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
