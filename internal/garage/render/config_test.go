package render_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
)

func parse(t *testing.T, text []byte) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := toml.Unmarshal(text, &out); err != nil {
		t.Fatalf("garage.toml: %v\n%s", err, text)
	}
	return out
}

// flat are the keys of a garage.toml with the tables that they are in.
func flat(prefix string, table map[string]any, into map[string]any) {
	for key, value := range table {
		switch value := value.(type) {
		case map[string]any:
			flat(prefix+key+".", value, into)
		case []any:
			for _, entry := range value {
				if disk, ok := entry.(map[string]any); ok {
					flat(prefix+key+".", disk, into)
				}
			}
			into[prefix+key] = value
		default:
			into[prefix+key] = value
		}
	}
}

// TestEveryKeyIsRendered holds that the specs which the real servers are tried with use every key that there is.
func TestEveryKeyIsRendered(t *testing.T) {
	seen := map[string]any{}
	for _, in := range variants() {
		flat("", parse(t, first(t, in).Config), seen)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(render.ConfigKeys())), slices.Sorted(maps.Keys(seen))); diff != "" {
		t.Errorf("keys (-there are +rendered):\n%s", diff)
	}
}

// TestConfig holds single keys of garage.toml: nil wants it absent.
func TestConfig(t *testing.T) {
	spec := func(change func(*v1beta2.GarageClusterSpec)) render.Input {
		return with(func(_ *render.Input, spec *v1beta2.GarageClusterSpec) { change(spec) })
	}
	for name, c := range map[string]struct {
		in   render.Input
		want map[string]any
	}{
		"nothing asked for": {quickstart(), map[string]any{
			"metadata_dir": "/data/metadata", "data_dir": "/data/data", "db_engine": "lmdb", "replication_factor": int64(3), "consistency_mode": "consistent",
			"rpc_bind_addr": "[::]:3901", "s3_api.api_bind_addr": "[::]:3900", "s3_api.s3_region": "garage", "s3_web.bind_addr": "[::]:3902",
			"s3_web.root_domain": ".demo.objects.svc", "admin.api_bind_addr": "[::]:3903", "k2v_api.api_bind_addr": nil, "rpc_public_addr": nil,
			"compression_level": nil, "admin.admin_token": nil, "rpc_secret_file": nil,
		}},
		"level zero is zstd's own": {spec(func(s *v1beta2.GarageClusterSpec) { s.Blocks.CompressionLevel = "0" }), map[string]any{"compression_level": int64(0)}},
		"level below zero":         {spec(func(s *v1beta2.GarageClusterSpec) { s.Blocks.CompressionLevel = "-7" }), map[string]any{"compression_level": int64(-7)}},
		"no compression":           {spec(func(s *v1beta2.GarageClusterSpec) { s.Blocks.CompressionLevel = "none" }), map[string]any{"compression_level": "none"}},
		"sizes to the byte": {spec(func(s *v1beta2.GarageClusterSpec) {
			s.Blocks.Size, s.Blocks.RAMBufferMax = size("1M"), size("1.5Gi")
			s.Database = &v1beta2.DatabaseSpec{Engine: v1beta2.DatabaseFjall, FjallBlockCacheSize: size("64Mi")}
		}), map[string]any{
			"block_size": int64(1_000_000), "block_ram_buffer_max": int64(1_610_612_736), "db_engine": "fjall", "fjall_block_cache_size": int64(67_108_864), "lmdb_map_size": nil,
		}},
		"times": {spec(func(s *v1beta2.GarageClusterSpec) {
			s.Network = &v1beta2.NetworkSpec{RPCTimeout: "1m0.5s", RPCPingTimeout: "250ms"}
			s.Storage.MetadataAutoSnapshotInterval = "1d 2h 0.5m"
		}), map[string]any{"rpc_timeout_msec": int64(60_500), "rpc_ping_timeout_msec": int64(250), "metadata_auto_snapshot_interval": "93630s"}},
		"addresses before ports": {spec(func(s *v1beta2.GarageClusterSpec) {
			s.S3API = &v1beta2.S3APISpec{BindAddress: "0.0.0.0:80", BindPort: 3900}
			s.Admin = &v1beta2.AdminSpec{BindPort: 13903}
		}), map[string]any{"s3_api.api_bind_addr": "0.0.0.0:80", "admin.api_bind_addr": "[::]:13903"}},
		"web off": {spec(func(s *v1beta2.GarageClusterSpec) {
			s.WebAPI = &v1beta2.WebAPISpec{Enabled: new(false), RootDomain: ".x"}
		}), map[string]any{"s3_web.bind_addr": nil, "s3_web.root_domain": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]any{}
			flat("", parse(t, first(t, c.in).Config), got)
			for key, want := range c.want {
				if diff := cmp.Diff(want, got[key]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", key, diff)
				}
			}
		})
	}
}

