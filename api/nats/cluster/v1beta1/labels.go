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
	// AnnotationVolumeTemplateDigest carries a digest of the volume claim template as rendered.
	AnnotationVolumeTemplateDigest = "cluster.nats.mikluko.io/volume-template-digest"
	// AnnotationRestartReason carries why the configuration waits for a restart.
	AnnotationRestartReason = "cluster.nats.mikluko.io/restart-reason"
	// AnnotationRouteCertificate carries, on a Pod, a digest of the route certificate that it was started with.
	AnnotationRouteCertificate = "cluster.nats.mikluko.io/route-certificate"
	// AnnotationStandalone marks the claim of a server that was created to run alone. A server that finds
	// itself one of several deletes the streams of such a store, so the controller never lets it start.
	AnnotationStandalone = "cluster.nats.mikluko.io/standalone"
)
