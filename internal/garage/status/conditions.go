package status

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// awayTooLong is from when on a peer that is away is told of, in seconds (garage-operator API, 10 Conditions and reasons).
const awayTooLong = 600

func change(journal *layout.Journal) v1beta2.LayoutChange {
	if journal == nil {
		return v1beta2.LayoutChange{}
	}
	return v1beta2.LayoutChange{Version: int64(journal.Version), Hash: journal.Hash, Refused: words.UpTo(journal.Refused, 1024)}
}

// Journal is the other way round: what the status says, as the layout's concern reads it.
func Journal(said v1beta2.LayoutChange) *layout.Journal {
	if said.Version == 0 {
		return nil
	}
	return &layout.Journal{Version: uint64(said.Version), Hash: said.Hash, Refused: said.Refused}
}

// ready is evaluated in the order of its reasons.
func (r Report) ready(next v1beta2.GarageClusterStatus, topology, rolled metav1.Condition) metav1.Condition {
	not := func(reason, message string) metav1.Condition {
		return condition(v1beta2.ConditionReady, metav1.ConditionFalse, reason, message)
	}
	switch {
	case r.Failure != "":
		return not(v1beta2.ReasonReconcileFailed, r.Failure)
	case r.Nodes == nil || next.Replicas == nil:
		return not(v1beta2.ReasonReconcileFailed, "the nodes could not be read")
	case *next.ReadyReplicas < *next.Replicas:
		return not(v1beta2.ReasonNotAllReplicasReady, fmt.Sprintf("%d of %d nodes are ready", *next.ReadyReplicas, *next.Replicas))
	case topology.Status != metav1.ConditionTrue:
		return not(v1beta2.ReasonStorageTopologyNotReady, topology.Message)
	case rolled.Status != metav1.ConditionTrue:
		return not(v1beta2.ReasonStorageRolloutNotReady, rolled.Message)
	case next.Health == nil || !*next.Health.Healthy:
		return not(v1beta2.ReasonLayoutNotReady, "a member does not see every node of the layout")
	}
	message := fmt.Sprintf("%d nodes are connected and have their roles", *next.Replicas)
	if r.Warning != "" {
		message += "; " + r.Warning
	}
	if len(r.Growth.Stuck) > 0 {
		message += "; " + words.Clauses(r.Growth.Stuck)
	}
	return condition(v1beta2.ConditionReady, metav1.ConditionTrue, v1beta2.ReasonClusterReady, message)
}

// topology says whether the nodes are those that are asked for.
func (r Report) topology() metav1.Condition {
	not := func(reason, message string) metav1.Condition {
		return condition(v1beta2.ConditionStorageTopologyReady, metav1.ConditionFalse, reason, message)
	}
	switch {
	case r.Layout == nil:
		return not(v1beta2.ReasonWaitingForLayoutSync, "the layout could not be looked at")
	case len(r.Workload.Surplus) > 0:
		return not(v1beta2.ReasonDrainingMember, words.Names(r.Workload.Surplus)+" is not asked for any more, and is not taken away: put spec.storage.replicas back")
	case len(r.Workload.Add)+len(r.Workload.Later) > 0:
		return not(v1beta2.ReasonAddingMembers, "still to come: "+words.Names(slices.Concat(r.Workload.Add, r.Workload.Later)))
	case len(r.Growth.Growing) > 0:
		return not(v1beta2.ReasonWaitingForLayoutSync, "before the layout counts with more, disks grow: "+words.Clauses(r.Growth.Growing))
	case r.Layout.Wanted || len(r.Layout.Gates) > 0 || r.Layout.Version == 0:
		return not(v1beta2.ReasonWaitingForLayoutSync, r.diagnosis())
	case r.moving():
		return not(v1beta2.ReasonWaitingForLayoutSync, fmt.Sprintf("version %d of the layout is being taken over", r.Layout.Version))
	}
	return condition(v1beta2.ConditionStorageTopologyReady, metav1.ConditionTrue, v1beta2.ReasonConverged,
		fmt.Sprintf("version %d of the layout has every node", r.Layout.Version))
}

func (r Report) moving() bool {
	for _, process := range r.sortedKnown() {
		if !layout.Settled(process.History) {
			return true
		}
	}
	return false
}

func quorum(health *v1beta2.ClusterHealth) metav1.Condition {
	if health == nil {
		return condition(v1beta2.ConditionQuorumAtRisk, metav1.ConditionUnknown, v1beta2.ReasonPartitionsBelowQuorum, "no node has said")
	}
	if *health.PartitionsQuorum < *health.Partitions {
		return condition(v1beta2.ConditionQuorumAtRisk, metav1.ConditionTrue, v1beta2.ReasonPartitionsBelowQuorum,
			fmt.Sprintf("%d of %d partitions cannot be written", *health.Partitions-*health.PartitionsQuorum, *health.Partitions))
	}
	return condition(v1beta2.ConditionQuorumAtRisk, metav1.ConditionFalse, v1beta2.ReasonAllPartitionsQuorate, "every partition can be written")
}

// unreachable says which nodes some member has not heard of for ten minutes.
func (r Report) unreachable() metav1.Condition {
	var away []string
	for _, node := range r.nodes() {
		id := r.recorded(node.Name())
		for _, process := range r.sortedKnown() {
			for _, seen := range process.Status.Nodes {
				if ago, known := seen.LastSeenSecondsAgo.Get(); seen.ID == id && !seen.Up && known && ago >= awayTooLong && !slices.Contains(away, node.Name()) {
					away = append(away, node.Name())
				}
			}
		}
	}
	if len(away) > 0 {
		return condition(v1beta2.ConditionPeerUnreachable, metav1.ConditionTrue, v1beta2.ReasonSustainedUnreachable, words.Names(away)+": away for ten minutes or more")
	}
	return condition(v1beta2.ConditionPeerUnreachable, metav1.ConditionFalse, v1beta2.ReasonAllReachable, "no node has been away for ten minutes")
}
