package v1beta1

// Condition types of a GarageNode.
const (
	// ConditionReady says whether the node is known, connected and in the layout.
	ConditionReady = "Ready"
	// ConditionDrainPrepared says whether the node holds nothing that is needed, and may be deleted.
	ConditionDrainPrepared = "DrainPrepared"
)

// Reasons of Ready.
const (
	// ReasonNodeReady is True.
	ReasonNodeReady = "NodeReady"
	// ReasonNotInLayout is False: the node has no role in the layout that is applied.
	ReasonNotInLayout = "NotInLayout"
	// ReasonNodeDisconnected is False: the other nodes do not reach it.
	ReasonNodeDisconnected = "NodeDisconnected"
	// ReasonReconcileFailed is False: something could not be read or written.
	ReasonReconcileFailed = "ReconcileFailed"
)

// Reasons of DrainPrepared.
const (
	// ReasonPreparationBlocked is False: it cannot begin to.
	ReasonPreparationBlocked = "PreparationBlocked"
)
