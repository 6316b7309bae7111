package crd

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

const (
	volumesNeeded = "storage.metadata and storage.data are needed while storage.replicas is above 0; give both, or set storage.replicas to 0 when the GarageCluster is made"
	eitherOr      = "give either size, for one volume, or paths, for several; not both and not neither"
	ofClaims      = "storageClassName, selector, accessModes, labels and annotations are of claims; drop them, or type: EmptyDir"
	ofEachPath    = "with paths each path has a volume of its own: move type, storageClassName, selector, accessModes, labels and annotations to paths[].volume"
	claimSize     = "a claim needs a size; give size, such as 100Gi"
	writable      = "Garage needs a path that it can write to: leave at least one without readOnly"
	nested        = "a path cannot lie inside another: each is a disk of its own"
	inTheWay      = "the path is in the way of /data/metadata, /etc/garage or /secrets, which have other contents; choose one such as /data/hdd1"
	dots          = "a path has no parts . or .."
	ownEnv        = "GARAGE_CONFIG_FILE, and GARAGE_RPC_SECRET, GARAGE_ADMIN_TOKEN and GARAGE_METRICS_TOKEN with and without _FILE, are the controller's own"
	ownPrefix     = "each needs a prefix with which no variable can begin with GARAGE_, such as EXTRA_"
	ownLabels     = "labels that begin with garage.rajsingh.info/, and app.kubernetes.io/name, instance, component and managed-by, are the controller's own; drop them"
	ownTags       = "tags that begin with cluster:, cluster-uid:, tier:, rpc-address:, node-local-pool: or kubernetes-node: are the controller's own; name the tag otherwise"
	portsTaken    = "rpc, s3, web, admin and k2v listen in one Pod and each needs a port of its own: change one of network.rpcBindPort (3901)"
	zonesNeeded   = "zoneRedundancyMinZones belongs to zoneRedundancyMode AtLeast, and that needs it; give both, or drop both"
	zonesTooMany  = "zoneRedundancyMinZones cannot be above factor: there are only so many copies"
	onlyGrows     = "size can only grow: a claim does not shrink"
	zeroReplicas  = "replicas cannot go down to 0: the last node would have nobody to give its data to"
	pathsStay     = "storage.data.paths cannot be added, moved or removed once there are nodes: a path is a disk's identity"
	dataStays     = "storage.data cannot be removed, and its type cannot change, once there are nodes"
	claimStays    = "of storage.data cannot change once there are nodes: claims that exist do not change; only size may grow"
	manualStays   = "cannot go back from Manual to Auto: the GarageNodes are somebody else's by now"
)

