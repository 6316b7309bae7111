package growth

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
)

// A Growth is a claim that is to ask for more.
type Growth struct {
	// Node is whose claim it is, and Claim what it is to be like.
	Node  string
	Claim render.Claim
	// UID is the claim's.
	UID types.UID
	// From is what it asks for so far.
	From resource.Quantity
}

// Plan is what to grow now, and what it waits for.
type Plan struct {
	// Grow are the claims to write now, all of them of one node.
	Grow []Growth
	// Growing says of each claim that becomes larger how far it is, or that its turn is still to come.
	Growing []string
	// Stuck says of each claim that does not become what it should why it does not.
	Stuck []string
	// Cramped says of nodes, by name, why their disks have not the room that they are to have.
	Cramped map[string]string
}

// state is how a claim stands to its size in the spec.
type state int

const (
	// whole: it has what it should.
	whole state = iota
	// held: it does not grow as things are, and nothing was written.
	held
	// due: it is to ask for more.
	due
	// growing: it has asked for more, and the storage is at it.
	growing
	// failing: it has asked for more, and the storage says no.
	failing
)

// seen is one claim of a node, and how it stands.
type seen struct {
	node  string
	claim render.Claim
	live  *corev1.PersistentVolumeClaim
	at    state
	why   string
}

// Decide says which claims may be asked to grow now. The first node with one that is to grow, or does, has the turn.
func Decide(w World) Plan {
	plan := Plan{Cramped: map[string]string{}}
	all := w.all()
	turn := first(all, func(at state) bool { return at > held })
	failed := first(all, func(at state) bool { return at == failing })
	for _, one := range all {
		if one.claim.Data && !roomy(one.claim, one.live) && plan.Cramped[one.node] == "" {
			plan.Cramped[one.node] = one.why
		}
		switch {
		case one.at == held || one.at == failing:
			plan.Stuck = append(plan.Stuck, one.why)
		case one.at == due && one.node == turn:
			plan.Grow = append(plan.Grow, Growth{Node: one.node, Claim: one.claim, UID: one.live.UID, From: *one.live.Spec.Resources.Requests.Storage()})
			plan.Growing = append(plan.Growing, one.why)
		case one.at == due && failed != "":
			plan.Stuck = append(plan.Stuck, one.why+", once "+failed+" has grown")
		case one.at != whole:
			plan.Growing = append(plan.Growing, one.why)
		}
	}
	return plan
}

// all are the claims that the controller has made or is to make.
func (w World) all() []seen {
	var all []seen
	for _, node := range w.Nodes {
		for _, claim := range node.Claims {
			if claim.Existing {
				continue
			}
			one := seen{node: node.Name, claim: claim, live: node.claim(claim.Name)}
			one.at, one.why = w.look(node, claim, one.live)
			one.why = node.Name + ": " + one.why
			all = append(all, one)
		}
	}
	return all
}

// first is the first node with a claim that stands so, empty if there is none.
func first(all []seen, is func(state) bool) string {
	for _, one := range all {
		if is(one.at) {
			return one.node
		}
	}
	return ""
}

// look says how a claim stands, and in a clause why it is not whole.
func (w World) look(node Node, claim render.Claim, live *corev1.PersistentVolumeClaim) (state, string) {
	if live == nil {
		return held, fmt.Sprintf("its claim %s is not there, or has not the node's labels", claim.Name)
	}
	asks := live.Spec.Resources.Requests.Storage()
	switch asks.Cmp(claim.Size) {
	case -1:
		if why := w.refuses(node, live); why != "" {
			return held, fmt.Sprintf("its claim %s does not grow from %s to %s: %s", claim.Name, asks, &claim.Size, why)
		}
		return due, fmt.Sprintf("its claim %s is to grow from %s to %s", claim.Name, asks, &claim.Size)
	case 1:
		return held, fmt.Sprintf("its claim %s asks for %s already and does not shrink to %s: set %s to at least that", claim.Name, asks, &claim.Size, claim.Path)
	}
	if roomy(claim, live) {
		return whole, ""
	}
	at, stage := follow(live)
	return at, fmt.Sprintf("its claim %s has %s of %s: %s", claim.Name, live.Status.Capacity.Storage(), asks, stage)
}

// refuses says why a claim that asks for too little is not asked to grow.
func (w World) refuses(node Node, live *corev1.PersistentVolumeClaim) string {
	class := ptr.Deref(live.Spec.StorageClassName, "")
	lets, known := w.Classes[class].Get()
	owner := metav1.GetControllerOf(live)
	switch {
	case node.Leave != "":
		return node.Leave
	case live.DeletionTimestamp != nil:
		return "it is being deleted"
	case owner != nil && owner.Kind != "StatefulSet":
		return fmt.Sprintf("it belongs to %s %s", owner.Kind, owner.Name)
	case live.Status.Phase != corev1.ClaimBound:
		return "it is not bound to a volume"
	case class == "":
		return "it has no StorageClass, and only a volume that one has provisioned can grow"
	case !known:
		return fmt.Sprintf("whether StorageClass %s lets it is not known: %s", class, w.Classes[class].Why())
	case !lets:
		return fmt.Sprintf("StorageClass %s does not let it: set allowVolumeExpansion there, if its driver can", class)
	}
	return ""
}

// roomy says that the claim's file system has what the spec asks for. That the kubelet is still to grow it counts more than what
// is said of its size.
func roomy(claim render.Claim, live *corev1.PersistentVolumeClaim) bool {
	return live != nil && live.Status.Capacity.Storage().Cmp(claim.Size) >= 0 && condition(live, corev1.PersistentVolumeClaimFileSystemResizePending) == nil
}

// follow says how far a claim is that has asked for more.
func follow(live *corev1.PersistentVolumeClaim) (state, string) {
	if live.Status.Phase != corev1.ClaimBound {
		return held, "it is not bound to a volume yet"
	}
	status := live.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
	told := ""
	for _, kind := range []corev1.PersistentVolumeClaimConditionType{corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError} {
		if found := condition(live, kind); found != nil && found.Message != "" {
			told = ": " + words.UpTo(found.Message, 256)
		}
	}
	switch {
	case status == corev1.PersistentVolumeClaimControllerResizeInfeasible || status == corev1.PersistentVolumeClaimNodeResizeInfeasible:
		return failing, "the storage cannot make it that large" + told
	case status == corev1.PersistentVolumeClaimNodeResizePending || status == corev1.PersistentVolumeClaimNodeResizeInProgress ||
		condition(live, corev1.PersistentVolumeClaimFileSystemResizePending) != nil:
		return growing, "the kubelet is to grow its file system, with some drivers when the Pod starts the next time" + told
	case status == corev1.PersistentVolumeClaimControllerResizeInProgress || condition(live, corev1.PersistentVolumeClaimResizing) != nil:
		return growing, "the storage makes it larger" + told
	}
	return growing, "the storage has not begun" + told
}

// condition is the claim's condition of that kind if it is true, else nil.
func condition(live *corev1.PersistentVolumeClaim, kind corev1.PersistentVolumeClaimConditionType) *corev1.PersistentVolumeClaimCondition {
	for i := range live.Status.Conditions {
		if found := &live.Status.Conditions[i]; found.Type == kind && found.Status == corev1.ConditionTrue {
			return found
		}
	}
	return nil
}
