package render

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

const (
	maxNameLength = 40
	maxReplicas   = 64
	// defaultRepository is the servers' image where spec.image names no repository.
	defaultRepository = "nats"
)

var (
	imageRepository = regexp.MustCompile(`^[a-z0-9]+([._:/-]+[a-z0-9]+)*$`)
	imageTag        = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	imageDigest     = regexp.MustCompile(`^sha256:[a-f0-9]{64}$`)
	tagKey          = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,63}$`)
	tagValue        = regexp.MustCompile(`^[A-Za-z0-9_.-]{0,63}$`)
)

// check looks again at what the schema promises and the objects rest on, and at what it cannot say. It answers
// with the first field that is in the way.
func check(cluster *v1beta1.NatsCluster) error {
	spec := cluster.Spec
	for _, err := range []error{
		checkNames(cluster),
		checkImages(spec),
		checkTags(spec.ServerTags),
		checkResources("spec.resources", spec.Resources),
		checkMetadata("spec.podTemplate.metadata", spec.PodTemplate.Metadata),
		checkExporter(spec.Exporter),
		checkClaim(spec.JetStream),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkNames(cluster *v1beta1.NatsCluster) error {
	// A Service's name had to begin with a letter until Kubernetes 1.36.
	if len(cluster.Name) > maxNameLength || len(validation.IsDNS1035Label(cluster.Name)) > 0 {
		return &UnsupportedError{Path: "metadata.name", Message: fmt.Sprintf("must be at most %d of the characters a-z 0-9 -, "+
			"begin with a letter and end with a letter or digit: a Service is named after it", maxNameLength)}
	}
	if replicas := cluster.Spec.Replicas; replicas < 1 || replicas > maxReplicas {
		return &UnsupportedError{Path: "spec.replicas", Message: fmt.Sprintf("must be 1 to %d", maxReplicas)}
	}
	return nil
}

func checkImages(spec v1beta1.NatsClusterSpec) error {
	exporter := spec.Exporter.Image
	for _, part := range []struct {
		path, value string
		pattern     *regexp.Regexp
		optional    bool
	}{
		{"spec.version", spec.Version, imageTag, false}, // a build suffix (+…) is a version, but no image tag
		{"spec.image.repository", spec.Image.Repository, imageRepository, true},
		{"spec.image.digest", spec.Image.Digest, imageDigest, true},
		{"spec.exporter.image.repository", exporter.Repository, imageRepository, true},
		{"spec.exporter.image.tag", exporter.Tag, imageTag, true},
		{"spec.exporter.image.digest", exporter.Digest, imageDigest, true},
	} {
		if part.value == "" && part.optional {
			continue
		}
		if !part.pattern.MatchString(part.value) {
			return &UnsupportedError{Path: part.path, Message: fmt.Sprintf("%q cannot be part of an image's name", part.value)}
		}
	}
	return nil
}

// serverImage is the image of nats-server; its tag is always the version.
func serverImage(spec v1beta1.NatsClusterSpec) string {
	repository := spec.Image.Repository
	if repository == "" {
		repository = defaultRepository
	}
	return imageRef(repository, spec.Version, spec.Image.Digest)
}

// checkTags keeps anything that nats-server's parser could read as something else out of its configuration.
func checkTags(tags map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if !tagKey.MatchString(key) || !tagValue.MatchString(tags[key]) {
			return &UnsupportedError{Path: fmt.Sprintf("spec.serverTags[%s]", key), Message: "keys and values are at most 63 of " +
				"the characters A-Z a-z 0-9 _ . -, and a key has at least one"}
		}
	}
	return nil
}

// checkResources finds what the API server would refuse only in the StatefulSet, or in the Pod, where nobody looks.
func checkResources(path string, resources corev1.ResourceRequirements) error {
	for _, part := range []struct {
		name string
		list corev1.ResourceList
	}{{"requests", resources.Requests}, {"limits", resources.Limits}} {
		for _, name := range slices.Sorted(maps.Keys(part.list)) {
			at := fmt.Sprintf("%s.%s.%s", path, part.name, name)
			if quantity := part.list[name]; quantity.Sign() < 0 {
				return &UnsupportedError{Path: at, Message: "must not be negative"}
			}
			limit, limited := resources.Limits[name]
			if request := resources.Requests[name]; limited && request.Cmp(limit) > 0 {
				return &UnsupportedError{Path: at, Message: "the request is more than the limit"}
			}
		}
	}
	return nil
}

func checkMetadata(path string, metadata v1beta1.EmbeddedObjectMetadata) error {
	root := field.NewPath(path)
	errs := metav1validation.ValidateLabels(metadata.Labels, root.Child("labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(metadata.Annotations, root.Child("annotations"))...)
	if len(errs) == 0 {
		return nil
	}
	// Several keys may be wrong, and they come in the order of a map.
	first := slices.MinFunc(errs, func(a, b *field.Error) int {
		if a.Error() < b.Error() {
			return -1
		}
		return 1
	})
	return &UnsupportedError{Path: first.Field, Message: first.ErrorBody()}
}

func checkExporter(exporter v1beta1.Exporter) error {
	if exporter.Resources != nil {
		if err := checkResources("spec.exporter.resources", *exporter.Resources); err != nil {
			return err
		}
	}
	for i, peer := range exporter.From {
		if err := checkPeer(fmt.Sprintf("spec.exporter.from[%d]", i), peer); err != nil {
			return err
		}
	}
	return nil
}

func checkPeer(path string, peer networkingv1.NetworkPolicyPeer) error {
	selects := peer.PodSelector != nil || peer.NamespaceSelector != nil
	switch {
	case peer.IPBlock == nil && !selects:
		return &UnsupportedError{Path: path, Message: "names nobody: set podSelector, namespaceSelector or ipBlock"}
	case peer.IPBlock == nil:
		return nil
	case selects:
		return &UnsupportedError{Path: path, Message: "ipBlock cannot be combined with a selector"}
	}
	if _, err := netip.ParsePrefix(peer.IPBlock.CIDR); err != nil {
		return &UnsupportedError{Path: path + ".ipBlock.cidr", Message: fmt.Sprintf("%q is no address range", peer.IPBlock.CIDR)}
	}
	return nil
}

// checkClaim finds what a StatefulSet takes and then fails to make claims of, for as long as nobody reads its
// events.
func checkClaim(jetstream *v1beta1.JetStream) error {
	if jetstream == nil || jetstream.VolumeClaimTemplate == nil {
		return nil
	}
	const path = "spec.jetstream.volumeClaimTemplate"
	template := jetstream.VolumeClaimTemplate
	if err := checkMetadata(path+".metadata", template.Metadata); err != nil {
		return err
	}
	resources := corev1.ResourceRequirements{Requests: template.Spec.Resources.Requests, Limits: template.Spec.Resources.Limits}
	if err := checkResources(path+".spec.resources", resources); err != nil {
		return err
	}
	if storage, ok := resources.Requests[corev1.ResourceStorage]; !ok || storage.IsZero() {
		return &UnsupportedError{Path: pathStorage, Message: "is needed: a claim asks for a size"}
	}
	if mode := template.Spec.VolumeMode; mode != nil && *mode == corev1.PersistentVolumeBlock {
		return &UnsupportedError{Path: path + ".spec.volumeMode", Message: "must be Filesystem: JetStream keeps files"}
	}
	return nil
}
