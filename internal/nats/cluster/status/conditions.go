package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/rollout"
)

// ready counts planned servers whose Pod is Ready at its template.
func ready(r Report, known bool, count int) metav1.Condition {
	wanted := int(r.Cluster.Spec.Replicas)
	message := fmt.Sprintf("%d of %d servers ready", count, wanted)
	switch {
	case r.Failure != "":
		return condition(v1beta1.ConditionReady, metav1.ConditionFalse, v1beta1.ReasonReconcileFailed, r.Failure)
	case !known:
		return condition(v1beta1.ConditionReady, metav1.ConditionUnknown, v1beta1.ReasonObservationFailed, r.Servers.Why())
	case count >= wanted:
		return condition(v1beta1.ConditionReady, metav1.ConditionTrue, v1beta1.ReasonAllServersReady, message)
	case 2*count > wanted:
		return condition(v1beta1.ConditionReady, metav1.ConditionTrue, v1beta1.ReasonQuorumAvailable, message)
	}
	return condition(v1beta1.ConditionReady, metav1.ConditionFalse, v1beta1.ReasonQuorumUnavailable, message)
}

func settledCondition(r Report) metav1.Condition {
	value := metav1.ConditionFalse
	switch {
	case !r.Settled.Known:
		value = metav1.ConditionUnknown
	case r.Settled.Settled:
		value = metav1.ConditionTrue
	}
	return condition(v1beta1.ConditionSettled, value, r.Settled.Reason, r.Settled.Message)
}

// progressing is the first that holds, in the order of the reasons in the api package.
func progressing(r Report, next v1beta1.NatsClusterStatus, now time.Time) metav1.Condition {
	is := func(value metav1.ConditionStatus, reason, message string) metav1.Condition {
		return condition(v1beta1.ConditionProgressing, value, reason, message)
	}
	switch {
	case r.Failure != "":
		return is(metav1.ConditionFalse, v1beta1.ReasonReconcileFailed, r.Failure)
	case r.Deletion.Reason != "":
		return is(metav1.ConditionFalse, v1beta1.ReasonUpToDate, "nothing is changed any more: it is to be deleted, and held by what the condition Deleting says")
	case r.Hold != nil:
		return is(metav1.ConditionFalse, r.Hold.Reason, r.Hold.Message)
	case r.Workload.Unknown != "":
		return is(metav1.ConditionUnknown, v1beta1.ReasonObservationFailed, r.Workload.Unknown)
	case len(r.Waiting) > 0:
		return is(metav1.ConditionTrue, r.Waiting[0].Reason, r.Waiting[0].Message)
	case len(r.Workload.Terminating) > 0:
		return is(metav1.ConditionTrue, v1beta1.ReasonClaimTerminating, fmt.Sprintf(
			"waiting for the claim of %s to be deleted; what still uses it is in kubectl describe pvc data-%s-0", strings.Join(r.Workload.Terminating, ", "), r.Workload.Terminating[0]))
	}
	if message := creating(r, next); message != "" {
		return is(metav1.ConditionTrue, v1beta1.ReasonCreating, message)
	}
	if r.Rollout != nil && r.Rollout.Journal != nil {
		reason, message := rolling(r, now)
		return is(metav1.ConditionTrue, reason, message)
	}
	if pending := r.Reload.Pending(); len(pending) > 0 {
		return is(metav1.ConditionTrue, v1beta1.ReasonReloadPending, fmt.Sprintf(
			"waiting for %s to load the new configuration, without a restart; you need do nothing: a kubelet may take two minutes to bring it, and after three the server is restarted instead",
			words.Names(pending)))
	}
	return is(metav1.ConditionFalse, v1beta1.ReasonUpToDate, "every server runs what the spec asks for")
}

// creating holds while a planned server has never reported a version.
func creating(r Report, next v1beta1.NatsClusterStatus) string {
	servers, known := r.Servers.Get()
	var missing, why []string
	for _, entry := range next.Servers {
		if !known || entry.Version != "" || !slices.Contains(planned(r), entry.Name) {
			continue
		}
		missing = append(missing, entry.Name)
		if reason := servers.Get(entry.Name).NotReady(); reason != "" {
			why = append(why, reason)
		} else {
			why = append(why, entry.Name+" does not answer yet")
		}
	}
	if len(missing) == 0 {
		return ""
	}
	total := int(r.Cluster.Spec.Replicas)
	return fmt.Sprintf("creating servers (%d of %d are up); %s", total-len(missing), total, words.Reasons(why))
}

