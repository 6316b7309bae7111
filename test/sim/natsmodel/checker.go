package natsmodel

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/facts"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
	"github.com/holdfast-dev/holdfast/test/sim/apimodel"
	"github.com/holdfast-dev/holdfast/test/sim/fault"
)

// InstancePrefix begins the names of the controller's instances, by which their writes are told from those of others.
const InstancePrefix = "controller-"

// A Checker compares what the controllers write with the truth.
type Checker struct {
	world     *World
	scheduler *fault.Scheduler
	// broken is since when a server is not whole, and stopped since when its Pod is reported not to run; absent where it is.
	broken, stopped map[string]int64
	// down are the servers that a controller has taken down and that have not come back at their revision.
	down map[string]bool
	// looks is what each instance has seen afresh last, and orders what it was ordered in this pass.
	looks  map[string]*look
	orders map[string]*order
	// ways are what each server's process has to come by, told the processes that each instance was told of in this pass, by
	// server, and without when the spec has last named no system user.
	ways    map[string]*way
	told    map[string]map[string]string
	without int64
	found   []error
	// Touched counts the servers that were taken down, and Forced those by an order.
	Touched, Forced int
	// Given counts the configurations that servers were given to reload, Reloaded those that a process has taken over, Fallen
	// the servers that were restarted because one had not, and Shared the processes that two instances have asked.
	Given, Reloaded, Fallen, Shared int
	// Released says that the NatsCluster was let go, and Ordered that a person had ordered it.
	Released, Ordered bool
	// Last says that a rollout has come to its last server.
	Last bool
}

// look is an unbroken row of fresh reads: a look of an instance at the API server and the servers.
type look struct {
	start    int64
	open     bool
	answered map[string]bool
	// left are the servers that there were when it began, and stopped those that were reported not to run.
	left, stopped map[string]bool
}

// order is a force-step that an instance has taken off the NatsCluster.
type order struct {
	server string
	done   bool
}

// issued is what an instance knew when it sent a write.
type issued struct {
	look  look
	order *order
}

// NewChecker makes one for a world and the scheduler of its controllers, and puts itself between them.
func NewChecker(w *World, s *fault.Scheduler) *Checker {
	c := &Checker{
		world: w, scheduler: s, broken: map[string]int64{}, stopped: map[string]int64{}, down: map[string]bool{},
		looks: map[string]*look{}, orders: map[string]*order{}, ways: map[string]*way{}, told: map[string]map[string]string{},
	}
	s.Issued, s.Done = c.issued, c.done
	w.API.OnWrite(c.wrote)
	return c
}

// Err is what was found.
func (c *Checker) Err() error { return errors.Join(append(c.found, c.scheduler.Err())...) }

func (c *Checker) report(format string, args ...any) {
	c.found = append(c.found, fmt.Errorf("at %d: "+format, append([]any{c.world.Tick}, args...)...))
}

// issued goes along with a call.
func (c *Checker) issued(call *fault.Call) any {
	switch {
	case call.Class == fault.Idle: // the pass is over
		delete(c.orders, call.Instance)
		delete(c.told, call.Instance)
		delete(c.looks, call.Instance)
	case call.Verb == Reloading && c.told[call.Instance][call.Name] != call.Kind:
		c.report("%s asks a process of which it was not told in this pass", call)
	}
	if call.Class != fault.Write {
		return nil
	}
	out := issued{order: c.orders[call.Instance]}
	if seen := c.looks[call.Instance]; seen != nil {
		out.look = look{start: seen.start, answered: maps.Clone(seen.answered), left: seen.left, stopped: seen.stopped}
	}
	return out
}

// done keeps account of what an instance sees.
func (c *Checker) done(call *fault.Call, _ fault.Fate, err error) {
	c.world.Tick++
	seen := c.looks[call.Instance]
	if call.Class != fault.Live && call.Class != fault.Service || call.Verb == Reloading {
		if seen != nil {
			seen.open = false
		}
		return
	}
	if seen == nil || !seen.open {
		if call.Verb == "get" {
			return // one object, by which nothing is judged but that object
		}
		seen = &look{start: c.world.Tick, open: true, answered: map[string]bool{}, left: map[string]bool{}, stopped: map[string]bool{}}
		for _, server := range c.world.Planned() {
			seen.left[server] = c.world.left(server)
			seen.stopped[server] = c.world.reportedStopped(server)
		}
		c.looks[call.Instance] = seen
	}
	if call.Class == fault.Service {
		seen.answered[call.Name] = err == nil
	}
	if call.Verb == "varz" && err == nil {
		c.tell(call.Instance, call.Name)
	}
}

