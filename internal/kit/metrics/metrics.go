// Package metrics shows conditions and gates of objects as gauges (nats-operator v1 design, 9 Observability).
// Every series carries kind, namespace and name; the other labels take few, constant values.
package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Recorder keeps the newest facts of each object and shows exactly these when it is scraped: an object has
// one series per condition type, never a leftover of an earlier reason.
type Recorder struct {
	condition, pending, gate *prometheus.Desc

	mu      sync.Mutex
	objects map[object]*state
}

type object struct {
	kind string
	types.NamespacedName
}

type state struct {
	// conditions by type, so that a list with a type twice cannot spoil the whole scrape.
	conditions map[string]metav1.Condition
	rollout    bool
	pending    int
	waitingFor string
}

// New makes a Recorder whose metrics' names begin with prefix, and registers it. It panics when the registry already has one.
func New(registry prometheus.Registerer, prefix string) *Recorder {
	describe := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(prefix+"_"+name, help, append([]string{"kind", "namespace", "name"}, more...), nil)
	}
	r := &Recorder{
		condition: describe("condition",
			"The conditions of an object: 1 for the status (True, False or Unknown) and reason that each type has now.", "type", "status", "reason"),
		pending: describe("rollout_pending_servers", "The servers that still have to be restarted or replaced."),
		gate: describe("rollout_gate",
			"1 for the gate that the next step of a rollout waits for, absent when none holds.", "waiting_for"),
		objects: map[object]*state{},
	}
	registry.MustRegister(r)
	return r
}

// Conditions replaces the conditions of an object.
func (r *Recorder) Conditions(kind string, key types.NamespacedName, conditions []metav1.Condition) {
	byType := make(map[string]metav1.Condition, len(conditions))
	for _, condition := range conditions {
		byType[condition.Type] = condition
	}
	r.change(kind, key, func(s *state) { s.conditions = byType })
}

// Rollout replaces how many servers an object's rollout has to go, and the name of the gate that its next step
// waits for, "" for none.
func (r *Recorder) Rollout(kind string, key types.NamespacedName, pending int, waitingFor string) {
	r.change(kind, key, func(s *state) { s.rollout, s.pending, s.waitingFor = true, pending, waitingFor })
}

// Forget drops every series of an object that is gone.
func (r *Recorder) Forget(kind string, key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.objects, object{kind, key})
}

func (r *Recorder) change(kind string, key types.NamespacedName, apply func(*state)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := object{kind, key}
	if r.objects[id] == nil {
		r.objects[id] = &state{}
	}
	apply(r.objects[id])
}

// Describe implements prometheus.Collector.
func (r *Recorder) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- r.condition
	descriptions <- r.pending
	descriptions <- r.gate
}

// Collect implements prometheus.Collector.
func (r *Recorder) Collect(found chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for o, s := range r.objects {
		gauge := func(description *prometheus.Desc, value float64, labels ...string) {
			labels = append([]string{o.kind, o.Namespace, o.Name}, labels...)
			found <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, labels...)
		}
		for _, condition := range s.conditions {
			gauge(r.condition, 1, condition.Type, string(condition.Status), condition.Reason)
		}
		if s.rollout {
			gauge(r.pending, float64(s.pending))
		}
		if s.waitingFor != "" {
			gauge(r.gate, 1, s.waitingFor)
		}
	}
}
