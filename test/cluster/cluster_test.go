//go:build linux

package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/test/cluster"
	"github.com/holdfast-dev/holdfast/test/cluster/hoststate"
	"github.com/holdfast-dev/holdfast/test/cluster/images"
	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

const (
	natsImage = "docker.io/library/nats:2.15.3"
	// grace is how long a node may be silent in these tests.
	grace = 6 * time.Second
)

// tool is the path of the command, built once.
var tool string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "holdfast-cluster-test-")
	if err == nil {
		tool = filepath.Join(dir, "holdfast-cluster")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", tool, "./cmd/holdfast-cluster").CombinedOutput(); err != nil {
			err = fmt.Errorf("building the command: %w\n%s", err, out)
		}
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// TestTwoClusters brings up two clusters of three nodes and one, uses both, and takes them down one by one.
func TestTwoClusters(t *testing.T) {
	before := capture(t)
	archive := natsArchive(t)
	big := up(t, cluster.Config{Name: "test-a", NodeMonitorGrace: grace, Images: []string{archive}})
	// Brought up by the command, so that it lives on without the one that made it.
	t.Cleanup(func() { down(t, "test-b") })
	run(t, "up", "--name", "test-b", "--nodes", "1")
	small, err := cluster.Open("test-b")
	if err != nil {
		t.Fatal(err)
	}
	if err := small.LoadImage(t.Context(), archive); err != nil {
		t.Fatal(err)
	}

	t.Run("pods are reached by Service and name", func(t *testing.T) {
		names := map[string]bool{}
		for _, c := range []*cluster.Cluster{big, small} {
			kubectl(t, c, natsOnEveryNode, "apply", "-f", "-")
			kubectl(t, c, "", "rollout", "status", "daemonset/nats", "--timeout=60s")
			names[serverName(t, c)] = true
		}
		if len(names) != 2 {
			t.Errorf("two clusters with the same addresses answer as %v: want two servers", names)
		}
	})
	t.Run("kubectl logs and exec reach the node", func(t *testing.T) {
		if logs := kubectl(t, big, "", "logs", "daemonset/nats"); !strings.Contains(logs, "Server is ready") {
			t.Errorf("logs do not say that the server is ready:\n%s", logs)
		}
		if out := kubectl(t, big, "", "exec", "daemonset/nats", "--", "/nats-server", "--version"); !strings.Contains(out, "2.15.3") {
			t.Errorf("exec printed %q", out)
		}
	})
	t.Run("nodes", func(t *testing.T) {
		for node, steps := range map[string][]step{"node-1": powerSteps, "node-2": networkSteps} {
			t.Run(node, func(t *testing.T) {
				t.Parallel()
				follow(t, big, node, steps)
			})
		}
	})
	t.Run("the third node saw nothing of it", func(t *testing.T) {
		if status, err := statusOf(t, big, "node-0"); err != nil || status.Ready != "True" {
			t.Errorf("node-0 is %+v (%v): want it ready", status, err)
		}
	})
	t.Run("one goes and the other stays", func(t *testing.T) {
		down(t, "test-a")
		if _, err := cluster.Open("test-a"); err == nil {
			t.Error("the cluster can be opened after down")
		}
		serverName(t, small)
		down(t, "test-b")
		if lines := leftBehind(t, before, "test-a", "test-b"); len(lines) > 0 {
			t.Errorf("left behind:\n%s", strings.Join(lines, "\n"))
		}
	})
}

// A step is something done to a node, and what Kubernetes then shows.
type step struct {
	name    string
	do      func(*cluster.Cluster, context.Context, string) error
	running bool
	ready   string
	// restarts is how often the container on the node has been started again by then.
	restarts string
}

var (
	powerSteps = []step{
		{"stop", (*cluster.Cluster).StopNode, false, "Unknown", "0"},
		{"start", (*cluster.Cluster).StartNode, true, "True", "1"},
		{"kill", (*cluster.Cluster).KillNode, false, "Unknown", "1"},
		{"start after kill", (*cluster.Cluster).StartNode, true, "True", "2"},
	}
	networkSteps = []step{
		{"cut both ways", cut(cluster.CutBoth), true, "Unknown", "0"},
		{"join", (*cluster.Cluster).JoinNode, true, "True", "0"},
		{"cut in", cut(cluster.CutIn), true, "Unknown", "0"},
		{"join after in", (*cluster.Cluster).JoinNode, true, "True", "0"},
		{"cut out", cut(cluster.CutOut), true, "Unknown", "0"},
		{"join after out", (*cluster.Cluster).JoinNode, true, "True", "0"},
	}
)

