package natscluster

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/sim/kubelet"
)

// crasher is a version whose nats-server ends at once, with an error.
const crasher = "2.15.98"

// startWithCrasher is start with that version too.
func startWithCrasher(t *testing.T) *lab {
	t.Helper()
	l := newLab(t)
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "nats-server")
	if err := os.WriteFile(source, []byte("package main\n\nimport \"os\"\n\nfunc main() { os.Exit(1) }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	programs := maps.Clone(kubelet.ServersFromEnv(t))
	programs["nats:"+crasher] = program
	l.kubelet = kubelet.Start(t, l.env.Config, kubelet.Options{Namespace: l.namespace, Servers: programs})
	l.startController(controllerOptions{})
	return l
}

func (l *lab) image(server string) string {
	return get(l, server, &appsv1.StatefulSet{}).Spec.Template.Spec.Containers[0].Image
}

// untilProgress waits until the condition Progressing says that.
func (l *lab) untilProgress(says string) {
	l.Helper()
	l.Eventually(func() string {
		return condition(l.cluster("demo"), v1beta1.ConditionProgressing).Message
	}).Should(gomega.ContainSubstring(says))
}

// untilJournalled waits until a server's step has been begun, and names it.
func (l *lab) untilJournalled() (server string) {
	l.Helper()
	l.Eventually(func() string { server = l.journalled(); return server }).ShouldNot(gomega.BeEmpty())
	return server
}

func ofVersion(version string) func(*v1beta1.NatsClusterSpec) {
	return func(spec *v1beta1.NatsClusterSpec) { spec.Version = version }
}

// TestABadRevisionStaysWhereItIs: a revision that cannot start takes the first server down and no other, also while
// another's Pod is deleted; and the corrected spec gets through to all.
func TestABadRevisionStaysWhereItIs(t *testing.T) {
	t.Parallel()
	l := startWithCrasher(t)
	l.create(withJetStream("demo", 3))
	l.untilAtRest("demo")
	l.change("demo", ofVersion(crasher))
	first := l.untilJournalled()
	l.untilProgress("CrashLoopBackOff")
	leader := l.cluster("demo").Status.JetStream.MetaLeader
	victim := slices.DeleteFunc([]string{"demo-2", "demo-1", "demo-0"}, func(s string) bool { return s == first || s == leader })[0]
	before := l.processes()[victim]
	if err := l.client.Delete(t.Context(), get(l, victim+"-0", &corev1.Pod{})); err != nil {
		t.Fatal(err)
	}
	l.Eventually(func() int { return l.processes()[victim] }).ShouldNot(gomega.Or(gomega.Equal(before), gomega.BeZero()))
	l.Consistently(func() string { return l.image(victim) }).WithTimeout(5 * time.Second).Should(gomega.Equal("nats:" + version))
	l.change("demo", ofVersion(version))
	l.untilAtRest("demo")
}

// TestAServerThatCannotStartIsCorrected: where no server, or not enough of them, can judge the others, the spec still gets
// through to one that does not run.
func TestAServerThatCannotStartIsCorrected(t *testing.T) {
	for name, replicas := range map[string]int32{"one": 1, "two": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startWithCrasher(t)
			l.create(withJetStream("demo", replicas))
			l.untilAtRest("demo")
			l.change("demo", ofVersion(crasher))
			l.untilProgress("CrashLoopBackOff")
			l.change("demo", ofVersion(version))
			l.untilAtRest("demo")
		})
	}
	t.Run("never up", func(t *testing.T) {
		t.Parallel()
		l := startWithCrasher(t)
		cluster := withJetStream("demo", 3)
		cluster.Spec.Version = crasher
		l.create(cluster)
		l.untilProgress("CrashLoopBackOff")
		l.change("demo", ofVersion(version))
		l.untilAtRest("demo")
	})
}

