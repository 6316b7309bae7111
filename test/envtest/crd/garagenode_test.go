package crd

import (
	"fmt"
	"strings"
	"testing"
)

const (
	oneSource     = "a volume is exactly one of existingClaim, size and type: EmptyDir; give one of them"
	ofMadeClaims  = "storageClassName, selector, accessModes, labels and annotations are of claims that the controller makes; drop them, or give size"
	exchanged     = "a volume cannot be exchanged: what is on it would be lost"
	nodeDataOneOf = "give either data, for one volume, or dataPaths, for several; not both and not neither"
	oneHome       = "give either storage, for a node that runs here, or external, for one that runs elsewhere; not both and not neither"
	nodePaths     = "dataPaths cannot be added, moved or removed: a path is a disk's identity"
	capacityKnown = "capacity is needed: the controller does not know the size of a disk that it does not make"
)

var identity = strings.Repeat("0a", 32)

// external are the changes that make a node one that runs elsewhere.
func external(more fields) fields {
	return and(fields{"storage": nil, "nodeId": identity, "external": map[string]any{"address": "garage.example.com"}}, more)
}

// TestNodeCreate holds each bound and rule of a GarageNode from both sides; what it shares with GarageCluster is held in
// TestGaragePods.
func TestNodeCreate(t *testing.T) {
	testCreations(t, node, map[string]creation{
		"the least":                      {},
		"no cluster":                     {fields{"clusterRef": nil}, "spec.clusterRef: Required value"},
		"a cluster of no name":           {fields{"clusterRef": map[string]any{}}, "spec.clusterRef.name: Required value"},
		"no zone":                        {fields{"zone": nil}, "spec.zone: Required value"},
		"a blank zone":                   {fields{"zone": ""}, "spec.zone"},
		"no capacity":                    {fields{"capacity": nil}, "spec.capacity: Required value"},
		"capacity at the least":          {changes: fields{"capacity": "1Ki"}},
		"capacity at the least in bytes": {changes: fields{"capacity": "1024"}},
		"capacity below the least":       {fields{"capacity": "1023"}, "capacity is at least 1Ki: Garage refuses less"},
		"capacity of a thousand":         {fields{"capacity": "1k"}, "capacity is at least 1Ki: Garage refuses less"},
		"capacity as a number":           {fields{"capacity": int64(4096)}, `spec.capacity: Invalid value: "integer"`},
		"tags of our own":                {fields{"tags": []any{"cluster-uid:x"}}, ownTags},
		"tags":                           {changes: fields{"tags": []any{"ssd"}}},
		"nowhere":                        {fields{"storage": nil}, oneHome},
		"here and elsewhere":             {fields{"nodeId": identity, "external": map[string]any{"address": "a"}}, oneHome},
		"elsewhere":                      {changes: external(nil)},
		"elsewhere without an identity":  {external(fields{"nodeId": nil}), "an external node needs nodeId: give what garage node id -q prints there"},
		"elsewhere without an address":   {external(fields{"external": map[string]any{}}), "spec.external.address: Required value"},
		"elsewhere, a port":              {changes: external(fields{"external.port": int64(65535)})},
		"elsewhere, no port":             {external(fields{"external.port": int64(0)}), "spec.external.port"},
		"here with an identity":          {changes: fields{"nodeId": strings.ToUpper(identity)}},
		"an identity of other digits":    {fields{"nodeId": strings.Repeat("x", 64)}, "spec.nodeId"},
		"an identity too short":          {fields{"nodeId": identity[:63]}, "spec.nodeId"},
		"no metadata":                    {fields{"storage.metadata": nil}, "spec.storage.metadata: Required value"},
		"no data":                        {fields{"storage.data": nil}, nodeDataOneOf},
		"data both ways":                 {fields{"storage.dataPaths": []any{nodeDisk("/data/a", "1Gi", nil)}}, nodeDataOneOf},
		"a volume of nothing":            {fields{"storage.data": map[string]any{}}, oneSource},
		"a volume of two things":         {fields{"storage.data": map[string]any{"size": "1Gi", "existingClaim": "x"}}, oneSource},
		"a folder with a size":           {fields{"storage.data": map[string]any{"size": "1Gi", "type": "EmptyDir"}}, oneSource},
		"a claim that is there":          {changes: fields{"storage.data": map[string]any{"existingClaim": "x"}}},
		"that, as its type":              {changes: fields{"storage.data": map[string]any{"existingClaim": "x", "type": "PersistentVolumeClaim"}}},
		"that, with a class":             {fields{"storage.data": map[string]any{"existingClaim": "x", "storageClassName": "y"}}, ofMadeClaims},
		"a folder":                       {changes: fields{"storage.data": map[string]any{"type": "EmptyDir"}}},
		"a folder with labels":           {fields{"storage.data": map[string]any{"type": "EmptyDir", "labels": map[string]any{"a": "b"}}}, ofMadeClaims},
		"a claim with a class":           {changes: fields{"storage.data.storageClassName": "y"}},
		"disks":                          {changes: nodeDisks(nodeDisk("/data/a", "1Gi", nil), nodeDisk("/data/b", "", fields{"existingClaim": "x", "capacity": "1Gi"}))},
		"a disk of unknown size":         {nodeDisks(nodeDisk("/data/b", "", fields{"existingClaim": "x"})), capacityKnown},
		"a disk that is only read":       {changes: nodeDisks(nodeDisk("/data/a", "1Gi", nil), nodeDisk("/data/b", "", fields{"existingClaim": "x", "readOnly": true}))},
		"disks that are only read":       {nodeDisks(nodeDisk("/data/a", "1Gi", fields{"readOnly": true})), writable},
		"a disk of nothing":              {nodeDisks(nodeDisk("/data/a", "", fields{"capacity": "1Gi"})), oneSource},
		"disks in each other":            {nodeDisks(nodeDisk("/data/a", "1Gi", nil), nodeDisk("/data/a/b", "1Gi", nil)), nested},
		"a disk in the way":              {nodeDisks(nodeDisk("/data/metadata", "1Gi", nil)), inTheWay},
		"a disk without a path":          {nodeDisks(nodeDisk("", "1Gi", nil)), "spec.storage.dataPaths[0].path: Required value"},
		"most disks":                     {changes: nodeDisks(entries(32, func(i int) any { return nodeDisk(fmt.Sprintf("/d/%d", i), "1Gi", nil) })...)},
		"too many disks":                 {nodeDisks(entries(33, func(i int) any { return nodeDisk(fmt.Sprintf("/d/%d", i), "1Gi", nil) })...), "spec.storage.dataPaths: Too many: 33"},
		"an address":                     {changes: fields{"network.rpcPublicAddr": "[fd00::1]:3901"}},
		"an address without a port":      {fields{"network.rpcPublicAddr": "a"}, "spec.network.rpcPublicAddr"},
		"no such pull policy":            {fields{"imagePullPolicy": "Sometimes"}, "spec.imagePullPolicy: Unsupported value"},
	})
}