// blockedAfter is how long a gate may be closed before that is worth a warning (nats-operator v1 design, 4.4 Rollout).
const blockedAfter = 10 * time.Minute

// rolling says which server, what is waited for, and what to do.
func rolling(r Report, now time.Time) (reason, message string) {
	reason, message = v1beta1.ReasonRollingRestart, doing(r)
	if next := r.Rollout.Next; next != nil && next.Kind == rollout.Remove {
		reason = v1beta1.ReasonScalingDown
		message = "removing " + next.Server
		if r.Rollout.Step == nil {
			message = "before " + message
		}
	}
	if r.Rollout.Paused && !underWay(r) {
		return v1beta1.ReasonRolloutPaused, "paused " + message + "; set spec.rollout.paused to false to go on"
	}
	if len(r.Rollout.Gates) > 0 {
		gate := r.Rollout.Gates[0]
		message += fmt.Sprintf("; waiting for %s: %s", gate.Name, gate.Why)
	}
	if gate := r.Rollout.Journal.Gate; gate != nil && r.Rollout.Step == nil && now.Sub(gate.Since.Time) >= blockedAfter {
		return v1beta1.ReasonGateBlocked, message + groups(r) + "; " + wayOut(r)
	}
	return reason, message + "; " + advice(r)
}

// groups names the Raft groups that hold the gate, and on which servers, worst first.
func groups(r Report) string {
	if r.Rollout.Gates[0].Name != string(v1beta1.GateSettled) || len(r.Settled.Groups) == 0 {
		return ""
	}
	var named []string
	for _, group := range r.Settled.Groups {
		one := group.Group
		if group.Reason == v1beta1.ReasonGroupsLeaderless {
			one += " has no leader"
		} else if len(group.Servers) > 0 {
			one += " on " + words.Names(group.Servers)
		}
		named = append(named, one)
	}
	return ": " + words.Clauses(named)
}

// wayOut is what opens a gate that has been closed for long.
func wayOut(r Report) string {
	opens := "it opens by itself when all of them have a leader and every member is current"
	if r.Rollout.Gates[0].Name != string(v1beta1.GateSettled) || len(r.Settled.Groups) == 0 {
		opens = "it opens by itself when that holds"
	}
	next := r.Rollout.Next
	if next == nil || next.Kind != rollout.Restart {
		return opens
	}
	return fmt.Sprintf("%s; to restart %s all the same, which takes one more server away: kubectl annotate natscluster %s -n %s %s=%s",
		opens, next.Server, r.Cluster.Name, r.Cluster.Namespace, v1beta1.AnnotationForceStep, next.Server)
}

// underWay says that a server's step has begun and the server is not back yet.
func underWay(r Report) bool {
	current, next := r.Rollout.Journal.Current, r.Rollout.Next
	return current != "" && (next == nil || next.Server != current) && (next == nil || !isBack(r, current))
}

// doing names the server that is being restarted, or the next one once that is back and runs what it should.
func doing(r Report) string {
	journal, next := r.Rollout.Journal, r.Rollout.Next
	number := len(journal.Updated) + 1
	total := len(journal.Updated) + len(journal.Pending)
	if journal.Current != "" {
		total++
	}
	switch {
	case r.Rollout.Step != nil || underWay(r):
		return fmt.Sprintf("restarting %s (%d of %d)", journal.Current, number, total)
	case journal.Current != "" && next.Server != journal.Current:
		number++ // it is back
	}
	return fmt.Sprintf("before restarting %s (%d of %d)", next.Server, number, total)
}

func isBack(r Report, server string) bool {
	servers, _ := r.Servers.Get()
	return servers.Get(server).NotReady() == "" && r.Settled.Servers[server].ConfigRevision == r.Rollout.Journal.TargetRevision
}

// advice is what to do next. A Pod that cannot start does not get better by waiting; everything else does. Why it
// cannot is often not the first gate's reason: the same server is also silent.
func advice(r Report) string {
	for i, gate := range r.Rollout.Gates {
		if strings.Contains(gate.Why, ": container ") || strings.Contains(gate.Why, ": no node for it") {
			const next = "see kubectl describe pod and correct the spec or the node: the rollout goes on by itself then"
			if i > 0 {
				return gate.Why + "; " + next
			}
			return next
		}
	}
	server := r.Rollout.Journal.Current
	if server == "" {
		server = r.Rollout.Next.Server
	}
	return fmt.Sprintf("no other server is touched until then, and you need do nothing: a server may take two minutes to let go of its clients; if it stays like this for ten minutes, see kubectl describe pod %s-0 -n %s",
		server, r.Cluster.Namespace)
}
