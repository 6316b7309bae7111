package natsmodel

import (
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

const kubelet = "kubelet"

// podTransitions are what the scheduler and the kubelets may do next.
func (w *World) podTransitions() []Transition {
	var found []Transition
	for _, p := range w.sorted() {
		object, exists := peek(w, p.server+"-0", &corev1.Pod{})
		if !exists || object.UID != p.uid {
			continue
		}
		for _, transition := range w.nextOf(p, object) {
			transition.Name += " (" + object.Name + ")"
			found = append(found, transition)
		}
	}
	return found
}

// nextOf are the next steps of one Pod.
func (w *World) nextOf(p *pod, object *corev1.Pod) []Transition {
	var found []Transition
	add := func(name string, do func()) { found = append(found, Transition{name, do}) }
	node := w.node(p.server)
	report := w.podStatus(p, object)
	if !equality.Semantic.DeepEqual(report, object.Status) {
		add("the kubelet reports", func() {
			reported := object.DeepCopy()
			reported.Status = report
			must(w.API.UpdateStatus(kubelet, reported))
		})
	}
	switch {
	case node.lost:
	case !p.scheduled:
		if !node.closed {
			add("it is put on a node", func() { p.scheduled = true })
		}
	case object.DeletionTimestamp != nil:
		found = append(found, w.ending(p, object))
	default:
		found = append(found, w.living(p, object)...)
		found = append(found, w.refreshed(p)...)
	}
	return found
}

// ending is the next step of a Pod that is to go: lame duck, and then its end.
func (w *World) ending(p *pod, object *corev1.Pod) Transition {
	if p.process != nil && !p.process.lameDuck {
		return Transition{"it enters lame duck", func() { p.process.lameDuck = true; w.handOver(p.server) }}
	}
	return Transition{"it ends", func() {
		w.end(p)
		w.API.Remove(kubelet, keyOf(object))
		delete(w.pods, p.uid)
	}}
}

// living are the next steps of a Pod's container.
func (w *World) living(p *pod, object *corev1.Pod) []Transition {
	switch {
	case p.trying:
		return []Transition{{"it crashes", func() { p.trying = false }}}
	case p.process == nil:
		if state := w.state(p, object); state == "" || state != p.waiting || state == crashLoop && !w.calm {
			return []Transition{{"the container is started", func() { w.start(p, object) }}}
		}
	case !p.started && w.caughtUp(p):
		return []Transition{{"its startup probe passes", func() { p.started = true }}}
	}
	return nil
}

// refreshed is the arrival of a changed ConfigMap in a container that runs.
func (w *World) refreshed(p *pod) []Transition {
	config, exists := peek(w, p.server+"-config", &corev1.ConfigMap{})
	if p.process == nil || !exists || config.Data[render.ConfigKey] == p.config || w.node(p.server).late {
		return nil
	}
	return []Transition{{"its ConfigMap comes into the container", func() { p.config = config.Data[render.ConfigKey] }}}
}

// shape is what the model reads of nats.conf.
type shape struct {
	ServerName string            `json:"server_name"`
	Metadata   map[string]string `json:"server_metadata"`
	Cluster    *struct {
		Routes []string `json:"routes"`
	} `json:"cluster"`
	JetStream *struct{} `json:"jetstream"`
}

// crashLoop is why a container is not started that has ended too often.
const crashLoop = "CrashLoopBackOff"

// state is why the container could not be started now, or would end at once; empty where it would run.
func (w *World) state(p *pod, object *corev1.Pod) string {
	config, exists := peek(w, p.server+"-config", &corev1.ConfigMap{})
	version := versionOf(object.Spec)
	var conf shape
	switch {
	case !exists:
		return "ContainerCreating"
	case version == Absent:
		return "ImagePullBackOff"
	case version == Crashing || json.Unmarshal([]byte(config.Data[render.ConfigKey]), &conf) != nil || conf.ServerName != p.server:
		return crashLoop
	}
	return ""
}

// start is what a kubelet does with a container that does not run. The configuration is read now. One that crashes is seen
// to run for a moment, unless the world is calm.
func (w *World) start(p *pod, object *corev1.Pod) {
	p.waiting = w.state(p, object)
	if p.waiting != "" {
		p.trying = p.waiting == crashLoop && !w.calm
		return
	}
	config, _ := peek(w, p.server+"-config", &corev1.ConfigMap{})
	p.config = config.Data[render.ConfigKey]
	w.made++
	p.process = &process{id: fmt.Sprintf("N%d", w.made), version: versionOf(object.Spec), start: w.now()}
	p.process.load(p.config, w.now())
	w.names[p.process.id] = p.server
}

// load has the process run a configuration that it can read.
func (p *process) load(config string, now time.Time) {
	var conf shape
	if err := json.Unmarshal([]byte(config), &conf); err != nil {
		panic(err) // it was read before
	}
	p.config, p.revision, p.loaded = config, conf.Metadata["config_revision"], now
	p.routes, p.refused, p.askers = 0, false, map[string]bool{}
	if conf.Cluster != nil {
		p.routes = len(conf.Cluster.Routes)
	}
}

// versionOf is the tag of the image that a Pod's nats-server runs.
func versionOf(spec corev1.PodSpec) string {
	return facts.ImageTag(&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{Spec: spec}}})
}

// podStatus is what the kubelet, or without one the node controller, has to report.
func (w *World) podStatus(p *pod, object *corev1.Pod) corev1.PodStatus {
	if w.node(p.server).lost {
		status := *object.Status.DeepCopy()
		for i := range status.Conditions {
			if status.Conditions[i].Type == corev1.PodReady {
				status.Conditions[i].Status = corev1.ConditionFalse
			}
		}
		return status
	}
	if !p.scheduled {
		unscheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}
		if !w.node(p.server).closed {
			return object.Status
		}
		return corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{unscheduled}}
	}
	container := corev1.ContainerStatus{Name: facts.Container, Started: &p.started}
	switch {
	case p.process != nil, p.trying:
		container.State.Running = &corev1.ContainerStateRunning{}
	case p.waiting != "":
		container.State.Waiting = &corev1.ContainerStateWaiting{Reason: p.waiting}
	default:
		container.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	}
	container.Ready = p.ready()
	ready := corev1.ConditionFalse
	if container.Ready {
		ready = corev1.ConditionTrue
	}
	return corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: p.ip, ContainerStatuses: []corev1.ContainerStatus{container},
		Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: ready}},
	}
}

// ready is what the probes find.
func (p *pod) ready() bool {
	return p.process != nil && p.started && !p.process.frozen && !p.process.lameDuck
}