// TestScaledToNothing: a StatefulSet that somebody scaled to zero is put back.
func TestScaledToNothing(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.create(withJetStream("demo", 3))
	l.untilAtRest("demo")
	l.editAs("kubectl-scale", get(l, "demo-2", &appsv1.StatefulSet{}), func(o client.Object) {
		o.(*appsv1.StatefulSet).Spec.Replicas = new(int32(0))
	})
	l.Eventually(func() map[string]int { return l.processes() }).Should(gomega.HaveLen(2))
	l.untilAtRest("demo")
	if got := l.processes(); len(got) != 3 {
		t.Errorf("processes %v", got)
	}
}

// TestALostLabel: a StatefulSet that has lost its labels is not taken for one that has to be made. It gets them back, and no
// template past a closed gate.
func TestALostLabel(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.create(withJetStream("demo", 3))
	l.untilAtRest("demo")
	l.change("demo", ofVersion(absent))
	first := l.untilJournalled()
	l.untilProgress("ImagePullBackOff")
	victim := slices.DeleteFunc([]string{"demo-2", "demo-1", "demo-0"}, func(s string) bool { return s == first })[0]
	l.editAs("kubectl-label", get(l, victim, &appsv1.StatefulSet{}), func(o client.Object) { o.SetLabels(nil) })
	l.Eventually(func() string { return get(l, victim, &appsv1.StatefulSet{}).Labels[v1beta1.LabelCluster] }).Should(gomega.Equal("demo"))
	l.Consistently(func() string { return l.image(victim) }).WithTimeout(5 * time.Second).Should(gomega.Equal("nats:" + version))
	l.change("demo", ofVersion(version))
	l.untilAtRest("demo")
}

// TestTwoRemovals: a server is not removed while the one before it is still shutting down.
func TestTwoRemovals(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.create(plain("demo", 5))
	l.untilAtRest("demo")
	from := l.mark()
	thaw := l.kubelet.Freeze("demo-4-0")
	l.change("demo", func(spec *v1beta1.NatsClusterSpec) { spec.Replicas = 2 })
	l.Eventually(func() []string { return l.stops(from) }).Should(gomega.Equal([]string{"demo-4"}))
	l.Consistently(func() []string { return l.stops(from) }).WithTimeout(10 * time.Second).Should(gomega.Equal([]string{"demo-4"}))
	thaw()
	l.untilAtRest("demo")
	if diff := cmp.Diff([]string{"demo-4", "demo-3", "demo-2"}, l.stops(from)[:3]); diff != "" {
		t.Error(diff)
	}
}

// TestEditedConfigurations: a configuration that somebody edits is put back, whatever was done to it.
func TestEditedConfigurations(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.create(withJetStream("demo", 3))
	l.untilAtRest("demo")
	for name, how := range edits() {
		config := get(l, "demo-1-config", &corev1.ConfigMap{})
		was := config.Data["nats.conf"]
		l.editAs("kubectl-edit", config, func(o client.Object) { o.(*corev1.ConfigMap).Data["nats.conf"] = how(was) })
		l.Eventually(func() string { return get(l, "demo-1-config", &corev1.ConfigMap{}).Data["nats.conf"] }).Should(gomega.Equal(was), name)
		l.untilAtRest("demo")
	}
}

// edits are what a person may do to a configuration.
func edits() map[string]func(string) string {
	change := func(how func(map[string]any)) func(string) string {
		return func(was string) string {
			var config map[string]any
			if json.Unmarshal([]byte(was), &config) != nil {
				return was
			}
			how(config)
			text, err := json.Marshal(config)
			if err != nil {
				return was
			}
			return string(text)
		}
	}
	return map[string]func(string) string{
		"a limit":             change(func(c map[string]any) { c["max_payload"] = 1 }),
		"no JetStream":        change(func(c map[string]any) { delete(c, "jetstream") }),
		"no routes":           change(func(c map[string]any) { delete(c, "cluster") }),
		"a key without end":   change(func(c map[string]any) { c[strings.Repeat("x", 1100)] = 1 }),
		"no configuration":    func(string) string { return "" },
		"nothing that parses": func(was string) string { return was[1:] },
	}
}