// TestGarageCreate holds each bound and rule of a GarageCluster from both sides.
func TestGarageCreate(t *testing.T) {
	env.Start(t)
	cases := map[string]creation{
		"the least":                        {},
		"no storage":                       {fields{"storage": nil}, "spec.storage: Required value"},
		"no volumes":                       {fields{"storage": map[string]any{}}, volumesNeeded},
		"no data":                          {fields{"storage.data": nil}, volumesNeeded},
		"no metadata":                      {fields{"storage.metadata": nil}, volumesNeeded},
		"no volumes and no nodes":          {changes: fields{"storage": map[string]any{"replicas": int64(0)}}},
		"no volumes, and users make nodes": {changes: fields{"storage": map[string]any{}, "layoutPolicy": "Manual"}},
		"or only those of this group":      {changes: fields{"storage": map[string]any{"layoutPolicy": "Manual"}}},
		"but not of the other":             {fields{"storage": map[string]any{"layoutPolicy": "Auto"}, "layoutPolicy": "Manual"}, volumesNeeded},
		"no such policy":                   {fields{"layoutPolicy": "Never"}, "spec.layoutPolicy: Unsupported value"},
		"gone when deleted":                {changes: fields{"deletionPolicy": "Destroy"}},
		"drained when deleted":             {fields{"deletionPolicy": "Drain"}, `spec.deletionPolicy: Unsupported value: "Drain": supported values: "Destroy"`},
		"data neither way":                 {fields{"storage.data": map[string]any{}}, eitherOr},
		"data both ways":                   {and(disks(disk("/data/a", "1Gi", nil)), fields{"storage.data.size": "1Gi"}), eitherOr},
		"data in a folder":                 {changes: fields{"storage.data.type": "EmptyDir"}},
		"a folder with a class":            {fields{"storage.data.type": "EmptyDir", "storage.data.storageClassName": "x"}, ofClaims},
		"metadata in a folder":             {changes: fields{"storage.metadata": map[string]any{"type": "EmptyDir"}}},
		"a folder with labels":             {fields{"storage.metadata": map[string]any{"type": "EmptyDir", "labels": map[string]any{"a": "b"}}}, ofClaims},
		"metadata without a size":          {fields{"storage.metadata": map[string]any{"storageClassName": "x"}}, claimSize},
		"metadata with paths, strictly":    {changes: fields{"storage.metadata.paths": []any{}}}, // unknown, and dropped where nobody is strict
		"paths with a class beside them":   {and(disks(disk("/data/a", "1Gi", nil)), fields{"storage.data.storageClassName": "x"}), ofEachPath},
		"paths":                            {changes: disks(disk("/data/a", "1Gi", nil), disk("/mnt/b", "1Gi", fields{"readOnly": true, "capacity": "1.5Ti"}))},
		"paths without a volume":           {disks(map[string]any{"path": "/data/a"}), "spec.storage.data.paths[0].volume: Required value"},
		"paths without a size":             {disks(map[string]any{"path": "/data/a", "volume": map[string]any{"type": "EmptyDir"}}), "a disk needs a size; give volume.size, such as 1Ti"},
		"paths that are all read-only":     {disks(disk("/data/a", "1Gi", fields{"readOnly": true})), writable},
		"paths in each other":              {disks(disk("/data/a", "1Gi", nil), disk("/data/a/b", "1Gi", nil)), nested},
		"paths that begin alike":           {changes: disks(disk("/data/a", "1Gi", nil), disk("/data/ab", "1Gi", nil))},
		"paths that are the same":          {disks(disk("/data/a", "1Gi", nil), disk("/data/a", "1Gi", nil)), "spec.storage.data.paths[1]: Duplicate value"},
		"no paths":                         {disks(), "spec.storage.data.paths: Invalid value: 0"},
		"most paths":                       {changes: disks(entries(32, func(i int) any { return disk(fmt.Sprintf("/d/%d", i), "1Gi", nil) })...)},
		"too many paths":                   {disks(entries(33, func(i int) any { return disk(fmt.Sprintf("/d/%d", i), "1Gi", nil) })...), "spec.storage.data.paths: Too many: 33"},
		"path over the metadata":           {disks(disk("/data", "1Gi", nil)), inTheWay},
		"path in the metadata":             {disks(disk("/data/metadata/a", "1Gi", nil)), inTheWay},
		"path over the configuration":      {disks(disk("/etc", "1Gi", nil)), inTheWay},
		"path that goes up":                {disks(disk("/data/../etc", "1Gi", nil)), dots},
		"path that is relative":            {disks(disk("data/a", "1Gi", nil)), `spec.storage.data.paths[0].path: Invalid value: "data/a"`},
		"path that is the root":            {disks(disk("/", "1Gi", nil)), "spec.storage.data.paths[0].path"},
		"path with a quote":                {disks(disk(`/data/"a`, "1Gi", nil)), "spec.storage.data.paths[0].path"},
		"size of nothing":                  {fields{"storage.data.size": "0"}, "spec.storage.data.size"},
		"size below zero":                  {fields{"storage.data.size": "-1Gi"}, "spec.storage.data.size"},
		"size in thousandths":              {fields{"storage.data.size": "1000m"}, "spec.storage.data.size"},
		"size that is no size":             {fields{"storage.data.size": "a lot"}, "spec.storage.data.size"},
		"size as a number":                 {fields{"storage.data.size": int64(1 << 30)}, `spec.storage.data.size: Invalid value: "integer"`},
		"size with a fraction":             {changes: fields{"storage.data.size": "1.5Ti"}},
		"access modes":                     {changes: fields{"storage.data.accessModes": []any{"ReadWriteOncePod"}}},
		"access mode to read":              {fields{"storage.data.accessModes": []any{"ReadOnlyMany"}}, "spec.storage.data.accessModes[0]: Unsupported value"},
		"replicas at the most":             {changes: fields{"storage.replicas": int64(50)}},
		"replicas above the most":          {fields{"storage.replicas": int64(51)}, "spec.storage.replicas: Invalid value: 51"},
		"replicas below zero":              {fields{"storage.replicas": int64(-1)}, "spec.storage.replicas: Invalid value: -1"},
		"reserve at the most":              {changes: fields{"storage.capacityReservePercent": int64(50)}},
		"reserve above the most":           {fields{"storage.capacityReservePercent": int64(51)}, "spec.storage.capacityReservePercent"},
		"snapshots":                        {changes: fields{"storage.metadataAutoSnapshotInterval": "1d 12h"}},
		"snapshots, no unit":               {fields{"storage.metadataAutoSnapshotInterval": "600"}, "spec.storage.metadataAutoSnapshotInterval"},
		"snapshots' folder":                {changes: fields{"storage.metadataSnapshotsDir": "/data/metadata/copies"}},
		"snapshots' folder goes up":        {fields{"storage.metadataSnapshotsDir": "/data/metadata/../x"}, dots},
		"budget":                           {changes: fields{"storage.podDisruptionBudget": map[string]any{"maxUnavailable": "50%"}}},
		"budget both ways":                 {fields{"storage.podDisruptionBudget": map[string]any{"maxUnavailable": int64(1), "minAvailable": int64(1)}}, "minAvailable and maxUnavailable exclude each other; drop one"},
		"budget of words":                  {fields{"storage.podDisruptionBudget": map[string]any{"maxUnavailable": "some"}}, "give a number of nodes, or a percentage such as 50%"},
		"retention of another kind":        {fields{"storage.pvcRetentionPolicy": map[string]any{"whenScaled": "Maybe"}}, "spec.storage.pvcRetentionPolicy.whenScaled: Unsupported value"},
		"group's address with numbers":     {changes: fields{"storage.rpcPublicAddr": "node{ordinal}.example.com:390{ordinal}"}},
		"group's address without a port":   {fields{"storage.rpcPublicAddr": "node{ordinal}.example.com"}, "spec.storage.rpcPublicAddr"},
		"zone":                             {changes: fields{"zone": "Ber_1.a"}},
		"zone with a space":                {fields{"zone": "a b"}, "spec.zone"},
		"tags":                             {changes: fields{"defaultNodeTags": []any{"ssd", "rack:7"}}},
		"tags of our own":                  {fields{"defaultNodeTags": []any{"tier:x"}}, ownTags},
		"tags twice":                       {fields{"defaultNodeTags": []any{"a", "a"}}, "spec.defaultNodeTags[1]: Duplicate value"},
		"most tags":                        {changes: fields{"defaultNodeTags": entries(32, func(i int) any { return fmt.Sprint(i) })}},
		"too many tags":                    {fields{"defaultNodeTags": entries(33, func(i int) any { return fmt.Sprint(i) })}, "spec.defaultNodeTags: Too many: 33"},
		"image":                            {changes: fields{"image": "registry.example.com:5000/dxflrs/garage:v2.3.0@" + digest}},
		"image with a space":               {fields{"image": "a b"}, "spec.image"},
		"repository with a tag":            {fields{"imageRepository": "dxflrs/garage:v2.3.0"}, "spec.imageRepository"},
		"pull policy of another kind":      {fields{"imagePullPolicy": "Sometimes"}, "spec.imagePullPolicy: Unsupported value"},
		"factor at the most":               {changes: fields{"replication.factor": int64(7)}},
		"factor above the most":            {fields{"replication.factor": int64(8)}, "spec.replication.factor: Invalid value: 8"},
		"factor of none":                   {fields{"replication.factor": int64(0)}, "spec.replication.factor: Invalid value: 0"},
		"no such consistency":              {fields{"replication.consistencyMode": "eventual"}, "spec.replication.consistencyMode: Unsupported value"},
		"zones at least":                   {changes: fields{"replication": map[string]any{"zoneRedundancyMode": "AtLeast", "zoneRedundancyMinZones": int64(3)}}},
		"zones at least, above factor":     {fields{"replication": map[string]any{"zoneRedundancyMode": "AtLeast", "zoneRedundancyMinZones": int64(4)}}, zonesTooMany},
		"zones at least, of none":          {fields{"replication": map[string]any{"zoneRedundancyMode": "AtLeast"}}, zonesNeeded},
		"zones at most, of two":            {fields{"replication": map[string]any{"zoneRedundancyMode": "Maximum", "zoneRedundancyMinZones": int64(2)}}, zonesNeeded},
		"zones of no mode":                 {fields{"replication.zoneRedundancyMinZones": int64(2)}, zonesNeeded},
		"fjall's cache":                    {changes: fields{"database": map[string]any{"engine": "fjall", "fjallBlockCacheSize": "64Mi"}}},
		"fjall's cache for another":        {fields{"database": map[string]any{"fjallBlockCacheSize": "64Mi"}}, "fjallBlockCacheSize is for engine fjall; drop it"},
		"lmdb's size":                      {changes: fields{"database": map[string]any{"lmdbMapSize": "100Gi"}}},
		"lmdb's size for another":          {fields{"database": map[string]any{"engine": "sqlite", "lmdbMapSize": "1Gi"}}, "lmdbMapSize is for engine lmdb; drop it"},
		"compression":                      {changes: fields{"blocks.compressionLevel": "-99"}},
		"compression at the most":          {changes: fields{"blocks.compressionLevel": "22"}},
		"no compression":                   {changes: fields{"blocks.compressionLevel": "none"}},
		"compression above the most":       {fields{"blocks.compressionLevel": "23"}, "give none, or a level from -99 to 22"},
		"compression below the least":      {fields{"blocks.compressionLevel": "-100"}, "give none, or a level from -99 to 22"},
		"compression of words":             {fields{"blocks.compressionLevel": "some"}, "spec.blocks.compressionLevel"},
		"reads at none":                    {fields{"blocks.maxConcurrentReads": int64(0)}, "spec.blocks.maxConcurrentReads"},
		"workers":                          {changes: fields{"workers": map[string]any{"resyncWorkerCount": int64(8), "resyncTranquility": int64(0)}}},
		"workers above the most":           {fields{"workers.resyncWorkerCount": int64(9)}, "spec.workers.resyncWorkerCount"},
		"a drain that asks nobody":         {changes: fields{"layoutManagement.drain.unverifiedPeersPolicy": "AssumeConsistent"}},
		"a drain of another kind":          {fields{"layoutManagement.drain.unverifiedPeersPolicy": "Hope"}, "spec.layoutManagement.drain.unverifiedPeersPolicy: Unsupported value"},
	}
	testCreations(t, garage, cases)
}

