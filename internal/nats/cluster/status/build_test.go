package status

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/certificates"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/deletion"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/reload"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/rollout"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/workload"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func server(name string, isReady bool) facts.Server {
	s := facts.Server{Name: name, StatefulSet: &appsv1.StatefulSet{}, Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name + "-0", OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: name, Controller: new(true)}},
	}}}
	if isReady {
		s.Pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return s
}

// whole is three servers that are as they should be.
func whole(changes ...func(*Report)) Report {
	cluster := &v1beta1.NatsCluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "apps", Generation: 7}}
	cluster.Spec.Replicas = 3
	cluster.Spec.JetStream = &v1beta1.JetStream{}
	r := Report{
		Cluster: cluster,
		Rendered: &render.Output{
			Revision: "rev2", Endpoints: v1beta1.Endpoints{Client: "nats://demo", Monitor: "http://demo"},
			Limits: v1beta1.JetStreamEffectiveLimits{MaxFileStore: new(resource.MustParse("19Gi"))},
		},
		Servers: fact.Known(facts.Servers{server("demo-0", true), server("demo-1", true), server("demo-2", true)}),
		Settled: settled.Verdict{Known: true, Settled: true, Reason: v1beta1.ReasonAllGroupsCurrent, Message: "all", MetaLeader: "demo-1",
			Servers: map[string]settled.ServerFacts{
				"demo-0": {Version: "2.15.3", ConfigRevision: "rev2"}, "demo-1": {Version: "2.15.3", ConfigRevision: "rev2"}, "demo-2": {Version: "2.15.3", ConfigRevision: "rev2"},
			}},
		Rollout: &rollout.Plan{},
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

func TestBuildWhole(t *testing.T) {
	condition := func(kind string, value metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: value, Reason: reason, Message: message, ObservedGeneration: 7, LastTransitionTime: metav1.NewTime(now)}
	}
	entry := func(name string) v1beta1.ServerStatus {
		return v1beta1.ServerStatus{Name: name, Version: "2.15.3", ConfigRevision: "rev2", Ready: new(true)}
	}
	want := v1beta1.NatsClusterStatus{
		ObservedGeneration: 7, Version: "2.15.3", Replicas: ptr.To[int32](3), ReadyReplicas: ptr.To[int32](3),
		Endpoints: v1beta1.Endpoints{Client: "nats://demo", Monitor: "http://demo"},
		Config:    v1beta1.ConfigStatus{Revision: "rev2", AppliedBy: v1beta1.ApplyRestart},
		JetStream: &v1beta1.JetStreamStatus{MetaLeader: "demo-1", Limits: v1beta1.JetStreamEffectiveLimits{MaxFileStore: new(resource.MustParse("19Gi"))}},
		Servers:   []v1beta1.ServerStatus{entry("demo-0"), entry("demo-1"), entry("demo-2")},
		Conditions: []metav1.Condition{
			condition("Ready", metav1.ConditionTrue, "AllServersReady", "3 of 3 servers ready"),
			condition("Settled", metav1.ConditionTrue, "AllGroupsCurrent", "all"),
			condition("Progressing", metav1.ConditionFalse, "UpToDate", "every server runs what the spec asks for"),
		},
	}
	got := Build(whole(), now)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	again := whole(func(r *Report) { r.Cluster.Status = got })
	if diff := cmp.Diff(got, Build(again, now.Add(time.Hour))); diff != "" {
		t.Errorf("the same facts an hour later (-before +after):\n%s", diff)
	}
}

func servers(list ...facts.Server) func(*Report) {
	return func(r *Report) { r.Servers = fact.Known(facts.Servers(list)) }
}

// recorded is a status in which every server has been up.
func recorded(r *Report) {
	r.Cluster.Status = v1beta1.NatsClusterStatus{Version: "2.15.2"}
	for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
		r.Cluster.Status.Servers = append(r.Cluster.Status.Servers, v1beta1.ServerStatus{Name: name, Version: "2.15.2", ConfigRevision: "rev1"})
	}
}

