package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/identity"
	"github.com/holdfast-dev/holdfast/internal/garage/layout"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/garage/rollout"
	"github.com/holdfast-dev/holdfast/internal/garage/whole"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
	"github.com/holdfast-dev/holdfast/internal/kit/pods"
)

// roll writes the journal, then takes at most one step with one node's Pod.
func (p *pass) roll(ctx context.Context) outcome.Outcome {
	world, err := p.rolloutWorld(ctx, p.nodes, p.report.Processes, p.report.Identity, *p.report.Layout)
	if err != nil {
		return p.failed(err)
	}
	plan := rollout.Decide(world, p.Clock.Now())
	p.report.Rollout = &plan
	if plan.Action == nil {
		return outcome.Continue()
	}
	if err := p.writeStatus(ctx); err != nil {
		return outcome.Failed(err)
	}
	p.busy = true
	actor := rollout.Actor{Applier: p.applier(), Reread: p.rereadRollout, Now: p.Clock.Now, Pause: pause}
	out, err := actor.Act(ctx, p.cluster, p.objects.Rendered[plan.Action.Node], plan)
	if err != nil {
		return p.failed(err)
	}
	if out.Stops() {
		return out
	}
	if plan.Over {
		plan.Journal = nil
	}
	p.tellOfStep(plan)
	return outcome.Retry(whenBusy/4, "a step of the rollout was taken")
}

// tellOfStep sends the event of a step. The node may have no Pod, or be gone.
func (p *pass) tellOfStep(plan rollout.Plan) {
	var pod runtime.Object // a Pod that is nil would not be nothing
	if node, _ := p.nodes.Get(plan.Action.Node); node.Pod != nil {
		pod = node.Pod
	}
	p.Events.Action(p.cluster, pod, "StorageRollout", string(plan.Action.Kind), told(plan))
}

func told(plan rollout.Plan) string {
	node := plan.Action.Node
	if plan.Ahead != "" {
		return node + " waits: " + plan.Ahead + " does not serve, and gets its new Pod first"
	}
	switch plan.Action.Kind {
	case rollout.Replace:
		return node + " gets a new Pod"
	case rollout.TakeBack:
		return node + " keeps its Pod, which is as it is to be again"
	case rollout.Release:
		return node + " is back"
	case rollout.Correct:
		return "the StatefulSet of " + node + " was written, which restarts nothing"
	}
	return ""
}

// pause waits, and no longer than the pass may.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (p *pass) rolloutWorld(ctx context.Context, nodes facts.Nodes, processes facts.Processes, who identity.Plan, at layout.Plan) (rollout.World, error) {
	w := rollout.World{
		Members: members(nodes, processes), Journal: p.rolling(),
		Recover: p.cluster.Annotations[v1beta2.AnnotationRecoverStorageRollout],
	}
	w.WholeSince = p.Whole.Look(p.cluster.UID, lives(processes), whole.Why(w.Members, "") == "", p.Clock.Now())
	switch {
	case len(at.Foreign) > 0:
		w.Foreign = "somebody else has staged a change of the layout"
	case at.Wanted && at.Refused == "" && mixed(nodes, processes) == "": // which a layout would wait for
		w.Layout = "a change of the layout comes first"
	}
	for _, node := range nodes {
		rendered, here := p.objects.Rendered[node.Name()]
		if !here {
			continue
		}
		one, err := p.rolloutNode(ctx, node, rendered, processes, who)
		if err != nil {
			return rollout.World{}, err
		}
		w.Nodes = append(w.Nodes, one)
	}
	return w, nil
}

// rolling is the step that is under way; nil for none.
func (p *pass) rolling() *v1beta2.StorageRollout {
	if p.cluster.Status.StorageRollout.GarageNodeUID == "" {
		return nil
	}
	return p.cluster.Status.StorageRollout.DeepCopy()
}

func (p *pass) rolloutNode(ctx context.Context, node facts.Node, rendered render.Node, processes facts.Processes, who identity.Plan) (rollout.Node, error) {
	_, answers := processes.Of(node.Name()).Get()
	one := rollout.Node{
		Name: node.Name(), UID: node.GarageNode.UID, ID: facts.Recorded(node.GarageNode),
		Rendered: rollout.Revision{Config: rendered.ConfigHash, PodSpec: rendered.PodSpecHash},
		Held:     who.Held[node.Name()], Current: who.Current[node.Name()], Answers: answers,
		Seen: seen(node, processes),
	}
	one.Kept, one.Claims = kept(node, rendered)
	if set := node.StatefulSet; set != nil {
		same, err := p.applier().Matches(node.GarageNode, render.WithClaimsOf(rendered.StatefulSet, set), set)
		if err != nil {
			return one, err
		}
		one.Workload = &rollout.Workload{UID: set.UID, Revision: revisionOf(set.Spec.Template.Annotations), Rendered: same}
	}
	if pod := node.Pod; pod != nil {
		one.Pod = &rollout.Pod{
			UID: pod.UID, Revision: revisionOf(pod.Annotations), Ready: node.Ready(), Leaving: pod.DeletionTimestamp != nil, Why: pods.Trouble(pod),
		}
		if owner := metav1.GetControllerOf(pod); owner != nil {
			one.Pod.Owner = owner.UID
		}
		if replaced := p.rolling() != nil || one.Pod.Revision != one.Rendered; replaced && one.Claims == "" {
			one.Claims = p.leaving(ctx, rendered)
		}
	}
	return one, nil
}