// TestGarageListeners holds where listeners may be, and that no two are in the same place.
func TestGarageListeners(t *testing.T) {
	cases := map[string]creation{
		"an address":                       {changes: fields{"s3Api.bindAddress": "0.0.0.0:80"}},
		"an address of one machine":        {fields{"s3Api.bindAddress": "10.0.0.1:80"}, "spec.s3Api.bindAddress"},
		"a socket":                         {fields{"admin.bindAddress": "/run/garage"}, "spec.admin.bindAddress"},
		"a port above the most":            {fields{"admin.bindPort": int64(65536)}, "spec.admin.bindPort"},
		"a port at the most":               {changes: fields{"admin.bindPort": int64(65535)}},
		"a port by default":                {fields{"s3Api.bindPort": int64(3903)}, portsTaken},
		"a port by address":                {fields{"admin.bindAddress": "[::]:3900"}, portsTaken},
		"two ports":                        {fields{"k2vApi.bindPort": int64(4000), "network.rpcBindPort": int64(4000)}, portsTaken},
		"a port that an address stands in": {changes: fields{"s3Api": map[string]any{"bindAddress": "[::]:4000", "bindPort": int64(3903)}}},
		"the port of a web that is off":    {changes: fields{"webApi.enabled": false, "s3Api.bindPort": int64(3902)}},
		"the port of a web that is on":     {fields{"s3Api.bindPort": int64(3902)}, portsTaken},
		"the port of a k2v that is off":    {changes: fields{"s3Api.bindPort": int64(3904)}},
		"the port of a k2v that is on":     {fields{"s3Api.bindPort": int64(3904), "k2vApi": map[string]any{}}, portsTaken},
		"a region with a slash":            {fields{"s3Api.region": "a/b"}, "spec.s3Api.region"},
		"a domain":                         {changes: fields{"s3Api.rootDomain": ".s3.example.com"}},
		"a domain with a quote":            {fields{"webApi.rootDomain": `.x"`}, "spec.webApi.rootDomain"},
		"a token":                          {changes: fields{"admin.adminTokenSecretRef": named("s")}},
		"a token of no name":               {fields{"admin.adminTokenSecretRef": map[string]any{"key": "k"}}, "spec.admin.adminTokenSecretRef.name: Required value"},
		"a token of an empty name":         {fields{"admin.metricsTokenSecretRef": named("")}, "spec.admin.metricsTokenSecretRef.name"},
		"a trace sink":                     {changes: fields{"admin.traceSink": "http://otel.example.com:4317"}},
		"a trace sink of words":            {fields{"admin.traceSink": "otel"}, "spec.admin.traceSink"},
		"a peer":                           {changes: fields{"network.bootstrapPeers": []any{strings.Repeat("a", 64) + "@[fd00::1]:3901"}}},
		"a peer without an identity":       {fields{"network.bootstrapPeers": []any{"node.example.com:3901"}}, "spec.network.bootstrapPeers[0]"},
		"a timeout":                        {changes: fields{"network.rpcTimeout": "1m30s", "network.rpcPingTimeout": "1ms"}},
		"a timeout too short":              {fields{"network.rpcTimeout": "999us"}, "give at least 1ms and at most 24h"},
		"a timeout too long":               {fields{"network.rpcPingTimeout": "25h"}, "give at least 1ms and at most 24h"},
		"a timeout without a unit":         {fields{"network.rpcTimeout": "30"}, "spec.network.rpcTimeout"},
		"a subnet":                         {changes: fields{"network.rpcPublicAddrSubnet": "10.0.0.0/8"}},
		"a subnet of one address":          {fields{"network.rpcPublicAddrSubnet": "10.0.0.1"}, "spec.network.rpcPublicAddrSubnet"},
		"a balancer":                       {changes: fields{"network.service": map[string]any{"type": "LoadBalancer", "loadBalancerIP": "192.0.2.1", "loadBalancerSourceRanges": []any{"192.0.2.0/24"}, "externalTrafficPolicy": "Local"}}},
		"a balancer's address without one": {fields{"network.service": map[string]any{"loadBalancerIP": "192.0.2.1"}}, "loadBalancerIP and loadBalancerSourceRanges are for type LoadBalancer; drop them, or change type"},
		"a policy of the inside":           {fields{"network.service": map[string]any{"externalTrafficPolicy": "Local"}}, "externalTrafficPolicy is for type LoadBalancer or NodePort; drop it, or change type"},
		"a policy of every node":           {changes: fields{"network.service": map[string]any{"type": "NodePort", "externalTrafficPolicy": "Cluster"}}},
	}
	testCreations(t, garage, cases)
}

