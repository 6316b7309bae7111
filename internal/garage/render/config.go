package render

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/pelletier/go-toml/v2"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// config is garage.toml. Secrets are not in it: they reach Garage as variables, since it refuses a file that the group may read,
// which is how a kubelet mounts a Secret where fsGroup is set.
type config struct {
	MetadataDir string `toml:"metadata_dir"`
	// DataDir is a path, or a list of dataDir.
	DataDir                       any      `toml:"data_dir"`
	DBEngine                      string   `toml:"db_engine"`
	LMDBMapSize                   int64    `toml:"lmdb_map_size,omitempty"`
	FjallBlockCacheSize           int64    `toml:"fjall_block_cache_size,omitempty"`
	ReplicationFactor             int32    `toml:"replication_factor"`
	ConsistencyMode               string   `toml:"consistency_mode"`
	MetadataFsync                 bool     `toml:"metadata_fsync,omitempty"`
	DataFsync                     bool     `toml:"data_fsync,omitempty"`
	MetadataSnapshotsDir          string   `toml:"metadata_snapshots_dir,omitempty"`
	MetadataAutoSnapshotInterval  string   `toml:"metadata_auto_snapshot_interval,omitempty"`
	BlockSize                     int64    `toml:"block_size,omitempty"`
	BlockRAMBufferMax             int64    `toml:"block_ram_buffer_max,omitempty"`
	BlockMaxConcurrentReads       int32    `toml:"block_max_concurrent_reads,omitempty"`
	BlockMaxConcurrentWritesPerRq int32    `toml:"block_max_concurrent_writes_per_request,omitempty"`
	CompressionLevel              any      `toml:"compression_level,omitempty"`
	DisableScrub                  bool     `toml:"disable_scrub,omitempty"`
	UseLocalTZ                    bool     `toml:"use_local_tz,omitempty"`
	AllowWorldReadableSecrets     bool     `toml:"allow_world_readable_secrets,omitempty"`
	AllowPunycode                 bool     `toml:"allow_punycode,omitempty"`
	RPCBindAddr                   string   `toml:"rpc_bind_addr"`
	RPCBindOutgoing               bool     `toml:"rpc_bind_outgoing,omitempty"`
	RPCPublicAddr                 string   `toml:"rpc_public_addr,omitempty"`
	RPCPublicAddrSubnet           string   `toml:"rpc_public_addr_subnet,omitempty"`
	RPCPingTimeoutMsec            int64    `toml:"rpc_ping_timeout_msec,omitempty"`
	RPCTimeoutMsec                int64    `toml:"rpc_timeout_msec,omitempty"`
	BootstrapPeers                []string `toml:"bootstrap_peers,omitempty"`

	S3API  s3Config    `toml:"s3_api"`
	S3Web  *webConfig  `toml:"s3_web,omitempty"`
	K2VAPI *k2vConfig  `toml:"k2v_api,omitempty"`
	Admin  adminConfig `toml:"admin"`
}

// dataDir is one of several disks. Capacity is a string with a unit: as a number Garage would refuse the whole list. It has one,
// or is read-only.
type dataDir struct {
	Path     string `toml:"path"`
	Capacity string `toml:"capacity,omitempty"`
	ReadOnly bool   `toml:"read_only,omitempty"`
}

type s3Config struct {
	APIBindAddr string `toml:"api_bind_addr"`
	S3Region    string `toml:"s3_region"`
	RootDomain  string `toml:"root_domain,omitempty"`
}

type webConfig struct {
	BindAddr         string `toml:"bind_addr"`
	RootDomain       string `toml:"root_domain"`
	AddHostToMetrics bool   `toml:"add_host_to_metrics,omitempty"`
}

type k2vConfig struct {
	APIBindAddr string `toml:"api_bind_addr"`
}

type adminConfig struct {
	APIBindAddr         string `toml:"api_bind_addr"`
	MetricsRequireToken bool   `toml:"metrics_require_token,omitempty"`
	TraceSink           string `toml:"trace_sink,omitempty"`
}

// encode writes bare keys first, then tables, both in the order of the types.
func (c config) encode() []byte {
	var out bytes.Buffer
	if err := toml.NewEncoder(&out).Encode(c); err != nil {
		// Strings, numbers and lists of them, whatever they hold, can be written.
		panic(fmt.Sprintf("encode %s: %v", ConfigKey, err))
	}
	return out.Bytes()
}

