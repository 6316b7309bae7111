package status

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/conditions"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/reload"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

// Build makes the status. now is used for transition times, and to tell how long a gate has been closed.
func Build(r Report, now time.Time) v1beta1.NatsClusterStatus {
	next := *r.Cluster.Status.DeepCopy()
	next.ObservedGeneration = r.Cluster.Generation
	servers, known := r.Servers.Get()
	if known {
		next.Servers = serverEntries(r, servers)
		next.Replicas = new(int32(len(servers.Existing())))
		next.ReadyReplicas = new(int32(countReady(r, servers)))
		next.Version = commonVersion(r, next)
	}
	if r.Rollout != nil {
		next.Rollout = r.Rollout.Journal
	}
	if r.Rendered != nil && r.Hold == nil {
		next.Endpoints = r.Rendered.Endpoints
		if len(r.Waiting) == 0 { // without the certificate nobody knows the revision
			next.Config = configStatus(r)
		}
	}
	next.JetStream = jetstreamStatus(r)
	wanted := []metav1.Condition{ready(r, known, int(ptr.Deref(next.ReadyReplicas, 0))), settledCondition(r), progressing(r, next, now)}
	if r.Deletion.Reason != "" {
		wanted = append(wanted, condition(v1beta1.ConditionDeleting, metav1.ConditionTrue, r.Deletion.Reason, r.Deletion.Message))
	}
	next.Conditions = conditions.Set(r.Cluster.Status.Conditions, r.Cluster.Generation, now, wanted...)
	return next
}

// serverEntries has one entry per server that exists or is planned. What a server last reported stays while it
// is silent: a server without a version has never been up.
func serverEntries(r Report, servers facts.Servers) []v1beta1.ServerStatus {
	names := []string{}
	for _, server := range servers.Existing() {
		names = append(names, server.Name)
	}
	for _, server := range planned(r) {
		if !slices.Contains(names, server) {
			names = append(names, server)
		}
	}
	entries := make([]v1beta1.ServerStatus, 0, len(names))
	for _, name := range names {
		entry := v1beta1.ServerStatus{Name: name}
		if i := slices.IndexFunc(r.Cluster.Status.Servers, func(s v1beta1.ServerStatus) bool { return s.Name == name }); i >= 0 {
			entry = r.Cluster.Status.Servers[i]
		}
		entry.Ready = new(servers.Get(name).NotReady() == "")
		if reported, ok := r.Settled.Servers[name]; ok {
			entry.Version, entry.ConfigRevision = words.UpTo(reported.Version, 64), words.UpTo(reported.ConfigRevision, 63)
		}
		entries = append(entries, entry)
	}
	return entries
}

// planned are the servers that the spec asks for; known even when it could not be rendered.
func planned(r Report) []string {
	return render.ServerNames(r.Cluster)
}

func countReady(r Report, servers facts.Servers) int {
	ready := 0
	for _, name := range planned(r) {
		if servers.Get(name).NotReady() == "" {
			ready++
		}
	}
	return ready
}

// commonVersion moves when the last planned server reports the new version.
func commonVersion(r Report, next v1beta1.NatsClusterStatus) string {
	common := ""
	for _, entry := range next.Servers {
		if !slices.Contains(planned(r), entry.Name) {
			continue
		}
		if entry.Version == "" || common != "" && entry.Version != common {
			return r.Cluster.Status.Version
		}
		common = entry.Version
	}
	return common
}

// configStatus keeps the reason of the last restart after it is done.
func configStatus(r Report) v1beta1.ConfigStatus {
	config := v1beta1.ConfigStatus{
		Revision:      r.Rendered.Revision,
		AppliedBy:     appliedBy(r),
		RestartReason: r.Cluster.Status.Config.RestartReason,
	}
	if r.RestartReason != "" {
		config.RestartReason = words.UpTo(r.RestartReason, 1024)
	}
	return config
}

// appliedBy is Reload where some server was given the revision to reload: a restart brings it to all of them.
func appliedBy(r Report) v1beta1.ApplyMethod {
	servers, _ := r.Servers.Get()
	for _, server := range servers.Existing() {
		if reload.Given(server, r.Rendered.Revision) {
			return v1beta1.ApplyReload
		}
	}
	return v1beta1.ApplyRestart
}

func jetstreamStatus(r Report) *v1beta1.JetStreamStatus {
	if r.Cluster.Spec.JetStream == nil {
		return nil
	}
	next := &v1beta1.JetStreamStatus{MetaLeader: r.Settled.MetaLeader}
	if r.Rendered != nil {
		next.Limits = r.Rendered.Limits
	} else if old := r.Cluster.Status.JetStream; old != nil {
		next.Limits = old.Limits
	}
	if next.MetaLeader == "" && next.Limits == (v1beta1.JetStreamEffectiveLimits{}) {
		return nil
	}
	return next
}

func condition(kind string, value metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: value, Reason: reason, Message: message}
}
