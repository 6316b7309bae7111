package render_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
)

type spec = v1beta2.GarageClusterSpec

// TestRefusedCluster holds which field of a GarageCluster is named where it cannot be carried out.
func TestRefusedCluster(t *testing.T) {
	network := func(of v1beta2.NetworkSpec) func(*spec) { return func(s *spec) { s.Network = &of } }
	service := func(of v1beta2.ServiceSpec) func(*spec) { return network(v1beta2.NetworkSpec{Service: &of}) }
	for name, c := range map[string]struct {
		change func(*spec)
		path   string
	}{
		"too many nodes":          {func(s *spec) { s.Storage.Replicas = new(int32(51)) }, "spec.storage.replicas"},
		"fewer than none":         {func(s *spec) { s.Storage.Replicas = new(int32(-1)) }, "spec.storage.replicas"},
		"a port twice":            {func(s *spec) { s.Admin = &v1beta2.AdminSpec{BindPort: 3901} }, "spec.admin.bindPort"},
		"a port twice by address": {func(s *spec) { s.K2VAPI = &v1beta2.K2VAPISpec{BindAddress: "0.0.0.0:3900"} }, "spec.k2vApi.bindAddress"},
		"another host":            {func(s *spec) { s.S3API = &v1beta2.S3APISpec{BindAddress: "10.0.0.1:3900"} }, "spec.s3Api.bindAddress"},
		"a port too large":        {func(s *spec) { s.WebAPI = &v1beta2.WebAPISpec{BindAddress: "[::]:65536"} }, "spec.webApi.bindAddress"},
		"a port of none":          {network(v1beta2.NetworkSpec{RPCBindAddress: "[::]:0"}), "spec.network.rpcBindAddress"},
		"a size of none":          {func(s *spec) { s.Blocks.Size = size("0") }, "spec.blocks.size"},
		"a size below none":       {func(s *spec) { s.Blocks.RAMBufferMax = size("-1") }, "spec.blocks.ramBufferMax"},
		"a size beyond all":       {func(s *spec) { s.Database = &v1beta2.DatabaseSpec{LMDBMapSize: size("65Pi")} }, "spec.database.lmdbMapSize"},
		"a cache of none":         {func(s *spec) { s.Database = &v1beta2.DatabaseSpec{FjallBlockCacheSize: size("0")} }, "spec.database.fjallBlockCacheSize"},
		"a timeout too short":     {network(v1beta2.NetworkSpec{RPCTimeout: "1us"}), "spec.network.rpcTimeout"},
		"a timeout too long":      {network(v1beta2.NetworkSpec{RPCTimeout: "25h"}), "spec.network.rpcTimeout"},
		"a timeout of words":      {network(v1beta2.NetworkSpec{RPCPingTimeout: "soon"}), "spec.network.rpcPingTimeout"},
		"snapshots too often":     {func(s *spec) { s.Storage.MetadataAutoSnapshotInterval = "9m 59s" }, "spec.storage.metadataAutoSnapshotInterval"},
		"snapshots too seldom":    {func(s *spec) { s.Storage.MetadataAutoSnapshotInterval = "11y" }, "spec.storage.metadataAutoSnapshotInterval"},
		"snapshots of words":      {func(s *spec) { s.Storage.MetadataAutoSnapshotInterval = "6h often" }, "spec.storage.metadataAutoSnapshotInterval"},
		"an address":              {network(v1beta2.NetworkSpec{RPCPublicAddr: "a:65536"}), "spec.network.rpcPublicAddr"},
		"an address of no host":   {network(v1beta2.NetworkSpec{RPCPublicAddr: ":1"}), "spec.network.rpcPublicAddr"},
		"a group's address":       {func(s *spec) { s.Storage.RPCPublicAddr = "a{ordinal}" }, "spec.storage.rpcPublicAddr"},
		"a subnet":                {network(v1beta2.NetworkSpec{RPCPublicAddrSubnet: "10.0.0.0/33"}), "spec.network.rpcPublicAddrSubnet"},
		"a peer":                  {network(v1beta2.NetworkSpec{BootstrapPeers: []string{"x@a:1", "x@a"}}), "spec.network.bootstrapPeers[1]"},
		"a balancer's address":    {service(v1beta2.ServiceSpec{LoadBalancerIP: "1.2.3"}), "spec.network.service.loadBalancerIP"},
		"a balancer's range":      {service(v1beta2.ServiceSpec{LoadBalancerSourceRanges: []string{"10.0.0.0/8", "10.0.0.0/99"}}), "spec.network.service.loadBalancerSourceRanges[1]"},
		"a Service's label":       {service(v1beta2.ServiceSpec{Labels: map[string]string{"a": "b c", "d": "e"}}), "spec.network.service.labels"},
		"a Service's annotation":  {service(v1beta2.ServiceSpec{Annotations: map[string]string{"a b": ""}}), "spec.network.service.annotations"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render.NewPlan(with(func(_ *render.Input, s *spec) { c.change(s) }))
			if got := unsupported(t, err); got != c.path {
				t.Errorf("refuses %s, want %s: %v", got, c.path, err)
			}
		})
	}
}

