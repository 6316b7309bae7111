package v1beta2

import "k8s.io/apimachinery/pkg/api/resource"

// ReplicationSpec says how many copies there are and where.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="(has(self.zoneRedundancyMode) && self.zoneRedundancyMode == 'AtLeast') == has(self.zoneRedundancyMinZones)",message="zoneRedundancyMinZones belongs to zoneRedundancyMode AtLeast, and that needs it; give both, or drop both"
// +kubebuilder:validation:XValidation:rule="!has(self.zoneRedundancyMinZones) || self.zoneRedundancyMinZones <= self.factor",message="zoneRedundancyMinZones cannot be above factor: there are only so many copies"
type ReplicationSpec struct {
	// factor is the number of copies, 1 to 7; 3 when unset. It is chosen when the GarageCluster is made, and stays.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="replication.factor cannot change: Garage nodes with different factors refuse each other; put the old one back, or make a new GarageCluster and copy the buckets over"
	Factor int32 `json:"factor,omitempty"`
	// consistencyMode is consistent, which it is when unset, degraded or dangerous. With the latter two fewer copies have to
	// answer, and no node is drained. A change restarts the nodes one at a time.
	// +optional
	// +kubebuilder:default=consistent
	ConsistencyMode ConsistencyMode `json:"consistencyMode,omitempty"`
	// zoneRedundancyMode is Maximum, over as many zones as there are, or AtLeast, over zoneRedundancyMinZones; Garage's own,
	// which is Maximum, when unset. A change moves data.
	// +optional
	ZoneRedundancyMode ZoneRedundancyMode `json:"zoneRedundancyMode,omitempty"`
	// zoneRedundancyMinZones is the number of zones that every object has to be in, 1 to 7. A change moves data.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	ZoneRedundancyMinZones int32 `json:"zoneRedundancyMinZones,omitempty"`
}

// ConsistencyMode is how many copies have to answer.
//
// +kubebuilder:validation:Enum=consistent;degraded;dangerous
type ConsistencyMode string

const (
	// ConsistencyConsistent reads what was written.
	ConsistencyConsistent ConsistencyMode = "consistent"
	// ConsistencyDegraded reads from one copy.
	ConsistencyDegraded ConsistencyMode = "degraded"
	// ConsistencyDangerous writes to one copy, too.
	ConsistencyDangerous ConsistencyMode = "dangerous"
)

// ZoneRedundancyMode is over how many zones copies are spread.
//
// +kubebuilder:validation:Enum=Maximum;AtLeast
type ZoneRedundancyMode string

const (
	// ZoneRedundancyMaximum spreads over as many zones as there are.
	ZoneRedundancyMaximum ZoneRedundancyMode = "Maximum"
	// ZoneRedundancyAtLeast spreads over a number of zones.
	ZoneRedundancyAtLeast ZoneRedundancyMode = "AtLeast"
)

// DatabaseEngine is what keeps a node's metadata.
//
// +kubebuilder:validation:Enum=lmdb;sqlite;fjall
type DatabaseEngine string

const (
	// DatabaseLMDB is LMDB.
	DatabaseLMDB DatabaseEngine = "lmdb"
	// DatabaseSQLite is SQLite.
	DatabaseSQLite DatabaseEngine = "sqlite"
	// DatabaseFjall is Fjall.
	DatabaseFjall DatabaseEngine = "fjall"
)

// DatabaseSpec is the engine of each node's metadata.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fjallBlockCacheSize) || self.engine == 'fjall'",message="fjallBlockCacheSize is for engine fjall; drop it"
// +kubebuilder:validation:XValidation:rule="!has(self.lmdbMapSize) || self.engine == 'lmdb'",message="lmdbMapSize is for engine lmdb; drop it"
type DatabaseSpec struct {
	// engine is lmdb, which it is when unset, sqlite or fjall. fjall needs Garage 2.1 and is experimental; a node that runs it is
	// not drained. It is chosen when the GarageCluster is made, and stays.
	// +optional
	// +kubebuilder:default=lmdb
	Engine DatabaseEngine `json:"engine,omitempty"`
	// lmdbMapSize is the most that an LMDB database may grow to, in bytes: a number with k, M, G, T, P or Ki, Mi, Gi, Ti, Pi; 1Ti when
	// unset. A change restarts the nodes one at a time.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,14}(\.[0-9]{1,3})?([kMGTP]|[KMGTP]i)?$`
	LMDBMapSize *resource.Quantity `json:"lmdbMapSize,omitempty"`
	// fjallBlockCacheSize is the memory of Fjall's cache, in bytes, written as lmdbMapSize is; Fjall's own when unset. A change
	// restarts the nodes one at a time.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,14}(\.[0-9]{1,3})?([kMGTP]|[KMGTP]i)?$`
	FjallBlockCacheSize *resource.Quantity `json:"fjallBlockCacheSize,omitempty"`
}