func variable(name string) map[string]any { return map[string]any{"name": name, "value": "x"} }

// TestGaragePods holds what users may put into the Pods of nodes, of either kind.
func TestGaragePods(t *testing.T) {
	cases := map[string]creation{
		"a variable":                {changes: fields{"env": []any{variable("TZ")}}},
		"a variable twice":          {fields{"env": []any{variable("TZ"), variable("TZ")}}, "env[1]: Duplicate value"},
		"most variables":            {changes: fields{"env": entries(256, func(i int) any { return variable(fmt.Sprintf("V%d", i)) })}},
		"too many variables":        {fields{"env": entries(257, func(i int) any { return variable(fmt.Sprintf("V%d", i)) })}, "env: Too many: 257"},
		"variables of a source":     {changes: fields{"envFrom": []any{map[string]any{"prefix": "EXTRA_", "secretRef": named("s")}}}},
		"a source without a prefix": {fields{"envFrom": []any{map[string]any{"secretRef": named("s")}}}, ownPrefix},
		"a source of part of ours":  {fields{"envFrom": []any{map[string]any{"prefix": "GAR", "secretRef": named("s")}}}, ownPrefix},
		"a source within ours":      {fields{"envFrom": []any{map[string]any{"prefix": "GARAGE_RPC_", "secretRef": named("s")}}}, ownPrefix},
		"labels":                    {changes: fields{"podLabels": map[string]any{"team": "x"}}},
		"most labels":               {changes: fields{"podLabels": map[string]any(labels(64))}},
		"too many labels":           {fields{"podLabels": map[string]any(labels(65))}, "podLabels: Too many: 65"},
		"a label of ours":           {fields{"podLabels": map[string]any{v1beta2.LabelS3Member: "true"}}, ownLabels},
		"a label of everybody's":    {fields{"podLabels": map[string]any{"app.kubernetes.io/name": "x"}}, ownLabels},
		"a label beside that":       {changes: fields{"podLabels": map[string]any{"app.kubernetes.io/part-of": "x"}}},
		"an annotation of ours":     {fields{"podAnnotations": map[string]any{v1beta2.AnnotationConfigHash: "x"}}, "annotations that begin with garage.rajsingh.info/ are the controller's own; drop them"},
		"a field of a wrong type": {
			fields{"affinity": map[string]any{"nodeAffinity": map[string]any{"preferredDuringSchedulingIgnoredDuringExecution": []any{map[string]any{"weight": "much", "preference": map[string]any{}}}}}},
			`affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: "string"`,
		},
		"a list that is none":     {fields{"tolerations": map[string]any{"key": "x"}}, `tolerations: Invalid value: "object"`},
		"a quantity that is none": {fields{"resources": map[string]any{"limits": map[string]any{"memory": "a lot"}}}, "resources.limits.memory"},
	}
	for name := range strings.FieldsSeq("GARAGE_CONFIG_FILE GARAGE_RPC_SECRET GARAGE_RPC_SECRET_FILE GARAGE_ADMIN_TOKEN GARAGE_ADMIN_TOKEN_FILE GARAGE_METRICS_TOKEN GARAGE_METRICS_TOKEN_FILE") {
		cases["the variable "+name] = creation{fields{"env": []any{variable(name)}}, ownEnv}
	}
	below := map[string]creation{}
	for name, c := range cases {
		changes := fields{}
		for key, value := range c.changes {
			changes["storage."+key] = value
		}
		below[name] = creation{changes, c.refused}
	}
	t.Run("GarageCluster", func(t *testing.T) { testCreations(t, garage, below) })
	t.Run("GarageNode", func(t *testing.T) { testCreations(t, node, cases) })
}

