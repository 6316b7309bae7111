package settled

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/monitorapi"
)

const (
	// accountsPerPage is how many accounts one request for groups covers.
	accountsPerPage = 1024
	// atOnce bounds how many servers are asked at the same time.
	atOnce = 8
	// revisionKey is the server_metadata key under which a server reports the revision of its configuration.
	revisionKey = "config_revision"
)

// MonitorAPI is what Observe asks of a server: monitorapi.Client over HTTP, sysapi.Client over $SYS, or a fake of
// either.
type MonitorAPI interface {
	// Varz reads what the server says about its process; at is Target.At.
	Varz(ctx context.Context, at string) (monitorapi.Varz, error)
	// Jsz reads the page of its groups that starts at account number offset and holds at most limit accounts.
	Jsz(ctx context.Context, at string, offset, limit int) (monitorapi.Jsz, error)
}

// Observe asks every target, several at the same time, and returns when each has answered or failed. With jetstream it
// reads every page of their groups too. It returns no error: a target that could not be read is one that is silent.
func Observe(ctx context.Context, api MonitorAPI, targets []Target, jetstream bool) Observation {
	return reader{api: api, jetstream: jetstream, page: accountsPerPage}.observe(ctx, targets)
}

// reader is one observation on its way.
type reader struct {
	api       MonitorAPI
	jetstream bool
	page      int // accounts per request
}

func (r reader) observe(ctx context.Context, targets []Target) Observation {
	o := Observation{JetStream: r.jetstream, Servers: make([]Server, len(targets))}
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, target := range targets {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			o.Servers[i] = Server{Name: target.Name, Answer: r.ask(ctx, target)}
		})
	}
	all.Wait()
	return o
}

// ask reads one server whole, or nothing of it.
func (r reader) ask(ctx context.Context, target Target) fact.Fact[Answer] {
	if target.At == "" {
		return fact.Unknown[Answer]("it has no address yet")
	}
	varz, err := r.api.Varz(ctx, target.At)
	if err != nil {
		return fact.Unknown[Answer](err.Error())
	}
	if varz.Name != target.Name {
		return fact.Unknown[Answer](fmt.Sprintf("%s answers as %q", target.At, varz.Name))
	}
	answer := Answer{ServerFacts: ServerFacts{
		ID: varz.ID, Version: varz.Version, ConfigRevision: varz.Metadata[revisionKey], Start: varz.Start,
		Remotes: varz.Remotes, ConfigDigest: varz.ConfigDigest, Loaded: varz.Loaded,
		ClientCertificateEnds: varz.CertificateEnds, RouteCertificateEnds: varz.Cluster.CertificateEnds,
	}}
	if r.jetstream {
		if err := r.readGroups(ctx, target.At, &answer); err != nil {
			return fact.Unknown[Answer](err.Error())
		}
	}
	return fact.Known(answer)
}

var (
	errOtherProcess = errors.New("the process was replaced while it was read")
	errMoved        = errors.New("the accounts changed while they were read")
)

// readGroups reads all pages of a server's groups. Pages that do not fit together are an error: an account that slipped from one
// page to another between two requests would be missing, and its groups with it.
func (r reader) readGroups(ctx context.Context, at string, into *Answer) error {
	var total int
	var last string // the ID of the account read last: they come in that order
	for offset := 0; offset == 0 || offset < total; offset += r.page {
		page, err := r.api.Jsz(ctx, at, offset, r.page)
		if err != nil {
			return err
		}
		if page.ServerID != into.ID {
			return fmt.Errorf("%s: %w", at, errOtherProcess)
		}
		if offset == 0 {
			total = page.Total
			into.JetStreamUp = !page.Disabled
			into.addMeta(page.Meta)
		}
		if page.Total != total || len(page.Accounts) != min(r.page, total-offset) {
			return fmt.Errorf("%s: %w", at, errMoved)
		}
		for _, account := range page.Accounts {
			if account.ID <= last {
				return fmt.Errorf("%s: %w", at, errMoved)
			}
			last = account.ID
			into.addAccount(account)
		}
	}
	return nil
}

func (a *Answer) addMeta(meta *monitorapi.Meta) {
	if meta == nil {
		return
	}
	a.Reports = append(a.Reports, Report{Raft: true, Leader: meta.Leader, Members: meta.Replicas})
}

func (a *Answer) addAccount(account monitorapi.Account) {
	for _, stream := range account.Streams {
		group := Group{Account: account.ID, Stream: stream.Name}
		a.addGroup(group, account.Name, stream.WantedReplicas(), stream.Cluster)
		for _, consumer := range stream.Consumers {
			group.Consumer = consumer.Name
			a.addGroup(group, account.Name, consumer.WantedReplicas(stream), consumer.Cluster)
		}
	}
}

func (a *Answer) addGroup(group Group, accountName string, copies int, seen *monitorapi.Group) {
	report := Report{Group: group, AccountName: accountName, Copies: copies}
	if seen != nil {
		report.Raft, report.Leader, report.Members = seen.RaftGroup != "", seen.Leader, seen.Replicas
	}
	a.Reports = append(a.Reports, report)
}

const (
	// looks and between bound how long Look goes on while members are behind: about a second.
	looks   = 6
	between = 200 * time.Millisecond
)

// Look observes and judges. While nothing is wrong but that members are not current it looks again, a few times within
// about a second, and counts a member as current that was so at any of these looks (see Within).
func Look(ctx context.Context, api MonitorAPI, targets []Target, jetstream bool) Verdict {
	observed := Observe(ctx, api, targets, jetstream)
	verdict := Judge(observed)
	for range looks - 1 {
		if verdict.Reason != v1beta1.ReasonGroupsCatchingUp {
			break
		}
		select {
		case <-ctx.Done():
			return verdict
		case <-time.After(between):
		}
		observed = Observe(ctx, api, targets, jetstream).Within(observed)
		verdict = Judge(observed)
	}
	return verdict
}

// Streams are the streams of which any server holds a copy, as account/stream and sorted. It is unknown unless every server
// has answered with its JetStream up: one that has not may hold the only copy of another.
func (o Observation) Streams() fact.Fact[[]string] {
	found := map[string]bool{}
	for _, server := range o.Servers {
		answer, ok := server.Answer.Get()
		switch {
		case !ok:
			return fact.Unknown[[]string](server.Name + " does not answer")
		case !answer.JetStreamUp:
			return fact.Unknown[[]string]("JetStream is not up on " + server.Name)
		}
		for _, report := range answer.Reports {
			if report.Group.Stream != "" {
				found[report.AccountName+"/"+report.Group.Stream] = true
			}
		}
	}
	return fact.Known(slices.Sorted(maps.Keys(found)))
}