// BlocksSpec is about the blocks that objects are cut into.
//
// +kubebuilder:validation:MinProperties=1
type BlocksSpec struct {
	// size is the size of the blocks of new objects, in bytes: a number with k, M, G or Ki, Mi, Gi; 1Mi when unset.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,9}(\.[0-9]{1,3})?([kMG]|[KMG]i)?$`
	Size *resource.Quantity `json:"size,omitempty"`
	// ramBufferMax is the most memory for blocks on their way to other nodes, in bytes, written as size is; 256Mi when unset.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,9}(\.[0-9]{1,3})?([kMG]|[KMG]i)?$`
	RAMBufferMax *resource.Quantity `json:"ramBufferMax,omitempty"`
	// maxConcurrentReads is how many blocks a node reads at a time; 16 when unset. It needs Garage 2.1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	MaxConcurrentReads int32 `json:"maxConcurrentReads,omitempty"`
	// maxConcurrentWritesPerRequest is how many blocks of one request a node writes at a time; 3 when unset. It needs Garage 2.2.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	MaxConcurrentWritesPerRequest int32 `json:"maxConcurrentWritesPerRequest,omitempty"`
	// compressionLevel is none, or the level of zstd from -99 to 22; 1 when unset, and zstd's own when 0.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:Pattern=`^(none|0|-?[1-9][0-9]*)$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('^-?[0-9]+$') || (int(self) >= -99 && int(self) <= 22)",message="give none, or a level from -99 to 22"
	CompressionLevel string `json:"compressionLevel,omitempty"`
	// disableScrub has no node read its blocks from time to time to find broken ones; false when unset.
	// +optional
	DisableScrub *bool `json:"disableScrub,omitempty"`
	// useLocalTZ has lifecycle rules begin their days in the node's own time zone; false, which is UTC, when unset.
	// +optional
	UseLocalTZ *bool `json:"useLocalTZ,omitempty"`
}

// SecuritySpec are settings that loosen Garage's own checks.
//
// +kubebuilder:validation:MinProperties=1
type SecuritySpec struct {
	// allowPunycode admits names of buckets that look like other ones; false when unset.
	// +optional
	AllowPunycode *bool `json:"allowPunycode,omitempty"`
	// allowInsecureSecretPermissions has Garage read files with secrets that others could read, too; false when unset. The
	// controller's own secrets are no files.
	// +optional
	AllowInsecureSecretPermissions *bool `json:"allowInsecureSecretPermissions,omitempty"`
}

// WorkersSpec are settings of Garage's background workers. What is unset is left as each node has it.
//
// +kubebuilder:validation:MinProperties=1
type WorkersSpec struct {
	// resyncWorkerCount is how many workers of a node fetch and give away blocks, 1 to 8.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	ResyncWorkerCount int32 `json:"resyncWorkerCount,omitempty"`
	// resyncTranquility is how long those rest after each block, as a multiple of what it took.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	ResyncTranquility *int32 `json:"resyncTranquility,omitempty"`
	// scrubTranquility is the same for the worker that looks for broken blocks.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	ScrubTranquility *int32 `json:"scrubTranquility,omitempty"`
}

// LayoutManagementSpec is about changes of the layout.
//
// +kubebuilder:validation:MinProperties=1
type LayoutManagementSpec struct {
	// drain is about taking nodes away.
	// +optional
	Drain *DrainSpec `json:"drain,omitempty"`
}

// DrainSpec is about taking nodes away.
type DrainSpec struct {
	// unverifiedPeersPolicy says what a drain does about nodes whose configuration and process the controller cannot see: Block,
	// which it is when unset, refuses it, AssumeConsistent takes the user's word for them. It may change.
	// +optional
	// +kubebuilder:default=Block
	UnverifiedPeersPolicy UnverifiedPeersPolicy `json:"unverifiedPeersPolicy,omitempty"`
}

// UnverifiedPeersPolicy says what a drain does about nodes that the controller cannot see into.
//
// +kubebuilder:validation:Enum=Block;AssumeConsistent
type UnverifiedPeersPolicy string

const (
	// UnverifiedPeersBlock refuses the drain.
	UnverifiedPeersBlock UnverifiedPeersPolicy = "Block"
	// UnverifiedPeersAssumeConsistent takes the user's word for them.
	UnverifiedPeersAssumeConsistent UnverifiedPeersPolicy = "AssumeConsistent"
)
