package v1beta1

// Labels and annotations of the objects that the cluster controller renders.
const (
	// LabelCluster carries the NatsCluster's name. The controller's cache holds only objects that have it.
	LabelCluster = "cluster.nats.mikluko.io/cluster"
	// LabelServer carries the server's name, on the objects of one server.
	LabelServer = "cluster.nats.mikluko.io/server"
	// AnnotationConfigRevision carries the revision that an object was rendered for.
	AnnotationConfigRevision = "cluster.nats.mikluko.io/config-revision"
	// AnnotationSpecDigest carries a digest of the StatefulSet's spec as rendered, without the revision.
	AnnotationSpecDigest = "cluster.nats.mikluko.io/spec-digest"
	// AnnotationConfigApply says on a ConfigMap how its revision reaches the server: Reload, or Restart after a reload
	// that failed. Without it, by a restart.
	AnnotationConfigApply = "cluster.nats.mikluko.io/config-apply"
	// AnnotationReloadSince says since when the server is to reload it, as RFC 3339.
	AnnotationReloadSince = "cluster.nats.mikluko.io/reload-since"
	// AnnotationRestartReason carries why the configuration waits for a restart.
	AnnotationRestartReason = "cluster.nats.mikluko.io/restart-reason"
	// AnnotationRouteCertificate carries a digest of a route certificate: on a Pod of the one that it was started with, on a
	// ConfigMap of the one that its server is to have.
	AnnotationRouteCertificate = "cluster.nats.mikluko.io/route-certificate"
	// AnnotationClientCertificate is the same of the client listener's certificate.
	AnnotationClientCertificate = "cluster.nats.mikluko.io/client-certificate"
	// AnnotationRouteAuthorities carries, on a ConfigMap, a digest of the keys by which its server is to know the others.
	AnnotationRouteAuthorities = "cluster.nats.mikluko.io/route-authorities"
	// AnnotationForceStep, on a NatsCluster, names a server that waits for its restart: it is restarted now, through a closed
	// gate and through spec.rollout.paused. The controller takes the annotation away as it reads it.
	AnnotationForceStep = "cluster.nats.mikluko.io/force-step"
	// AnnotationFence marks a StatefulSet whose step was given up, so that a write of that step that is still on its way fails.
	// In the Pod template it makes a process restart that the template as rendered would leave alone.
	AnnotationFence = "cluster.nats.mikluko.io/fence"
	// AnnotationForceDelete, on a NatsCluster that is being deleted, gives up the streams that are on it. Its value does not
	// matter.
	AnnotationForceDelete = "cluster.nats.mikluko.io/force-delete"
	// AnnotationStandalone marks the claim of a server that was created to run alone. A server that finds
	// itself one of several deletes the streams of such a store, so the controller never lets it start.
	AnnotationStandalone = "cluster.nats.mikluko.io/standalone"
)

// FinalizerJetStreamData is on a NatsCluster with JetStream, and holds its deletion while streams are on it.
const FinalizerJetStreamData = "cluster.nats.mikluko.io/jetstream-data"
