package kubelet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

// garageBench is three Garage servers, store-0 to store-2, each a StatefulSet of its own.
type garageBench struct {
	*bench
	ids []string // of the servers, as first seen
}

// startGarage brings them on their way up. What a test needs otherwise it changes before.
func startGarage(t *testing.T, change func(server int, set *appsv1.StatefulSet)) *garageBench {
	t.Helper()
	e := env.Start(t)
	b := &garageBench{bench: &bench{T: t, WithT: gomega.NewWithT(t), env: e, ns: e.Namespace(t)}}
	b.SetDefaultEventuallyTimeout(wait)
	b.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	b.k = Start(t, e.Config, Options{Namespace: b.ns, Servers: GarageFromEnv(t)})
	b.tellOnFailure()
	for _, object := range garageManifests(b.ns) {
		b.create(object)
	}
	for i := range 3 {
		set := garageSet(b.ns, i)
		change(i, set)
		b.create(set)
	}
	return b
}

func unchanged(int, *appsv1.StatefulSet) {}

func (b *bench) create(object client.Object) {
	b.Helper()
	if err := b.env.Client.Create(b.Context(), object); err != nil {
		b.Fatal(err)
	}
}

// update changes an object, whoever else does meanwhile.
func update[T client.Object](b *bench, name string, object T, change func(T)) {
	b.Helper()
	for {
		if err := b.env.Client.Get(b.Context(), types.NamespacedName{Namespace: b.ns, Name: name}, object); err != nil {
			b.Fatal(err)
		}
		change(object)
		err := b.env.Client.Update(b.Context(), object)
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) {
			b.Fatal(err)
		}
	}
}

// ask calls the Admin API of the Pod's server. The answer goes where answer points, unless that is nil.
func (b *garageBench) ask(pod, call string, body, answer any) error {
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Second)
	defer cancel()
	method := http.MethodGet
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if body != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+b.k.Addr(pod)+":3903"+call, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+adminToken)
	response, err := probeClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", call, response.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

// id is the server's own name for itself, "" while it does not tell.
func (b *garageBench) id(pod string) string {
	var info struct{ Success map[string]any }
	if err := b.ask(pod, "/v2/GetNodeInfo?node=self", nil, &info); err != nil {
		return ""
	}
	for id := range info.Success {
		return id
	}
	return ""
}

// node is a server in the eyes of another.
type node struct {
	ID       string
	Addr     string
	Hostname string
	IsUp     bool
}

// members are the servers that the Pod's server knows. Others tell it their names only seconds later, so they have none.
func (b *garageBench) members(pod string) []node {
	var status struct{ Nodes []node }
	if err := b.ask(pod, "/v2/GetClusterStatus", nil, &status); err != nil {
		return nil
	}
	for i := range status.Nodes {
		if !strings.HasPrefix(status.Nodes[i].Addr, b.k.Addr(pod)+":") {
			status.Nodes[i].Hostname = ""
		}
	}
	slices.SortFunc(status.Nodes, func(a, b node) int { return strings.Compare(a.ID, b.ID) })
	return status.Nodes
}

// connect has the Pod's server connect to every one, as a server that has just started does not find the others by itself:
// it writes down only after a minute who they are.
func (b *garageBench) connect(pod string) {
	b.Helper()
	var peers []string
	for i, id := range b.ids {
		peers = append(peers, id+"@"+b.k.Addr(store(i)+"-0")+":3901")
	}
	var answer []struct{ Success bool }
	b.Eventually(func() error { return b.ask(pod, "/v2/ConnectClusterNodes", peers, &answer) }).Should(gomega.Succeed())
	if want := []struct{ Success bool }{{true}, {true}, {true}}; !cmp.Equal(want, answer) {
		b.Errorf("connecting %v answered %v", peers, answer)
	}
}

func store(i int) string { return fmt.Sprintf("store-%d", i) }

