package provisioner

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

func TestProvision(t *testing.T) {
	cases := map[string]struct {
		node   *corev1.Node
		change func(*controller.ProvisionOptions)
		noDisk bool
		state  controller.ProvisioningState
		fails  bool
	}{
		"a ready node":          {node: node(corev1.ConditionTrue), state: controller.ProvisioningFinished},
		"a node that is down":   {node: node(corev1.ConditionUnknown), state: controller.ProvisioningReschedule, fails: true},
		"no such node":          {state: controller.ProvisioningReschedule, fails: true},
		"a node without a disk": {node: node(corev1.ConditionTrue), noDisk: true, state: controller.ProvisioningFinished, fails: true},
		"before a pod needs it": {
			node: node(corev1.ConditionTrue), state: controller.ProvisioningFinished, fails: true,
			change: func(o *controller.ProvisionOptions) { o.SelectedNodeName = "" },
		},
		"for many nodes": {
			node: node(corev1.ConditionTrue), state: controller.ProvisioningFinished, fails: true,
			change: func(o *controller.ProvisionOptions) {
				o.PVC.Spec.AccessModes = append(o.PVC.Spec.AccessModes, corev1.ReadWriteMany)
			},
		},
		"with a selector": {
			node: node(corev1.ConditionTrue), state: controller.ProvisioningFinished, fails: true,
			change: func(o *controller.ProvisionOptions) { o.PVC.Spec.Selector = &metav1.LabelSelector{} },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDisks(t, c.node)
			if c.noDisk {
				none := filepath.Join(t.TempDir(), "none")
				d.nodeDir = func(string) string { return none }
			}
			o := controller.ProvisionOptions{StorageClass: class(), PVName: "pvc-1", PVC: claim("1Gi", "1Gi"), SelectedNodeName: "n1"}
			if c.change != nil {
				c.change(&o)
			}
			got, state, err := d.Provision(t.Context(), o)
			if (err != nil) != c.fails || state != c.state {
				t.Fatalf("state %s, error %v", state, err)
			}
			if !c.fails {
				checkMade(t, d, got)
			} else if _, err := os.Stat(filepath.Join(d.nodeDir("n1"), "holdfast-volumes")); err == nil || got != nil {
				t.Errorf("it failed, and made volume %v or a folder", got)
			}
		})
	}
}

func checkMade(t *testing.T, d *disks, got *corev1.PersistentVolume) {
	t.Helper()
	info, err := os.Stat(filepath.Join(d.nodeDir("n1"), "holdfast-volumes", "pvc-1"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("folder %v, %v", info, err)
	}
	if diff := cmp.Diff(freshVolume("1Gi"), got); diff != "" {
		t.Errorf("volume (-want +got):\n%s", diff)
	}
}

func TestDelete(t *testing.T) {
	unnamed := freshVolume("1Gi")
	unnamed.Annotations = nil
	cases := map[string]struct {
		node   *corev1.Node
		volume *corev1.PersistentVolume
		stays  bool
		inUse  bool
		fails  bool
	}{
		"a ready node":              {node: node(corev1.ConditionTrue), volume: freshVolume("1Gi")},
		"a node that is down":       {node: node(corev1.ConditionFalse), volume: freshVolume("1Gi"), stays: true, inUse: true, fails: true},
		"a node that has left":      {volume: freshVolume("1Gi")},
		"a volume without its node": {node: node(corev1.ConditionTrue), volume: unnamed, stays: true, fails: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDisks(t, c.node)
			data := filepath.Join(d.nodeDir("n1"), "holdfast-volumes", "pvc-1", "data")
			other := filepath.Join(d.nodeDir("n1"), "holdfast-volumes", "pvc-2")
			if err := errors.Join(os.MkdirAll(data, 0o755), os.Mkdir(other, 0o755)); err != nil {
				t.Fatal(err)
			}
			err := d.Delete(t.Context(), c.volume)
			var inUse *controller.VolumeInUseError
			if (err != nil) != c.fails || errors.As(err, &inUse) != c.inUse {
				t.Errorf("error %v", err)
			}
			if _, err := os.Stat(data); (err == nil) != c.stays {
				t.Errorf("the data: %v", err)
			}
			if _, err := os.Stat(other); err != nil {
				t.Errorf("another volume's folder: %v", err)
			}
		})
	}
}