func cut(direction cluster.Direction) func(*cluster.Cluster, context.Context, string) error {
	return func(c *cluster.Cluster, ctx context.Context, node string) error {
		return c.CutNode(ctx, node, direction)
	}
}

func follow(t *testing.T, c *cluster.Cluster, node string, steps []step) {
	t.Helper()
	for _, step := range steps {
		if err := step.do(c, t.Context(), node); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		g := gomega.NewWithT(t)
		g.Eventually(func() (cluster.NodeStatus, error) { return statusOf(t, c, node) }, "60s", "100ms").Should(
			gomega.And(gomega.HaveField("Ready", step.ready), gomega.HaveField("Running", step.running)), step.name)
		g.Eventually(func() string {
			return kubectl(t, c, "", "get", "pods", "--field-selector=spec.nodeName="+node, "-o=jsonpath={.items[0].status.containerStatuses[0].restartCount}")
		}, "60s", "200ms").Should(gomega.Equal(step.restarts), "%s: restarts of the container", step.name)
	}
}

func TestErrors(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"no such cluster":           {[]string{"status", "--name", "test-none"}, "bring it up with holdfast-cluster up"},
		"name":                      {[]string{"up", "--name", "No"}, "lower-case letters"},
		"nodes":                     {[]string{"up", "--name", "test-none", "--nodes", "51"}, "1 to 50"},
		"grace":                     {[]string{"up", "--name", "test-none", "--node-monitor-grace", "1s"}, "4s or more"},
		"down of what is not there": {[]string{"down", "--name", "test-none"}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command(tool, c.args...).CombinedOutput()
			if (err != nil) != (c.want != "") || !strings.Contains(string(out), c.want) {
				t.Errorf("%v, and printed %q: want %q in it", err, out, c.want)
			}
		})
	}
}

func up(t *testing.T, config cluster.Config) *cluster.Cluster {
	t.Helper()
	config.Progress = t.Output()
	t.Cleanup(func() { down(t, config.Name) })
	c, err := cluster.Up(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func down(t *testing.T, name string) {
	t.Helper()
	// Not the test's context: that has ended when the clean-up runs.
	if err := cluster.Down(context.Background(), name); err != nil {
		t.Error(err)
	}
}

func run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

func kubectl(t *testing.T, c *cluster.Cluster, input string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.Kubectl(), append([]string{"--kubeconfig", c.Kubeconfig()}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func statusOf(t *testing.T, c *cluster.Cluster, node string) (cluster.NodeStatus, error) {
	t.Helper()
	all, err := c.Status(t.Context())
	for _, status := range all {
		if status.Name == node {
			return status, err
		}
	}
	return cluster.NodeStatus{}, fmt.Errorf("%s is not in %v: %w", node, all, err)
}

// serverName connects to the Service by its name in DNS and reads which server greets. A Service takes a
// moment to know its pods.
func serverName(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	var info struct {
		ID string `json:"server_id"`
	}
	gomega.NewWithT(t).Eventually(func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		conn, err := c.Dial(ctx, "tcp", "nats.default.svc.cluster.local:4222")
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
			return err
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil {
			return err
		}
		return json.Unmarshal([]byte(strings.TrimPrefix(line, "INFO ")), &info)
	}, "30s", "100ms").Should(gomega.Succeed())
	return info.ID
}

func natsArchive(t *testing.T) string {
	t.Helper()
	box, err := toolbox.New(".", t.Output())
	if err != nil {
		t.Fatal(err)
	}
	archives, err := images.Build(t.Context(), box, t.TempDir(), natsImage)
	if err != nil {
		t.Fatal(err)
	}
	return archives[0]
}

func capture(t *testing.T) hoststate.State {
	t.Helper()
	state, err := hoststate.Capture()
	if err != nil {
		t.Fatal(err)
	}
	return state
}

const natsOnEveryNode = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: nats}
spec:
  selector: {matchLabels: {app: nats}}
  template:
    metadata: {labels: {app: nats}}
    spec:
      containers:
      - name: nats
        image: ` + natsImage + `
        args: ["-m", "8222"]
        readinessProbe: {httpGet: {path: /healthz, port: 8222}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: nats}
spec: {selector: {app: nats}, ports: [{name: client, port: 4222}]}
`