// leaving says which claim of a user's goes as soon as no Pod uses it.
func (p *pass) leaving(ctx context.Context, rendered render.Node) string {
	for _, claim := range rendered.Claims {
		if !claim.Existing {
			continue // it is among those with the node's label
		}
		var there corev1.PersistentVolumeClaim
		err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.cluster.Namespace, Name: claim.Name}, &there)
		switch {
		case apierrors.IsNotFound(err): // nothing makes it anew
		case err != nil:
			return fmt.Sprintf("whether claim %s is to stay is not known: %v", claim.Name, err)
		case there.DeletionTimestamp != nil:
			return fmt.Sprintf("claim %s is being deleted, and would be gone with the Pod", claim.Name)
		}
	}
	return ""
}

func revisionOf(annotations map[string]string) rollout.Revision {
	return rollout.Revision{Config: annotations[v1beta2.AnnotationConfigHash], PodSpec: annotations[v1beta2.AnnotationPodSpecHash]}
}

// kept are the node's own claims, and why one of them would not outlast the Pod.
func kept(node facts.Node, rendered render.Node) (found []v1beta2.KeptClaim, why string) {
	for _, claim := range rendered.Claims {
		if claim.Existing {
			continue // a user's
		}
		at := slices.IndexFunc(node.Claims, func(c corev1.PersistentVolumeClaim) bool { return c.Name == claim.Name })
		switch {
		case at < 0:
			why = fmt.Sprintf("claim %s does not exist, and an empty one would take its place, or it has lost its labels", claim.Name)
		case node.Claims[at].DeletionTimestamp != nil:
			why = fmt.Sprintf("claim %s is being deleted, and would be gone with the Pod", claim.Name)
		default:
			found = append(found, v1beta2.KeptClaim{Name: claim.Name, UID: node.Claims[at].UID})
		}
	}
	if node.Pod != nil {
		if volume := render.Ephemeral(node.Pod.Spec); volume != "" {
			why = fmt.Sprintf("volume %s of Pod %s is an EmptyDir, and what is on it would be gone with the Pod: delete the Pod yourself if it may be", volume, node.Pod.Name)
		}
	}
	return found, why
}

// seen says that another process calls the node up.
func seen(node facts.Node, processes facts.Processes) bool {
	id := facts.Recorded(node.GarageNode)
	for name, said := range processes {
		process, known := said.Get()
		if name != node.Name() && known && slices.ContainsFunc(process.Status.Nodes, func(n adminapi.NodeStatus) bool { return n.ID == id && n.Up }) {
			return true
		}
	}
	return false
}

// members are the nodes as the verdict on the whole store sees them.
func members(nodes facts.Nodes, processes facts.Processes) []whole.Member {
	var all []whole.Member
	for _, node := range nodes {
		said := processes.Own(node)
		one := whole.Member{Name: node.Name(), ID: facts.Recorded(node.GarageNode), External: node.External(), Says: fact.Unknown[whole.Says](said.Why())}
		if process, known := said.Get(); known {
			one.Says = fact.Known(whole.Says{Health: process.Health, Status: process.Status, Layout: process.Layout, History: process.History})
		}
		all = append(all, one)
	}
	return all
}

// lives name the processes that were asked.
func lives(processes facts.Processes) string {
	var all []string
	for name, said := range processes {
		if process, known := said.Get(); known {
			all = append(all, fmt.Sprintf("%s %s %d", name, process.PodUID, process.Restarts))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// rereadRollout makes the World that a step is taken on: objects from the API server, and new answers.
func (p *pass) rereadRollout(ctx context.Context) (rollout.World, facts.Nodes) {
	asked, _ := facts.Read(ctx, p.Live, p.cluster).Get()
	processes := facts.Observe(ctx, p.asker, asked)
	nodes, known := facts.Read(ctx, p.Live, p.cluster).Get() // again: the slowest answer says how old the others are
	if !known {
		return rollout.World{}, nil // in which there is nothing to do
	}
	processes = processes.Still(nodes)
	who := p.decideIdentity(nodes, processes)
	at := layout.Decide(p.layoutWorld(nodes, processes, who, p.cluster.Status.LayoutChange))
	world, err := p.rolloutWorld(ctx, nodes, processes, who, at)
	if err != nil || !p.unchanged(ctx) {
		return rollout.World{}, nil
	}
	return world, nodes
}

// unchanged says that the GarageCluster is the one that was decided on: then nobody else has begun a change.
func (p *pass) unchanged(ctx context.Context) bool {
	var live v1beta2.GarageCluster
	err := p.Live.Get(ctx, client.ObjectKeyFromObject(p.cluster), &live)
	return err == nil && live.UID == p.cluster.UID && live.ResourceVersion == p.cluster.ResourceVersion
}