// TestNodeEdit holds what may become of a GarageNode.
func TestNodeEdit(t *testing.T) {
	two := nodeDisks(nodeDisk("/data/a", "1Gi", nil), nodeDisk("/data/b", "", fields{"existingClaim": "x", "capacity": "1Gi"}))
	testEdits(t, node, "n", map[string]edit{
		"another cluster":       {nil, fields{"clusterRef": named("other")}, "clusterRef cannot change: a node's data belongs to one store"},
		"another zone":          {nil, fields{"zone": "b"}, ""},
		"another capacity":      {nil, fields{"capacity": "1Gi"}, ""},
		"other tags":            {nil, fields{"tags": []any{"x"}}, ""},
		"an identity":           {nil, fields{"nodeId": identity}, "nodeId cannot be added, changed or removed: it is who the node is"},
		"another identity":      {fields{"nodeId": identity}, fields{"nodeId": strings.Repeat("0b", 32)}, "nodeId cannot be added, changed or removed"},
		"no identity":           {fields{"nodeId": identity}, nil, "nodeId cannot be added, changed or removed"},
		"elsewhere":             {fields{"nodeId": identity}, external(nil), "a node cannot move out of the Kubernetes cluster or into it"},
		"elsewhere, moved":      {external(nil), external(fields{"external": map[string]any{"address": "b", "port": int64(1)}}), ""},
		"larger data":           {nil, fields{"storage.data.size": "1Ti"}, ""},
		"smaller data":          {nil, fields{"storage.data.size": "1Gi"}, onlyGrows},
		"smaller metadata":      {nil, fields{"storage.metadata.size": "1Mi"}, onlyGrows},
		"another class":         {nil, fields{"storage.data.storageClassName": "x"}, "storageClassName, accessModes, selector, labels and annotations cannot change"},
		"a claim for a folder":  {nil, fields{"storage.data": map[string]any{"type": "EmptyDir"}}, exchanged},
		"another claim":         {fields{"storage.data": map[string]any{"existingClaim": "x"}}, fields{"storage.data": map[string]any{"existingClaim": "y"}}, exchanged},
		"disks for a volume":    {nil, two, "data cannot become dataPaths or the other way round"},
		"a disk more":           {two, nodeDisks(nodeDisk("/data/a", "1Gi", nil), nodeDisk("/data/b", "", fields{"existingClaim": "x", "capacity": "1Gi"}), nodeDisk("/data/c", "1Gi", nil)), nodePaths},
		"a disk less":           {two, nodeDisks(nodeDisk("/data/a", "1Gi", nil)), nodePaths},
		"a disk exchanged":      {two, nodeDisks(nodeDisk("/data/a", "1Gi", nil), nodeDisk("/data/b", "", fields{"existingClaim": "y", "capacity": "1Gi"})), exchanged},
		"a disk with a class":   {two, nodeDisks(nodeDisk("/data/a", "1Gi", fields{"storageClassName": "x"}), nodeDisk("/data/b", "", fields{"existingClaim": "x", "capacity": "1Gi"})), "storageClassName, accessModes, selector, labels and annotations cannot change"},
		"disks that count more": {two, nodeDisks(nodeDisk("/data/a", "2Gi", nil), nodeDisk("/data/b", "", fields{"existingClaim": "x", "capacity": "9Gi", "readOnly": true})), ""},
		"another image":         {nil, fields{"image": "x:v2.4.1"}, ""},
		"another Pod":           {nil, fields{"podLabels": map[string]any{"a": "b"}, "priorityClassName": "high"}, ""},
		"suspended":             {nil, fields{"maintenance.suspended": true}, ""},
	})
}
