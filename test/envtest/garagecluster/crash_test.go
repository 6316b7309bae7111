package garagecluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/test/sim/reaper"
)

// What a change is brought about by.
const (
	rolling = "rollout"
	growing = "scale-up"
)

// TestKilledAtEveryCall takes a GarageCluster through rollouts, and through the joining of a node, and ends the controller before
// and after every call that has an effect, on the API server or on a Garage, until each has had its two crashes. After each,
// another controller goes on from there. There are never two Pods away, and every node stays who it is.
func TestKilledAtEveryCall(t *testing.T) {
	t.Parallel()
	l := startServers(t)
	stop := l.startController(controllerOptions{})
	cluster := l.cluster()
	l.isReady(cluster)
	stop()
	identities := l.identities()
	r := reaper.New(reaper.Options{Ends: func(c reaper.Call, _ string) []reaper.Ending {
		if !c.Effect() {
			return nil
		}
		return []reaper.Ending{reaper.Before, reaper.After}
	}, Anytime: whenever, Part: nodeUnderWay})

	for round := 0; round == 0 || !all(r); round++ {
		if round == 5 {
			calls, due, fired := r.Count()
			t.Fatalf("after %d rounds: %d calls, %d of %d crashes", round, calls, fired, due)
		}
		l.through(r, cluster, rolling, func(spec *v1beta2.GarageClusterSpec) { spec.Logging.Level = []string{"debug", "info"}[round%2] })
	}
	l.through(r, cluster, growing, func(spec *v1beta2.GarageClusterSpec) { spec.Storage.Replicas = new(int32(4)) })
	sawAll(t, r)
	if layout, err := l.admin("garage-storage-0-0").GetClusterLayout(t.Context()); err != nil || layout.Version != 2 || len(layout.Roles) != 4 {
		t.Errorf("the layout is %+v, %v", layout, err)
	}
	after := l.identities()
	for name, id := range identities {
		if after[name] != id {
			t.Errorf("%s was %s, and is %s", name, id, after[name])
		}
	}
	l.neverTwoAway()
	_, due, fired := r.Count()
	fmt.Printf("%d calls with an effect, %d crashes, failed: %v\n", due/2, fired, t.Failed())
}

// sawAll fails unless the calls were among those that matter.
func sawAll(t *testing.T, r *reaper.Reaper) {
	t.Helper()
	applied := false
	for ordinal := range 3 {
		node := render.NodeName(clusterName, ordinal)
		for _, wanted := range []reaper.Call{
			{Step: rolling + " of " + node, Verb: http.MethodPatch, Object: "statefulsets/" + node},
			{Step: rolling + " of " + node, Verb: http.MethodDelete, Object: "pods/" + render.PodName(node)},
		} {
			if !r.Saw(wanted) {
				t.Errorf("no call was %s", wanted)
			}
		}
		applied = applied || r.Saw(reaper.Call{Step: growing, Verb: http.MethodPost, Object: "ApplyClusterLayout of " + node})
	}
	if !applied {
		t.Error("no controller was ended as it applied a layout")
	}
}

// all says that each call has had its crashes.
func all(r *reaper.Reaper) bool {
	_, due, fired := r.Count()
	return fired == due
}

// whenever says that a call may come up whichever Pod is being replaced: what is seen of nodes, members that connect, events.
func whenever(verb, object string) bool {
	return object == reaper.Events || object == connecting || verb == http.MethodPut && strings.HasPrefix(object, "garagenodes/")
}

// nodeUnderWay is the node whose Pod a status is about to say is being replaced.
func nodeUnderWay(object string, body []byte) (string, bool) {
	var cluster v1beta2.GarageCluster
	if !strings.HasPrefix(object, "garageclusters/") || json.Unmarshal(body, &cluster) != nil {
		return "", false
	}
	return cluster.Status.StorageRollout.GarageNodeName, true
}

// through has controllers bring a change about, each ended at the first call at which none was ended before, until one goes
// through without that.
func (l *lab) through(r *reaper.Reaper, cluster *v1beta2.GarageCluster, change string, how func(*v1beta2.GarageClusterSpec)) {
	l.Helper()
	r.Begin(change)
	l.edit(cluster, how)
	for {
		v := r.Victim()
		stop := l.startController(controllerOptions{
			transport: v.Through, admin: v.Asking(&http.Transport{DisableKeepAlives: true}, l.asked),
		})
		l.restsUnless(cluster, v.Dead)
		stop()
		end, hasEnded := v.Ended()
		if !hasEnded {
			return
		}
		_, _, fired := r.Count()
		fmt.Printf("crash %3d: %s\n", fired, end)
	}
}

// connecting is asked of whichever member sees the fewest.
const connecting = "ConnectClusterNodes"

// asked is what a request asks of which node.
func (l *lab) asked(request *http.Request) string {
	if strings.HasSuffix(request.URL.Path, connecting) {
		return connecting
	}
	for ordinal := range 4 {
		name := render.NodeName(clusterName, ordinal)
		if l.kubelet.Addr(render.PodName(name)) == request.URL.Hostname() {
			return strings.TrimPrefix(request.URL.Path, "/v2/") + " of " + name
		}
	}
	return request.URL.Path
}

// restsUnless waits until the GarageCluster is at rest, or the controller is dead.
func (l *lab) restsUnless(cluster *v1beta2.GarageCluster, dead <-chan struct{}) {
	l.Helper()
	l.Eventually(func(g gomega.Gomega) {
		select {
		case <-dead:
			return
		default:
		}
		g.Expect(l.client.Get(l.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(gomega.Succeed())
		for _, kind := range []string{v1beta2.ConditionReady, v1beta2.ConditionStorageRolloutReady} {
			found := meta.FindStatusCondition(cluster.Status.Conditions, kind)
			g.Expect(found).NotTo(gomega.BeNil())
			g.Expect(found.ObservedGeneration).To(gomega.Equal(cluster.Generation))
			g.Expect(string(found.Status)).To(gomega.Equal("True"), found.Message)
		}
		g.Expect(cluster.Status.StorageRollout.GarageNodeName).To(gomega.BeEmpty())
	}).Should(gomega.Succeed())
}
