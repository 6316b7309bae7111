package kubelet

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

func TestMain(m *testing.M) { env.Main(m) }

// wait is how long anything may take on a loaded machine.
const wait = 60 * time.Second

type bench struct {
	*testing.T
	*gomega.WithT
	env *env.Env
	k   *Kubelet
	ns  string
}

// start brings three servers on their way up. All but the claims belong to the ConfigMap owner.
func start(t *testing.T) *bench {
	t.Helper()
	e := env.Start(t)
	b := &bench{T: t, WithT: gomega.NewWithT(t), env: e, ns: e.Namespace(t)}
	b.SetDefaultEventuallyTimeout(wait)
	b.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	b.k = Start(t, e.Config, Options{Namespace: b.ns, Servers: ServersFromEnv(t)})
	b.tellOnFailure()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.ns, Name: "owner"}}
	if err := e.Client.Create(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	for _, object := range manifests(t, b.ns) {
		if err := controllerutil.SetControllerReference(owner, object, e.Scheme); err != nil {
			t.Fatal(err)
		}
		if err := e.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// tellOnFailure logs what happened to the servers of a test that failed, and what they said.
func (b *bench) tellOnFailure() {
	b.Cleanup(func() {
		if !b.Failed() {
			return
		}
		for _, event := range b.k.History() {
			b.Log(event)
		}
		b.k.mu.Lock()
		defer b.k.mu.Unlock()
		for _, w := range b.k.workers {
			b.Logf("%s wrote:\n%s", w.pod.Name, w.log.String())
		}
	})
}

func (b *bench) pod(name string) *corev1.Pod {
	b.Helper()
	pod := &corev1.Pod{}
	if err := b.env.Client.Get(b.Context(), types.NamespacedName{Namespace: b.ns, Name: name}, pod); err != nil && !apierrors.IsNotFound(err) {
		b.Fatal(err)
	}
	return pod
}

func (b *bench) set(name string) *appsv1.StatefulSet {
	b.Helper()
	set := &appsv1.StatefulSet{}
	if err := b.env.Client.Get(b.Context(), types.NamespacedName{Namespace: b.ns, Name: name}, set); err != nil {
		b.Fatal(err)
	}
	return set
}

func (b *bench) retemplate(name string, change func(*corev1.PodTemplateSpec)) {
	b.Helper()
	set := b.set(name)
	change(&set.Spec.Template)
	if err := b.env.Client.Update(b.Context(), set, client.FieldOwner("test")); err != nil {
		if apierrors.IsConflict(err) { // the status moved meanwhile
			b.retemplate(name, change)
			return
		}
		b.Fatal(err)
	}
}

// peers are the names of the servers that the Pod's server has routes to.
func (b *bench) peers(pod string) []string {
	response, err := http.Get("http://" + b.k.Addr(pod) + ":8222/routez")
	if err != nil {
		return nil
	}
	defer func() { _ = response.Body.Close() }()
	var routez struct {
		Routes []struct {
			Name string `json:"remote_name"`
		} `json:"routes"`
	}
	if err := json.NewDecoder(response.Body).Decode(&routez); err != nil {
		return nil
	}
	var names []string
	for _, route := range routez.Routes {
		names = append(names, route.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// story is what happened to a server, without the times.
func (b *bench) story(server string) []string {
	var lines []string
	for _, e := range b.k.History() {
		if e.Server == server {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Kind, e.Version, e.Revision)))
		}
	}
	return lines
}

// rolledOut waits until the generation of the StatefulSet is what runs and is ready.
func (b *bench) rolledOut(set string, generation int64) {
	b.Helper()
	b.Eventually(func() appsv1.StatefulSetStatus { return b.set(set).Status }).Should(gomega.And(
		gomega.HaveField("ObservedGeneration", generation),
		gomega.HaveField("ReadyReplicas", int32(1)), gomega.HaveField("UpdatedReplicas", int32(1)),
	))
}

func (b *bench) formed() {
	b.Helper()
	for i := range 3 {
		var others []string
		for j := range 3 {
			if i != j {
				others = append(others, fmt.Sprintf("demo-%d", j))
			}
		}
		pod := fmt.Sprintf("demo-%d-0", i)
		b.Eventually(func() []string { return b.peers(pod) }).Should(gomega.Equal(others), "peers of %s", pod)
	}
}

// TestServers takes three servers, which know each other by name and over TLS, through what a cluster does to
// them.
func TestServers(t *testing.T) {
	b := start(t)
	for i := range 3 {
		b.rolledOut(fmt.Sprintf("demo-%d", i), 1)
	}
	b.formed()

	t.Run("a changed template restarts the Pod gracefully, its disk stays", b.retemplated)
	t.Run("a killed server comes back in its Pod", b.killed)
	t.Run("a frozen server is left alone until it thaws", b.frozen)
}

func (b *bench) retemplated(t *testing.T) {
	before := b.pod("demo-2-0")
	disk := b.k.named("demo-2-0").box.root + "/data"
	if err := os.WriteFile(filepath.Join(disk, "marker"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	previous, revision := b.k.named("demo-2-0"), b.set("demo-2").Status.CurrentRevision
	b.retemplate("demo-2", func(template *corev1.PodTemplateSpec) {
		template.Annotations = map[string]string{"restarted": "yes"}
		template.Spec.Containers[0].Image = "registry.example.com:5000/nats:2.15.2@sha256:" + strings.Repeat("0", 64)
	})
	b.rolledOut("demo-2", 2)
	b.formed()
	want := []string{"Started 2.15.3 r1", "Ready 2.15.3 r1", "Stopping 2.15.3 r1", "Exited 2.15.3 r1", "Started 2.15.2 r1", "Ready 2.15.2 r1"}
	if diff := cmp.Diff(want, b.story("demo-2")); diff != "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
	if log := previous.log.String(); !strings.Contains(log, "Entering lame duck mode") {
		t.Errorf("the server was not told to go lame before it was stopped:\n%s", log)
	}
	after := b.pod("demo-2-0")
	if after.UID == before.UID || after.Status.PodIP == before.Status.PodIP {
		t.Error("the Pod is not a new one with an address of its own")
	}
	if _, err := os.Stat(filepath.Join(b.k.named("demo-2-0").box.root, "data", "marker")); err != nil {
		t.Error("the disk did not come along:", err)
	}
	if now := b.set("demo-2").Status.CurrentRevision; now == revision {
		t.Error("the StatefulSet still reports the old revision as the current one")
	}
}

func (b *bench) killed(t *testing.T) {
	before := b.pod("demo-1-0")
	b.k.Kill("demo-1-0")
	b.Eventually(func() int32 { return b.pod("demo-1-0").Status.ContainerStatuses[0].RestartCount }).Should(gomega.Equal(int32(1)))
	b.Eventually(func() bool { return isReady(b.pod("demo-1-0")) }).Should(gomega.BeTrue())
	want := []string{"Started 2.15.3 r1", "Ready 2.15.3 r1", "Exited 2.15.3 r1", "Started 2.15.3 r1", "Ready 2.15.3 r1"}
	if diff := cmp.Diff(want, b.story("demo-1")); diff != "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
	if after := b.pod("demo-1-0"); after.UID != before.UID {
		t.Error("the Pod was replaced")
	}
}

func (b *bench) frozen(t *testing.T) {
	thaw := b.k.Freeze("demo-0-0")
	b.Eventually(func() bool { return isReady(b.pod("demo-0-0")) }).Should(gomega.BeFalse())
	before := b.pod("demo-0-0")
	if err := b.env.Client.Delete(t.Context(), before.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	b.Eventually(func() []string { return b.story("demo-0") }).Should(gomega.ContainElement("Stopping 2.15.3 r1"))
	b.Consistently(func() types.UID { return b.pod("demo-0-0").UID }, "2s").Should(gomega.Equal(before.UID))
	thaw()
	b.Eventually(func() types.UID { return b.pod("demo-0-0").UID }).ShouldNot(gomega.BeElementOf(before.UID, types.UID("")))
	b.Eventually(func() bool { return isReady(b.pod("demo-0-0")) }).Should(gomega.BeTrue())
	b.formed()
}

// TestHanging holds what becomes of a server that neither answers nor ends when it is told to.
func TestHanging(t *testing.T) {
	b := start(t)
	b.formed()
	b.Eventually(func() bool { return isReady(b.pod("demo-0-0")) }).Should(gomega.BeTrue())
	before := b.pod("demo-0-0")
	_, p := b.k.running("demo-0-0")
	p.signal(syscall.SIGSTOP)
	b.Eventually(func() []string { return b.story("demo-0") }).Should(gomega.ContainElements("NotReady 2.15.3 r1", "Trouble", "Stopping 2.15.3 r1"))
	if err := b.env.Client.Delete(t.Context(), before, client.GracePeriodSeconds(2)); err != nil {
		t.Fatal(err)
	}
	b.Eventually(func() types.UID { return b.pod("demo-0-0").UID }).ShouldNot(gomega.BeElementOf(before.UID, types.UID("")))
	for _, e := range b.k.History() {
		if e.PID == p.pid() && e.Kind == Exited && e.Detail != "signal: killed" {
			t.Errorf("the server ended with %q, want the kill at the end of the grace period", e.Detail)
		}
	}
}

// TestOwnerGone deletes the owner of three servers that are on their way up.
func TestOwnerGone(t *testing.T) {
	b := start(t)
	b.Eventually(func() []string { return b.story("demo-0") }).Should(gomega.ContainElement("Started 2.15.3 r1"))
	owner := &corev1.ConfigMap{}
	owner.Namespace, owner.Name = b.ns, "owner"
	if err := b.env.Client.Delete(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	count := func(list client.ObjectList) func() int {
		return func() int {
			if err := b.env.Client.List(t.Context(), list, client.InNamespace(b.ns)); err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			var items struct{ Items []any }
			if err := json.Unmarshal(raw, &items); err != nil {
				t.Fatal(err)
			}
			return len(items.Items)
		}
	}
	for _, list := range []client.ObjectList{&appsv1.StatefulSetList{}, &corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.ServiceList{}} {
		b.Eventually(count(list)).Should(gomega.Equal(0), "%T", list)
	}
	if claims := count(&corev1.PersistentVolumeClaimList{})(); claims != 3 {
		t.Errorf("%d claims are left, want all 3: they belong to nobody", claims)
	}
	starts, ends := 0, 0
	for _, e := range b.k.History() {
		if e.Kind == Started {
			starts++
		}
		if e.Kind == Exited {
			ends++
		}
	}
	if starts != ends {
		t.Errorf("%d processes started and %d ended", starts, ends)
	}
	claim := &corev1.PersistentVolumeClaim{}
	claim.Namespace, claim.Name = b.ns, "data-demo-0-0"
	if err := b.env.Client.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	b.Eventually(count(&corev1.PersistentVolumeClaimList{})).Should(gomega.Equal(2))
}

// TestTrouble holds that what would keep a Pod from starting does so here, and is told.
func TestTrouble(t *testing.T) {
	b := start(t)
	b.retemplate("demo-0", func(template *corev1.PodTemplateSpec) { template.Spec.Containers[0].Image = "nats:9.9.9" })
	b.retemplate("demo-1", func(template *corev1.PodTemplateSpec) { template.Spec.Volumes[0].ConfigMap.Name = "missing" })
	b.retemplate("demo-2", func(template *corev1.PodTemplateSpec) { template.Spec.Containers[0].SecurityContext = nil })
	waiting := func(pod string) func() string {
		return func() string {
			if all := b.pod(pod).Status.ContainerStatuses; len(all) > 0 && all[0].State.Waiting != nil {
				return all[0].State.Waiting.Reason + " " + all[0].State.Waiting.Message
			}
			return ""
		}
	}
	b.Eventually(waiting("demo-0-0")).Should(gomega.Equal("ImagePullBackOff no nats-server program was given for nats:9.9.9"))
	b.Eventually(waiting("demo-1-0")).Should(gomega.ContainSubstring(`configmaps "missing" not found`))
	b.Eventually(func() string {
		for _, e := range b.k.History() {
			if e.Kind == Trouble && e.Server == "demo-2" {
				return e.Detail
			}
		}
		return ""
	}).Should(gomega.ContainSubstring(`violates PodSecurity "restricted:latest"`))
	b.retemplate("demo-0", func(template *corev1.PodTemplateSpec) { template.Spec.Containers[0].Image = "nats:2.15.3" })
	b.Eventually(func() []string { return b.story("demo-0") }).Should(gomega.ContainElement("Started 2.15.3 r1"))
}