// form makes one cluster of the three servers.
func (b *garageBench) form() {
	b.Helper()
	var roles []any
	for i := range 3 {
		pod := store(i) + "-0"
		b.Eventually(func() string { return b.id(pod) }).ShouldNot(gomega.BeEmpty())
		id := b.id(pod)
		b.ids = append(b.ids, id)
		roles = append(roles, map[string]any{"id": id, "zone": "z", "tags": []string{}, "capacity": 1 << 30})
	}
	b.connect("store-0-0")
	if err := b.ask("store-0-0", "/v2/UpdateClusterLayout", map[string]any{"roles": roles}, nil); err != nil {
		b.Fatal(err)
	}
	if err := b.ask("store-0-0", "/v2/ApplyClusterLayout", map[string]any{"version": 1}, nil); err != nil {
		b.Fatal(err)
	}
	b.whole("store-0-0", "store-1-0", "store-2-0")
}

// whole waits until the servers of those Pods have a connection to every other, at the address of its Pod.
func (b *garageBench) whole(pods ...string) {
	b.Helper()
	for _, pod := range pods {
		var want []node
		for i := range 3 {
			member := node{ID: b.ids[i], Addr: b.k.Addr(store(i)+"-0") + ":3901", IsUp: true}
			if pod == store(i)+"-0" {
				member.Hostname = pod
			}
			want = append(want, member)
		}
		slices.SortFunc(want, func(a, b node) int { return strings.Compare(a.ID, b.ID) })
		b.Eventually(func() []node { return b.members(pod) }).Should(gomega.Equal(want), "what %s sees", pod)
		b.Eventually(func() error { return b.ask(pod, "/health", nil, nil) }).Should(gomega.Succeed())
	}
}

// replaced deletes the Pod and waits for the next one to be ready.
func (b *garageBench) replaced(name string) {
	b.Helper()
	before := b.pod(name)
	if err := b.env.Client.Delete(b.Context(), before.DeepCopy()); err != nil {
		b.Fatal(err)
	}
	b.Eventually(func() bool { pod := b.pod(name); return pod.UID != before.UID && isReady(pod) }).Should(gomega.BeTrue())
}

// scaled has those StatefulSets of the bench run so many Pods, which is 0 or 1.
func (b *bench) scaled(replicas int32, names ...string) {
	b.Helper()
	for _, name := range names {
		update(b, name, &appsv1.StatefulSet{}, func(set *appsv1.StatefulSet) { set.Spec.Replicas = &replicas })
	}
	for _, name := range names {
		b.Eventually(func() int32 { return b.set(name).Status.ReadyReplicas }).Should(gomega.Equal(replicas))
		b.Eventually(func() bool { return b.pod(name+"-0").UID == "" }).Should(gomega.Equal(replicas == 0))
	}
}

// TestGarage takes three servers, one of which has a name for its peers and one a probe, through what a cluster does to
// them.
func TestGarage(t *testing.T) {
	b := startGarage(t, unchanged)
	b.form()

	t.Run("a changed template waits for somebody to delete the Pod, and the server is the same after", b.onDelete)
	t.Run("a server without probes is ready as long as it runs", b.probeless)
	t.Run("a claim that asks for more has it a moment later", b.grown)
	t.Run("disks that are swapped bring their servers along", b.swapped)
	t.Run("a server with an empty disk is a new one", b.emptied)
}