// TestRefusedInput holds what else is refused: names, and secrets that are not there.
func TestRefusedInput(t *testing.T) {
	for path, change := range map[string]func(*render.Input){
		"metadata.name":                  func(in *render.Input) { in.Cluster.Name = strings.Repeat("a", 42) },
		"metadata.name ":                 func(in *render.Input) { in.Cluster.Name = "1a" },
		"spec.network.rpcSecretRef":      func(in *render.Input) { in.RPC = render.SecretKey{Key: "k"} },
		"spec.network.rpcSecretRef ":     func(in *render.Input) { in.RPC = render.SecretKey{Name: "n"} },
		"spec.admin.adminTokenSecretRef": func(in *render.Input) { in.Admin = render.SecretKey{} },
	} {
		in := quickstart()
		change(&in)
		_, err := render.NewPlan(in)
		if got := unsupported(t, err); got != strings.TrimSpace(path) {
			t.Errorf("refuses %s, want %s", got, path)
		}
	}
	in := quickstart()
	in.DefaultImage = ""
	var refusal *render.UnsupportedError
	if _, err := render.NewPlan(in); err == nil || errors.As(err, &refusal) {
		t.Errorf("without a default image: %v; it is nothing that the spec could put right", err)
	}
}

// TestRefusedNode holds which field of a GarageNode is named, or of the GarageCluster, where that is what stands in the way.
func TestRefusedNode(t *testing.T) {
	disks := func(all ...v1beta1.NodeDataPath) func(*v1beta1.GarageNode, *spec) {
		return func(n *v1beta1.GarageNode, _ *spec) { n.Spec.Storage.Data, n.Spec.Storage.DataPaths = nil, all }
	}
	disk := func(path string) v1beta1.NodeDataPath {
		return v1beta1.NodeDataPath{Path: path, NodeVolumeShape: v1beta1.NodeVolumeShape{Size: size("1Gi")}}
	}
	readOnly := disk("/data/a")
	readOnly.ReadOnly = new(true)
	for name, c := range map[string]struct {
		change func(*v1beta1.GarageNode, *spec)
		path   string
	}{
		"a long name":       {func(n *v1beta1.GarageNode, _ *spec) { n.Name = strings.Repeat("n", 53) }, strings.Repeat("n", 53) + " metadata.name"},
		"a name with a dot": {func(n *v1beta1.GarageNode, _ *spec) { n.Name = "a.b" }, "a.b metadata.name"},
		"another cluster's": {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.ClusterRef.Name = "other" }, "spec.clusterRef"},
		"another namespace": {func(n *v1beta1.GarageNode, _ *spec) { n.Namespace = "other" }, "spec.clusterRef"},
		"no zone":           {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.Zone = "" }, "spec.zone"},
		"nowhere":           {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.Storage = nil }, "spec.storage"},
		"an address":        {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.Network.RPCPublicAddr = "a" }, "spec.network.rpcPublicAddr"},
		"no blocks":         {disks(), "spec.storage"},
		"only read":         {disks(readOnly), "spec.storage"},
		"a path in another": {disks(disk("/data/a"), disk("/data/a/b")), "spec.storage.dataPaths[1].path"},
		"a path twice":      {disks(disk("/data/a"), disk("/data/a")), "spec.storage.dataPaths[1].path"},
		"a path above":      {disks(disk("/data")), "spec.storage.dataPaths[0].path"},
		"a path that lies":  {disks(disk("/data/../etc")), "spec.storage.dataPaths[0].path"},
		"a path of nothing": {disks(disk("")), "spec.storage.dataPaths[0].path"},
		"a disk of no size": {disks(v1beta1.NodeDataPath{Path: "/d/a", NodeVolumeShape: v1beta1.NodeVolumeShape{ExistingClaim: "x"}}), "spec.storage.dataPaths[0].capacity"},
		"a disk of nothing": {disks(v1beta1.NodeDataPath{Path: "/d/a", Capacity: size("1Gi")}), "spec.storage.dataPaths[0]"},
		"a size of none":    {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.Storage.Metadata.Size = size("0") }, "spec.storage.metadata.size"},
		"a size beyond all": {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.Storage.Data.Size = size("65Pi") }, "spec.storage.data.size"},
		"a claim's label":   {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.Storage.Data.Labels = map[string]string{"a": "b c"} }, "spec.storage.data.labels"},
		"a selector": {func(n *v1beta1.GarageNode, _ *spec) {
			n.Spec.Storage.Data.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Maybe"}}}
		}, "spec.storage.data.selector"},
		"an image":             {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.Image = "a b" }, "spec.image"},
		"an image of Garage 1": {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.Image = "dxflrs/garage:v1.0.1" }, "spec.image"},
		"a source of variables": {func(n *v1beta1.GarageNode, _ *spec) {
			n.Spec.EnvFrom = []corev1.EnvFromSource{{Prefix: "X_"}, {Prefix: "GARAGE"}}
		}, "spec.envFrom[1].prefix"},
		"a source within ours":      {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.EnvFrom = []corev1.EnvFromSource{{Prefix: "GARAGE_RPC_"}} }, "spec.envFrom[0].prefix"},
		"a source without a prefix": {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.EnvFrom = []corev1.EnvFromSource{{}} }, "spec.envFrom[0].prefix"},
		"a label of ours": {func(n *v1beta1.GarageNode, _ *spec) {
			n.Spec.PodLabels = map[string]string{v1beta2.LabelS3Member: "true"}
		}, "spec.podLabels[" + v1beta2.LabelS3Member + "]"},
		"a label that is none":      {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.PodLabels = map[string]string{"a": "b c"} }, "spec.pod.labels"},
		"a selector that is none":   {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.NodeSelector = map[string]string{"a": "b c"} }, "spec.nodeSelector.labels"},
		"a request above its limit": {resources("2Gi", "1Gi"), "spec.resources.requests.memory"},
		"a limit below none":        {resources("-1Gi", "-1Gi"), "spec.resources.requests.memory"},
		"snapshots on no volume":    {func(_ *v1beta1.GarageNode, s *spec) { s.Storage.MetadataSnapshotsDir = "/tmp/x" }, "spec.storage.metadataSnapshotsDir"},
		"snapshots over a volume":   {func(_ *v1beta1.GarageNode, s *spec) { s.Storage.MetadataSnapshotsDir = "/data/metadata" }, "spec.storage.metadataSnapshotsDir"},
		"snapshots that leave it":   {func(_ *v1beta1.GarageNode, s *spec) { s.Storage.MetadataSnapshotsDir = "/data/metadata/../x" }, "spec.storage.metadataSnapshotsDir"},
		"a minor version back":      {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.Image, n.Status.Version = "g:v2.3.9", "cargo:2.4.0" }, "spec.image"},
		"a major version back":      {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.Image, n.Status.Version = "g:v2.3.9", "v3.0.0" }, "spec.image"},
		"reads before Garage 2.1":   {func(n *v1beta1.GarageNode, s *spec) { n.Spec.Image, s.Blocks.MaxConcurrentReads = "g:v2.0.0", 1 }, "spec.blocks.maxConcurrentReads"},
		"writes before Garage 2.2": {func(n *v1beta1.GarageNode, s *spec) {
			n.Spec.Image, s.Blocks.MaxConcurrentWritesPerRequest = "g:2.1.0", 1
		}, "spec.blocks.maxConcurrentWritesPerRequest"},
		"fjall before Garage 2.1": {func(n *v1beta1.GarageNode, s *spec) {
			n.Spec.Image, s.Database = "g:v2.0.0", &v1beta2.DatabaseSpec{Engine: "fjall"}
		}, "spec.database.engine"},
		"a patch version back":       {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.Image, n.Status.Version = "g:v2.3.0", "cargo:2.3.9" }, ""},
		"a minor version on":         {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.Image, n.Status.Version = "g:v3.0.0", "v2.4.0" }, ""},
		"after a version unknown":    {func(n *v1beta1.GarageNode, _ *spec) { n.Spec.Image, n.Status.Version = "g:v2.3.0", "git:f00" }, ""},
		"reads of a later version":   {func(n *v1beta1.GarageNode, s *spec) { n.Spec.Image, s.Blocks.MaxConcurrentReads = "g:v2.1.0", 1 }, ""},
		"reads of an unknown one":    {func(n *v1beta1.GarageNode, s *spec) { n.Spec.Image, s.Blocks.MaxConcurrentReads = "g:nightly", 1 }, ""},
		"reads of the next major":    {func(n *v1beta1.GarageNode, s *spec) { n.Spec.Image, s.Blocks.MaxConcurrentReads = "g:v3.0.0", 1 }, ""},
		"snapshots beside the table": {func(_ *v1beta1.GarageNode, s *spec) { s.Storage.MetadataSnapshotsDir = "/data/data/snapshots" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := quickstart()
			node := auto(t, plan(t, in), 0)
			c.change(node, &in.Cluster.Spec)
			_, err := plan(t, in).Node(node)
			if c.path == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if got := strings.TrimPrefix(unsupported(t, err), "demo-storage-0 "); got != c.path {
				t.Errorf("refuses %s, want %s: %v", got, c.path, err)
			}
		})
	}
}

