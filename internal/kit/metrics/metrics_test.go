package metrics_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/kit/metrics"
)

var (
	a = types.NamespacedName{Namespace: "one", Name: "a"}
	b = types.NamespacedName{Namespace: "two", Name: "b"}
)

// shows compares all series with the given ones, each in one line.
func shows(t *testing.T, registry *prometheus.Registry, series ...string) {
	t.Helper()
	help := map[string]string{
		"nats_operator_condition":               "The conditions of an object: 1 for the status (True, False or Unknown) and reason that each type has now.",
		"nats_operator_rollout_gate":            "1 for the gate that the next step of a rollout waits for, absent when none holds.",
		"nats_operator_rollout_pending_servers": "The servers that still have to be restarted or replaced.",
	}
	var want strings.Builder
	for _, line := range series {
		name, _, _ := strings.Cut(line, "{")
		if text := help[name]; text != "" {
			want.WriteString("# HELP " + name + " " + text + "\n# TYPE " + name + " gauge\n")
			delete(help, name)
		}
		want.WriteString(line + "\n")
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want.String())); err != nil {
		t.Error(err)
	}
}

func TestRecorder(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	recorder := metrics.New(registry, "nats_operator")
	shows(t, registry)

	recorder.Conditions("NatsCluster", a, []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionFalse, Reason: "QuorumUnavailable"},
		{Type: "Settled", Status: metav1.ConditionUnknown, Reason: "ObservationFailed"},
	})
	recorder.Conditions("NatsCluster", b, []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "AllServersReady"}})
	recorder.Rollout("NatsCluster", a, 2, "Settled")
	recorder.Rollout("NatsCluster", b, 0, "")
	shows(t, registry,
		`nats_operator_condition{kind="NatsCluster",name="a",namespace="one",reason="QuorumUnavailable",status="False",type="Ready"} 1`,
		`nats_operator_condition{kind="NatsCluster",name="a",namespace="one",reason="ObservationFailed",status="Unknown",type="Settled"} 1`,
		`nats_operator_condition{kind="NatsCluster",name="b",namespace="two",reason="AllServersReady",status="True",type="Ready"} 1`,
		`nats_operator_rollout_gate{kind="NatsCluster",name="a",namespace="one",waiting_for="Settled"} 1`,
		`nats_operator_rollout_pending_servers{kind="NatsCluster",name="a",namespace="one"} 2`,
		`nats_operator_rollout_pending_servers{kind="NatsCluster",name="b",namespace="two"} 0`,
	)

	// News replace what was; the rollout's do not touch the conditions.
	recorder.Rollout("NatsCluster", a, 1, "")
	recorder.Conditions("NatsCluster", a, []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "QuorumAvailable"}})
	recorder.Forget("NatsCluster", b)
	shows(t, registry,
		`nats_operator_condition{kind="NatsCluster",name="a",namespace="one",reason="QuorumAvailable",status="True",type="Ready"} 1`,
		`nats_operator_rollout_pending_servers{kind="NatsCluster",name="a",namespace="one"} 1`,
	)
}

// A condition list with a type twice is a mistake, but it must not take the scrape of all the rest with it.
func TestRecorderSurvivesATypeTwice(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	metrics.New(registry, "nats_operator").Conditions("NatsCluster", a, []metav1.Condition{
		{Type: "Ready", Status: metav1.ConditionFalse, Reason: "R"}, {Type: "Ready", Status: metav1.ConditionFalse, Reason: "R"},
	})
	shows(t, registry, `nats_operator_condition{kind="NatsCluster",name="a",namespace="one",reason="R",status="False",type="Ready"} 1`)
}
