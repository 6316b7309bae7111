package render

import (
	"math"
	"regexp"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

const (
	defaultFactor   = 3
	defaultReplicas = 3
	// maxBytes is more than any disk has, and leaves room for a sum of 32.
	maxBytes = 1 << 56
	// minSnapshotInterval is what Garage refuses to go below, in seconds.
	minSnapshotInterval = 600
	maxSnapshotInterval = 10 * 365 * 24 * 3600
)

// settings are those of Garage's settings that are written in units.
type settings struct {
	engine                                                    v1beta2.DatabaseEngine
	lmdbMapSize, fjallBlockCacheSize, blockSize, ramBufferMax int64 // bytes; 0 is Garage's own
	pingTimeout, rpcTimeout                                   time.Duration
	snapshotInterval                                          int64 // seconds; 0 is never
}

// Factor is the number of copies.
func Factor(cluster *v1beta2.GarageCluster) int32 {
	return orDefault(cluster.Spec.Replication.Factor, defaultFactor)
}

func settingsOf(cluster *v1beta2.GarageCluster) (settings, error) {
	spec := cluster.Spec
	out := settings{engine: v1beta2.DatabaseLMDB}
	var database v1beta2.DatabaseSpec
	if spec.Database != nil {
		database = *spec.Database
		out.engine = orDefault(database.Engine, out.engine)
	}
	for _, size := range []struct {
		path string
		of   *resource.Quantity
		into *int64
	}{
		{"spec.database.lmdbMapSize", database.LMDBMapSize, &out.lmdbMapSize},
		{"spec.database.fjallBlockCacheSize", database.FjallBlockCacheSize, &out.fjallBlockCacheSize},
		{"spec.blocks.size", spec.Blocks.Size, &out.blockSize},
		{"spec.blocks.ramBufferMax", spec.Blocks.RAMBufferMax, &out.ramBufferMax},
	} {
		if size.of == nil {
			continue
		}
		bytes, ok := bytesOf(size.of)
		if !ok {
			return settings{}, refuse(size.path, "%s is not a number of bytes from 1 to 64Pi", size.of)
		}
		*size.into = bytes
	}
	var err error
	if network := spec.Network; network != nil {
		if out.pingTimeout, err = timeout("spec.network.rpcPingTimeout", network.RPCPingTimeout); err != nil {
			return settings{}, err
		}
		if out.rpcTimeout, err = timeout("spec.network.rpcTimeout", network.RPCTimeout); err != nil {
			return settings{}, err
		}
	}
	out.snapshotInterval, err = snapshotInterval(spec.Storage.MetadataAutoSnapshotInterval)
	return out, err
}

// bytesOf is a quantity in whole bytes.
func bytesOf(quantity *resource.Quantity) (int64, bool) {
	if quantity.Sign() <= 0 || quantity.CmpInt64(maxBytes) > 0 {
		return 0, false
	}
	return quantity.Value(), true
}

func timeout(path, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	duration, err := time.ParseDuration(text)
	if err != nil || duration < time.Millisecond || duration > 24*time.Hour {
		return 0, refuse(path, "%q is not a duration from 1ms to 24h", text)
	}
	return duration, nil
}

var (
	intervalPart = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)\s*(ns|us|ms|s|m|h|d|w|M|y)\s*`)
	secondsIn    = map[string]float64{
		"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600, "M": 30.44 * 24 * 3600, "y": 365.25 * 24 * 3600,
	}
)

// snapshotInterval is an interval in seconds.
func snapshotInterval(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	seconds, rest := 0.0, text
	for rest != "" {
		part := intervalPart.FindStringSubmatch(rest)
		if part == nil {
			return 0, refuse("spec.storage.metadataAutoSnapshotInterval", "%q is no interval; write numbers with units, such as 6h", text)
		}
		number, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return 0, refuse("spec.storage.metadataAutoSnapshotInterval", "%q is no interval: %v", text, err)
		}
		seconds += number * secondsIn[part[2]]
		rest = rest[len(part[0]):]
	}
	if seconds < minSnapshotInterval || seconds > maxSnapshotInterval {
		return 0, refuse("spec.storage.metadataAutoSnapshotInterval", "%q is not from 10m to 10y: Garage refuses to take snapshots more often", text)
	}
	return int64(math.Round(seconds)), nil
}
