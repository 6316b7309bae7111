package natsmodel

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/test/sim/apimodel"
	"github.com/holdfast-dev/holdfast/test/sim/fault"
)

// patience is how long a server has for a reload before it may be restarted for it.
const patience = 3 * time.Minute

// A way is what a server's process has to come by to what it is to run.
type way struct {
	id, runs string
	// past are the configurations that its ConfigMap has had since the process loaded what it runs; empty is none at all.
	past map[string]bool
	// since is when it was last given one to reload.
	since time.Time
	// begun says that it was given one for a restart that has not followed, fit that there was cause for that, and cut that it
	// was given another one since, so that nobody can tell any more what the restart is for.
	begun, fit, cut bool
	// edited says that somebody else has written the StatefulSet. Its template may be that of before a reload, and to put the
	// StatefulSet back restarts the server then. Known, and let pass.
	edited bool
	// shared says that two instances have asked for the reload.
	shared bool
}

// observeWays keeps account of what the servers' processes run, and of what they have been given.
func (c *Checker) observeWays() {
	if !c.world.hasSystemUser() {
		c.without = c.world.Tick
	}
	for _, server := range c.world.Planned() {
		p := c.world.running(server)
		if p == nil {
			continue
		}
		at := c.wayOf(server, p.process)
		if len(p.process.askers) > 1 && !at.shared {
			at.shared = true
			c.Shared++
		}
		config, exists := peek(c.world, server+"-config", &corev1.ConfigMap{})
		if !exists {
			at.past[""] = true
			continue
		}
		at.past[config.Data[render.ConfigKey]] = true
		if applies(config) == v1beta1.ApplyRestart {
			at.begun, at.fit = true, true // a reload of it has failed before
		}
		if since, err := time.Parse(time.RFC3339, config.Annotations[v1beta1.AnnotationReloadSince]); err == nil {
			at.since = since
		}
	}
}

// wayOf is the way of that process, a new one where it has loaded something. What was begun with another process goes on.
func (c *Checker) wayOf(server string, p *process) *way {
	before := c.ways[server]
	if before != nil && before.id == p.id && before.runs == p.config {
		return before
	}
	next := &way{id: p.id, runs: p.config, past: map[string]bool{p.config: true}}
	switch {
	case before == nil:
	case before.id == p.id:
		c.Reloaded++
	default:
		next.begun, next.fit, next.cut = before.begun, before.fit, before.cut
	}
	next.edited = before != nil && before.edited
	c.ways[server] = next
	return next
}

// failed says that the process was to come to its configuration by a reload, and did not.
func (c *Checker) failed(server string) bool {
	p, at := c.world.running(server), c.ways[server]
	return p.process.refused || !at.since.IsZero() && c.world.now().Sub(at.since) > patience
}

// cause says why a server that runs may be restarted for a configuration; empty where a reload would do.
func (c *Checker) cause(server, config string, known issued) string {
	for before := range c.ways[server].past {
		if !takesOver(before, config) {
			return "restart-only"
		}
	}
	switch {
	case c.without >= known.look.start:
		return "nobody to ask as"
	case c.failed(server):
		return "failed"
	}
	return ""
}

// wroteConfig judges a write of a ConfigMap.
func (c *Checker) wroteConfig(write apimodel.Write, call *fault.Call, known issued) {
	after, _ := write.After.(*corev1.ConfigMap)
	before, _ := write.Before.(*corev1.ConfigMap)
	server := serverOfConfig(write.Key.Name)
	at := c.ways[server]
	if after == nil || at == nil {
		return
	}
	if before == nil { // it was gone, and with it how the process was to come by what it is to run
		at.begun, at.fit = true, true
		return
	}
	if applies(after) == v1beta1.ApplyRestart && applies(before) != v1beta1.ApplyRestart {
		c.gaveUp(server, call)
	}
	from, to := before.Data[render.ConfigKey], after.Data[render.ConfigKey]
	if from == to {
		return
	}
	if applies(after) == v1beta1.ApplyReload {
		c.Given++
		if !takesOver(from, to) {
			c.report("%s has %s reload what a reload does not bring", call, server)
		}
		return
	}
	if runs(at.runs, to) {
		return
	}
	at.cut = at.begun
	at.begun, at.fit = true, c.world.running(server) == nil || c.cause(server, to, known) != ""
}

// gaveUp judges that a reload is to be followed by a restart.
func (c *Checker) gaveUp(server string, call *fault.Call) {
	if p := c.world.running(server); p != nil && !p.process.stood {
		c.report("%s gives up the reload of %s, which has not refused", call, server)
	}
}

func applies(config *corev1.ConfigMap) v1beta1.ApplyMethod {
	return v1beta1.ApplyMethod(config.Annotations[v1beta1.AnnotationConfigApply])
}

func serverOfConfig(name string) string { return name[:len(name)-len("-config")] }

// wroteTemplate judges the restart of a server that runs: a reload that would do, and goes well, is left to go on.
func (c *Checker) wroteTemplate(server string, write apimodel.Write, call *fault.Call, known issued) {
	at := c.ways[server]
	after, _ := write.After.(*appsv1.StatefulSet)
	before, _ := write.Before.(*appsv1.StatefulSet)
	if at == nil || before == nil || after == nil {
		return
	}
	decided := at.fit || at.cut || at.edited
	at.begun, at.fit, at.cut, at.edited = false, false, false, false
	if c.world.running(server) == nil || !sameButRevision(before, after) {
		return
	}
	config, exists := peek(c.world, server+"-config", &corev1.ConfigMap{})
	if !exists {
		return
	}
	why := c.cause(server, config.Data[render.ConfigKey], known)
	if why == "failed" {
		c.Fallen++
	}
	if why == "" && !decided {
		c.report("%s restarts %s, for what a reload would bring to it", call, server)
	}
}

// sameButRevision says that two templates differ in nothing that asks for a restart by itself.
func sameButRevision(a, b *appsv1.StatefulSet) bool {
	bare := func(set *appsv1.StatefulSet) string {
		set = set.DeepCopy()
		delete(set.Spec.Template.Annotations, v1beta1.AnnotationConfigRevision)
		delete(set.Spec.Template.Annotations, v1beta1.AnnotationFence)
		return sumOf(set.Spec.Template)
	}
	return bare(a) == bare(b)
}
