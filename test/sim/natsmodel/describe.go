package natsmodel

import (
	"fmt"
	"strings"
)

// describe is what a person wants to know of a world that does not come to rest.
func (w *World) describe() string {
	var out strings.Builder
	for _, condition := range w.Cluster().Status.Conditions {
		fmt.Fprintf(&out, "\n%s=%s %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	fmt.Fprintf(&out, "\nrollout %+v", w.Cluster().Status.Rollout)
	for _, p := range w.sorted() {
		fmt.Fprintf(&out, "\n%s: Pod %s waiting=%q started=%t node %+v whole=%t", p.server, p.uid, p.waiting, p.started, *w.node(p.server), w.Whole(p.server))
		if p.process != nil {
			process := *p.process
			process.config = "" // which is long
			fmt.Fprintf(&out, " process %+v as its ConfigMap=%t", process, w.runsItsConfig(p.server))
		}
	}
	for _, g := range w.groups {
		fmt.Fprintf(&out, "\ngroup %q of %v led by %q, current %v", g.name, g.members, g.leader, g.current)
	}
	for _, t := range w.Transitions() {
		fmt.Fprintf(&out, "\npossible: %s", t.Name)
	}
	return out.String()
}
