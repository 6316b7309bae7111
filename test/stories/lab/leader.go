package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/ledger"
)

// Leader is the Pod of the replica of the cluster controller that leads.
func (l *Lab) Leader(ctx context.Context) (*corev1.Pod, error) {
	lease := &coordinationv1.Lease{}
	if err := l.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: NATS().Release + "-cluster.nats.mikluko.io"}, lease); err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	if name == "" {
		return nil, errors.New("no replica leads")
	}
	pod := &corev1.Pod{}
	return pod, l.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, pod)
}

// Led says whether a replica of the cluster controller leads.
func (l *Lab) Led(ctx context.Context) (bool, string) {
	_, err := l.Leader(ctx)
	return err == nil, fmt.Sprint(err)
}

// Followed waits until another replica leads than the one of that Pod, and says how long that took.
func (s *Story) Followed(leader *corev1.Pod, within time.Duration) {
	s.Helper()
	lost := time.Now()
	s.Must(Until(s.Context(), within, "another replica to lead than "+leader.Name, func(ctx context.Context) (bool, string) {
		now, err := s.Leader(ctx)
		return err == nil && now.Name != leader.Name, fmt.Sprint(err)
	}))
	s.Logf("another replica led after %.1f s", time.Since(lost).Seconds())
}

// LoadAwayFrom starts the ledger on another node than that one.
func (s *Story) LoadAwayFrom(node string, cluster *v1beta1.NatsCluster) *ledger.Client {
	s.Helper()
	s.cordon(node, true)
	defer s.cordon(node, false)
	return s.Load(cluster)
}

func (s *Story) cordon(name string, to bool) {
	s.Helper()
	node := &corev1.Node{}
	s.Must(s.Client.Get(s.Context(), client.ObjectKey{Name: name}, node))
	before := node.DeepCopy()
	node.Spec.Unschedulable = to
	s.Must(s.Client.Patch(s.Context(), node, client.MergeFrom(before)))
}
