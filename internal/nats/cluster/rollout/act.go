package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

// An Actor takes steps.
type Actor struct {
	// Applier writes.
	Applier *apply.Applier
	// Reread makes the World afresh: objects from the API server, a new observation of the servers.
	Reread func(ctx context.Context) World
}

// retry is how soon a step is tried again after the facts moved under it.
const retry = 500 * time.Millisecond

// Act takes the step if the facts, read once more, still allow it. The journal must have been written before. The error
// is a refusal of the API server.
func (a *Actor) Act(ctx context.Context, cluster *v1beta1.NatsCluster, out render.Output, step Step) (outcome.Outcome, error) {
	world := a.Reread(ctx)
	again := Decide(world, metav1.Time{})
	if again.Step == nil || *again.Step != step {
		return outcome.Retry(retry, fmt.Sprintf("the facts moved before %s of %s", step.Kind, step.Server)), nil
	}
	servers, _ := world.Servers.Get() // known: a step was decided on them
	var err error
	switch step.Kind {
	case Restart:
		err = a.restart(ctx, cluster, out, world, servers.Get(step.Server))
	case Remove:
		err = a.remove(ctx, servers.Get(step.Server))
	}
	switch {
	case apierrors.IsConflict(err):
		return outcome.Retry(retry, fmt.Sprintf("%s was written by somebody else", step.Server)), nil
	case err != nil:
		return outcome.Continue(), fmt.Errorf("%s of %s: %w", step.Kind, step.Server, err)
	}
	return outcome.Continue(), nil
}

// restart writes the configuration, then the template: the StatefulSet restarts the Pod when the template
// changes, and the new Pod must find the new configuration. Where the template is as it should be and the process is not, the
// template gets a mark: otherwise nothing would restart it.
func (a *Actor) restart(ctx context.Context, cluster *v1beta1.NatsCluster, out render.Output, world World, server facts.Server) error {
	wanted, planned := out.Server(server.Name)
	if !planned {
		return fmt.Errorf("%s is not rendered", server.Name)
	}
	// A template that is refused must leave the configuration alone: a server that ends by itself comes back with it.
	if err := a.Applier.Try(ctx, cluster, wanted.StatefulSet); err != nil {
		return err
	}
	config, set := apply.Precondition{}, apply.Precondition{}
	if server.ConfigMap != nil {
		config = apply.At(server.ConfigMap)
	}
	if server.StatefulSet != nil {
		set = apply.At(server.StatefulSet)
	}
	if err := a.Applier.ApplyAt(ctx, cluster, wanted.ConfigMap, config); err != nil {
		return err
	}
	if server.StatefulSet != nil {
		if same, err := a.Applier.Matches(cluster, wanted.StatefulSet, server.StatefulSet); same || err != nil {
			process, answers := world.Settled.Servers[server.Name]
			strayed := answers && process.ConfigRevision != out.Revision && server.NotReady() == ""
			return errors.Join(err, a.mark(ctx, cluster, server, strayed)) // nothing would be written, and an earlier write not be told
		}
	}
	return a.Applier.ApplyAt(ctx, cluster, wanted.StatefulSet, set)
}

// remove deletes the StatefulSet, and with it the Pod, and then the configuration.
func (a *Actor) remove(ctx context.Context, server facts.Server) error {
	if server.StatefulSet != nil {
		return a.Applier.Delete(ctx, server.StatefulSet, apply.At(server.StatefulSet))
	}
	return a.Applier.Delete(ctx, server.ConfigMap, apply.At(server.ConfigMap))
}

// Fence makes every write fail that an earlier leader has sent for a step of the server and that has not arrived yet: it
// carries a resourceVersion from before. The facts are read from the API server.
func (a *Actor) Fence(ctx context.Context, cluster *v1beta1.NatsCluster, server string) error {
	servers, known := a.Reread(ctx).Servers.Get()
	if !known {
		return fmt.Errorf("marking StatefulSet %s: the servers' objects are not known", server)
	}
	if live := servers.Get(server); live.StatefulSet != nil {
		return a.mark(ctx, cluster, live, false)
	}
	return nil // a write for a StatefulSet that is gone fails anyway
}

// mark changes the StatefulSet, and nothing that its Pod is made of unless the Pod is to be restarted. It is no part of what is
// applied, and so has a field owner of its own.
func (a *Actor) mark(ctx context.Context, cluster *v1beta1.NatsCluster, server facts.Server, restart bool) error {
	marked := server.StatefulSet.DeepCopy()
	metav1.SetMetaDataAnnotation(&marked.ObjectMeta, v1beta1.AnnotationFence, cluster.ResourceVersion)
	if restart {
		metav1.SetMetaDataAnnotation(&marked.Spec.Template.ObjectMeta, v1beta1.AnnotationFence, cluster.ResourceVersion)
	}
	patch := client.MergeFromWithOptions(server.StatefulSet, client.MergeFromWithOptimisticLock{})
	if err := a.Applier.Client.Patch(ctx, marked, patch, client.FieldOwner(a.Applier.Owner+"-fence")); err != nil {
		return fmt.Errorf("marking StatefulSet %s: %w", server.Name, err)
	}
	return nil
}
