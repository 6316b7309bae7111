package natsmodel

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/sim/apimodel"
	"github.com/holdfast-dev/holdfast/test/sim/fault"
)

// held says that a finalizer holds the NatsCluster.
func held(cluster *v1beta1.NatsCluster) bool {
	return slices.Contains(cluster.Finalizers, v1beta1.FinalizerJetStreamData)
}

// made judges the making of a server.
func (c *Checker) made(call *fault.Call) {
	if cluster := c.world.Cluster(); cluster.Spec.JetStream != nil && !c.world.Gone() && !held(cluster) {
		c.report("%s makes a server of a NatsCluster that nothing holds", call)
	}
}

// left says that there may be a process of the server.
func (w *World) left(server string) bool {
	_, set := peek(w, server, &appsv1.StatefulSet{})
	_, object := peek(w, server+"-0", &corev1.Pod{})
	return set || object
}

// released judges the end of a NatsCluster: nothing that is stored, or may be, is let go of without an order. What is made
// after the controller has begun to look it cannot know of.
func (c *Checker) released(write apimodel.Write, call *fault.Call, known issued) {
	c.Released = true
	before, _ := write.Before.(*v1beta1.NatsCluster)
	if _, ordered := before.Annotations[v1beta1.AnnotationForceDelete]; ordered {
		c.Ordered = true
		return
	}
	if !slices.ContainsFunc(c.world.Planned(), c.world.left) {
		return // there is nobody left to ask
	}
	for _, server := range c.world.Planned() {
		if c.world.everUp[server] && !known.look.answered[server] {
			c.report("%s lets go of %s, which has been up, and of which it had no answer", call, server)
		}
	}
	for _, stream := range c.world.streams() {
		if stream.since < known.look.start {
			c.report("%s lets go of stream %s on %v", call, stream.name, stream.members)
		}
	}
}
