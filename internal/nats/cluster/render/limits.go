package render

import (
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// Shares of what a server is given, in percent. The rest of the memory is for connections and the Go runtime,
// the rest of the disk for what the file system and JetStream's own indexes take.
const (
	percentMemoryStore = 75
	percentFileStore   = 95
	percentGoMemory    = 90
)

// limits are the bytes that a server may use; zero leaves nats-server's default.
type limits struct {
	memory   int64 // JetStream's memory store
	file     int64 // JetStream's file store
	goMemory int64 // GOMEMLIMIT
}

// limitsOf derives the limits, and puts the spec's own in their place where it has any.
func limitsOf(spec v1beta1.NatsClusterSpec) (limits, error) {
	limit, err := quantityAt(spec.Resources.Limits, corev1.ResourceMemory, "spec.resources.limits.memory")
	if err != nil {
		return limits{}, err
	}
	out := limits{goMemory: percent(limit, percentGoMemory)}
	if spec.JetStream == nil {
		return out, nil
	}
	out.memory = percent(limit, percentMemoryStore)
	if template := spec.JetStream.VolumeClaimTemplate; template != nil {
		request, err := quantityAt(template.Spec.Resources.Requests, corev1.ResourceStorage, pathStorage)
		if err != nil {
			return limits{}, err
		}
		out.file = percent(request, percentFileStore)
	}
	own := spec.JetStream.Limits
	if out.memory, err = override(own.MaxMemoryStore, out.memory, pathMaxMemory); err != nil {
		return limits{}, err
	}
	// The file store may be larger than the claim asks for: a claim can be expanded after it was made, and a
	// volume can be larger than its claim. The memory limit is what it says, and the kernel holds it by ending
	// the server.
	if limit > 0 && out.memory > limit {
		return limits{}, &UnsupportedError{Path: pathMaxMemory, Message: "is more than resources.limits.memory: " +
			"the server would be killed before the store is full; lower it, or raise the limit"}
	}
	out.file, err = override(own.MaxFileStore, out.file, pathMaxFile)
	return out, err
}

const (
	pathStorage   = "spec.jetstream.volumeClaimTemplate.spec.resources.requests.storage"
	pathMaxMemory = "spec.jetstream.limits.maxMemoryStore"
	pathMaxFile   = "spec.jetstream.limits.maxFileStore"
)

// override is own in bytes where it is set, otherwise derived.
func override(own *resource.Quantity, derived int64, path string) (int64, error) {
	if own == nil {
		return derived, nil
	}
	return bytesOf(*own, path)
}

// quantityAt is that resource in bytes, zero when it is not in the list.
func quantityAt(list corev1.ResourceList, name corev1.ResourceName, path string) (int64, error) {
	quantity, ok := list[name]
	if !ok {
		return 0, nil
	}
	return bytesOf(quantity, path)
}

// bytesOf refuses what is no number of bytes. Fractions of a byte are rounded up.
func bytesOf(quantity resource.Quantity, path string) (int64, error) {
	switch {
	case quantity.Sign() < 0:
		return 0, &UnsupportedError{Path: path, Message: "must not be negative"}
	case quantity.CmpInt64(math.MaxInt64) >= 0: // the parser cuts larger ones to exactly this
		return 0, &UnsupportedError{Path: path, Message: "is too large: it is a number of bytes below 8Ei"}
	}
	return quantity.Value(), nil
}

// percent is that share of n, rounded down, without overflow.
func percent(n, share int64) int64 { return n/100*share + n%100*share/100 }

// effective are JetStream's limits as the status shows them.
func (l limits) effective() v1beta1.JetStreamEffectiveLimits {
	var out v1beta1.JetStreamEffectiveLimits
	if l.memory > 0 {
		out.MaxMemoryStore = resource.NewQuantity(l.memory, resource.BinarySI)
	}
	if l.file > 0 {
		out.MaxFileStore = resource.NewQuantity(l.file, resource.BinarySI)
	}
	return out
}

// goMemoryLimit is the container's environment that tells the Go runtime when to work harder.
func (l limits) goMemoryLimit() []corev1.EnvVar {
	if l.goMemory == 0 {
		return nil
	}
	return []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: strconv.FormatInt(l.goMemory, 10)}}
}
