package natscluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// TestSingleServer runs one server with JetStream, and lets its data become nobody's but one server's again.
func TestSingleServer(t *testing.T) {
	t.Parallel()
	l := start(t)
	l.create(withJetStream("solo", 1))
	cluster := l.untilAtRest("solo")
	if leader := cluster.Status.JetStream.MetaLeader; leader != "" {
		t.Errorf("%s leads a meta group", leader)
	}
	fill(t, l.clientURL("solo-0"), 1)

	cluster.Spec.Replicas = 3
	err := l.client.Update(t.Context(), cluster)
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.replicas") || !strings.Contains(err.Error(), "make a second NatsCluster") {
		t.Errorf("1 to 3 servers: %v", err)
	}

	// Nothing at apply tells of the claim that a NatsCluster of this name has left behind.
	l.forceDelete("solo")
	l.Eventually(l.processes).Should(gomega.BeEmpty())
	l.create(withJetStream("solo", 3))
	held := l.until("solo", "held", reason(v1beta1.ConditionProgressing, v1beta1.ReasonUnsupportedSpec))
	if message := condition(held, v1beta1.ConditionProgressing).Message; !strings.Contains(message, "spec.replicas is 3") ||
		!strings.Contains(message, "solo-0") || !strings.Contains(message, "set spec.replicas to 1") {
		t.Error(message)
	}
	for _, list := range []client.ObjectList{&appsv1.StatefulSetList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}, &corev1.SecretList{}} {
		if found := l.ours(list); len(found) > 0 {
			t.Errorf("while held: %v", found)
		}
	}

	l.delete(held)
	l.create(withJetStream("solo", 1))
	l.untilAtRest("solo")
	kept(t, l.clientURL("solo-0"))
}

// ours are the objects of a kind that carry the cluster label.
func (l *lab) ours(list client.ObjectList) []string {
	l.Helper()
	if err := l.client.List(l.Context(), list, client.InNamespace(l.namespace), client.HasLabels{v1beta1.LabelCluster}); err != nil {
		l.Fatal(err)
	}
	content, err := json.Marshal(list)
	if err != nil {
		l.Fatal(err)
	}
	var objects struct {
		Items []struct {
			Metadata struct{ Name string }
		}
	}
	if err := json.Unmarshal(content, &objects); err != nil {
		l.Fatal(err)
	}
	var names []string
	for _, item := range objects.Items {
		names = append(names, fmt.Sprintf("%T %s", list, item.Metadata.Name))
	}
	return names
}

// TestOneServerToThreeLosesStreams keeps the fact that the refusals rest on. It is about nats-server alone: should a
// later version keep the streams, this fails, and the refusals may go.
func TestOneServerToThreeLosesStreams(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ports := freePorts(t, 6)
	routes := fmt.Sprintf("nats://127.0.0.1:%d,nats://127.0.0.1:%d,nats://127.0.0.1:%d", ports[3], ports[4], ports[5])
	store := func(i int) string { return filepath.Join(dir, fmt.Sprint(i)) }
	single := []string{"-a", "127.0.0.1", "-p", fmt.Sprint(ports[0]), "-n", "s0", "-js", "-sd", store(0)}

	stop := serve(t, single)
	url := fmt.Sprintf("nats://127.0.0.1:%d", ports[0])
	eventually(t, "the single server", func() error { return answers(ports[0]) })
	fill(t, url, 1)
	stop()
	stop = serve(t, single)
	eventually(t, "the single server again", func() error { return answers(ports[0]) })
	kept(t, url) // a restart alone loses nothing
	stop()

	for i := range 3 {
		serve(t, []string{"-a", "127.0.0.1", "-p", fmt.Sprint(ports[i]), "-n", fmt.Sprintf("s%d", i), "-js", "-sd", store(i),
			"-cluster_name", "c", "-cluster", fmt.Sprintf("nats://127.0.0.1:%d", ports[3+i]), "-routes", routes})
	}
	eventually(t, "three servers", func() error { return answers(ports[0]) })
	js, end := connect(t, url)
	defer end()
	eventually(t, "a JetStream without the stream", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := js.Stream(ctx, "KEEP")
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		return fmt.Errorf("the stream: %w", errors.Join(err, errors.New("is there or cannot be asked for")))
	})
	eventually(t, "the stream's directory gone", func() error {
		found, err := filepath.Glob(filepath.Join(store(0), "jetstream", "*", "streams", "KEEP"))
		if len(found) > 0 {
			return fmt.Errorf("%v is there", found)
		}
		return err
	})
}

// serve runs a nats-server until stop is called, or the test ends.
func serve(t *testing.T, args []string) (stop func()) {
	t.Helper()
	program := os.Getenv("HOLDFAST_NATS_SERVER")
	if program == "" {
		t.Fatal("HOLDFAST_NATS_SERVER is not set: it names the nats-server to start; run the tests through make")
	}
	var output bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("%v wrote:\n%s", args, output.String())
		}
	})
	return stop
}

// freePorts are ports that nobody listens on.
func freePorts(tb testing.TB, n int) []int {
	tb.Helper()
	var ports []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

func answers(port int) error {
	connection, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err == nil {
		_ = connection.Close()
	}
	return err
}

// eventually waits until nothing is wrong.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	gomega.NewWithT(t).Eventually(check).WithTimeout(wait).WithPolling(200*time.Millisecond).Should(gomega.Succeed(), what)
}