func patience(server string) string {
	return "no other server is touched until then, and you need do nothing: a server may take two minutes to let go of its clients; if it stays like this for ten minutes, see kubectl describe pod " + server + "-0 -n apps"
}

// closed is a rollout whose first step has waited for so long.
func closed(since time.Duration, gate gates.Gate) rollout.Plan {
	return rollout.Plan{
		Next: &rollout.Step{Kind: rollout.Restart, Server: "demo-2"}, Gates: []gates.Gate{gate},
		Journal: &v1beta1.RolloutStatus{Pending: []string{"demo-2", "demo-1", "demo-0"}, Gate: &v1beta1.GateStatus{Since: metav1.NewTime(now.Add(-since))}},
	}
}

// TestBounds: what comes from a server, or from somebody's edit, never makes a status that its schema refuses.
func TestBounds(t *testing.T) {
	long := strings.Repeat("ä", 600)
	got := Build(whole(func(r *Report) {
		r.RestartReason = long
		r.Settled.Servers["demo-0"] = settled.ServerFacts{Version: long, ConfigRevision: long}
	}), now)
	for what, text := range map[string]struct {
		text string
		most int
	}{
		"restartReason": {got.Config.RestartReason, 1024}, "version": {got.Servers[0].Version, 64}, "configRevision": {got.Servers[0].ConfigRevision, 63},
	} {
		if len(text.text) == 0 || len(text.text) > text.most || !utf8.ValidString(text.text) {
			t.Errorf("%s: %d bytes, at most %d: %q", what, len(text.text), text.most, text.text)
		}
	}
}