// sharedConfig is what the garage.toml of every node has.
func (p *Plan) sharedConfig() config {
	spec, storage := p.cluster.Spec, p.cluster.Spec.Storage
	c := config{
		MetadataDir:                   dirMetadata,
		DBEngine:                      string(p.settings.engine),
		LMDBMapSize:                   p.settings.lmdbMapSize,
		FjallBlockCacheSize:           p.settings.fjallBlockCacheSize,
		ReplicationFactor:             Factor(p.cluster),
		ConsistencyMode:               string(orDefault(spec.Replication.ConsistencyMode, v1beta2.ConsistencyConsistent)),
		MetadataFsync:                 is(storage.MetadataFsync),
		DataFsync:                     is(storage.DataFsync),
		MetadataSnapshotsDir:          storage.MetadataSnapshotsDir,
		BlockSize:                     p.settings.blockSize,
		BlockRAMBufferMax:             p.settings.ramBufferMax,
		BlockMaxConcurrentReads:       spec.Blocks.MaxConcurrentReads,
		BlockMaxConcurrentWritesPerRq: spec.Blocks.MaxConcurrentWritesPerRequest,
		CompressionLevel:              compressionLevel(spec.Blocks.CompressionLevel),
		DisableScrub:                  is(spec.Blocks.DisableScrub),
		UseLocalTZ:                    is(spec.Blocks.UseLocalTZ),
		AllowWorldReadableSecrets:     is(spec.Security.AllowInsecureSecretPermissions),
		AllowPunycode:                 is(spec.Security.AllowPunycode),
		RPCBindAddr:                   p.listeners.rpc.address,
		RPCPingTimeoutMsec:            p.settings.pingTimeout.Milliseconds(),
		RPCTimeoutMsec:                p.settings.rpcTimeout.Milliseconds(),
		S3API:                         s3Config{APIBindAddr: p.listeners.s3.address, S3Region: "garage"},
		Admin:                         adminConfig{APIBindAddr: p.listeners.admin.address},
	}
	if interval := p.settings.snapshotInterval; interval > 0 {
		// Versions of Garage read units differently; all of them read seconds.
		c.MetadataAutoSnapshotInterval = strconv.FormatInt(interval, 10) + "s"
	}
	p.addListeners(&c)
	if network := spec.Network; network != nil {
		c.RPCBindOutgoing = is(network.RPCBindOutgoing)
		c.RPCPublicAddrSubnet = network.RPCPublicAddrSubnet
		c.BootstrapPeers = network.BootstrapPeers
	}
	return c
}

func (p *Plan) addListeners(c *config) {
	spec := p.cluster.Spec
	if s3 := spec.S3API; s3 != nil {
		c.S3API.S3Region, c.S3API.RootDomain = orDefault(s3.Region, c.S3API.S3Region), s3.RootDomain
	}
	if admin := spec.Admin; admin != nil {
		c.Admin.MetricsRequireToken, c.Admin.TraceSink = is(admin.MetricsRequireToken), admin.TraceSink
	}
	if web := p.listeners.web; web != nil {
		c.S3Web = &webConfig{BindAddr: web.address, RootDomain: fmt.Sprintf(".%s.%s.svc", p.cluster.Name, p.cluster.Namespace)}
		if of := spec.WebAPI; of != nil {
			c.S3Web.RootDomain, c.S3Web.AddHostToMetrics = orDefault(of.RootDomain, c.S3Web.RootDomain), is(of.AddHostToMetrics)
		}
	}
	if k2v := p.listeners.k2v; k2v != nil {
		c.K2VAPI = &k2vConfig{APIBindAddr: k2v.address}
	}
}

// nodeConfig is the garage.toml of one node.
func (p *Plan) nodeConfig(node *v1beta1.GarageNode, disks volumes) config {
	c := p.sharedConfig()
	c.DataDir = dataDirOf(disks)
	c.RPCPublicAddr, _ = p.publicAddr(node)
	return c
}

// groupConfig is the garage.toml of a node that has nothing of its own in it; false where that cannot be told, because nobody has
// said what such a node's volumes are.
func (p *Plan) groupConfig() (config, bool) {
	if p.cluster.Spec.Storage.Data == nil {
		return config{}, false
	}
	c := p.sharedConfig()
	c.DataDir = dataDirOf(volumes{data: disksOfGroup(p.cluster.Spec.Storage.Data)})
	c.RPCPublicAddr, _ = p.publicAddr(&v1beta1.GarageNode{})
	return c, true
}

// dataDirOf is a path where a node has one volume for blocks, which is then all that there is to weigh, and a list otherwise.
func dataDirOf(disks volumes) any {
	if len(disks.data) == 1 && disks.data[0].mount == dirData && disks.data[0].name == volumeData {
		return dirData
	}
	out := make([]dataDir, 0, len(disks.data))
	for _, disk := range disks.data {
		entry := dataDir{Path: disk.mount, ReadOnly: disk.readOnly}
		if !disk.readOnly {
			entry.Capacity = strconv.FormatInt(disk.capacity, 10) + "B"
		}
		out = append(out, entry)
	}
	return out
}

// compressionLevel is a number, the string none, or nothing.
func compressionLevel(level string) any {
	if number, err := strconv.Atoi(level); err == nil {
		return int64(number)
	}
	if level == "" {
		return nil
	}
	return level
}
