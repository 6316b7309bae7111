package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// rolled says whether every node runs what is rendered, which one is being replaced, and what is waited for.
func (r Report) rolled(next v1beta2.GarageClusterStatus) metav1.Condition {
	plan := r.Rollout
	not := func(reason, message string) metav1.Condition {
		return condition(v1beta2.ConditionStorageRolloutReady, metav1.ConditionFalse, reason, message)
	}
	before := meta.FindStatusCondition(r.Cluster.Status.Conditions, v1beta2.ConditionStorageRolloutReady)
	switch {
	case plan == nil && before != nil:
		return *before
	case plan == nil:
		return not(v1beta2.ReasonInitializing, "what the nodes run could not be looked at")
	case plan.Journal != nil:
		return not(v1beta2.ReasonRollingOut, r.replacing())
	case len(plan.Behind) > 0:
		return not(v1beta2.ReasonWaiting, words.Because(fmt.Sprintf("%s is next of %s", plan.Next, r.behind()), r.gates()))
	case next.ReadyReplicas == nil || next.Replicas == nil || *next.ReadyReplicas < *next.Replicas:
		return not(v1beta2.ReasonInitializing, "not every node has its role yet, or is back")
	}
	return condition(v1beta2.ConditionStorageRolloutReady, metav1.ConditionTrue, v1beta2.ReasonConverged, "every node runs what the spec asks for")
}

// replacing says which node it is, what it waits for, and what a person can do.
func (r Report) replacing() string {
	plan := r.Rollout
	name := plan.Journal.GarageNodeName
	message := fmt.Sprintf("%s is being replaced; still to come are %s", name, r.behind())
	if len(plan.Behind) == 0 {
		message = name + " is being replaced, the last one"
	}
	switch {
	case plan.Action != nil:
		return message
	case len(plan.Gates) > 0:
		return message + "; waiting for " + r.gates() + "; it goes on by itself when that holds"
	case plan.Back != "":
		return fmt.Sprintf("%s; waiting: %s; no other node is touched until it is back: if it stays so, see kubectl describe pod %s -n %s, and correct the spec",
			message, plan.Back, render.PodName(name), r.Cluster.Namespace)
	}
	return message
}

func (r Report) behind() string {
	return fmt.Sprintf("%d of %d nodes", len(r.Rollout.Behind), len(r.nodes()))
}

func (r Report) gates() string {
	var why []string
	for _, gate := range r.Rollout.Gates {
		why = append(why, gate.Name+" ("+gate.Why+")")
	}
	return words.Clauses(why)
}