// TestAppliedBy: a revision that some server was given to reload was not brought by a restart.
func TestAppliedBy(t *testing.T) {
	given := func(apply, revision string) func(*Report) {
		return func(r *Report) {
			servers, _ := r.Servers.Get()
			servers[1].ConfigMap = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
				v1beta1.AnnotationConfigApply: apply, v1beta1.AnnotationConfigRevision: revision,
			}}}
		}
	}
	for name, tc := range map[string]struct {
		report Report
		want   v1beta1.ApplyMethod
	}{
		"nobody was given anything":   {whole(), v1beta1.ApplyRestart},
		"one was given it to reload":  {whole(given("Reload", "rev2")), v1beta1.ApplyReload},
		"one was given the last so":   {whole(given("Reload", "rev1")), v1beta1.ApplyRestart},
		"one is to restart after all": {whole(given("Restart", "rev2")), v1beta1.ApplyRestart},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Build(tc.report, now).Config.AppliedBy; got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	type brief struct {
		Status          metav1.ConditionStatus
		Reason, Message string
	}
	plan := func(p rollout.Plan) func(*Report) { return func(r *Report) { r.Rollout = &p } }
	cases := map[string]struct {
		report Report
		kind   string
		want   brief
	}{
		"two of three ready": {whole(servers(server("demo-0", true), server("demo-1", true), server("demo-2", false))), "Ready",
			brief{"True", "QuorumAvailable", "2 of 3 servers ready"}},
		"one of three ready": {whole(servers(server("demo-0", true), server("demo-1", false), server("demo-2", false))), "Ready",
			brief{"False", "QuorumUnavailable", "1 of 3 servers ready"}},
		"half is no quorum": {whole(servers(server("demo-0", true)), func(r *Report) { r.Cluster.Spec.Replicas = 2 }), "Ready",
			brief{"False", "QuorumUnavailable", "1 of 2 servers ready"}},
		"a server beyond the plan does not count": {whole(servers(server("demo-0", true), server("demo-1", true), server("demo-2", false), server("demo-3", true))), "Ready",
			brief{"True", "QuorumAvailable", "2 of 3 servers ready"}},
		"the objects are unknown": {whole(func(r *Report) { r.Servers = fact.Unknown[facts.Servers]("no list") }), "Ready",
			brief{"Unknown", "ObservationFailed", "no list"}},
		"a write failed": {whole(func(r *Report) { r.Failure = "no" }), "Ready", brief{"False", "ReconcileFailed", "no"}},

		"unsettled": {whole(func(r *Report) { r.Settled.Settled, r.Settled.Reason, r.Settled.Message = false, "MembersOffline", "m" }), "Settled",
			brief{"False", "MembersOffline", "m"}},
		"not observed": {whole(func(r *Report) { r.Settled = settled.Verdict{Reason: "ObservationFailed", Message: "m"} }), "Settled",
			brief{"Unknown", "ObservationFailed", "m"}},

		"a failure comes first": {whole(func(r *Report) { r.Failure, r.Hold = "no", &workload.Hold{Reason: "UnsupportedSpec"} }), "Progressing",
			brief{"False", "ReconcileFailed", "no"}},
		"held": {whole(func(r *Report) {
			r.Hold, r.Waiting = &workload.Hold{Reason: "UnsupportedSpec", Message: "m"}, []certificates.Wait{{Reason: "x"}}
		}), "Progressing", brief{"False", "UnsupportedSpec", "m"}},
		"a certificate is missing": {whole(func(r *Report) {
			r.Waiting, r.Workload.Terminating = []certificates.Wait{{Reason: "ClientCertificateNotReady", Message: "m"}, {Reason: "x"}}, []string{"demo-0"}
		}), "Progressing", brief{"True", "ClientCertificateNotReady", "m"}},
		"the objects are unknown, so nothing was decided": {whole(func(r *Report) { r.Workload.Unknown, r.Rollout = "no list", nil }), "Progressing",
			brief{"Unknown", "ObservationFailed", "no list"}},
		"an old claim": {whole(func(r *Report) { r.Workload.Terminating, r.Settled.Servers = []string{"demo-0", "demo-1"}, nil }), "Progressing",
			brief{"True", "ClaimTerminating", "waiting for the claim of demo-0, demo-1 to be deleted; what still uses it is in kubectl describe pvc data-demo-0-0"}},
		"creating": {whole(servers(server("demo-0", true), server("demo-1", false)), func(r *Report) { delete(r.Settled.Servers, "demo-1"); delete(r.Settled.Servers, "demo-2") }), "Progressing",
			brief{"True", "Creating", "creating servers (1 of 3 are up); Pod demo-1-0 is not Ready; demo-2 does not exist yet"}},
		"creating, and it does not answer": {whole(func(r *Report) { delete(r.Settled.Servers, "demo-1") }), "Progressing",
			brief{"True", "Creating", "creating servers (2 of 3 are up); demo-1 does not answer yet"}},
		"creating many": {whole(servers(), func(r *Report) { r.Settled.Servers, r.Cluster.Spec.Replicas = nil, 5 }), "Progressing",
			brief{"True", "Creating", "creating servers (0 of 5 are up); demo-0 does not exist yet; demo-1 does not exist yet; demo-2 does not exist yet; and 2 more"}},
		"a server that was up before is not being created": {whole(recorded, func(r *Report) { r.Settled.Servers = nil }), "Progressing",
			brief{"False", "UpToDate", "every server runs what the spec asks for"}},

		"before the first step": {whole(plan(rollout.Plan{
			Next: &rollout.Step{Kind: rollout.Restart, Server: "demo-2"}, Gates: []gates.Gate{{Name: "Settled", Why: "a"}, {Name: "Ready", Why: "b"}},
			Journal: &v1beta1.RolloutStatus{Pending: []string{"demo-2", "demo-1", "demo-0"}},
		})), "Progressing", brief{"True", "RollingRestart", "before restarting demo-2 (1 of 3); waiting for Settled: a; " + patience("demo-2")}},
		"the step was chosen, and then the gate closed": {whole(plan(rollout.Plan{
			Next: &rollout.Step{Kind: rollout.Restart, Server: "demo-2"}, Gates: []gates.Gate{{Name: "Settled", Why: "a"}},
			Journal: &v1beta1.RolloutStatus{Current: "demo-2", Pending: []string{"demo-1", "demo-0"}},
		})), "Progressing", brief{"True", "RollingRestart", "before restarting demo-2 (1 of 3); waiting for Settled: a; " + patience("demo-2")}},
		"the step is being taken": {whole(plan(rollout.Plan{
			Step:    &rollout.Step{Kind: rollout.Restart, Server: "demo-2"},
			Next:    &rollout.Step{Kind: rollout.Restart, Server: "demo-2"},
			Journal: &v1beta1.RolloutStatus{Current: "demo-2", Pending: []string{"demo-1", "demo-0"}},
		})), "Progressing", brief{"True", "RollingRestart", "restarting demo-2 (1 of 3); " + patience("demo-2")}},
		"the first is under way": {whole(plan(rollout.Plan{
			Next: &rollout.Step{Kind: rollout.Restart, Server: "demo-1"}, Gates: []gates.Gate{{Name: "Ready", Why: "Pod demo-2-0 is shutting down"}},
			Journal: &v1beta1.RolloutStatus{Current: "demo-2", Pending: []string{"demo-1", "demo-0"}},
		})), "Progressing", brief{"True", "RollingRestart", "restarting demo-2 (1 of 3); waiting for Ready: Pod demo-2-0 is shutting down; " + patience("demo-2")}},
		"the first is back": {whole(plan(rollout.Plan{
			Next: &rollout.Step{Kind: rollout.Restart, Server: "demo-1"}, Gates: []gates.Gate{{Name: "Settled", Why: "a"}},
			Journal: &v1beta1.RolloutStatus{TargetRevision: "rev2", Current: "demo-2", Pending: []string{"demo-1", "demo-0"}},
		})), "Progressing", brief{"True", "RollingRestart", "before restarting demo-1 (2 of 3); waiting for Settled: a; " + patience("demo-2")}},
		"the last proves itself": {whole(plan(rollout.Plan{
			Gates:   []gates.Gate{{Name: "Settled", Why: "a"}},
			Journal: &v1beta1.RolloutStatus{Current: "demo-1", Updated: []string{"demo-0", "demo-2"}},
		})), "Progressing", brief{"True", "RollingRestart", "restarting demo-1 (3 of 3); waiting for Settled: a; " + patience("demo-1")}},
		"a Pod that cannot start is silent too": {whole(plan(rollout.Plan{
			Next:    &rollout.Step{Kind: rollout.Restart, Server: "demo-1"},
			Gates:   []gates.Gate{{Name: "Settled", Why: "a"}, {Name: "Ready", Why: "Pod demo-2-0 is not Ready: container nats, ImagePullBackOff"}},
			Journal: &v1beta1.RolloutStatus{Current: "demo-2", Pending: []string{"demo-1", "demo-0"}},
		})), "Progressing", brief{"True", "RollingRestart", "restarting demo-2 (1 of 3); waiting for Settled: a; Pod demo-2-0 is not Ready: container nats, ImagePullBackOff; see kubectl describe pod and correct the spec or the node: the rollout goes on by itself then"}},
		"a Pod that cannot start": {whole(plan(rollout.Plan{
			Next: &rollout.Step{Kind: rollout.Restart, Server: "demo-1"}, Gates: []gates.Gate{{Name: "Ready", Why: "Pod demo-2-0 is not Ready: container nats, ImagePullBackOff"}},
			Journal: &v1beta1.RolloutStatus{Current: "demo-2", Pending: []string{"demo-1", "demo-0"}},
		})), "Progressing", brief{"True", "RollingRestart", "restarting demo-2 (1 of 3); waiting for Ready: Pod demo-2-0 is not Ready: container nats, ImagePullBackOff; see kubectl describe pod and correct the spec or the node: the rollout goes on by itself then"}},
		"paused": {whole(plan(rollout.Plan{
			Paused: true, Next: &rollout.Step{Kind: rollout.Restart, Server: "demo-2"}, Gates: []gates.Gate{{Name: "Settled", Why: "a"}},
			Journal: &v1beta1.RolloutStatus{Pending: []string{"demo-2", "demo-1", "demo-0"}},
		})), "Progressing", brief{"True", "RolloutPaused", "paused before restarting demo-2 (1 of 3); set spec.rollout.paused to false to go on"}},
		"paused, and a server is on its way back": {whole(plan(rollout.Plan{
			Paused: true, Next: &rollout.Step{Kind: rollout.Restart, Server: "demo-1"}, Gates: []gates.Gate{{Name: "Ready", Why: "Pod demo-2-0 is shutting down"}},
			Journal: &v1beta1.RolloutStatus{Current: "demo-2", Pending: []string{"demo-1", "demo-0"}},
		})), "Progressing", brief{"True", "RollingRestart", "restarting demo-2 (1 of 3); waiting for Ready: Pod demo-2-0 is shutting down; " + patience("demo-2")}},
		"blocked by groups": {whole(plan(closed(10*time.Minute, gates.Gate{Name: "Settled", Why: "2 Raft groups have no leader"})), func(r *Report) {
			r.Settled.Groups = []settled.Unsettled{
				{Group: "meta", Reason: "GroupsLeaderless"}, {Group: "stream a/b", Reason: "MembersOffline", Servers: []string{"demo-2"}},
				{Group: "consumer a/b/c", Reason: "GroupsCatchingUp", Servers: []string{"demo-0", "demo-2"}}, {Group: "d"}, {Group: "e"}, {Group: "f"}, {Group: "g"},
			}
		}), "Progressing", brief{"True", "GateBlocked", "before restarting demo-2 (1 of 3); waiting for Settled: 2 Raft groups have no leader: " +
			"meta has no leader; stream a/b on demo-2; consumer a/b/c on demo-0, demo-2; d; e; and 2 more; " +
			"it opens by itself when all of them have a leader and every member is current; to restart demo-2 all the same, which takes one more server away: kubectl annotate natscluster demo -n apps cluster.nats.mikluko.io/force-step=demo-2"}},
		"blocked by a Pod": {whole(plan(closed(time.Hour, gates.Gate{Name: "Ready", Why: "Pod demo-1-0 is not Ready"})), func(r *Report) {
			r.Settled.Groups = []settled.Unsettled{{Group: "meta"}}
		}), "Progressing", brief{"True", "GateBlocked", "before restarting demo-2 (1 of 3); waiting for Ready: Pod demo-1-0 is not Ready; " +
			"it opens by itself when that holds; to restart demo-2 all the same, which takes one more server away: kubectl annotate natscluster demo -n apps cluster.nats.mikluko.io/force-step=demo-2"}},
		"not blocked yet": {whole(plan(closed(10*time.Minute-time.Second, gates.Gate{Name: "Settled", Why: "a"}))), "Progressing",
			brief{"True", "RollingRestart", "before restarting demo-2 (1 of 3); waiting for Settled: a; " + patience("demo-2")}},
		"the last step is blocked": {whole(plan(rollout.Plan{
			Gates:   []gates.Gate{{Name: "Settled", Why: "a"}},
			Journal: &v1beta1.RolloutStatus{Current: "demo-1", Updated: []string{"demo-0", "demo-2"}, Gate: &v1beta1.GateStatus{Since: metav1.NewTime(now.Add(-time.Hour))}},
		})), "Progressing", brief{"True", "GateBlocked", "restarting demo-1 (3 of 3); waiting for Settled: a; it opens by itself when that holds"}},
		"forced through a gate that has been closed for long": {whole(plan(func() rollout.Plan {
			p := closed(time.Hour, gates.Gate{Name: "Settled", Why: "a"})
			p.Step, p.Journal.Current, p.Journal.Pending = p.Next, "demo-2", []string{"demo-1", "demo-0"}
			return p
		}())), "Progressing", brief{"True", "RollingRestart", "restarting demo-2 (1 of 3); waiting for Settled: a; " + patience("demo-2")}},
		"reloading": {whole(func(r *Report) {
			r.Reload = reload.Plan{Changes: []reload.Change{{Server: "demo-0", Need: reload.Nothing}, {Server: "demo-1", Need: reload.Confirm}, {Server: "demo-2", Need: reload.Reload}}}
		}), "Progressing", brief{"True", "ReloadPending", "waiting for demo-1, demo-2 to load the new configuration, without a restart; you need do nothing: a kubelet may take two minutes to bring it, and after three the server is restarted instead"}},
		"held while it is to go": {whole(func(r *Report) { r.Deletion = deletion.Plan{Reason: "JetStreamDataRemains", Message: "m"} }), "Deleting",
			brief{"True", "JetStreamDataRemains", "m"}},
		"nothing else while it is to go": {whole(func(r *Report) { r.Deletion = deletion.Plan{Reason: "JetStreamDataRemains", Message: "m"} }), "Progressing",
			brief{"False", "UpToDate", "nothing is changed any more: it is to be deleted, and held by what the condition Deleting says"}},
		"a removal under way": {whole(plan(rollout.Plan{
			Step:    &rollout.Step{Kind: rollout.Remove, Server: "demo-3"},
			Next:    &rollout.Step{Kind: rollout.Remove, Server: "demo-3"},
			Journal: &v1beta1.RolloutStatus{Current: "demo-3", Pending: []string{"demo-2"}},
		})), "Progressing", brief{"True", "ScalingDown", "removing demo-3; " + patience("demo-3")}},
		"a removal": {whole(plan(rollout.Plan{
			Next: &rollout.Step{Kind: rollout.Remove, Server: "demo-3"}, Gates: []gates.Gate{{Name: "Ready", Why: "b"}},
			Journal: &v1beta1.RolloutStatus{Pending: []string{"demo-3", "demo-2"}},
		})), "Progressing", brief{"True", "ScalingDown", "before removing demo-3; waiting for Ready: b; " + patience("demo-3")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, c := range Build(tc.report, now).Conditions {
				if c.Type != tc.kind {
					continue
				}
				if diff := cmp.Diff(tc.want, brief{c.Status, c.Reason, c.Message}); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.kind, diff)
				}
			}
		})
	}
}

