package reload

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi"
)

// A Reloader asks a process to read its configuration again: sysapi.Client, or a fake of it.
type Reloader interface {
	// Reload asks the process with that ID. The error is sysapi.ErrRefused where the process said no.
	Reload(ctx context.Context, id string) error
}

// Act brings about all but the restarts. reloader is nil without a system user, and then nothing is asked. An error of one server does
// not keep the others waiting.
func Act(ctx context.Context, applier *apply.Applier, reloader Reloader, cluster *v1beta1.NatsCluster, w World, plan Plan, now time.Time) error {
	var errs []error
	for _, change := range plan.Changes {
		server := w.Servers.Get(change.Server)
		wanted, _ := w.Rendered.Server(change.Server) // a change is of a planned server
		switch change.Need {
		case Rewrite:
			errs = append(errs, put(ctx, applier, cluster, Carry(wanted.ConfigMap, server.ConfigMap), server))
		case Reload:
			errs = append(errs, put(ctx, applier, cluster, toReload(wanted.ConfigMap, now), server))
		case Confirm:
			errs = append(errs, ask(ctx, applier, reloader, cluster, w, wanted, server))
		case Restart, Nothing:
		}
	}
	return errors.Join(errs...)
}

func put(ctx context.Context, applier *apply.Applier, cluster *v1beta1.NatsCluster, desired *corev1.ConfigMap, server facts.Server) error {
	at := apply.At(server.ConfigMap)
	return applier.ApplyAt(ctx, cluster, desired, at)
}

// ask has the process read its configuration. Silence is asked again at the next pass, until the window closes; a refusal
// is put on record, and then the server waits for its restart.
func ask(ctx context.Context, applier *apply.Applier, reloader Reloader, cluster *v1beta1.NatsCluster, w World, wanted render.Server, server facts.Server) error {
	process, answers := w.Processes[server.Name]
	if reloader == nil || !answers {
		return nil
	}
	err := reloader.Reload(ctx, process.ID)
	if err == nil || !errors.Is(err, sysapi.ErrRefused) || process.ConfigRevision == w.Rendered.Revision && w.showsCertificates(process) {
		return nil
	}
	return put(ctx, applier, cluster, toRestart(wanted.ConfigMap, fmt.Sprintf("reload failed: %v", err)), server)
}

// Carry is the rendered ConfigMap with what the present one says about how its revision reaches the process.
func Carry(rendered, present *corev1.ConfigMap) *corev1.ConfigMap {
	out := rendered.DeepCopy()
	if present == nil || present.Annotations[v1beta1.AnnotationConfigRevision] != rendered.Annotations[v1beta1.AnnotationConfigRevision] {
		return out
	}
	for _, key := range []string{v1beta1.AnnotationConfigApply, v1beta1.AnnotationReloadSince, v1beta1.AnnotationRestartReason} {
		if value, has := present.Annotations[key]; has {
			annotate(out, key, value)
		}
	}
	return out
}

func toReload(rendered *corev1.ConfigMap, now time.Time) *corev1.ConfigMap {
	out := rendered.DeepCopy()
	annotate(out, v1beta1.AnnotationConfigApply, string(v1beta1.ApplyReload))
	annotate(out, v1beta1.AnnotationReloadSince, now.UTC().Format(time.RFC3339))
	return out
}

// maxReason bounds what a server's own words may take of an annotation and of the status.
const maxReason = 512

func toRestart(rendered *corev1.ConfigMap, reason string) *corev1.ConfigMap {
	out := rendered.DeepCopy()
	annotate(out, v1beta1.AnnotationConfigApply, string(v1beta1.ApplyRestart))
	annotate(out, v1beta1.AnnotationRestartReason, words.UpTo(reason, maxReason))
	return out
}

func annotate(config *corev1.ConfigMap, key, value string) {
	if config.Annotations == nil {
		config.Annotations = map[string]string{}
	}
	config.Annotations[key] = value
}
