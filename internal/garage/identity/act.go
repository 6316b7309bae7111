package identity

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
)

// An Actor writes identities down.
type Actor struct {
	// Client writes, and Live reads from the API server.
	Client client.Client
	Live   client.Reader
	// Ask makes the API of a Pod's process.
	Ask facts.Ask
}

// errMoved says that the Pod is not the one that was decided on.
var errMoved = errors.New("the Pod is another one by now")

// Act records the identity, if the very Pod still says it. The GarageNode is the one that was decided on, and gets the
// status that was written.
func (a *Actor) Act(ctx context.Context, node facts.Node, record Record) error {
	if err := a.confirm(ctx, node, record); err != nil {
		return fmt.Errorf("recording who %s is: %w", record.Node, err)
	}
	written := node.GarageNode.DeepCopy()
	written.Status.NodeID, written.Status.ObservedPodUID = string(record.ID), record.Pod
	if err := a.Client.Status().Update(ctx, written); err != nil {
		return fmt.Errorf("recording who %s is: %w", record.Node, err)
	}
	written.DeepCopyInto(node.GarageNode)
	return nil
}

// confirm asks the Pod once more, between two looks at it: an address may have gone to another Pod.
func (a *Actor) confirm(ctx context.Context, node facts.Node, record Record) error {
	before, err := a.pod(ctx, node, record)
	if err != nil {
		return err
	}
	api, err := a.Ask(ctx, facts.Node{GarageNode: node.GarageNode, Pod: before})
	if err != nil {
		return err
	}
	said, err := api.GetNodeInfo(ctx)
	if err != nil {
		return err
	}
	after, err := a.pod(ctx, node, record)
	if err != nil {
		return err
	}
	if said.Node != record.ID || before.Status.PodIP != after.Status.PodIP || restarts(before) != restarts(after) {
		return errMoved
	}
	return nil
}

func (a *Actor) pod(ctx context.Context, node facts.Node, record Record) (*corev1.Pod, error) {
	var pod corev1.Pod
	key := client.ObjectKey{Namespace: node.GarageNode.Namespace, Name: render.PodName(record.Node)}
	if err := a.Live.Get(ctx, key, &pod); err != nil {
		return nil, err
	}
	if pod.UID != record.Pod || pod.DeletionTimestamp != nil || pod.Status.PodIP == "" {
		return nil, errMoved
	}
	return &pod, nil
}

func restarts(pod *corev1.Pod) int32 { return facts.Node{Pod: pod}.Restarts() }