func (b *garageBench) onDelete(t *testing.T) {
	before := b.pod("store-1-0")
	b.retemplate("store-1", func(template *corev1.PodTemplateSpec) {
		template.Spec.Containers[0].Env = append(template.Spec.Containers[0].Env, corev1.EnvVar{Name: "RUST_LOG", Value: "garage=warn"})
	})
	b.Eventually(func() appsv1.StatefulSetStatus { return b.set("store-1").Status }).Should(gomega.And(
		gomega.HaveField("ObservedGeneration", int64(2)), gomega.HaveField("ReadyReplicas", int32(1)),
		gomega.HaveField("UpdatedReplicas", int32(0)), gomega.HaveField("CurrentReplicas", int32(1)),
	))
	b.Consistently(func() types.UID { return b.pod("store-1-0").UID }, "1s").Should(gomega.Equal(before.UID))
	b.replaced("store-1-0")
	b.rolledOut("store-1", 2)
	b.connect("store-1-0")
	b.whole("store-1-0")
	version := imageVersion(garageImage)
	want := []string{"Started " + version, "Ready " + version, "Stopping " + version, "Exited " + version, "Started " + version, "Ready " + version}
	got := b.story("store-1")
	revision := got[0][strings.LastIndex(got[0], " "):]
	for i := range want {
		want[i] += revision
	}
	if diff := cmp.Diff(want, got); diff != "" || len(revision) != 17 {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
}

func (b *garageBench) probeless(t *testing.T) {
	thaw := b.k.Freeze("store-1-0")
	b.Eventually(func() bool { return isReady(b.pod("store-1-0")) }).Should(gomega.BeFalse())
	thaw()
	b.Eventually(func() bool { return isReady(b.pod("store-1-0")) }).Should(gomega.BeTrue())
	b.k.Kill("store-1-0")
	b.Eventually(func() corev1.ContainerStatus { return b.pod("store-1-0").Status.ContainerStatuses[0] }).Should(gomega.And(
		gomega.HaveField("RestartCount", int32(1)), gomega.HaveField("Ready", true),
	))
	b.connect("store-1-0")
	b.whole("store-1-0")
	if events := b.k.History(); !slices.ContainsFunc(events, func(e Event) bool { return e.Kind == NotReady && e.Pod == "store-1-0" }) {
		t.Error("nobody was told that the Pod stopped being ready")
	}
}

func (b *garageBench) grown(t *testing.T) {
	const name = "data-store-0-0"
	asked, begun := resource.MustParse("2Gi"), time.Now()
	update(b.bench, name, &corev1.PersistentVolumeClaim{}, func(claim *corev1.PersistentVolumeClaim) {
		claim.Spec.Resources.Requests[corev1.ResourceStorage] = asked
	})
	size := func() string {
		var claim corev1.PersistentVolumeClaim
		if err := b.env.Client.Get(t.Context(), types.NamespacedName{Namespace: b.ns, Name: name}, &claim); err != nil {
			t.Fatal(err)
		}
		return claim.Status.Capacity.Storage().String()
	}
	b.Eventually(size).Should(gomega.Equal("2Gi"))
	if took := time.Since(begun); took < 2*growAfter {
		t.Errorf("the claim has what it asks for after %s: nobody could see that it grows", took)
	}
}

func (b *garageBench) swapped(_ *testing.T) {
	b.scaled(0, "store-1", "store-2")
	b.k.SwapClaims("metadata-store-1-0", "metadata-store-2-0")
	b.k.SwapClaims("data-store-1-0", "data-store-2-0")
	b.scaled(1, "store-1", "store-2")
	b.ids[1], b.ids[2] = b.ids[2], b.ids[1]
	b.connect("store-1-0")
	b.connect("store-2-0")
	b.whole("store-1-0", "store-2-0")
}

func (b *garageBench) emptied(t *testing.T) {
	b.k.EmptyClaim("metadata-store-2-0")
	if id := b.id("store-2-0"); id != b.ids[2] {
		t.Errorf("the server that runs is %s, want %s: it keeps its disk", id, b.ids[2])
	}
	b.replaced("store-2-0")
	b.Eventually(func() string { return b.id("store-2-0") }).ShouldNot(gomega.BeElementOf(append(b.ids, "")))
}

// TestGarageSecretFile holds that Garage refuses files that others may read, and that a Pod's fsGroup is one of those.
func TestGarageSecretFile(t *testing.T) {
	spoil := []func(*corev1.PodSpec){
		func(spec *corev1.PodSpec) { secretVolume(spec).DefaultMode = new(int32(0o644)) },
		func(spec *corev1.PodSpec) { spec.SecurityContext.FSGroup = new(int64(1000)) },
		func(spec *corev1.PodSpec) { secretVolume(spec).Items[0].Mode = new(int32(0o604)) },
	}
	b := startGarage(t, func(server int, set *appsv1.StatefulSet) { spoil[server](&set.Spec.Template.Spec) })
	for i, mode := range []string{"0100644", "0100440", "0100604"} {
		pod := store(i) + "-0"
		b.Eventually(func() *corev1.ContainerStateTerminated {
			for _, container := range b.pod(pod).Status.ContainerStatuses {
				return container.LastTerminationState.Terminated
			}
			return nil
		}).Should(gomega.HaveValue(gomega.HaveField("ExitCode", int32(1))), "%s", pod)
		b.Eventually(func() string { return b.k.named(pod).log.String() }).Should(gomega.ContainSubstring("mode: " + mode))
	}
}

// TestGarageTrouble holds that a variable without a source keeps a Pod from starting, and one that may lack it does not.
func TestGarageTrouble(t *testing.T) {
	b := startGarage(t, func(server int, set *appsv1.StatefulSet) {
		c := &set.Spec.Template.Spec.Containers[0]
		c.Env = append(c.Env, corev1.EnvVar{Name: "GARAGE_METRICS_TOKEN", ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "later"}, Key: "token", Optional: new(server == 1),
			},
		}})
	})
	b.rolledOut("store-1", 1)
	b.Eventually(func() *corev1.ContainerStateWaiting {
		for _, container := range b.pod("store-0-0").Status.ContainerStatuses {
			return container.State.Waiting
		}
		return nil
	}).Should(gomega.HaveValue(gomega.Equal(corev1.ContainerStateWaiting{
		Reason: "CreateContainerConfigError", Message: `environment: GARAGE_METRICS_TOKEN: configmaps "later" not found`,
	})))
	b.create(&corev1.ConfigMap{ObjectMeta: garageMeta(b.ns, "later"), Data: map[string]string{"token": "secret"}})
	b.rolledOut("store-0", 1)
}

