package v1beta2

// Labels and annotations of the group's kinds and of the objects that belong to them.
const (
	// LabelCluster carries the GarageCluster's name. The controller's cache holds only objects that have it.
	LabelCluster = "garage.rajsingh.info/cluster"
	// LabelTier carries the tier of a node, on its GarageNode, its objects and its Pod.
	LabelTier = "garage.rajsingh.info/tier"
	// LabelNode carries the GarageNode's name, on the objects of one node.
	LabelNode = "garage.rajsingh.info/node"
	// LabelStorageGroup carries the storage group of a node.
	LabelStorageGroup = "garage.rajsingh.info/storage-group"
	// LabelScaleTarget is on the Pods that the scale subresource counts.
	LabelScaleTarget = "garage.rajsingh.info/scale-target"
	// LabelAutoNodeSlot carries, on a GarageNode that the controller made, its number among them.
	LabelAutoNodeSlot = "garage.rajsingh.info/auto-node-slot"
	// LabelS3Member is true on a Pod that the S3 Service may send requests to. The controller alone sets it, on the Pod, and takes
	// it away.
	LabelS3Member = "garage.rajsingh.info/s3-member"

	// TierStorage is the tier of nodes that hold data.
	TierStorage = "storage"
	// StorageGroupDefault is the storage group of nodes with claims.
	StorageGroupDefault = "default"
	// ScaleTargetStorage is the value of LabelScaleTarget on Pods of nodes that the controller made.
	ScaleTargetStorage = "storage"
	// ScaleTargetDisabled is a value that no Pod has, for what cannot be scaled.
	ScaleTargetDisabled = "disabled"
)

const (
	// AnnotationConfigHash carries, on a ConfigMap and in a Pod template, a digest of the garage.toml.
	AnnotationConfigHash = "garage.rajsingh.info/config-hash"
	// AnnotationPodSpecHash carries, on a StatefulSet and in its Pod template, a digest of all that a restart brings but the
	// garage.toml.
	AnnotationPodSpecHash = "garage.rajsingh.info/pod-spec-hash"
	// AnnotationSpecDigest carries, on an object that the controller wrote, a digest of what it rendered.
	AnnotationSpecDigest = "garage.rajsingh.info/spec-digest"
	// AnnotationClusterUID carries, on a claim, the UID of the GarageCluster that gave the identity on it its role. One of the same
	// name that comes later knows its own by it.
	AnnotationClusterUID = "garage.rajsingh.info/cluster-uid"
	// AnnotationDrain asks for a node to be taken away: with true on a GarageNode everything on it is given to the others, after
	// which it may be deleted. Without it again, the node stays.
	AnnotationDrain = "garage.rajsingh.info/drain"
	// AnnotationRecoverStorageRollout asks, on a GarageCluster, for the Pod that is being replaced to be made once more, with a value
	// that was not used before.
	AnnotationRecoverStorageRollout = "garage.rajsingh.info/recover-storage-rollout"
	// AnnotationRolloutFence marks a Pod whose replacement was taken back, so that an order to delete it that is still on its way fails.
	AnnotationRolloutFence = "garage.rajsingh.info/rollout-adoption-fence"
	// AnnotationForceLayoutApply asks, with true on a GarageCluster, for the first layout to be made of the nodes that are there, without
	// waiting for those that are still to come.
	AnnotationForceLayoutApply = "garage.rajsingh.info/force-layout-apply"
	// AnnotationTriggerRepair asks, on a GarageCluster, for a repair on every node: Tables, Blocks, Versions, MultipartUploads,
	// BlockRefs, BlockRc, Rebalance or Aliases.
	AnnotationTriggerRepair = "garage.rajsingh.info/trigger-repair"
	// AnnotationTriggerSnapshot asks, with true on a GarageCluster, for a snapshot of every node's database.
	AnnotationTriggerSnapshot = "garage.rajsingh.info/trigger-snapshot"
	// AnnotationScrubCommand asks, on a GarageCluster, for the scrub of every node's blocks to start, pause, resume or cancel.
	AnnotationScrubCommand = "garage.rajsingh.info/scrub-command"
	// AnnotationRevertLayout asks, with true on a GarageCluster, for everything that is staged in the layout to be dropped,
	// whoever staged it.
	AnnotationRevertLayout = "garage.rajsingh.info/revert-layout"
	// AnnotationConnectNodes asks, on a GarageCluster, for nodes to be connected to: id@host:port, separated by commas.
	AnnotationConnectNodes = "garage.rajsingh.info/connect-nodes"
	// AnnotationSkipDeadNodes asks, with true on a GarageCluster, for the layout to go on without waiting for nodes that are down and
	// cannot come back.
	AnnotationSkipDeadNodes = "garage.rajsingh.info/skip-dead-nodes"
	// AnnotationAllowMissingData has that go on although data may be missing, and although they could come back; its value is the
	// layout version that it is meant for.
	AnnotationAllowMissingData = "garage.rajsingh.info/allow-missing-data"
)

// Finalizers.
const (
	// FinalizerGarageCluster is on a GarageCluster, and holds its deletion until its nodes have stopped.
	FinalizerGarageCluster = "garagecluster.garage.rajsingh.info/finalizer"
	// FinalizerGarageNode is on a GarageNode, and holds its deletion until its data is elsewhere.
	FinalizerGarageNode = "garagenode.garage.rajsingh.info/finalizer"
	// FinalizerClaim is on the claims of a GarageNode, and keeps what is on them for as long as the node is there.
	FinalizerClaim = "garagenode.garage.rajsingh.info/pvc-reservation"
	// FinalizerStorageRollout is on the claims of the GarageNode whose Pod is being replaced.
	FinalizerStorageRollout = "garage.rajsingh.info/storage-rollout"
)

// Tags of a role in the layout that are the controller's own; the value follows.
const (
	// TagCluster is followed by the GarageCluster's name, a slash and its namespace.
	TagCluster = "cluster:"
	// TagClusterUID is followed by the GarageCluster's UID. It says whose a role is.
	TagClusterUID = "cluster-uid:"
	// TagTier is followed by the tier.
	TagTier = "tier:"
	// TagRPCAddress is followed by the host:port under which just this node is reached.
	TagRPCAddress = "rpc-address:"
)
