package lab

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Replaced is which Pods were ended on purpose. A fault ends processes, and a lost node comes back with the Pods that it had:
// what is counted here is what the rollout did.
type Replaced struct {
	// Times is by server how many Pods of it were ended.
	Times map[string]int
	// Most is the largest number of servers that were replaced at a time: from the end of a Pod until the next is ready.
	Most int

	ended     map[types.UID]bool
	replacing map[string]bool
}

// see takes up a Pod as it is now. A Pod is seen with the mark of its end before it is gone.
func (r *Replaced) see(pod *corev1.Pod, server string) {
	if r.Times == nil {
		r.Times, r.ended, r.replacing = map[string]int{}, map[types.UID]bool{}, map[string]bool{}
	}
	switch {
	case pod.DeletionTimestamp != nil && !r.ended[pod.UID]:
		r.ended[pod.UID], r.replacing[server] = true, true
		r.Times[server]++
	case ready(pod):
		delete(r.replacing, server)
	}
	r.Most = max(r.Most, len(r.replacing))
}