// TestRetention holds which claims go with their Pod or StatefulSet.
func TestRetention(t *testing.T) {
	const keep, drop = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	policies := []appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		{WhenScaled: drop, WhenDeleted: keep}, {WhenScaled: keep, WhenDeleted: drop}, {WhenScaled: drop, WhenDeleted: drop},
	}
	b := startGarage(t, func(server int, set *appsv1.StatefulSet) {
		set.Spec.PersistentVolumeClaimRetentionPolicy = &policies[server]
	})
	claims := func() (names []string) {
		var list corev1.PersistentVolumeClaimList
		if err := b.env.Client.List(t.Context(), &list, client.InNamespace(b.ns)); err != nil {
			t.Fatal(err)
		}
		for _, claim := range list.Items {
			names = append(names, strings.TrimSuffix(claim.Name, "-0"))
		}
		return names
	}
	all := []string{"data-store-0", "data-store-1", "data-store-2", "metadata-store-0", "metadata-store-1", "metadata-store-2"}
	b.Eventually(claims).Should(gomega.Equal(all))
	b.scaled(0, "store-0", "store-1", "store-2")
	b.Eventually(claims).Should(gomega.Equal([]string{"data-store-1", "metadata-store-1"}))
	b.scaled(1, "store-0", "store-1", "store-2")
	b.Eventually(claims).Should(gomega.Equal(all))
	for i := range 3 {
		if err := b.env.Client.Delete(t.Context(), b.set(store(i))); err != nil {
			t.Fatal(err)
		}
	}
	b.Eventually(claims).Should(gomega.Equal([]string{"data-store-0", "metadata-store-0"}))
}
