package chart

import (
	"os/exec"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

func garageChart() chart {
	return chart{
		name: "holdfast-garage", program: "garage-operator", of: "operator",
		groups: []string{"garage.rajsingh.info"},
		refused: map[string]refusal{
			"no value of leader election": {within("operator", "leaderElection", map[string]any{"enable": false}), "enable"},
			"no image of Garage":          {within("operator", "garageImage", ""), "garageImage"},
			"unsafe by hand":              {within("operator", "extraArgs", []any{"--unsafe-allow-no-leader-election"}), "extraArgs"},
		},
		everythingElse: map[string]any{
			"garageImage":    "registry.example.com/garage:v2.3.0",
			"leaderElection": map[string]any{"enabled": false, "unsafeAllowDisabled": true},
		},
		created: func(namespace, name string) client.Object {
			size := resource.MustParse("1Gi")
			return &v1beta2.GarageCluster{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
				Spec: v1beta2.GarageClusterSpec{Storage: v1beta2.StorageSpec{
					Metadata: &v1beta2.VolumeConfig{VolumeShape: v1beta2.VolumeShape{Size: &size}},
					Data:     &v1beta2.DataVolumeConfig{VolumeShape: v1beta2.VolumeShape{Size: &size}},
				}},
			}
		},
		reasons:    []string{v1beta2.ReasonNotAllReplicasReady, v1beta2.ReasonWaitingForLayoutSync},
		metric:     `garage_operator_condition{kind="GarageCluster",name="one"`,
		everywhere: func(*installation) {}, watching: runsTheImage,
	}
}

// TestOneLayoutWriter has leader election go only by an explicit word and with one replica, of which no second one runs even
// during an update.
func TestOneLayoutWriter(t *testing.T) {
	c := garageChart()
	off := func(replicas int, unsafe bool) map[string]any {
		return map[string]any{"operator": map[string]any{
			"replicas": replicas, "leaderElection": map[string]any{"enabled": false, "unsafeAllowDisabled": unsafe},
		}}
	}
	for named, values := range map[string]map[string]any{"unsafeAllowDisabled": off(1, false), "operator.replicas=1": off(2, true)} {
		if _, err := c.template(t, "default", release, values); err == nil || !strings.Contains(err.Error(), named) {
			t.Errorf("%v: %v", values, err)
		}
	}
	if strategy := only[*appsv1.Deployment](t, c.rendered(t, "default", off(1, true))).Spec.Strategy.Type; strategy != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("an update would run two of them: %s", strategy)
	}
	if strategy := only[*appsv1.Deployment](t, c.rendered(t, "default", nil)).Spec.Strategy.Type; strategy != "" {
		t.Errorf("with leader election, the strategy is %s", strategy)
	}
	in := install(t, c, env.Start(t).Namespace(t), nil)
	said, err := exec.CommandContext(t.Context(), in.binary, "--leader-elect=false").CombinedOutput()
	if err == nil || !strings.Contains(string(said), "--unsafe-allow-no-leader-election") {
		t.Errorf("%v: %s", err, said)
	}
}

// TestPolicies has the API server hold GarageNodes, where it can and is to.
func TestPolicies(t *testing.T) {
	c := garageChart()
	count := func(values map[string]any) (policies, bindings int) {
		for _, object := range c.rendered(t, "default", values) {
			switch object.GetKind() {
			case "ValidatingAdmissionPolicy":
				policies++
			case "ValidatingAdmissionPolicyBinding":
				bindings++
			}
		}
		return policies, bindings
	}
	if policies, bindings := count(nil); policies != 1 || bindings != 1 {
		t.Errorf("%d policies and %d bindings", policies, bindings)
	}
	if policies, bindings := count(map[string]any{"policies": map[string]any{"install": false}}); policies+bindings != 0 {
		t.Errorf("%d policies and %d bindings that are not wanted", policies, bindings)
	}
}

// runsTheImage has nodes run the installation's Garage where nobody names another.
func runsTheImage(in *installation, one, _, _ string) {
	in.Helper()
	set := &appsv1.StatefulSet{}
	in.must(in.env.Client.Get(in.Context(), client.ObjectKey{Namespace: one, Name: "one-storage-0"}, set))
	if image := set.Spec.Template.Spec.Containers[0].Image; image != "registry.example.com/garage:v2.3.0" {
		in.Errorf("Garage's image is %s", image)
	}
}
