package facts

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// runs is a node whose Pod has started its Garage again that often.
func runs(name string, pod types.UID, restarts int32) Node {
	return Node{GarageNode: &v1beta1.GarageNode{ObjectMeta: metav1.ObjectMeta{Name: name}}, Pod: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: pod},
		Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: render.ContainerGarage, RestartCount: restarts}}},
	}}
}

// What a process said counts for as long as it is the same process.
func TestStill(t *testing.T) {
	said := Processes{}
	for _, name := range []string{"same", "gone", "unrun", "replaced", "restarted"} {
		said[name] = fact.Known(Process{PodUID: "pod", Restarts: 1})
	}
	said["silent"] = fact.Unknown[Process]("no answer")
	still := said.Still(Nodes{
		runs("same", "pod", 1), {GarageNode: runs("unrun", "", 0).GarageNode}, runs("replaced", "other", 1), runs("restarted", "pod", 2), runs("silent", "pod", 1),
	})
	for name, want := range map[string]string{"same": "", "silent": "no answer"} {
		if _, known := still.Of(name).Get(); known != (want == "") || still.Of(name).Why() != want {
			t.Errorf("%s: known %t, %q", name, known, still.Of(name).Why())
		}
	}
	for _, name := range []string{"gone", "unrun", "replaced", "restarted"} {
		if _, known := still.Of(name).Get(); known {
			t.Errorf("%s: what it said still counts", name)
		}
	}
}

// What a process says counts for a node only if it is who is recorded.
func TestOwn(t *testing.T) {
	node := Node{GarageNode: &v1beta1.GarageNode{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: v1beta1.GarageNodeStatus{NodeID: "1"}}}
	for why, said := range map[string]fact.Fact[Process]{
		"":                                   fact.Known(Process{ID: "1"}),
		"no answer":                          fact.Unknown[Process]("no answer"),
		"its process is not who is recorded": fact.Known(Process{ID: "2"}),
	} {
		own := Processes{"a": said}.Own(node)
		if _, known := own.Get(); known != (why == "") || own.Why() != why {
			t.Errorf("known %t, %q, want %q", known, own.Why(), why)
		}
	}
}
