package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/kit/gates"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
)

const (
	revisionOld = "aaaaaaaaaa"
	revisionNew = "bbbbbbbbbb"
)

var (
	earlier = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	now     = metav1.NewTime(time.Date(2026, 1, 2, 3, 9, 5, 0, time.UTC))
)

// server makes a server that runs revision and is Ready at its template.
func server(ordinal int, revision string, changes ...func(*facts.Server)) facts.Server {
	name := "demo-" + string(rune('0'+ordinal))
	s := facts.Server{
		Name: name, Ordinal: ordinal, ConfigMap: &corev1.ConfigMap{},
		StatefulSet: &appsv1.StatefulSet{Status: appsv1.StatefulSetStatus{UpdateRevision: "hash"}},
		Pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name + "-0", Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: "hash"},
				OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: name, Controller: new(true)}},
			},
			Status: corev1.PodStatus{
				ContainerStatuses: []corev1.ContainerStatus{{Name: facts.Container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
				Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		},
	}
	s.StatefulSet.Spec.Template.Annotations = map[string]string{v1beta1.AnnotationConfigRevision: revision}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func down(s *facts.Server) { s.Pod.Status.Conditions = nil }

func orphaned(s *facts.Server) { s.StatefulSet = nil }

func gone(s *facts.Server) { s.StatefulSet, s.Pod = nil, nil }

// stopped has no process in the server's Pod: the kubelet says so, with that reason.
func stopped(reason string) func(*facts.Server) {
	return func(s *facts.Server) {
		s.Pod.Status = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: facts.Container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}},
		}}
	}
}

var (
	// crashes does not come up as it is, and evicted is about to.
	crashes = stopped("CrashLoopBackOff")
	evicted = stopped("ContainerCreating")
)

// neverStarted is on no record as having run.
func neverStarted(s *facts.Server) {
	stopped("ImagePullBackOff")(s)
	s.Pod.Annotations = map[string]string{neverUp: "true"}
}

const neverUp = "never up"

// world is three servers that have to be brought to revisionNew, whole and settled, led by demo-1.
func world(changes ...func(*World)) World {
	w := World{
		Target: revisionNew, Planned: []string{"demo-0", "demo-1", "demo-2"},
		Servers: fact.Known(facts.Servers{server(0, revisionOld), server(1, revisionOld), server(2, revisionOld)}),
		Settled: settled.Verdict{Known: true, Settled: true, MetaLeader: "demo-1", Servers: map[string]settled.ServerFacts{
			"demo-0": {ConfigRevision: revisionOld, Remotes: 2}, "demo-1": {ConfigRevision: revisionOld, Remotes: 2}, "demo-2": {ConfigRevision: revisionOld, Remotes: 2},
		}},
	}
	for _, change := range changes {
		change(&w)
	}
	if w.Restarts == nil {
		w.Restarts = map[string]string{}
	}
	servers, _ := w.Servers.Get()
	w.EverUp = map[string]bool{}
	for _, s := range servers.Existing() {
		w.EverUp[s.Name] = s.Pod == nil || s.Pod.Annotations[neverUp] == ""
		if s.TemplateRevision() != w.Target && slices.Contains(w.Planned, s.Name) {
			w.Restarts[s.Name] = "a reason"
		}
	}
	return w
}

func with(servers ...facts.Server) func(*World) {
	return func(w *World) {
		w.Servers = fact.Known(facts.Servers(servers))
		w.Settled.Servers = map[string]settled.ServerFacts{}
		for _, s := range servers {
			if !s.Stopped() {
				w.Settled.Servers[s.Name] = settled.ServerFacts{ConfigRevision: s.TemplateRevision()}
			}
		}
		for name, facts := range w.Settled.Servers {
			facts.Remotes = len(w.Settled.Servers) - 1
			w.Settled.Servers[name] = facts
		}
	}
}

func journalled(j v1beta1.RolloutStatus) func(*World) { return func(w *World) { w.Journal = &j } }

func unsettled(message string, silent []string, groups ...settled.Unsettled) func(*World) {
	return func(w *World) {
		w.Settled.Settled, w.Settled.Message, w.Settled.Silent, w.Settled.Groups = false, message, silent, groups
	}
}