func resources(request, limit string) func(*v1beta1.GarageNode, *spec) {
	return func(n *v1beta1.GarageNode, _ *spec) {
		n.Spec.Resources = &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"memory": *size(request)}, Limits: corev1.ResourceList{"memory": *size(limit)},
		}
	}
}

// TestRefusedAuto holds what keeps the controller from making nodes, and TestRole's counterpart: what is no role.
func TestRefusedAuto(t *testing.T) {
	for path, change := range map[string]func(*spec){
		"spec.storage":           func(s *spec) { s.Storage.Metadata = nil },
		"spec.storage ":          func(s *spec) { s.Storage.Data = nil },
		"spec.storage.data.size": func(s *spec) { s.Storage.Data = &v1beta2.DataVolumeConfig{} },
		"spec.storage.data":      func(s *spec) { s.Storage.Data.Size = size("1Ki"); s.Storage.CapacityReservePercent = new(int32(1)) },
		"spec.storage.data.paths[1].volume.size": func(s *spec) {
			s.Storage.Data = paths().Cluster.Spec.Storage.Data
			s.Storage.Data.Paths[1].Capacity, s.Storage.Data.Paths[1].Volume.Size = nil, nil
		},
	} {
		p := plan(t, with(func(_ *render.Input, s *spec) { change(s) }))
		_, err := p.AutoNodes()
		if got := unsupported(t, err); got != strings.TrimSpace(path) {
			t.Errorf("refuses %s, want %s: %v", got, path, err)
		}
	}
	p := plan(t, quickstart())
	for _, capacity := range []string{"1023", "-1", "65Pi"} {
		node := auto(t, p, 0)
		node.Spec.Capacity = size(capacity)
		_, err := p.Role(node)
		if got := unsupported(t, err); got != "demo-storage-0 spec.capacity" {
			t.Errorf("%s: refuses %s", capacity, got)
		}
	}
}
