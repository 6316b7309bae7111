package natsmodel

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	k8sevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/events"
	"github.com/holdfast-dev/holdfast/internal/kit/metrics"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/controller"
	"github.com/holdfast-dev/holdfast/internal/nats/settled"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi"
	"github.com/holdfast-dev/holdfast/test/sim/fault"
)

// Clients are what an instance's reconciler is given. A test of the tests wraps them, and so makes a controller with a fault.
type Clients struct {
	Client  client.Client
	Live    client.Reader
	Monitor settled.MonitorAPI
	System  controller.System
}

// A History is one world with the controller's instances in it.
type History struct {
	World     *World
	Scheduler *fault.Scheduler
	Checker   *Checker
	// Instances are those that were started; some are dead.
	Instances []*fault.Instance

	scheme         *runtime.Scheme
	readYourWrites bool
	wrap           func(Clients) Clients
}

// NewHistory makes one of the NatsCluster. It has to be in a bubble of testing/synctest.
func NewHistory(cluster *v1beta1.NatsCluster, readYourWrites bool, wrap func(Clients) Clients) (*History, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	world, err := NewWorld(scheme, time.Now)
	if err != nil {
		return nil, err
	}
	objects := []client.Object{cluster} // which is the first: see controlled
	if cluster.Spec.Auth != nil {
		objects = append(objects, operatorTrust(), systemUser())
	}
	for _, object := range objects {
		if _, err := world.API.Create(user, user, object); err != nil {
			return nil, err
		}
	}
	h := &History{World: world, Scheduler: &fault.Scheduler{}, scheme: scheme, readYourWrites: readYourWrites, wrap: wrap}
	h.Checker = NewChecker(world, h.Scheduler)
	return h, nil
}

// Start starts one more instance of the controller.
func (h *History) Start(ctx context.Context) *fault.Instance {
	name := fmt.Sprintf("%s%d", InstancePrefix, len(h.Instances))
	instance := h.Scheduler.Start(ctx, name, h.reconcile)
	h.Instances = append(h.Instances, instance)
	h.Scheduler.Settle()
	return instance
}

// reconcile is one instance: pass after pass, with a rest after each.
func (h *History) reconcile(ctx context.Context, instance *fault.Instance) {
	cached := func(object client.Object) bool {
		_, cluster := object.(*v1beta1.NatsCluster)
		_, trust := object.(*natsv1beta1.NatsOperatorTrust)
		_, labelled := object.GetLabels()[v1beta1.LabelCluster]
		return cluster || trust || labelled
	}
	api := fault.NewClient(h.World.API, h.scheme, instance, fault.Options{Cached: cached, ReadYourWrites: h.readYourWrites, Now: time.Now})
	with := Clients{Client: api, Live: api.Live(), Monitor: Monitor{World: h.World, Instance: instance}, System: System{World: h.World, Instance: instance}}
	if h.wrap != nil {
		with = h.wrap(with)
	}
	reconciler := reconcile.AsReconciler(with.Client, &controller.Reconciler{
		Client: with.Client, Live: with.Live, Monitor: with.Monitor, Clock: clock.RealClock{}, Namespace: "holdfast",
		System: func(context.Context, string, sysapi.Options, []byte) (controller.System, error) {
			return with.System, nil
		},
		Events: events.Recorder{Events: &k8sevents.FakeRecorder{}}, Metrics: metrics.New(prometheus.NewRegistry(), "nats_operator"),
	})
	for {
		request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: Namespace, Name: Name}}
		result, _ := reconciler.Reconcile(ctx, request) // an error is tried again, as controller-runtime does
		rest := fault.Call{Verb: "rest", Class: fault.Idle, After: result.RequeueAfter}
		_ = instance.Do(rest, func() (func(), error) { return nil, nil })
	}
}

// Alive are the instances that run, the oldest first.
func (h *History) Alive() []*fault.Instance {
	var found []*fault.Instance
	for _, instance := range h.Instances {
		if instance.Alive() {
			found = append(found, instance)
		}
	}
	return found
}

// pause is longer than settled.Look waits between two looks.
const pause = 250 * time.Millisecond

// Resume lets an instance's next call have its fate. Where it makes none, since it sleeps, time passes. It says what the
// call was; nil for none.
func (h *History) Resume(instance *fault.Instance, fate fault.Fate) *fault.Call {
	call := h.Scheduler.Next(instance)
	if call == nil {
		h.Pass(pause)
		return nil
	}
	if call.Class == fault.Idle {
		h.Pass(call.After)
	}
	h.Scheduler.Resume(instance, fate)
	h.Checker.Observe()
	return call
}

// Pass lets time pass.
func (h *History) Pass(d time.Duration) {
	if d > 0 {
		<-time.After(d)
		h.Scheduler.Settle()
	}
}

// Step has one transition happen, the one of that number where there are so many. It says whether there was one.
func (h *History) Step(number int) bool {
	transitions := h.World.Transitions()
	if len(transitions) == 0 {
		return false
	}
	h.World.Step(transitions[number%len(transitions)])
	h.Checker.Observe()
	return true
}

// Stop ends all instances, so that the bubble can end.
func (h *History) Stop() {
	for _, instance := range h.Instances {
		h.Scheduler.Kill(instance)
	}
	h.Pass(time.Minute) // those that sleep wake up, and end at their next call
	for _, instance := range h.Instances {
		h.Scheduler.Kill(instance)
	}
}
