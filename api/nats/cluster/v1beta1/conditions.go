package v1beta1

// Condition types of a NatsCluster.
const (
	// ConditionReady says whether enough servers are ready to serve.
	ConditionReady = "Ready"
	// ConditionSettled says whether every Raft group has a leader and every member is online and current.
	ConditionSettled = "Settled"
	// ConditionProgressing says what the controller is doing, or why it does not.
	ConditionProgressing = "Progressing"
	// ConditionDeleting is there only while the NatsCluster is held although it is to be deleted, and says what holds it.
	ConditionDeleting = "Deleting"
)

// Reasons of Ready.
const (
	// ReasonAllServersReady is True: every server is ready.
	ReasonAllServersReady = "AllServersReady"
	// ReasonQuorumAvailable is True: more than half of the servers are ready.
	ReasonQuorumAvailable = "QuorumAvailable"
	// ReasonQuorumUnavailable is False: half of the servers or fewer are ready.
	ReasonQuorumUnavailable = "QuorumUnavailable"
	// ReasonReconcileFailed is False, on Ready and Progressing: objects of rendered names exist and belong to
	// somebody else, or the API server refused a write.
	ReasonReconcileFailed = "ReconcileFailed"
)

// Reasons of Settled, worst first.
const (
	// ReasonObservationFailed is Unknown: no server answered.
	ReasonObservationFailed = "ObservationFailed"
	// ReasonServersSilent is False: a server did not answer.
	ReasonServersSilent = "ServersSilent"
	// ReasonGroupsLeaderless is False: a Raft group has no leader.
	ReasonGroupsLeaderless = "GroupsLeaderless"
	// ReasonMembersOffline is False: a member of a Raft group is offline.
	ReasonMembersOffline = "MembersOffline"
	// ReasonGroupsCatchingUp is False: a member of a Raft group is not current.
	ReasonGroupsCatchingUp = "GroupsCatchingUp"
	// ReasonAllGroupsCurrent is True.
	ReasonAllGroupsCurrent = "AllGroupsCurrent"
)

// Reasons of Progressing, the first that holds.
const (
	// ReasonUnsupportedSpec is False: the spec cannot be carried out as it stands.
	ReasonUnsupportedSpec = "UnsupportedSpec"
	// ReasonNoGrant is False: no NatsReferenceGrant admits spec.auth.trustRef.
	ReasonNoGrant = "NoGrant"
	// ReasonTrustNotFound is False: there is no NatsOperatorTrust of the name in spec.auth.trustRef.
	ReasonTrustNotFound = "TrustNotFound"
	// ReasonTrustNotReady is False: the NatsOperatorTrust has no JWTs yet, or could not be read.
	ReasonTrustNotReady = "TrustNotReady"
	// ReasonTrustInvalid is False: nats-server would not run with what the NatsOperatorTrust holds.
	ReasonTrustInvalid = "TrustInvalid"
	// ReasonClientCertificateNotReady is True: the Secret named by spec.tls has no usable certificate yet.
	ReasonClientCertificateNotReady = "ClientCertificateNotReady"
	// ReasonRouteCertificateNotReady is True: the Secret named by spec.routes.tls has no usable certificate yet.
	ReasonRouteCertificateNotReady = "RouteCertificateNotReady"
	// ReasonCreating is True: servers are being created.
	ReasonCreating = "Creating"
	// ReasonClaimTerminating is True: an old claim of a server's name has to go before the server is created.
	ReasonClaimTerminating = "ClaimTerminating"
	// ReasonRollingRestart is True: servers are being restarted one at a time.
	ReasonRollingRestart = "RollingRestart"
	// ReasonScalingDown is True: servers beyond spec.replicas are being removed.
	ReasonScalingDown = "ScalingDown"
	// ReasonGateBlocked is True: the gate to the next step has been closed for ten minutes or more.
	ReasonGateBlocked = "GateBlocked"
	// ReasonRolloutPaused is True: spec.rollout.paused holds the next step.
	ReasonRolloutPaused = "RolloutPaused"
	// ReasonReloadPending is True: servers have been given a configuration to reload and do not run it yet.
	ReasonReloadPending = "ReloadPending"
	// ReasonScaleDownBlocked is False: servers beyond spec.replicas cannot be removed safely.
	ReasonScaleDownBlocked = "ScaleDownBlocked"
	// ReasonReplacementBlocked is False: a changed volume claim template would replace disks, which cannot be
	// done safely.
	ReasonReplacementBlocked = "ReplacementBlocked"
	// ReasonUpToDate is False: there is nothing to do.
	ReasonUpToDate = "UpToDate"
)

// Reasons of Deleting, besides ObservationFailed, which is True there: what the servers hold is not known.
const (
	// ReasonJetStreamDataRemains is True: streams are on the servers.
	ReasonJetStreamDataRemains = "JetStreamDataRemains"
)