func TestDecide(t *testing.T) {
	type want struct {
		step, next *Step
		gates      []gates.Gate
		journal    *v1beta1.RolloutStatus
		// paused and forced are the plan's.
		paused, forced bool
		fence          string
	}
	paused := func(w *World) { w.Paused = true }
	force := func(name string) func(*World) { return func(w *World) { w.Force = name } }
	restart := func(name string) *Step { return &Step{Restart, name} }
	cases := map[string]struct {
		world World
		want  want
	}{
		"nothing to do": {
			world: world(with(server(0, revisionNew), server(1, revisionNew), server(2, revisionNew))),
		},
		"nothing to do, and unsettled: no rollout begins": {
			world: world(with(server(0, revisionNew, down), server(1, revisionNew), server(2, revisionNew)), unsettled("m", []string{"demo-0"})),
		},
		"the highest ordinal first, the meta leader last": {
			world: world(),
			want: want{step: restart("demo-2"), next: restart("demo-2"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
			}},
		},
		"the meta leader alone is left": {
			world: world(with(server(0, revisionNew), server(1, revisionOld), server(2, revisionNew)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-0"})),
			want: want{step: restart("demo-1"), next: restart("demo-1"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-1", Updated: []string{"demo-0", "demo-2"},
			}},
		},
		"the server under way is down": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, revisionNew, down)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-2"}),
				unsettled("demo-2 does not answer", []string{"demo-2"})),
			want: want{next: restart("demo-0"),
				gates: []gates.Gate{{Name: "Settled", Why: "demo-2 does not answer"}, {Name: "Ready", Why: "Pod demo-2-0 is not Ready"}},
				journal: &v1beta1.RolloutStatus{
					TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
					Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
				}},
		},
		"the age of a gate stays through its reasons": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, revisionNew, down)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-2", Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: earlier}})),
			want: want{next: restart("demo-0"),
				gates: []gates.Gate{{Name: "Ready", Why: "Pod demo-2-0 is not Ready"}},
				journal: &v1beta1.RolloutStatus{
					TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
					Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateReady, Since: earlier},
				}},
		},
		"a new target drops the age of a gate": {
			world: world(with(server(0, revisionOld), server(1, revisionOld, down), server(2, revisionOld)),
				journalled(v1beta1.RolloutStatus{TargetRevision: "cccccccccc", Current: "demo-2", Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateReady, Since: earlier}})),
			want: want{next: restart("demo-2"),
				gates: []gates.Gate{{Name: "Ready", Why: "Pod demo-1-0 is not Ready"}},
				journal: &v1beta1.RolloutStatus{
					TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
					Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateReady, Since: now},
				}},
		},
		"another step drops the age of a gate": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, revisionNew, down)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-2", Gate: nil})),
			want: want{next: restart("demo-0"),
				gates: []gates.Gate{{Name: "Ready", Why: "Pod demo-2-0 is not Ready"}},
				journal: &v1beta1.RolloutStatus{
					TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
					Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateReady, Since: now},
				}},
		},
		"Ready and settled, and it reports the old revision": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, revisionNew)), func(w *World) {
				w.Settled.Servers["demo-2"] = settled.ServerFacts{ConfigRevision: revisionOld, Remotes: 2}
			}, journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-2"})),
			want: want{next: restart("demo-0"),
				gates: []gates.Gate{{Name: "TargetRevision", Why: "demo-2 does not report revision " + revisionNew}},
				journal: &v1beta1.RolloutStatus{
					TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
					Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateTargetRevision, Since: now},
				}},
		},
		"nothing known of the servers' state": {
			world: world(func(w *World) { w.Settled = settled.Verdict{Message: "nobody answers"} }),
			want: want{next: restart("demo-2"), gates: []gates.Gate{{Name: "Settled", Why: "nobody answers"}}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Pending: []string{"demo-2", "demo-1", "demo-0"},
				Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
			}},
		},
		"nothing known of the objects": {
			world: world(func(w *World) { w.Servers = fact.Unknown[facts.Servers]("no list") },
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionOld, Current: "demo-1"})),
			want: want{gates: []gates.Gate{{Name: "Ready", Why: "no list"}}, journal: &v1beta1.RolloutStatus{TargetRevision: revisionOld, Current: "demo-1"}},
		},
		"the change was taken back before the first step": {
			world: world(with(server(0, revisionNew, down), server(1, revisionNew), server(2, revisionNew)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionOld, Pending: []string{"demo-2"}})),
		},
		"the last server has to prove itself": {
			world: world(with(server(0, revisionNew), server(1, revisionNew), server(2, revisionNew)), unsettled("behind", nil, settled.Unsettled{Servers: []string{"demo-1"}}),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-1"})),
			want: want{gates: []gates.Gate{{Name: "Settled", Why: "behind"}}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-1", Updated: []string{"demo-0", "demo-2"},
				Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
			}},
		},
		"the last server has proved itself": {
			world: world(with(server(0, revisionNew), server(1, revisionNew), server(2, revisionNew)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-1"})),
		},
		"a journalled server goes before the order": {
			world: world(journalled(v1beta1.RolloutStatus{TargetRevision: revisionOld, Current: "demo-0"})),
			want: want{step: restart("demo-0"), next: restart("demo-0"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-0", Pending: []string{"demo-2", "demo-1"},
			}},
		},
		"a journalled server that is down gets a newer target while the others are whole": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, "cccccccccc", down)),
				journalled(v1beta1.RolloutStatus{TargetRevision: "cccccccccc", Current: "demo-2"}),
				unsettled("m", []string{"demo-2"}, settled.Unsettled{Servers: []string{"demo-2"}})),
			want: want{step: restart("demo-2"), next: restart("demo-2"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
			}},
		},
		"a journalled server that is down waits while another is behind": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, "cccccccccc", down)),
				journalled(v1beta1.RolloutStatus{TargetRevision: "cccccccccc", Current: "demo-2"}),
				unsettled("m", []string{"demo-2"}, settled.Unsettled{Servers: []string{"demo-2", "demo-0"}})),
			want: want{next: restart("demo-2"), gates: []gates.Gate{{Name: "Settled", Why: "m"}}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
				Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
			}},
		},
		"a journalled server that is down waits while a group has no leader": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, "cccccccccc", down)),
				journalled(v1beta1.RolloutStatus{TargetRevision: "cccccccccc", Current: "demo-2"}),
				unsettled("m", nil, settled.Unsettled{Reason: v1beta1.ReasonGroupsLeaderless, Servers: []string{"demo-2"}})),
			want: want{next: restart("demo-2"), gates: []gates.Gate{{Name: "Settled", Why: "m"}}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
				Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
			}},
		},
		"a journalled server that is down waits while another is silent": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, "cccccccccc", down)),
				journalled(v1beta1.RolloutStatus{TargetRevision: "cccccccccc", Current: "demo-2"}),
				unsettled("m", []string{"demo-0", "demo-2"})),
			want: want{next: restart("demo-2"), gates: []gates.Gate{{Name: "Settled", Why: "m"}}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
				Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
			}},
		},
		"a server that is down by nobody's hand waits": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, revisionOld, down)), unsettled("m", []string{"demo-2"})),
			want: want{next: restart("demo-2"),
				gates: []gates.Gate{{Name: "Settled", Why: "m"}, {Name: "Ready", Why: "Pod demo-2-0 is not Ready"}},
				journal: &v1beta1.RolloutStatus{
					TargetRevision: revisionNew, Pending: []string{"demo-2", "demo-0", "demo-1"},
					Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
				}},
		},
		"a server that is about to come back by itself waits": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, revisionOld, evicted)), unsettled("m", []string{"demo-2"})),
			want: want{next: restart("demo-2"),
				gates: []gates.Gate{{Name: "Settled", Why: "m"}, {Name: "Ready", Why: "Pod demo-2-0 is not Ready"}},
				journal: &v1beta1.RolloutStatus{
					TargetRevision: revisionNew, Pending: []string{"demo-2", "demo-0", "demo-1"},
					Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
				}},
		},
		"a server that cannot come up as it is goes first, when nothing has been begun": {
			world: world(with(server(0, revisionOld, crashes), server(1, revisionOld), server(2, revisionOld)), unsettled("m", []string{"demo-0"})),
			want: want{step: restart("demo-0"), next: restart("demo-0"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-0", Pending: []string{"demo-2", "demo-1"},
			}},
		},
		"a server that cannot come up as it is goes on with its step that has not come about, whatever the others are": {
			world: world(with(server(0, revisionOld, crashes), server(1, revisionOld), server(2, revisionOld)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-0"}),
				unsettled("m", nil, settled.Unsettled{Group: "stream A/S", Reason: v1beta1.ReasonGroupsCatchingUp, Servers: []string{"demo-0", "demo-1"}})),
			want: want{step: restart("demo-0"), next: restart("demo-0"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-0", Pending: []string{"demo-2", "demo-1"},
			}},
		},
		"a step that is under way waits for the others, and not for its own server": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, "bad", down)),
				journalled(v1beta1.RolloutStatus{TargetRevision: "bad", Current: "demo-2"}),
				unsettled("m", nil, settled.Unsettled{Group: "stream A/S", Reason: v1beta1.ReasonGroupsCatchingUp, Servers: []string{"demo-2", "demo-1"}})),
			want: want{next: restart("demo-2"), gates: []gates.Gate{{Name: "Settled", Why: "m"}}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
				Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
			}},
		},
		"a server that is about to come back keeps its template while another has been begun with": {
			world: world(with(server(0, revisionOld, evicted), server(1, revisionOld), server(2, revisionNew, crashes)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-2"}), unsettled("m", []string{"demo-0", "demo-2"})),
			want: want{next: restart("demo-0"), gates: []gates.Gate{{Name: "Settled", Why: "m"}, {Name: "Ready", Why: "Pod demo-0-0 is not Ready; Pod demo-2-0 is not Ready: container nats, CrashLoopBackOff"},
				{Name: "TargetRevision", Why: "demo-2 does not report revision " + revisionNew}},
				journal: &v1beta1.RolloutStatus{
					TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
					Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
				}},
		},
		"a server that crashes keeps its template while the one that was begun with crashes too": {
			world: world(with(server(0, revisionOld, crashes), server(1, revisionOld), server(2, revisionNew, crashes)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-2"}), unsettled("m", []string{"demo-0", "demo-2"})),
			want: want{next: restart("demo-0"), gates: []gates.Gate{{Name: "Settled", Why: "m"}, {Name: "Ready", Why: "Pod demo-0-0 is not Ready: container nats, CrashLoopBackOff; Pod demo-2-0 is not Ready: container nats, CrashLoopBackOff"},
				{Name: "TargetRevision", Why: "demo-2 does not report revision " + revisionNew}},
				journal: &v1beta1.RolloutStatus{
					TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
					Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
				}},
		},
		"a server that crashes keeps its template while the one that was begun with runs for a moment before it crashes": {
			world: world(with(server(0, revisionOld, crashes), server(1, revisionOld), server(2, revisionNew, down)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-2"}), unsettled("m", []string{"demo-0", "demo-2"}),
				func(w *World) { delete(w.Settled.Servers, "demo-2") }),
			want: want{next: restart("demo-0"), gates: []gates.Gate{{Name: "Settled", Why: "m"}, {Name: "Ready", Why: "Pod demo-0-0 is not Ready: container nats, CrashLoopBackOff; Pod demo-2-0 is not Ready"},
				{Name: "TargetRevision", Why: "demo-2 does not report revision " + revisionNew}},
				journal: &v1beta1.RolloutStatus{
					TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
					Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
				}},
		},
		"and also where it was journalled itself on facts that were stale": {
			world: world(with(server(0, revisionOld, crashes), server(1, revisionOld), server(2, revisionNew, crashes)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-0"}), unsettled("m", []string{"demo-0", "demo-2"})),
			want: want{next: restart("demo-0"), gates: []gates.Gate{{Name: "Settled", Why: "m"}, {Name: "Ready", Why: "Pod demo-2-0 is not Ready: container nats, CrashLoopBackOff"},
				{Name: "TargetRevision", Why: "demo-2 does not report revision " + revisionNew}},
				journal: &v1beta1.RolloutStatus{
					TargetRevision: revisionNew, Current: "demo-0", Updated: []string{"demo-2"}, Pending: []string{"demo-1"},
					Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
				}},
		},
		"one that crashes is first in turn, and goes before the one whose step was chosen": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, revisionOld, crashes)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-0"}), unsettled("m", []string{"demo-2"})),
			want: want{step: restart("demo-2"), next: restart("demo-2"), fence: "demo-0", journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
			}},
		},
		"one that crashes, while another does not exist yet": {
			world: world(with(server(0, revisionOld, crashes), server(1, revisionOld)), journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-1"}),
				unsettled("m", []string{"demo-0"})),
			want: want{step: restart("demo-0"), next: restart("demo-0"), fence: "demo-1", journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-0", Pending: []string{"demo-1"},
			}},
		},
		"a claim that is left of a removed server blocks nobody": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, revisionOld), facts.Server{Name: "demo-3", Claim: &corev1.PersistentVolumeClaim{}})),
			want: want{step: restart("demo-2"), next: restart("demo-2"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
			}},
		},
		"all crash, and the target cures the first": {
			world: world(with(server(0, revisionOld, crashes), server(1, revisionOld, crashes), server(2, revisionNew, down)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-2"}), unsettled("m", []string{"demo-0", "demo-1"})),
			want: want{step: restart("demo-0"), next: restart("demo-0"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-0", Updated: []string{"demo-2"}, Pending: []string{"demo-1"},
			}},
		},
		"the one that was begun with crashes, and is corrected, whatever the others do": {
			world: world(with(server(0, revisionOld, evicted), server(1, revisionOld), server(2, "bad", crashes)),
				journalled(v1beta1.RolloutStatus{TargetRevision: "bad", Current: "demo-2"}), unsettled("m", []string{"demo-0", "demo-2"})),
			want: want{step: restart("demo-2"), next: restart("demo-2"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
			}},
		},
		"a container that the kubelet has given up, and a process that answers": {
			world: world(with(server(0, revisionOld, crashes), server(1, revisionOld), server(2, revisionOld)), func(w *World) {
				w.Settled.Servers["demo-0"] = settled.ServerFacts{ConfigRevision: revisionOld, Remotes: 2}
			}, unsettled("m", nil, settled.Unsettled{Group: "meta", Reason: v1beta1.ReasonGroupsLeaderless})),
			want: want{next: restart("demo-2"), gates: []gates.Gate{{Name: "Settled", Why: "m"}, {Name: "Ready", Why: "Pod demo-0-0 is not Ready: container nats, CrashLoopBackOff"}}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Pending: []string{"demo-2", "demo-0", "demo-1"},
				Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
			}},
		},
		"a single server that crashes": {
			world: world(with(server(0, "bad", crashes)), func(w *World) {
				w.Planned, w.Settled = []string{"demo-0"}, settled.Verdict{Message: "nobody answers"}
			}, journalled(v1beta1.RolloutStatus{TargetRevision: "bad", Current: "demo-0"})),
			want: want{step: restart("demo-0"), next: restart("demo-0"), journal: &v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-0"}},
		},
		"a server that was scaled to nothing": {
			world: world(with(server(0, revisionNew), server(1, revisionNew), server(2, revisionNew, func(s *facts.Server) {
				s.Pod, s.StatefulSet.Spec.Replicas = nil, new(int32(0))
			})), unsettled("m", []string{"demo-2"}), func(w *World) { w.Restarts = map[string]string{"demo-2": "edited"} }),
			want: want{step: restart("demo-2"), next: restart("demo-2"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Updated: []string{"demo-0", "demo-1"},
			}},
		},
		"a server that lags behind its own template is not kept waiting by that": {
			world: world(with(server(0, revisionNew), server(1, revisionNew), server(2, revisionNew, func(s *facts.Server) { s.Pod.Labels = nil })),
				func(w *World) { w.Restarts = map[string]string{"demo-2": "edited"} }),
			want: want{step: restart("demo-2"), next: restart("demo-2"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Updated: []string{"demo-0", "demo-1"},
			}},
		},
		"a server that reports something else than its template is put right": {
			world: world(with(server(0, revisionNew), server(1, revisionNew), server(2, revisionNew)), func(w *World) {
				w.Settled.Servers["demo-2"] = settled.ServerFacts{ConfigRevision: revisionOld, Remotes: 2}
				w.Restarts = map[string]string{"demo-2": "edited"}
			}, journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-2"})),
			want: want{step: restart("demo-2"), next: restart("demo-2"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Updated: []string{"demo-0", "demo-1"},
			}},
		},
		"a server that has lost its StatefulSet is a step like any other": {
			world: world(with(server(0, revisionNew), server(1, revisionNew), server(2, revisionNew, orphaned))),
			want: want{step: restart("demo-2"), next: restart("demo-2"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Updated: []string{"demo-0", "demo-1"},
			}},
		},
		"all have lost their StatefulSets": {
			world: world(with(server(0, revisionNew, orphaned), server(1, revisionNew, orphaned), server(2, revisionNew, orphaned))),
			want: want{step: restart("demo-2"), next: restart("demo-2"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
			}},
		},
		"a server that does not know all the others": {
			world: world(func(w *World) {
				w.Settled.Servers["demo-0"] = settled.ServerFacts{ConfigRevision: revisionOld}
			}),
			want: want{next: restart("demo-2"), gates: []gates.Gate{{Name: "Ready", Why: "demo-0 has routes to 0 of 1 other servers"}}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Pending: []string{"demo-2", "demo-0", "demo-1"},
				Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateReady, Since: now},
			}},
		},
		"the one that was begun with has cut itself off, and is taken back": {
			world: world(with(server(0, revisionNew), server(1, revisionNew), server(2, "bad")), func(w *World) {
				w.Settled.Servers["demo-0"] = settled.ServerFacts{ConfigRevision: revisionNew, Remotes: 1}
				w.Settled.Servers["demo-1"] = settled.ServerFacts{ConfigRevision: revisionNew, Remotes: 1}
				w.Settled.Servers["demo-2"] = settled.ServerFacts{ConfigRevision: "bad"}
			}, journalled(v1beta1.RolloutStatus{TargetRevision: "bad", Current: "demo-2"}),
				unsettled("m", nil, settled.Unsettled{Group: "meta", Reason: v1beta1.ReasonMembersOffline, Servers: []string{"demo-2"}})),
			want: want{step: restart("demo-2"), next: restart("demo-2"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Updated: []string{"demo-0", "demo-1"},
			}},
		},
		"what was removed has to be gone": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, revisionOld), server(3, revisionOld),
				server(4, revisionOld, func(s *facts.Server) { s.StatefulSet, s.ConfigMap = nil, nil; s.Pod.DeletionTimestamp = &metav1.Time{} })),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-4"})),
			want: want{next: &Step{Remove, "demo-3"}, gates: []gates.Gate{{Name: "Ready", Why: "Pod demo-4-0 is still there"}}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-4", Pending: []string{"demo-3", "demo-2", "demo-0", "demo-1"},
				Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateReady, Since: now},
			}},
		},
		"a step that was taken back leaves a mark": {
			world: world(journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-0"}), func(w *World) { w.Target = revisionOld }),
			want:  want{fence: "demo-0"},
		},
		"a removal that was taken back leaves a mark": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, revisionNew)),
				journalled(v1beta1.RolloutStatus{TargetRevision: "third", Current: "demo-2"})),
			want: want{step: restart("demo-0"), next: restart("demo-0"), fence: "demo-2", journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-0", Updated: []string{"demo-2"}, Pending: []string{"demo-1"},
			}},
		},
		"a server that never started gets its template whatever the others do": {
			world: world(with(server(0, revisionOld, neverStarted), server(1, revisionOld, neverStarted), server(2, revisionNew, neverStarted)),
				unsettled("m", []string{"demo-0", "demo-1", "demo-2"})),
			want: want{step: restart("demo-0"), next: restart("demo-0"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-0", Updated: []string{"demo-2"}, Pending: []string{"demo-1"},
			}},
		},
		"a server that never started goes before the order": {
			world: world(with(server(0, revisionOld, neverStarted), server(1, revisionOld), server(2, revisionOld)), unsettled("m", []string{"demo-0"})),
			want: want{step: restart("demo-0"), next: restart("demo-0"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-0", Pending: []string{"demo-2", "demo-1"},
			}},
		},
		"one that never started goes before the journalled server, which is marked": {
			world: world(with(server(0, revisionOld, neverStarted), server(1, revisionOld), server(2, revisionOld)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-2"}), unsettled("m", []string{"demo-0"})),
			want: want{step: restart("demo-0"), next: restart("demo-0"), fence: "demo-2", journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-0", Pending: []string{"demo-2", "demo-1"},
			}},
		},
		"a server outside the meta group": {
			world: world(func(w *World) { w.Settled.OutsideMeta = []string{"demo-0"} }),
			want: want{
				next: restart("demo-2"), gates: []gates.Gate{{Name: "Settled", Why: "demo-0: not in the meta leader's list of members"}},
				journal: &v1beta1.RolloutStatus{
					TargetRevision: revisionNew, Pending: []string{"demo-2", "demo-0", "demo-1"},
					Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
				},
			},
		},
		"an edited template is put right": {
			world: world(with(server(0, revisionNew), server(1, revisionNew), server(2, revisionNew)), func(w *World) { w.Restarts = map[string]string{"demo-0": "edited"} }),
			want: want{step: restart("demo-0"), next: restart("demo-0"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-0", Updated: []string{"demo-1", "demo-2"},
			}},
		},
		"a new server first proves itself": {
			world: world(with(server(0, revisionOld), server(1, revisionNew, down), server(2, revisionNew)), func(w *World) { w.Settled.MetaLeader = "demo-2" }),
			want: want{next: restart("demo-0"), gates: []gates.Gate{{Name: "Ready", Why: "Pod demo-1-0 is not Ready"}}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Updated: []string{"demo-1", "demo-2"}, Pending: []string{"demo-0"},
				Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateReady, Since: now},
			}},
		},
		"a server that does not exist yet is not restarted, and blocks": {
			world: world(with(server(0, revisionOld), server(1, revisionOld))),
			want: want{next: restart("demo-0"), gates: []gates.Gate{{Name: "Ready", Why: "demo-2 does not exist yet"}}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Pending: []string{"demo-0", "demo-1"},
				Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateReady, Since: now},
			}},
		},
		"servers beyond the plan go first, whatever state they are in themselves": {
			world: world(with(server(0, revisionOld), server(1, revisionOld), server(2, revisionOld), server(3, revisionOld, down)), unsettled("m", []string{"demo-3"})),
			want: want{step: &Step{Remove, "demo-3"}, next: &Step{Remove, "demo-3"}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-3", Pending: []string{"demo-2", "demo-0", "demo-1"},
			}},
		},
		"a removal waits for the others": {
			world: world(with(server(0, revisionNew), server(1, revisionNew, down), server(2, revisionNew), server(3, revisionOld))),
			want: want{next: &Step{Remove, "demo-3"}, gates: []gates.Gate{{Name: "Ready", Why: "Pod demo-1-0 is not Ready"}}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Updated: []string{"demo-0", "demo-1", "demo-2"}, Pending: []string{"demo-3"},
				Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateReady, Since: now},
			}},
		},
		"what is left of a removed server goes too": {
			world: world(with(server(0, revisionNew), server(1, revisionNew), server(2, revisionNew), server(3, revisionOld, gone))),
			want: want{step: &Step{Remove, "demo-3"}, next: &Step{Remove, "demo-3"}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-3", Updated: []string{"demo-0", "demo-1", "demo-2"},
			}},
		},
		"paused before the first step": {
			world: world(paused),
			want: want{paused: true, next: restart("demo-2"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Pending: []string{"demo-2", "demo-0", "demo-1"},
			}},
		},
		"paused, and the gate is closed too": {
			world: world(paused, with(server(0, revisionOld), server(1, revisionOld), server(2, revisionNew, down)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-2"})),
			want: want{paused: true, next: restart("demo-0"), gates: []gates.Gate{{Name: "Ready", Why: "Pod demo-2-0 is not Ready"}}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
				Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateReady, Since: now},
			}},
		},
		"paused while the last step proves itself": {
			world: world(paused, with(server(0, revisionNew), server(1, revisionNew), server(2, revisionNew)),
				journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-1"})),
		},
		"paused with nothing to do": {
			world: world(paused, with(server(0, revisionNew), server(1, revisionNew), server(2, revisionNew))),
		},
		"paused, and a server never started": {
			world: world(paused, with(server(0, revisionOld, neverStarted), server(1, revisionOld), server(2, revisionOld))),
			want: want{paused: true, next: restart("demo-0"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Pending: []string{"demo-2", "demo-0", "demo-1"},
			}},
		},
		"a forced step goes through a closed gate": {
			world: world(force("demo-0"), unsettled("m", []string{"demo-1"})),
			want: want{forced: true, step: restart("demo-0"), next: restart("demo-0"), gates: []gates.Gate{{Name: "Settled", Why: "m"}}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-0", Pending: []string{"demo-2", "demo-1"},
				Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
			}},
		},
		"a forced step of the server that is first in turn": {
			world: world(force("demo-2"), unsettled("m", []string{"demo-1"})),
			want: want{forced: true, step: restart("demo-2"), next: restart("demo-2"), gates: []gates.Gate{{Name: "Settled", Why: "m"}}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-2", Pending: []string{"demo-0", "demo-1"},
				Gate: &v1beta1.GateStatus{WaitingFor: v1beta1.GateSettled, Since: now},
			}},
		},
		"a forced step goes through the pause, out of order, and past the server whose step was chosen": {
			world: world(paused, force("demo-1"), journalled(v1beta1.RolloutStatus{TargetRevision: revisionNew, Current: "demo-2"})),
			want: want{forced: true, fence: "demo-2", step: restart("demo-1"), next: restart("demo-1"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Current: "demo-1", Pending: []string{"demo-2", "demo-0"},
			}},
		},
		"an order for a server that runs what it should is no order": {
			world: world(paused, force("demo-2"), with(server(0, revisionOld), server(1, revisionOld), server(2, revisionNew))),
			want: want{paused: true, next: restart("demo-0"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Updated: []string{"demo-2"}, Pending: []string{"demo-0", "demo-1"},
			}},
		},
		"an order for nobody is no order": {
			world: world(paused, force("demo")),
			want: want{paused: true, next: restart("demo-2"), journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Pending: []string{"demo-2", "demo-0", "demo-1"},
			}},
		},
		"an order never removes a server": {
			world: world(paused, force("demo-3"), with(server(0, revisionOld), server(1, revisionOld), server(2, revisionOld), server(3, revisionOld))),
			want: want{paused: true, next: &Step{Remove, "demo-3"}, journal: &v1beta1.RolloutStatus{
				TargetRevision: revisionNew, Pending: []string{"demo-3", "demo-2", "demo-0", "demo-1"},
			}},
		},
		"what cannot be read is not forced": {
			world: world(force("demo-0"), func(w *World) { w.Servers = fact.Unknown[facts.Servers]("no list") }),
			want:  want{gates: []gates.Gate{{Name: "Ready", Why: "no list"}}},
		},
		"a claim alone is not a server": {
			world: world(with(server(0, revisionNew), server(1, revisionNew), server(2, revisionNew), facts.Server{Name: "demo-3", Claim: &corev1.PersistentVolumeClaim{}})),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			plan := Decide(tc.world, now)
			got := want{plan.Step, plan.Next, plan.Gates, plan.Journal, plan.Paused, plan.Forced, plan.Fence}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestManyReasonsAreCounted(t *testing.T) {
	for planned, want := range map[string]string{
		"abc":   "a does not exist yet; b does not exist yet; c does not exist yet",
		"abcde": "a does not exist yet; b does not exist yet; c does not exist yet; and 2 more",
	} {
		w := world()
		w.Planned = strings.Split(planned, "")
		plan := Decide(w, now)
		if len(plan.Gates) != 1 || plan.Gates[0].Why != want {
			t.Errorf("gates %v, want one that says %q", plan.Gates, want)
		}
	}
}