// TestBareKeysFirst holds that no key of the top level comes after a table, where Garage would not look for it.
func TestBareKeysFirst(t *testing.T) {
	for name, in := range variants() {
		text := string(first(t, in).Config)
		_, tables, _ := strings.Cut(text, "\n[")
		for key := range render.ConfigKeys() {
			if !strings.Contains(key, ".") && strings.Contains(tables, "\n"+key+" ") {
				t.Errorf("%s: %s comes after a table:\n%s", name, key, text)
			}
		}
	}
}

// TestDataDir holds how paths are written: a capacity with a unit, or read_only, never both.
func TestDataDir(t *testing.T) {
	want := []any{
		map[string]any{"path": "/data/hdd1", "capacity": "1099511627776B"},
		map[string]any{"path": "/data/hdd2", "capacity": "966367641600B"},
		map[string]any{"path": "/mnt/old", "read_only": true},
	}
	if diff := cmp.Diff(want, parse(t, first(t, paths()).Config)["data_dir"]); diff != "" {
		t.Errorf("data_dir (-want +got):\n%s", diff)
	}
}

// TestPublicAddress holds which address a node announces, and when its role has it.
func TestPublicAddress(t *testing.T) {
	for name, c := range map[string]struct {
		cluster, group, node string
		manual               bool
		announced, tag       string
	}{
		"none":                           {},
		"the store's":                    {cluster: "a:1", announced: "a:1"},
		"the group's":                    {cluster: "a:1", group: "b:2", announced: "b:2"},
		"the group's, numbered":          {cluster: "a:1", group: "b{ordinal}:390{ordinal}", announced: "b1:3901", tag: "b1:3901"},
		"the node's":                     {cluster: "a:1", group: "b{ordinal}:2", node: "c:3", announced: "c:3", tag: "c:3"},
		"a user's node has no number":    {cluster: "a:1", group: "b{ordinal}:2", manual: true, announced: "a:1"},
		"nor without the store's":        {group: "b{ordinal}:2", manual: true},
		"a user's node takes the others": {group: "b:2", manual: true, announced: "b:2"},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan(t, with(func(_ *render.Input, spec *v1beta2.GarageClusterSpec) {
				spec.Network = &v1beta2.NetworkSpec{RPCPublicAddr: c.cluster}
				spec.Storage.RPCPublicAddr = c.group
			}))
			node := auto(t, p, 1)
			node.Spec.Network.RPCPublicAddr = c.node
			if c.manual {
				node.Labels = nil
			}
			out := rendered(t, p, node)
			if address, _ := parse(t, out.Config)["rpc_public_addr"].(string); address != c.announced {
				t.Errorf("announces %q, want %q", address, c.announced)
			}
			if own := c.tag != ""; out.Shared == own {
				t.Errorf("its ConfigMap is shared: %v", out.Shared)
			}
			tag := ""
			for _, of := range role(t, p, node).Tags {
				if value, found := strings.CutPrefix(of, v1beta2.TagRPCAddress); found {
					tag = value
				}
			}
			if tag != c.tag {
				t.Errorf("has the tag %q, want %q", tag, c.tag)
			}
		})
	}
}

// TestConfigMaps holds that a ConfigMap's name tells its contents, that nodes with nothing of their own share one, and that
// names fit.
func TestConfigMaps(t *testing.T) {
	p := plan(t, quickstart())
	one, two := rendered(t, p, auto(t, p, 0)), rendered(t, p, auto(t, p, 1))
	if diff := cmp.Diff(one.ConfigMap, two.ConfigMap); diff != "" || !one.Shared {
		t.Errorf("equal nodes (shared %v):\n%s", one.Shared, diff)
	}
	own := auto(t, p, 2)
	own.Spec.Network.RPCPublicAddr = "c:3"
	three := rendered(t, p, own)
	if three.Shared || three.ConfigMap.Name == one.ConfigMap.Name {
		t.Errorf("a node with an address of its own shares %s", three.ConfigMap.Name)
	}
	other := rendered(t, plan(t, with(func(_ *render.Input, spec *v1beta2.GarageClusterSpec) { spec.Replication.Factor = 2 })), auto(t, p, 0))
	if other.ConfigMap.Name == one.ConfigMap.Name || other.ConfigHash == one.ConfigHash {
		t.Errorf("another configuration has the name %s", other.ConfigMap.Name)
	}
	for _, node := range []render.Node{one, three} {
		config := node.ConfigMap
		if config.Immutable == nil || !*config.Immutable || config.Data[render.ConfigKey] != string(node.Config) {
			t.Errorf("%s can change, or has another file", config.Name)
		}
		if got := pod(node).Volumes[0].ConfigMap.Name; got != config.Name {
			t.Errorf("the Pod mounts %s, want %s", got, config.Name)
		}
	}
}