// A name that leads to no disk must not lead to the program's own folder instead.
func TestDeleteOnAnUnknownDisk(t *testing.T) {
	t.Chdir(t.TempDir())
	data := filepath.Join("holdfast-volumes", "pvc-1")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	d := newDisks(t, nil)
	d.nodeDir = func(string) string { return "" }
	if err := d.Delete(t.Context(), freshVolume("1Gi")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(data); err != nil {
		t.Error(err)
	}
}

func TestGrow(t *testing.T) {
	cases := map[string]struct {
		claim  *corev1.PersistentVolumeClaim
		volume *corev1.PersistentVolume
		// writes of each round, until one writes nothing
		want [][]string
		size string
	}{
		"nothing asked": {claim: claim("1Gi", "1Gi"), volume: bound("1Gi"), size: "1Gi"},
		"asks for more": {
			claim: claim("2Gi", "1Gi"), volume: bound("1Gi"), size: "2Gi",
			want: [][]string{{"persistentvolumeclaims/status Resizing", "persistentvolumes/"}, {"persistentvolumeclaims/status"}},
		},
		"crashed after the volume": {
			claim: claim("2Gi", "1Gi", corev1.PersistentVolumeClaimResizing), volume: bound("2Gi"), size: "2Gi",
			want: [][]string{{"persistentvolumeclaims/status"}},
		},
		"crashed before the volume": {
			claim: claim("2Gi", "1Gi", corev1.PersistentVolumeClaimResizing), volume: bound("1Gi"), size: "2Gi",
			want: [][]string{{"persistentvolumes/"}, {"persistentvolumeclaims/status"}},
		},
		"conditions left over": {
			claim: claim("2Gi", "2Gi", corev1.PersistentVolumeClaimFileSystemResizePending), volume: bound("2Gi"), size: "2Gi",
			want: [][]string{{"persistentvolumeclaims/status"}},
		},
		"volume larger than asked": {claim: claim("1Gi", "1Gi"), volume: bound("3Gi"), size: "3Gi", want: [][]string{{"persistentvolumeclaims/status"}}},
		"another provisioner's": {claim: claim("2Gi", "1Gi"), size: "1Gi", volume: edit(bound("1Gi"), func(v *corev1.PersistentVolume) {
			v.Annotations["pv.kubernetes.io/provisioned-by"] = "other"
		})},
		"another claim's": {claim: claim("2Gi", "1Gi"), size: "1Gi", volume: edit(bound("1Gi"), func(v *corev1.PersistentVolume) { v.Spec.ClaimRef.UID = "old" })},
		"nobody's":        {claim: claim("2Gi", "1Gi"), size: "1Gi", volume: edit(bound("1Gi"), func(v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil })},
		"not bound yet": {volume: bound("1Gi"), size: "1Gi", claim: edit(claim("2Gi", "1Gi"), func(c *corev1.PersistentVolumeClaim) {
			c.Status.Phase = corev1.ClaimPending
		})},
		"being deleted": {volume: bound("1Gi"), size: "1Gi", claim: edit(claim("2Gi", "1Gi"), func(c *corev1.PersistentVolumeClaim) {
			c.DeletionTimestamp = &metav1.Time{}
		})},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, node(corev1.ConditionTrue), c.claim, c.volume)
			for round := 0; round <= len(c.want); round++ {
				var want []string
				if round < len(c.want) {
					want = c.want[round]
				}
				writes, err := w.round(t)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, writes); diff != "" {
					t.Fatalf("writes of round %d (-want +got):\n%s", round+1, diff)
				}
			}
			claim, volume := w.read(t)
			if got := claim.Status.Capacity.Storage(); got.String() != c.size {
				t.Errorf("the claim shows %s, want %s", got, c.size)
			}
			if len(c.want) > 0 && (volume.Spec.Capacity.Storage().String() != c.size || len(claim.Status.Conditions) > 0) {
				t.Errorf("volume %s, conditions %v", volume.Spec.Capacity.Storage(), claim.Status.Conditions)
			}
		})
	}
}