// tell takes note of the process of which an instance was told now.
func (c *Checker) tell(instance, server string) {
	p := c.world.running(server)
	if p == nil {
		return // the answer is not this server's: it came from a cache of the instance
	}
	if c.told[instance] == nil {
		c.told[instance] = map[string]string{}
	}
	c.told[instance][server] = p.process.id
}

// Observe takes note of the present truth. It has to be called after each step of the world or of a controller.
func (c *Checker) Observe() {
	for _, server := range c.world.Planned() {
		note(c.broken, server, !c.world.Whole(server), c.world.Tick)
		stopped := c.world.reportedStopped(server)
		note(c.stopped, server, stopped, c.world.Tick)
	}
	for server := range c.down {
		if c.world.back(server) {
			delete(c.down, server)
		}
	}
	c.observeWays()
}

func note(since map[string]int64, server string, holds bool, tick int64) {
	if _, before := since[server]; holds && !before {
		since[server] = tick
	} else if !holds {
		delete(since, server)
	}
}

// Whole says that the server does its part: its process runs, and all that it holds is current.
func (w *World) Whole(server string) bool {
	p := w.running(server)
	object, exists := peek(w, server+"-0", &corev1.Pod{})
	if p == nil || !exists || object.DeletionTimestamp != nil || p.process.lameDuck || !w.alive(server) {
		return false
	}
	if w.Cluster().Spec.JetStream == nil || p.process.routes == 0 {
		return true
	}
	meta := w.meta()
	return meta != nil && slices.Contains(meta.members, server) && w.currentEverywhere(server)
}

// reportedStopped says that the API server does not show a nats-server that runs in the server's Pod.
func (w *World) reportedStopped(server string) bool {
	object, exists := peek(w, server+"-0", &corev1.Pod{})
	if !exists {
		return true
	}
	return facts.Server{Pod: object}.Stopped()
}

// back says that a server which was taken down runs what its StatefulSet says, and is Ready; or that it is gone for good.
func (w *World) back(server string) bool {
	p := w.running(server)
	set, exists := peek(w, server, &appsv1.StatefulSet{})
	if !exists || !slices.Contains(w.Planned(), server) {
		return p == nil
	}
	object, has := peek(w, server+"-0", &corev1.Pod{})
	return has && p != nil && p.ready() && object.Labels[appsv1.ControllerRevisionHashLabelKey] == w.hashOf(set) &&
		(p.process.revision == revisionOf(set) || w.runsItsConfig(server))
}

// runsItsConfig says that the server's process runs what its ConfigMap says.
func (w *World) runsItsConfig(server string) bool {
	p := w.running(server)
	config, exists := peek(w, server+"-config", &corev1.ConfigMap{})
	return p != nil && exists && runs(p.process.config, config.Data[render.ConfigKey])
}

// wrote judges one write.
func (c *Checker) wrote(write apimodel.Write) {
	if !strings.HasPrefix(write.By, InstancePrefix) {
		if at := c.ways[write.Key.Name]; at != nil && write.By == user && write.Key.Kind.Kind == "StatefulSet" {
			at.edited = true
		}
		return
	}
	call := c.scheduler.Sending()
	known, _ := call.Context.(issued)
	if write.Key.Kind.Kind == v1beta1.KindNatsCluster {
		c.wroteCluster(write, call, known)
		return
	}
	if write.Before != nil && !controlled(write.Before) {
		c.report("%s writes what the NatsCluster does not control: %s", call, write.Key)
	}
	switch write.Key.Kind.Kind {
	case "StatefulSet":
		c.wroteSet(write, call, known)
	case "ConfigMap":
		c.wroteConfig(write, call, known)
	}
}

// controlled says that an object is the NatsCluster's: it is the first object of each history, and never made again.
func controlled(object metav1.Object) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && owner.UID == "uid-1"
}

const maxMessage = 1024

