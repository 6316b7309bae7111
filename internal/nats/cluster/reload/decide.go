package reload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
)

// window is how long a reload may take, the kubelet's two minutes included, before the server is restarted instead.
const window = 3 * time.Minute

// Decide says what each planned server that exists needs.
func Decide(w World, now time.Time) Plan {
	var plan Plan
	for _, wanted := range w.Rendered.Servers {
		server := w.Servers.Get(wanted.Name)
		if server.StatefulSet == nil {
			continue
		}
		need, reason := w.need(wanted, server, now)
		plan.Changes = append(plan.Changes, Change{Server: wanted.Name, Need: need, Reason: reason})
	}
	return plan
}

func (w World) need(wanted render.Server, server facts.Server, now time.Time) (Need, string) {
	if server.ConfigMap == nil {
		return Restart, fmt.Sprintf("ConfigMap %s does not exist", wanted.ConfigMap.Name)
	}
	if reason := w.podReason(wanted, server); reason != "" {
		return Restart, reason
	}
	given := given(server)
	if given.apply != v1beta1.ApplyReload && !startedWith(server) {
		// Its restart was decided on before, and the ConfigMap written, which the process does not run.
		if given.reason != "" {
			return Restart, given.reason
		}
		return Restart, "the StatefulSet spec is restart-only"
	}
	changed := differences(server.ConfigMap.Data[render.ConfigKey], wanted.ConfigMap.Data[render.ConfigKey])
	if reason := w.configReason(server, changed); reason != "" {
		return Restart, reason
	}
	if reason := w.certificateReason(wanted, server); reason != "" {
		return Restart, reason
	}
	switch {
	case given.revision != w.Rendered.Revision:
		return Reload, ""
	case !w.Configs[server.Name]:
		return Rewrite, ""
	case given.apply == v1beta1.ApplyReload:
		return w.confirm(server, given, now)
	case w.strayed(server, given):
		return Restart, "the process was started with a configuration that somebody had changed"
	}
	return Nothing, ""
}

// strayed says that the server's Pod is the one that its StatefulSet asks for, and that its process still runs something else
// than its ConfigMap, which was put back since.
func (w World) strayed(server facts.Server, given handed) bool {
	process, answers := w.Processes[server.Name]
	return answers && process.ConfigRevision != given.revision && server.NotReady() == ""
}

// podReason is what of the Pod asks for a restart.
func (w World) podReason(wanted render.Server, server facts.Server) string {
	if w.Pods[server.Name] {
		return ""
	}
	from, to := server.ImageTag(), facts.ImageTag(wanted.StatefulSet)
	if from != to {
		return fmt.Sprintf("version %s -> %s is restart-only", from, to)
	}
	return "the StatefulSet spec is restart-only"
}

// startedWith says that the server's Pod template is for what its ConfigMap has.
func startedWith(server facts.Server) bool {
	config, template := server.ConfigMap.Annotations, server.StatefulSet.Spec.Template.Annotations
	return !slices.ContainsFunc(render.StartedWith, func(key string) bool { return config[key] != template[key] })
}

// certificateReason is what of the certificates asks for a restart. A server's report tells two certificates apart by their ends
// alone, and nothing tells whom it trusts: what could not be proved is not reloaded.
func (w World) certificateReason(wanted render.Server, server facts.Server) string {
	next, has := wanted.ConfigMap.Annotations, server.ConfigMap.Annotations
	if next[v1beta1.AnnotationRouteAuthorities] != has[v1beta1.AnnotationRouteAuthorities] {
		return "the CA of the routes is restart-only"
	}
	process, answers := w.Processes[server.Name]
	for _, of := range w.listeners(process) {
		switch {
		case next[of.annotation] == has[of.annotation]:
		case !Reloads(w.version(server), of.path, nil, nil):
			return "a certificate is restart-only"
		case !w.Credentials:
			return "a certificate is restart-only without auth.systemCredentials"
		case answers && of.shows():
			return "a certificate that ends when the one before it does is restart-only"
		}
	}
	return ""
}