// While the node is away the claim says what it waits for, once, and keeps its old size.
func TestGrowWaitsForTheNode(t *testing.T) {
	w := newWorld(t, node(corev1.ConditionUnknown), claim("2Gi", "1Gi"), bound("1Gi"))
	if _, err := w.round(t); err != nil {
		t.Fatal(err)
	}
	writes, err := w.round(t)
	if diff := cmp.Diff([]string{"persistentvolumeclaims/status FileSystemResizePending"}, writes); diff != "" || !errors.Is(err, errNodeAway) {
		t.Fatalf("error %v, writes (-want +got):\n%s", err, diff)
	}
	writes, err = w.round(t)
	if len(writes) > 0 || !errors.Is(err, errNodeAway) {
		t.Fatalf("error %v, writes %v", err, writes)
	}
	if claim, volume := w.read(t); claim.Status.Capacity.Storage().String() != "1Gi" || volume.Spec.Capacity.Storage().String() != "2Gi" {
		t.Errorf("claim %v, volume %v", claim.Status.Capacity, volume.Spec.Capacity)
	}
	if _, err := w.client.CoreV1().Nodes().UpdateStatus(t.Context(), node(corev1.ConditionTrue), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.round(t); err != nil {
		t.Fatal(err)
	}
	if claim, _ := w.read(t); claim.Status.Capacity.Storage().String() != "2Gi" || len(claim.Status.Conditions) > 0 {
		t.Errorf("the node is back, and the claim shows %v with %v", claim.Status.Capacity, claim.Status.Conditions)
	}
}

// world is a grower whose caches are filled anew from the fake API server before each round.
type world struct {
	client          *fake.Clientset
	claims, volumes cache.Indexer
	grower          *grower
}

func newWorld(t *testing.T, node *corev1.Node, claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) *world {
	t.Helper()
	w := &world{
		client: fake.NewClientset(node, claim, volume),
		claims: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}), volumes: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}),
	}
	w.grower = newGrower(w.client, corelisters.NewPersistentVolumeClaimLister(w.claims), corelisters.NewPersistentVolumeLister(w.volumes), &disks{client: w.client})
	t.Cleanup(w.grower.queue.ShutDown)
	return w
}

func (w *world) read(t *testing.T) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
	t.Helper()
	claim, err1 := w.client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "data", metav1.GetOptions{})
	volume, err2 := w.client.CoreV1().PersistentVolumes().Get(t.Context(), "pvc-1", metav1.GetOptions{})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return claim, volume
}

// round lets the grower take one step and returns its writes, each with the conditions that it left.
func (w *world) round(t *testing.T) ([]string, error) {
	t.Helper()
	claim, volume := w.read(t)
	if err := errors.Join(w.claims.Add(claim), w.volumes.Add(volume)); err != nil {
		t.Fatal(err)
	}
	w.client.ClearActions()
	err := w.grower.sync(t.Context(), "default/data")
	var writes []string
	for _, action := range w.client.Actions() {
		if update, isUpdate := action.(interface{ GetObject() runtime.Object }); isUpdate {
			line := action.GetResource().Resource + "/" + action.GetSubresource()
			if claim, isClaim := update.GetObject().(*corev1.PersistentVolumeClaim); isClaim {
				for _, condition := range claim.Status.Conditions {
					line += " " + string(condition.Type)
				}
			}
			writes = append(writes, line)
		}
	}
	return writes, err
}

func newDisks(t *testing.T, node *corev1.Node) *disks {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "n1"), 0o755); err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset()
	if node != nil {
		client = fake.NewClientset(node)
	}
	return &disks{client: client, nodeDir: func(node string) string { return filepath.Join(root, node) }}
}

func node(ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"kubernetes.io/hostname": "host-1"}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue}, {Type: corev1.NodeReady, Status: ready},
		}},
	}
}

func claim(asked, seen string, conditions ...corev1.PersistentVolumeClaimConditionType) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "1"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeName: "pvc-1",
			Resources: corev1.VolumeResourceRequirements{Requests: amount(asked)},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: amount(seen)},
	}
	for _, kind := range conditions {
		c.Status.Conditions = append(c.Status.Conditions, corev1.PersistentVolumeClaimCondition{Type: kind, Status: corev1.ConditionTrue})
	}
	return c
}

func freshVolume(size string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-1", Annotations: map[string]string{"holdfast.dev/node": "n1"}},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:                      amount(size),
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/var/lib/holdfast-volumes/pvc-1"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: []string{"host-1"}}},
			}}}},
		},
	}
}

func bound(size string) *corev1.PersistentVolume {
	v := freshVolume(size)
	v.Annotations["pv.kubernetes.io/provisioned-by"] = "holdfast.dev/local"
	v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "data", UID: types.UID("1")}
	return v
}

func amount(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

func edit[T any](object *T, change func(*T)) *T {
	change(object)
	return object
}