func (c *Checker) wroteCluster(write apimodel.Write, call *fault.Call, known issued) {
	after, _ := write.After.(*v1beta1.NatsCluster)
	if after == nil {
		c.released(write, call, known)
		return
	}
	for _, condition := range after.Status.Conditions {
		if n := utf8.RuneCountInString(condition.Message); n > maxMessage || condition.Reason == "" {
			c.report("condition %s has reason %q and a message of %d runes", condition.Type, condition.Reason, n)
		}
	}
	before, _ := write.Before.(*v1beta1.NatsCluster)
	if before == nil {
		return
	}
	ordered, had := before.Annotations[v1beta1.AnnotationForceStep]
	if _, has := after.Annotations[v1beta1.AnnotationForceStep]; had && !has {
		c.orders[write.By] = &order{server: ordered}
	}
	if r := after.Status.Rollout; r != nil && r.Current != "" && len(r.Pending) == 0 && len(r.Updated) == int(after.Spec.Replicas)-1 {
		c.Last = true
	}
}

// wroteSet judges a write of a StatefulSet: does it take the server down, and was that allowed?
func (c *Checker) wroteSet(write apimodel.Write, call *fault.Call, known issued) {
	server := write.Key.Name
	if write.Before == nil {
		c.made(call)
	}
	if !c.changes(write) {
		return
	}
	// The kubelet's word counts, as it was when the controller looked: of a process that has not been reported yet nobody can
	// know that it runs.
	switch {
	case known.order != nil && known.order.server == server:
		if known.order.done {
			c.report("%s carries out one force-step twice", call)
		}
		known.order.done = true
		c.Forced++
	case c.world.running(server) == nil || known.look.stopped[server]:
		c.wroteStopped(server, call, known, write)
	default:
		c.Touched++
		c.wroteRunning(server, call, known)
	}
	c.wroteTemplate(server, write, call, known)
	if write.After != nil || slices.Contains(c.world.Planned(), server) {
		c.down[server] = true
	}
}

// wroteRunning judges what takes down a server that runs: nobody else is down, and all others were seen to be whole.
func (c *Checker) wroteRunning(server string, call *fault.Call, known issued) {
	for other := range c.down {
		if other != server {
			c.report("%s takes %s down while %s, taken down before, is not back", call, server, other)
		}
	}
	for _, other := range c.world.Planned() {
		if _, exists := peek(c.world, other, &appsv1.StatefulSet{}); other == server || !exists && c.world.running(other) == nil {
			continue
		}
		if since, broken := c.broken[other]; broken && since <= known.look.start {
			c.report("%s takes %s down; %s is not whole since %d, and was last looked at from %d on", call, server, other, since, known.look.start)
		}
		if known.look.left[other] && !known.look.answered[other] {
			c.report("%s takes %s down; of %s it had no answer", call, server, other)
		}
	}
}

// changes says that the write gives the server's Pod another template, or an end. A new StatefulSet does so to a Pod of
// another revision that it finds, unless that ends already. Known, and let pass: it also restarts a Pod of the same revision
// whose template a user had edited before the StatefulSet was deleted; the controller goes by the revision.
func (c *Checker) changes(write apimodel.Write) bool {
	before, _ := write.Before.(*appsv1.StatefulSet)
	after, _ := write.After.(*appsv1.StatefulSet)
	switch {
	case after == nil:
		return true
	case before != nil:
		return c.world.hashOf(before) != c.world.hashOf(after)
	}
	object, exists := peek(c.world, write.Key.Name+"-0", &corev1.Pod{})
	return exists && object.DeletionTimestamp == nil && object.Annotations[v1beta1.AnnotationConfigRevision] != revisionOf(after)
}

// wroteStopped judges a new template for a server that does not run: one that has been up keeps what it can start with
// while another is down that the same revision was given to before.
func (c *Checker) wroteStopped(server string, call *fault.Call, known issued, write apimodel.Write) {
	after, _ := write.After.(*appsv1.StatefulSet)
	up := slices.ContainsFunc(c.world.Cluster().Status.Servers, func(s v1beta1.ServerStatus) bool { return s.Name == server && s.Version != "" })
	if after == nil || !up || c.down[server] {
		return
	}
	for other := range c.down {
		since, stopped := c.stopped[other]
		set, exists := peek(c.world, other, &appsv1.StatefulSet{})
		if other != server && stopped && since <= known.look.start && exists && revisionOf(set) == revisionOf(after) {
			c.report("%s gives %s, which is on its way back, a revision with which %s, begun before, is down", call, server, other)
		}
	}
}

// revisionOf is the revision that a StatefulSet's template was written for.
func revisionOf(set *appsv1.StatefulSet) string {
	return facts.Server{StatefulSet: set}.TemplateRevision()
}