func TestJournalStaysWhereNothingWasDecided(t *testing.T) {
	journal := &v1beta1.RolloutStatus{TargetRevision: "rev1", Current: "demo-2"}
	held := whole(func(r *Report) {
		r.Cluster.Status.Rollout, r.Rollout, r.Rendered = journal, nil, nil
		r.Cluster.Status.JetStream = &v1beta1.JetStreamStatus{Limits: v1beta1.JetStreamEffectiveLimits{MaxFileStore: new(resource.MustParse("1Gi"))}}
		r.Hold = &workload.Hold{Reason: "UnsupportedSpec"}
	})
	next := Build(held, now)
	if diff := cmp.Diff(journal, next.Rollout); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
	if got := next.JetStream.Limits.MaxFileStore.String(); got != "1Gi" {
		t.Errorf("the limits became %s", got)
	}
	done := whole(func(r *Report) { r.Cluster.Status.Rollout = journal })
	if got := Build(done, now).Rollout; got != nil {
		t.Errorf("the journal is still there after the rollout: %v", got)
	}
}

func TestVersionMovesWithTheLastServer(t *testing.T) {
	cases := map[string]struct {
		change func(*Report)
		want   string
	}{
		"all report the new one":                {func(*Report) {}, "2.15.3"},
		"one is still on the old one":           {func(r *Report) { r.Settled.Servers["demo-0"] = settled.ServerFacts{Version: "2.15.2"} }, "2.15.2"},
		"one is silent, and was on the old one": {func(r *Report) { delete(r.Settled.Servers, "demo-0") }, "2.15.2"},
		"a server beyond the plan does not count": {func(r *Report) {
			servers(server("demo-0", true), server("demo-1", true), server("demo-2", true), server("demo-3", true))(r)
			r.Settled.Servers["demo-3"] = settled.ServerFacts{Version: "2.15.2"}
		}, "2.15.3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Build(whole(recorded, tc.change), now).Version; got != tc.want {
				t.Errorf("version %s, want %s", got, tc.want)
			}
		})
	}
}

func TestRestartReasonStays(t *testing.T) {
	due := whole(func(r *Report) { r.RestartReason = "because" })
	first := Build(due, now)
	later := whole(func(r *Report) { r.Cluster.Status = first })
	if got := Build(later, now).Config.RestartReason; got != "because" {
		t.Errorf("after the rollout the reason is %q", got)
	}
}