// TestLongestNames holds that what is built from the longest name of a GarageCluster fits.
func TestLongestNames(t *testing.T) {
	p := plan(t, with(func(in *render.Input, _ *v1beta2.GarageClusterSpec) { in.Cluster.Name = strings.Repeat("a", 41) }))
	node := auto(t, p, 49)
	node.Spec.Network.RPCPublicAddr = "c:3"
	if name := rendered(t, p, node).ConfigMap.Name; len(name) > 253 || len(node.Name) > 52 {
		t.Errorf("%d and %d characters: %s, %s", len(name), len(node.Name), name, node.Name)
	}
}

func role(t *testing.T, p *render.Plan, node *v1beta1.GarageNode) render.Role {
	t.Helper()
	out, err := p.Role(node)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRole holds a role's zone, capacity and tags.
func TestRole(t *testing.T) {
	p := plan(t, with(func(_ *render.Input, spec *v1beta2.GarageClusterSpec) {
		spec.Zone, spec.DefaultNodeTags = "ber-1", []string{"ssd", "eu"}
		spec.Storage.CapacityReservePercent = new(int32(10))
	}))
	node := auto(t, p, 2)
	node.Spec.Tags = []string{"eu", "rack:7"}
	own := []string{"cluster:demo/objects", "cluster-uid:7f0c", "tier:storage"}
	want := render.Role{Zone: "ber-1", Capacity: 90 << 30, Tags: append(slices.Clone(own), "demo-storage-2-0", "ssd", "eu", "rack:7")}
	if diff := cmp.Diff(want, role(t, p, node)); diff != "" {
		t.Errorf("role (-want +got):\n%s", diff)
	}
	node.Spec.Storage, node.Spec.External = nil, &v1beta1.ExternalNode{Address: "fd00::1"}
	want.Tags = append(slices.Clone(own), "rpc-address:[fd00::1]:3901", "ssd", "eu", "rack:7")
	if diff := cmp.Diff(want, role(t, p, node)); diff != "" {
		t.Errorf("role of an external node (-want +got):\n%s", diff)
	}
}

// TestCapacity holds the capacity of nodes that the controller makes.
func TestCapacity(t *testing.T) {
	for name, c := range map[string]struct {
		in      render.Input
		reserve int32
		want    int64
	}{
		"a volume":                 {quickstart(), 0, 100 << 30},
		"a volume, less a reserve": {quickstart(), 7, 99857989632},
		"half of it":               {quickstart(), 50, 50 << 30},
		"the paths written to":     {paths(), 0, 1024<<30 + 900<<30},
		"those, less a reserve":    {paths(), 50, (1024<<30 + 900<<30) / 2},
		"a folder": {with(func(_ *render.Input, spec *v1beta2.GarageClusterSpec) {
			spec.Storage.Data.Type = v1beta2.VolumeTypeEmptyDir
		}), 0, 100 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.Cluster.Spec.Storage.CapacityReservePercent = &c.reserve
			if got := auto(t, plan(t, c.in), 0).Spec.Capacity.Value(); got != c.want {
				t.Errorf("%d bytes, want %d", got, c.want)
			}
		})
	}
}

// TestZoneRedundancy holds the layout's parameter.
func TestZoneRedundancy(t *testing.T) {
	for spec, want := range map[v1beta2.ReplicationSpec]string{
		{}: "0 false",
		{ZoneRedundancyMode: v1beta2.ZoneRedundancyMaximum}:                            "0 true",
		{ZoneRedundancyMode: v1beta2.ZoneRedundancyAtLeast, ZoneRedundancyMinZones: 2}: "2 false",
	} {
		cluster := quickstart().Cluster
		cluster.Spec.Replication = spec
		least, maximum := render.ZoneRedundancy(cluster)
		if got := fmt.Sprint(least, maximum); got != want {
			t.Errorf("%+v is %s, want %s", spec, got, want)
		}
	}
}