// A listener is one that has a certificate.
type listener struct {
	path, annotation string
	// wanted is when the certificate ends that it is to show, and shown when the one does that it shows.
	wanted, shown time.Time
}

func (l listener) shows() bool { return l.shown.Equal(l.wanted) }

// listeners are those that have a certificate, with what the process reports of them.
func (w World) listeners(process settled.ServerFacts) []listener {
	var found []listener
	if to := w.Rendered.ClientTLS; to != nil {
		found = append(found, listener{ClientCertificate, v1beta1.AnnotationClientCertificate, to.Ends, process.ClientCertificateEnds})
	}
	if to := w.Rendered.RoutesTLS; to != nil {
		found = append(found, listener{RouteCertificate, v1beta1.AnnotationRouteCertificate, to.Ends, process.RouteCertificateEnds})
	}
	return found
}

// showsCertificates says that the process shows what it is to show.
func (w World) showsCertificates(process settled.ServerFacts) bool {
	return !slices.ContainsFunc(w.listeners(process), func(l listener) bool { return !l.shows() })
}

// configReason is what of the configuration asks for a restart.
func (w World) configReason(server facts.Server, changed []difference) string {
	var restartOnly, all []string
	for _, change := range changed {
		if change.path == "server_metadata" {
			continue // the revision, which changes with everything
		}
		all = append(all, change.path)
		if !Reloads(w.version(server), change.path, change.old, change.next) {
			restartOnly = append(restartOnly, change.path)
		}
	}
	switch {
	case len(restartOnly) > 0:
		return paths(restartOnly, "restart-only")
	case len(all) > 0 && !w.Credentials:
		return paths(all, "restart-only without auth.systemCredentials")
	}
	return ""
}

func paths(of []string, are string) string {
	verb := "is"
	if len(of) > 1 {
		verb = "are"
	}
	return fmt.Sprintf("%s %s %s", strings.Join(of, ", "), verb, are)
}

// version is that of the process that would be asked, or, while it is silent, of the image that it was started from.
func (w World) version(server facts.Server) string {
	if process, answers := w.Processes[server.Name]; answers {
		return process.Version
	}
	return server.ImageTag()
}

// confirm looks at whether the process runs the ConfigMap that it was given, and shows the certificates. One that does not answer may be on its way up
// again, and then reads it. One that reports the revision runs all of it but what no reload brings to it.
func (w World) confirm(server facts.Server, given handed, now time.Time) (Need, string) {
	process, answers := w.Processes[server.Name]
	shows := w.showsCertificates(process)
	late := answers && now.Sub(given.since) > window
	switch {
	case answers && shows && process.ConfigDigest == Digest(server.ConfigMap.Data[render.ConfigKey]):
		return Nothing, ""
	case late && process.ConfigRevision != given.revision:
		return Restart, "reload failed: the server did not load its new configuration within three minutes"
	case late && !shows:
		return Restart, "reload failed: the server did not load its new certificate within three minutes"
	case !w.Credentials:
		return Nothing, "" // there is nobody to ask
	}
	return Confirm, ""
}

// handed is what a server's ConfigMap says about how it is to reach the process.
type handed struct {
	revision string
	apply    v1beta1.ApplyMethod
	since    time.Time
	reason   string
}

func given(server facts.Server) handed {
	annotations := server.ConfigMap.Annotations
	out := handed{
		revision: annotations[v1beta1.AnnotationConfigRevision],
		apply:    v1beta1.ApplyMethod(annotations[v1beta1.AnnotationConfigApply]),
		reason:   annotations[v1beta1.AnnotationRestartReason],
	}
	// A time that cannot be read is long ago: the server is restarted through the gate.
	out.since, _ = time.Parse(time.RFC3339, annotations[v1beta1.AnnotationReloadSince])
	return out
}