// TestGarageMisspelt holds that strict validation, as kubectl asks for, names a misspelt field by its path, down to the fields of
// Kubernetes' own types.
func TestGarageMisspelt(t *testing.T) {
	e := env.Start(t)
	ns := e.Namespace(t)
	strict := client.FieldValidation(metav1.FieldValidationStrict)
	for path, object := range map[string]*unstructured.Unstructured{
		"spec.storge":                             garage(ns, "x", fields{"storge": "x"}),
		"spec.storage.tolerations[0].efect":       garage(ns, "x", fields{"storage.tolerations": []any{map[string]any{"key": "a", "efect": "NoSchedule"}}}),
		"spec.storage.affinity.podAntiAfinity":    garage(ns, "x", fields{"storage.affinity": map[string]any{"podAntiAfinity": map[string]any{}}}),
		"spec.storage.securityContext.runAsUsr":   garage(ns, "x", fields{"storage.securityContext": map[string]any{"runAsUsr": int64(1)}}),
		"spec.storage.env[0].valueFrom.secretRef": garage(ns, "x", fields{"storage.env": []any{map[string]any{"name": "A", "valueFrom": map[string]any{"secretRef": named("s")}}}}),
		"spec.storage.data.paths[0].volume.sizes": garage(ns, "x", disks(map[string]any{"path": "/data/a", "volume": map[string]any{"size": "1Gi", "sizes": "1Gi"}})),
		"spec.storage.metadata.paths":             garage(ns, "x", fields{"storage.metadata.paths": []any{}}),
		"spec.resources.limit":                    node(ns, "x", fields{"resources": map[string]any{"limit": map[string]any{"memory": "1Gi"}}}),
	} {
		err := e.Client.Create(t.Context(), object, client.DryRunAll, strict)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("unknown field %q", path)) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestGarageEdit holds what may become of a GarageCluster. Each edit is of the smallest one, changed as from says, into the smallest one,
// changed as to says.
func TestGarageEdit(t *testing.T) {
	two := disks(disk("/data/a", "1Gi", nil), disk("/data/b", "1Gi", nil))
	rpc := func(name, key string) fields {
		return fields{"network.rpcSecretRef": map[string]any{"name": name, "key": key}}
	}
	cases := map[string]edit{
		"more nodes":                      {fields{"storage.replicas": int64(3)}, fields{"storage.replicas": int64(5)}, ""},
		"fewer nodes":                     {fields{"storage.replicas": int64(5)}, fields{"storage.replicas": int64(3)}, ""},
		"no nodes":                        {nil, fields{"storage.replicas": int64(0)}, zeroReplicas},
		"still no nodes":                  {fields{"storage.replicas": int64(0)}, fields{"storage.replicas": int64(0), "zone": "b"}, ""},
		"first nodes":                     {fields{"storage.replicas": int64(0)}, nil, ""},
		"larger data":                     {nil, fields{"storage.data.size": "101Gi"}, ""},
		"the same in other words":         {fields{"storage.data.size": "1Ti"}, fields{"storage.data.size": "1024Gi"}, ""},
		"larger in other units":           {fields{"storage.data.size": "1Ti"}, fields{"storage.data.size": "1.1T"}, ""},
		"smaller in other units":          {fields{"storage.data.size": "1Ti"}, fields{"storage.data.size": "1T"}, onlyGrows},
		"smaller data":                    {nil, fields{"storage.data.size": "99Gi"}, onlyGrows},
		"smaller metadata":                {nil, fields{"storage.metadata.size": "1023Mi"}, onlyGrows},
		"a smaller disk":                  {two, disks(disk("/data/a", "1Gi", nil), disk("/data/b", "999M", nil)), onlyGrows},
		"a larger disk":                   {two, disks(disk("/data/a", "1Gi", nil), disk("/data/b", "2Gi", nil)), ""},
		"a disk that is only read":        {two, disks(disk("/data/a", "1Gi", nil), disk("/data/b", "1Gi", fields{"readOnly": true})), ""},
		"a disk that counts more":         {two, disks(disk("/data/a", "1Gi", fields{"capacity": "2Gi"}), disk("/data/b", "1Gi", nil)), ""},
		"a disk more":                     {two, disks(disk("/data/a", "1Gi", nil), disk("/data/b", "1Gi", nil), disk("/data/c", "1Gi", nil)), pathsStay},
		"a disk less":                     {two, disks(disk("/data/a", "1Gi", nil)), pathsStay},
		"disks in another order":          {two, disks(disk("/data/b", "1Gi", nil), disk("/data/a", "1Gi", nil)), pathsStay},
		"a disk moved":                    {two, disks(disk("/data/a", "1Gi", nil), disk("/data/c", "1Gi", nil)), pathsStay},
		"a disk of another type":          {two, disks(disk("/data/a", "1Gi", nil), disk("/data/b", "1Gi", fields{"volume": map[string]any{"size": "1Gi", "type": "EmptyDir"}})), "a disk's type cannot change: what is on it would be lost"},
		"a disk of another class":         {two, disks(disk("/data/a", "1Gi", nil), disk("/data/b", "1Gi", fields{"volume": map[string]any{"size": "1Gi", "storageClassName": "x"}})), "storageClassName, accessModes, selector, labels and annotations cannot change"},
		"disks for a volume":              {nil, two, pathsStay},
		"a folder for a claim":            {nil, fields{"storage.data.type": "EmptyDir"}, dataStays},
		"no data":                         {nil, fields{"storage.data": nil, "layoutPolicy": "Manual"}, dataStays},
		"another class":                   {nil, fields{"storage.data.storageClassName": "x"}, claimStays},
		"other labels":                    {fields{"storage.data.labels": map[string]any{"a": "b"}}, fields{"storage.data.labels": map[string]any{"a": "c"}}, claimStays},
		"other access":                    {nil, fields{"storage.data.accessModes": []any{"ReadWriteOncePod"}}, claimStays},
		"another selector":                {nil, fields{"storage.data.selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}}, claimStays},
		"another class of metadata":       {nil, fields{"storage.metadata.storageClassName": "x"}, "of storage.metadata cannot change once there are nodes"},
		"another class before nodes":      {fields{"storage.replicas": int64(0)}, fields{"storage.replicas": int64(0), "storage.data.storageClassName": "x"}, ""},
		"disks for a volume before nodes": {fields{"storage.replicas": int64(0)}, and(two, fields{"storage.replicas": int64(0)}), ""},
		"to users":                        {nil, fields{"layoutPolicy": "Manual"}, ""},
		"from users":                      {fields{"layoutPolicy": "Manual"}, nil, manualStays},
		"this group to users":             {nil, fields{"storage.layoutPolicy": "Manual"}, ""},
		"this group from users":           {fields{"storage.layoutPolicy": "Manual"}, nil, manualStays},
		"this group from all users'":      {fields{"layoutPolicy": "Manual"}, fields{"layoutPolicy": "Manual", "storage.layoutPolicy": "Auto"}, manualStays},
		"another factor":                  {nil, fields{"replication.factor": int64(2)}, "replication.factor cannot change: Garage nodes with different factors refuse each other"},
		"the factor, by its default":      {nil, fields{"replication.factor": int64(3)}, ""},
		"another consistency":             {nil, fields{"replication.consistencyMode": "degraded"}, ""},
		"other zones":                     {nil, fields{"replication.zoneRedundancyMode": "Maximum"}, ""},
		"another engine":                  {nil, fields{"database.engine": "sqlite"}, "database.engine cannot change: every node would begin with an empty database"},
		"the engine, by its default":      {nil, fields{"database": map[string]any{"lmdbMapSize": "1Gi"}}, ""},
		"another admin port":              {nil, fields{"admin.bindPort": int64(4000)}, "the port of the Admin API cannot change"},
		"another admin port by address":   {nil, fields{"admin.bindAddress": "[::]:4000"}, "the port of the Admin API cannot change"},
		"another admin address":           {nil, fields{"admin.bindAddress": "0.0.0.0:3903"}, ""},
		"another S3 port":                 {nil, fields{"s3Api.bindPort": int64(4000)}, ""},
		"an RPC secret":                   {nil, rpc("s", "k"), "network.rpcSecretRef cannot be added, changed or removed"},
		"another RPC secret":              {rpc("s", "k"), rpc("s", "l"), "network.rpcSecretRef cannot be added, changed or removed"},
		"no RPC secret":                   {rpc("s", "k"), nil, "network.rpcSecretRef cannot be added, changed or removed"},
		"the RPC secret's key by default": {rpc("s", "rpc-secret"), fields{"network.rpcSecretRef": named("s")}, ""},
		"another image":                   {nil, fields{"image": "x:v2.4.1"}, ""},
		"suspended":                       {nil, fields{"maintenance.suspended": true}, ""},
	}
	testEdits(t, garage, "c", cases)
}

// TestGarageScale holds that the scale subresource goes through the same rules, and is what an autoscaler reads.
func TestGarageScale(t *testing.T) {
	e := env.Start(t)
	object := garage(e.Namespace(t), "x", nil)
	if err := e.Client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	to := func(replicas int32) error {
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
		return e.Client.SubResource("scale").Update(t.Context(), object.DeepCopy(), client.WithSubResourceBody(scale))
	}
	for replicas, refused := range map[int32]string{5: "", 0: zeroReplicas, 51: "spec.storage.replicas: Invalid value: 51"} {
		judge(t, to(replicas), refused)
	}
	got := &v1beta2.GarageCluster{}
	if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(object), got); err != nil || got.Spec.Storage.Replicas == nil || *got.Spec.Storage.Replicas != 5 {
		t.Errorf("replicas is %v, %v", got.Spec.Storage.Replicas, err)
	}
	got.Status.ScaleReplicas, got.Status.ScaleSelector = new(int32(4)), "a=b"
	if err := e.Client.Status().Update(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	scale := &autoscalingv1.Scale{}
	if err := e.Client.SubResource("scale").Get(t.Context(), got, scale); err != nil || scale.Status.Replicas != 4 || scale.Status.Selector != "a=b" || scale.Spec.Replicas != 5 {
		t.Errorf("scale is %+v, %v", scale, err)
	}
}

// TestGarageDefaults holds what is added to a spec: to the smallest, and to structs that are there and empty.
func TestGarageDefaults(t *testing.T) {
	e := env.Start(t)
	ns := e.Namespace(t)
	least := map[string]any{
		"storage":      map[string]any{"replicas": int64(3), "metadata": map[string]any{"size": "1Gi"}, "data": map[string]any{"size": "100Gi"}},
		"layoutPolicy": "Auto", "imagePullPolicy": "IfNotPresent", "replication": map[string]any{"factor": int64(3), "consistencyMode": "consistent"},
	}
	empty := map[string]any{}
	full := garage(ns, "full", fields{
		"database": empty, "s3Api": empty, "k2vApi": empty, "webApi": empty, "admin": empty, "network.service": empty, "layoutManagement.drain": empty,
		"storage.podDisruptionBudget": empty, "storage.pvcRetentionPolicy": empty,
	})
	want := (&unstructured.Unstructured{Object: least}).DeepCopy().Object
	for path, value := range map[string]any{
		"database.engine": "lmdb", "s3Api.bindPort": int64(3900), "s3Api.region": "garage", "k2vApi.bindPort": int64(3904), "webApi.bindPort": int64(3902),
		"webApi.enabled": true, "admin.bindPort": int64(3903), "network.rpcBindPort": int64(3901), "network.service.type": "ClusterIP",
		"layoutManagement.drain.unverifiedPeersPolicy": "Block", "storage.podDisruptionBudget.enabled": true,
		"storage.pvcRetentionPolicy.whenDeleted": "Retain", "storage.pvcRetentionPolicy.whenScaled": "Retain",
	} {
		if err := unstructured.SetNestedField(want, value, strings.Split(path, ".")...); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		object *unstructured.Unstructured
		want   map[string]any
	}{"the least": {garage(ns, "least", nil), least}, "empty": {full, want}} {
		if err := e.Client.Create(t.Context(), c.object); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, c.object.Object["spec"]); diff != "" {
			t.Errorf("%s: stored spec (-want +got):\n%s", name, diff)
		}
	}
}

// TestGarageTyped holds that what Go writes is what the schema takes, and reads back the same.
func TestGarageTyped(t *testing.T) {
	e := env.Start(t)
	ns := e.Namespace(t)
	for file, objects := range env.Samples(t) {
		for _, object := range objects {
			if object.GroupVersionKind().GroupKind() != v1beta2.GroupVersion.WithKind(v1beta2.KindGarageCluster).GroupKind() {
				continue
			}
			typed := &v1beta2.GarageCluster{}
			raw, err := object.MarshalJSON()
			if err == nil {
				err = json.Unmarshal(raw, typed)
			}
			if err != nil {
				t.Fatal(file, err)
			}
			typed.Namespace = ns
			if err := e.Client.Create(t.Context(), typed, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// TestGarageRatchet is TestRatchet for GarageCluster and GarageNode.
func TestGarageRatchet(t *testing.T) {
	e := env.Start(t)
	ns := e.Namespace(t)
	type kind struct {
		file      string
		of        maker
		probe     fields
		elsewhere string
		cases     map[string]struct{ invalid, other, valid fields }
	}
	for name, k := range map[string]kind{
		"GarageCluster": {garageFile, garage, fields{"zone": "a b"}, "zone", map[string]struct{ invalid, other, valid fields }{
			"replicas":    {fields{"storage.replicas": int64(99)}, fields{"storage.replicas": int64(98)}, fields{"storage.replicas": int64(9)}},
			"data":        {disks(), fields{"storage.data": map[string]any{"type": "EmptyDir"}}, nil},
			"a variable":  {fields{"storage.env": []any{variable("GARAGE_RPC_SECRET")}}, fields{"storage.env": []any{variable("GARAGE_ADMIN_TOKEN")}}, fields{"storage.env": []any{variable("X")}}},
			"compression": {fields{"blocks.compressionLevel": "23"}, fields{"blocks.compressionLevel": "24"}, fields{"blocks.compressionLevel": "22"}},
			"a timeout":   {fields{"network.rpcTimeout": "1us"}, fields{"network.rpcTimeout": "2us"}, fields{"network.rpcTimeout": "2s"}},
		}},
		"GarageNode": {nodeFile, node, fields{"zone": "a b"}, "priorityClassName", map[string]struct{ invalid, other, valid fields }{
			"capacity": {fields{"capacity": "7"}, fields{"capacity": "8"}, fields{"capacity": "8Ki"}},
			"tags":     {fields{"tags": []any{"tier:x"}}, fields{"tags": []any{"tier:y"}}, fields{"tags": []any{"y"}}},
		}},
	} {
		loose := copyOfCRD(t, e, k.file)
		objects := map[string]*unstructured.Unstructured{}
		for name, c := range k.cases {
			object := loose.in(k.of(ns, fmt.Sprintf("r-%d", len(objects)), c.invalid))
			gomega.NewWithT(t).Eventually(func() error { return e.Client.Create(t.Context(), object) }, wait).Should(gomega.Succeed())
			objects[name] = object
		}
		loose.tighten(t, e, k.of(ns, "probe", k.probe))
		for of, c := range k.cases {
			t.Run(name+"/"+of, func(t *testing.T) {
				update := func(changes fields) error {
					next := loose.in(k.of(ns, objects[of].GetName(), and(changes, fields{k.elsewhere: "elsewhere"})))
					next.SetResourceVersion(objects[of].GetResourceVersion())
					return e.Client.Update(t.Context(), next, client.DryRunAll)
				}
				if err := update(c.invalid); err != nil {
					t.Errorf("a change elsewhere: %v", err)
				}
				if err := update(c.other); !apierrors.IsInvalid(err) {
					t.Errorf("another wrong in its place: %v, want it refused", err)
				}
				if err := update(c.valid); err != nil {
					t.Errorf("put right: %v", err)
				}
			})
		}
	}
}

// TestGarageName holds what a name must be for Services and Pods to be named after it.
func TestGarageName(t *testing.T) {
	e := env.Start(t)
	ns := e.Namespace(t)
	const tooLong, noLetter = "the name is at most 41 characters", "the name begins with a letter and has no dots"
	for name, refused := range map[string]string{"a": "", strings.Repeat("a", 41): "", strings.Repeat("a", 42): tooLong, "1a": noLetter, "a.b": noLetter} {
		judge(t, e.Client.Create(t.Context(), garage(ns, name, nil), client.DryRunAll), refused)
	}
	const nodeTooLong, dotted = "the name is at most 52 characters", "the name has no dots"
	for name, refused := range map[string]string{"1a": "", strings.Repeat("a", 52): "", strings.Repeat("a", 53): nodeTooLong, "a.b": dotted} {
		judge(t, e.Client.Create(t.Context(), node(ns, name, nil), client.DryRunAll), refused)
	}
}

// TestGarageKeepsPlainApply holds that a plain `kubectl apply` of the CRDs can note down what it sent.
func TestGarageKeepsPlainApply(t *testing.T) {
	for _, file := range []string{garageFile, nodeFile} {
		crd, size := env.CRD(t, file)
		note, err := json.Marshal(crd.Object)
		if err != nil {
			t.Fatal(err)
		}
		e := env.Start(t)
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(crd.GroupVersionKind())
		if err := e.Client.Get(t.Context(), client.ObjectKey{Name: crd.GetName()}, live); err != nil {
			t.Fatal(err)
		}
		annotations := map[string]string{corev1.LastAppliedConfigAnnotation: string(note)}
		live.SetAnnotations(annotations)
		gomega.NewWithT(t).Expect(e.Client.Update(t.Context(), live, client.DryRunAll)).To(gomega.Succeed(), "%s, %d bytes", file, size)
		if !apierrors.IsInvalid(tooLarge(t, e, live)) {
			t.Error("an annotation beyond the bound is taken: the bound is another one")
		}
	}
}

func tooLarge(t *testing.T, e *env.Env, live *unstructured.Unstructured) error {
	t.Helper()
	live = live.DeepCopy()
	live.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: strings.Repeat("x", maxSize+1)})
	return e.Client.Update(t.Context(), live, client.DryRunAll)
}
