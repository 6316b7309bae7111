package v1beta2

// Condition types of a GarageCluster.
const (
	// ConditionReady says whether every node is ready and the layout is as wanted.
	ConditionReady = "Ready"
	// ConditionQuorumAtRisk says whether there are partitions that cannot be read or written.
	ConditionQuorumAtRisk = "QuorumAtRisk"
	// ConditionPeerUnreachable says whether a node has been away for ten minutes or more.
	ConditionPeerUnreachable = "PeerUnreachable"
	// ConditionStorageTopologyReady says whether the nodes of the default group are those that are wanted.
	ConditionStorageTopologyReady = "StorageTopologyReady"
	// ConditionStorageRolloutReady says whether every node runs what was rendered last.
	ConditionStorageRolloutReady = "StorageRolloutReady"
)

// Reasons of Ready.
const (
	// ReasonClusterReady is True.
	ReasonClusterReady = "ClusterReady"
	// ReasonNotAllReplicasReady is False: a node is not ready.
	ReasonNotAllReplicasReady = "NotAllReplicasReady"
	// ReasonStorageTopologyNotReady is False: StorageTopologyReady is.
	ReasonStorageTopologyNotReady = "StorageTopologyNotReady"
	// ReasonStorageRolloutNotReady is False: StorageRolloutReady is.
	ReasonStorageRolloutNotReady = "StorageRolloutNotReady"
	// ReasonLayoutNotReady is False: not every node of the layout is up.
	ReasonLayoutNotReady = "LayoutNotReady"
	// ReasonReconcileFailed is False: something could not be read or written.
	ReasonReconcileFailed = "ReconcileFailed"
	// ReasonDeleting is False: the GarageCluster is being deleted.
	ReasonDeleting = "Deleting"
)

// Reasons of QuorumAtRisk.
const (
	// ReasonPartitionsBelowQuorum is True.
	ReasonPartitionsBelowQuorum = "PartitionsBelowQuorum"
	// ReasonAllPartitionsQuorate is False.
	ReasonAllPartitionsQuorate = "AllPartitionsQuorate"
)

// Reasons of PeerUnreachable.
const (
	// ReasonSustainedUnreachable is True.
	ReasonSustainedUnreachable = "SustainedUnreachable"
	// ReasonAllReachable is False.
	ReasonAllReachable = "AllReachable"
)

// Reasons of StorageTopologyReady, and Converged of StorageRolloutReady, too.
const (
	// ReasonConverged is True.
	ReasonConverged = "Converged"
	// ReasonAddingMembers is False: nodes are being added.
	ReasonAddingMembers = "AddingMembers"
	// ReasonDrainingMember is False: a node is being taken away.
	ReasonDrainingMember = "DrainingMember"
	// ReasonWaitingForLayoutSync is False: Garage still brings data to where a layout has it, or claims grow before it can.
	ReasonWaitingForLayoutSync = "WaitingForLayoutSync"
)

// Reasons of StorageRolloutReady.
const (
	// ReasonWaiting is False: a restart is wanted and cannot begin yet.
	ReasonWaiting = "Waiting"
	// ReasonInitializing is False: nodes have not been seen in the layout yet.
	ReasonInitializing = "Initializing"
	// ReasonRollingOut is False: a node is being restarted.
	ReasonRollingOut = "RollingOut"
)
