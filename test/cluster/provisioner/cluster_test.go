//go:build linux

package provisioner_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/test/cluster"
	"github.com/holdfast-dev/holdfast/test/cluster/images"
	"github.com/holdfast-dev/holdfast/test/cluster/internal/layout"
	"github.com/holdfast-dev/holdfast/tools/toolbox"
)

const (
	name    = "test-volumes"
	testbox = "holdfast.dev/testbox:dev"

	claimOf = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME}
spec: {accessModes: [ReadWriteOnce], CLASS resources: {requests: {storage: 64Mi}}}
`
	// As the restricted profile has it: not root, nothing to write on but the volume.
	podOf = `
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {runAsUser: 1000, runAsNonRoot: true, fsGroup: 1000}
  containers:
  - name: main
    image: ` + testbox + `
    imagePullPolicy: Never
    args: [write, /data/log, TEXT]
    securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: NAME}}]
`
	retain = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: kept}
provisioner: holdfast.dev/local
reclaimPolicy: Retain
volumeBindingMode: WaitForFirstConsumer
`
)

// TestVolumesOnRealNodes follows two claims through their lives on a cluster: one whose data is removed in the
// end, one whose data is kept.
func TestVolumesOnRealNodes(t *testing.T) {
	k := bringUp(t)
	k.apply(t, retain)
	k.apply(t, manifest(claimOf, "NAME", "data", "CLASS", ""))
	k.apply(t, manifest(claimOf, "NAME", "kept", "CLASS", "storageClassName: kept,"))

	k.eventually(t, "a claim waits for a pod", "WaitForFirstConsumer", "get", "events", "--field-selector=involvedObject.name=data", "-o=jsonpath={.items[*].reason}")
	if pending := k.get(t, "pvc/data", "{.status.phase}"); pending != "Pending" {
		t.Fatalf("before any pod needs it the claim is %s", pending)
	}
	k.write(t, "data", "one")
	k.write(t, "kept", "one")
	volume, kept := k.get(t, "pvc/data", "{.spec.volumeName}"), k.get(t, "pvc/kept", "{.spec.volumeName}")
	node := k.get(t, "pod/data", "{.spec.nodeName}")
	folder, keptFolder := k.folder(t, node, volume), k.folder(t, k.get(t, "pod/kept", "{.spec.nodeName}"), kept)
	for _, dir := range []string{folder, keptFolder} {
		if content, err := os.ReadFile(filepath.Join(dir, "log")); err != nil || string(content) != "one\n" {
			t.Errorf("the volume's folder holds %q, %v", content, err)
		}
	}

	k.run(t, "", "delete", "pod/data", "pod/kept")
	k.write(t, "data", "two")
	if logs := k.run(t, "", "logs", "data"); logs != "one\ntwo\n" {
		t.Errorf("the second pod sees %q", logs)
	}
	if again := k.get(t, "pod/data", "{.spec.nodeName}"); again != node {
		t.Errorf("the second pod is on %s, the data on %s", again, node)
	}

	k.ask(t, "128Mi")
	k.eventually(t, "a claim grows under its pod", "128Mi 128Mi []", "get", "pvc/data", "pv/"+volume, "-o=jsonpath="+sizes)
	k.run(t, "", "delete", "pvc/kept")
	k.eventually(t, "the kept volume is released", "Released", "get", "pv/"+kept, "-o=jsonpath={.status.phase}")

	stopped(t, k, node, volume, folder)

	if content, err := os.ReadFile(filepath.Join(keptFolder, "log")); err != nil || string(content) != "one\n" {
		t.Errorf("the data that was to be kept: %q, %v", content, err)
	}
}

// sizes prints what the claim shows, the volume's capacity, and the claim's conditions but the one that says
// whether a pod uses it.
const sizes = `{.items[0].status.capacity.storage} {.items[1].spec.capacity.storage} [{.items[0].status.conditions[?(@.type!="Unused")].type}]`

