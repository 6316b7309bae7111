package kubelet

import (
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// EmptyClaim gives the claim an empty folder, as if its disk had been replaced. A Pod that has the claim keeps the old one
// as long as it lives: the next Pod finds the empty one. The test fails where there is no such claim.
func (k *Kubelet) EmptyClaim(name string) {
	k.t.Helper()
	uid := k.claimUID(name)
	dir, err := os.MkdirTemp(filepath.Join(k.dir, "claims"), "empty-")
	if err != nil {
		k.t.Fatal(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.disks[uid] = dir
}

// SwapClaims has each of two claims find the folder of the other, from the next Pods on, as EmptyClaim does. A Pod whose
// new folder another Pod still has waits for it.
func (k *Kubelet) SwapClaims(a, b string) {
	k.t.Helper()
	one, other := k.claimUID(a), k.claimUID(b)
	first, second := k.disk(one), k.disk(other)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.disks[one], k.disks[other] = second, first
}

func (k *Kubelet) claimUID(name string) types.UID {
	k.t.Helper()
	var claim corev1.PersistentVolumeClaim
	if err := k.client.Get(k.t.Context(), types.NamespacedName{Namespace: k.namespace, Name: name}, &claim); err != nil {
		k.t.Fatal(err)
	}
	return claim.UID
}

// disk is where a claim's data lies while no Pod has it.
func (k *Kubelet) disk(uid types.UID) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if dir, ok := k.disks[uid]; ok {
		return dir
	}
	return fmt.Sprintf("%s/claims/%s", k.dir, uid)
}