// stopped asks for more and then for the end while the volume's node is off: the claim says what it waits
// for, the data stays until the node is back.
func stopped(t *testing.T, k *kube, node, volume, folder string) {
	t.Helper()
	if err := k.cluster.StopNode(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	k.eventually(t, "the node is not ready", "Unknown", "get", "node/"+node, `-o=jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	k.ask(t, "256Mi")
	k.eventually(t, "a claim waits for its node", "128Mi 256Mi [FileSystemResizePending]", "get", "pvc/data", "pv/"+volume, "-o=jsonpath="+sizes)
	k.run(t, "", "delete", "pod/data", "--force", "--grace-period=0")
	k.run(t, "", "delete", "pvc/data")
	k.eventually(t, "the end waits for the node", "VolumeDelete", "get", "events", "--field-selector=involvedObject.name="+volume, "-o=jsonpath={.items[*].reason}")
	if _, err := os.Stat(folder); err != nil {
		t.Errorf("data of a node that is off: %v", err)
	}
	if err := k.cluster.StartNode(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	k.eventually(t, "the volume is gone", "", "get", "pv/"+volume, "--ignore-not-found", "-o=name")
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder of a volume that is gone: %v", err)
	}
}

type kube struct {
	cluster *cluster.Cluster
	files   *layout.Cluster
}

func bringUp(t *testing.T) *kube {
	t.Helper()
	box, err := toolbox.New(".", t.Output())
	if err != nil {
		t.Fatal(err)
	}
	archives, err := images.Build(t.Context(), box, t.TempDir(), testbox)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Down(context.Background(), name); err != nil { // the test's own context has ended by now
			t.Error(err)
		}
	})
	c, err := cluster.Up(t.Context(), cluster.Config{
		Name: name, Nodes: 2, NodeMonitorGrace: 6 * time.Second, Images: archives, Progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := layout.New(name, 2)
	if err != nil {
		t.Fatal(err)
	}
	return &kube{cluster: c, files: files}
}

func (k *kube) run(t *testing.T, input string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), k.cluster.Kubectl(), append([]string{"--kubeconfig", k.cluster.Kubeconfig()}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (k *kube) apply(t *testing.T, manifest string) {
	t.Helper()
	k.run(t, manifest, "apply", "-f", "-")
}

func (k *kube) get(t *testing.T, object, path string) string {
	t.Helper()
	return k.run(t, "", "get", object, "-o=jsonpath="+path)
}

// eventually waits until the command prints the text, or prints nothing if the text is empty.
func (k *kube) eventually(t *testing.T, what, text string, args ...string) {
	t.Helper()
	matches := gomega.ContainSubstring(text)
	if text == "" {
		matches = gomega.BeEmpty()
	}
	gomega.NewWithT(t).Eventually(func() string { return k.run(t, "", args...) }, "120s", "250ms").Should(matches, what)
}

// write starts a pod that adds the text to the claim's log, and waits until it did.
func (k *kube) write(t *testing.T, name, text string) {
	t.Helper()
	k.apply(t, manifest(podOf, "NAME", name, "TEXT", text))
	k.run(t, "", "wait", "pod/"+name, "--for=condition=Ready", "--timeout=120s")
	k.eventually(t, "the pod writes", text, "logs", name)
}

func (k *kube) ask(t *testing.T, size string) {
	t.Helper()
	k.run(t, "", "patch", "pvc/data", "-p", `{"spec":{"resources":{"requests":{"storage":"`+size+`"}}}}`)
}

func (k *kube) folder(t *testing.T, node, volume string) string {
	t.Helper()
	n, err := k.files.Node(node)
	if err != nil {
		t.Fatal(err)
	}
	return n.Dir("var-lib", "holdfast-volumes", volume)
}

func manifest(text string, replace ...string) string {
	return strings.NewReplacer(replace...).Replace(text)
}
