package render

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

const (
	maxClusterName = 41 // what NodeName adds for number 49, and the 52 of a node
	maxNodeName    = 52 // a StatefulSet's revision label: its name, a dash and ten characters
	maxReplicas    = 50
)

var (
	imageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@+-]*$`)
	diskPath  = regexp.MustCompile(`^(/[A-Za-z0-9._@%+=,-]+)+$`)
	// taken are the container's folders that hold something else than blocks.
	taken = []string{dirMetadata, dirConfig, "/secrets"}
)

// check looks at what the nodes share, and answers with the first field that is in the way.
func (p *Plan) check() error {
	for _, err := range []error{p.checkName(), p.checkSecrets(), p.checkNetwork(), p.checkService()} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) checkName() error {
	name := p.cluster.Name
	if len(name) > maxClusterName || len(validation.IsDNS1035Label(name)) > 0 {
		return refuse("metadata.name", "must be at most %d of the characters a-z 0-9 -, begin with a letter and end with a letter or digit: "+
			"Services and nodes are named after it", maxClusterName)
	}
	if replicas := Replicas(p.cluster); replicas < 0 || replicas > maxReplicas {
		return refuse("spec.storage.replicas", "must be 0 to %d", maxReplicas)
	}
	if !imageName.MatchString(p.defaultImage) {
		return fmt.Errorf("the default image %q is no image: set the controller's default image", p.defaultImage)
	}
	return nil
}

// checkSecrets refuses to render nodes that would start with no secret at all.
func (p *Plan) checkSecrets() error {
	if p.rpc.Name == "" || p.rpc.Key == "" {
		return refuse("spec.network.rpcSecretRef", "there is no RPC secret yet")
	}
	if p.admin.Name == "" || p.admin.Key == "" {
		return refuse("spec.admin.adminTokenSecretRef", "there is no admin token yet")
	}
	return nil
}

func (p *Plan) checkNetwork() error {
	if address := p.cluster.Spec.Storage.RPCPublicAddr; address != "" {
		if err := checkAddress("spec.storage.rpcPublicAddr", strings.ReplaceAll(address, ordinalMark, "0")); err != nil {
			return err
		}
	}
	network := p.cluster.Spec.Network
	if network == nil {
		return nil
	}
	if network.RPCPublicAddr != "" {
		if err := checkAddress("spec.network.rpcPublicAddr", network.RPCPublicAddr); err != nil {
			return err
		}
	}
	if subnet := network.RPCPublicAddrSubnet; subnet != "" {
		// Garage does not start with one that it cannot read.
		if _, err := netip.ParsePrefix(subnet); err != nil {
			return refuse("spec.network.rpcPublicAddrSubnet", "%q is no address range, such as 10.0.0.0/8", subnet)
		}
	}
	for i, peer := range network.BootstrapPeers {
		_, address, _ := strings.Cut(peer, "@")
		if err := checkAddress(fmt.Sprintf("spec.network.bootstrapPeers[%d]", i), address); err != nil {
			return err
		}
	}
	return nil
}

func checkAddress(path, address string) error {
	host, port, err := net.SplitHostPort(address)
	number, portErr := strconv.Atoi(port)
	if err != nil || portErr != nil || host == "" || number < 1 || number > 65535 {
		return refuse(path, "%q is no host:port with a port of 1 to 65535", address)
	}
	return nil
}

func (p *Plan) checkService() error {
	if p.cluster.Spec.Network == nil || p.cluster.Spec.Network.Service == nil {
		return nil
	}
	const path = "spec.network.service"
	service := p.cluster.Spec.Network.Service
	if err := checkMetadata("", path, service.Labels, service.Annotations); err != nil {
		return err
	}
	if address := service.LoadBalancerIP; address != "" {
		if _, err := netip.ParseAddr(address); err != nil {
			return refuse(path+".loadBalancerIP", "%q is no IP address", address)
		}
	}
	for i, subnet := range service.LoadBalancerSourceRanges {
		if _, err := netip.ParsePrefix(subnet); err != nil {
			return refuse(fmt.Sprintf("%s.loadBalancerSourceRanges[%d]", path, i), "%q is no address range", subnet)
		}
	}
	return nil
}

// checkMetadata finds labels and annotations that the API server would refuse on the object that gets them.
func checkMetadata(node, path string, labels, annotations map[string]string) error {
	errs := metav1validation.ValidateLabels(labels, field.NewPath(path+".labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(annotations, field.NewPath(path+".annotations"))...)
	if len(errs) == 0 {
		return nil
	}
	// Several keys may be wrong, and they come in the order of a map.
	first := slices.MinFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
	return &UnsupportedError{Node: node, Path: first.Field, Message: first.ErrorBody()}
}

func (p *Plan) checkNode(node *v1beta1.GarageNode) error {
	bad := func(path, format string, args ...any) error {
		return &UnsupportedError{Node: node.Name, Path: path, Message: fmt.Sprintf(format, args...)}
	}
	switch spec := node.Spec; {
	case len(node.Name) > maxNodeName || len(validation.IsDNS1123Label(node.Name)) > 0:
		return bad("metadata.name", "must be at most %d of the characters a-z 0-9 -, and begin and end with a letter or digit", maxNodeName)
	case node.Namespace != p.cluster.Namespace || spec.ClusterRef.Name != p.cluster.Name:
		return bad("spec.clusterRef", "is not %s in the namespace %s", p.cluster.Name, p.cluster.Namespace)
	case spec.Zone == "":
		return bad("spec.zone", "is needed")
	case (spec.Storage == nil) == (spec.External == nil):
		return bad("spec.storage", "either this or spec.external is needed")
	}
	if address := node.Spec.Network.RPCPublicAddr; address != "" {
		if err := checkAddress("spec.network.rpcPublicAddr", address); err != nil {
			return bad("spec.network.rpcPublicAddr", "%q is no host:port with a port of 1 to 65535", address)
		}
	}
	return nil
}

// checkVolumes finds paths that would hide each other, and claims that no StatefulSet could make.
func checkVolumes(node *v1beta1.GarageNode, disks volumes) error {
	bad := func(path, format string, args ...any) error {
		return &UnsupportedError{Node: node.Name, Path: path, Message: fmt.Sprintf(format, args...)}
	}
	if len(disks.data) == 0 || !slices.ContainsFunc(disks.data, func(d disk) bool { return !d.readOnly }) {
		return bad("spec.storage", "Garage needs a path for blocks that it can write to")
	}
	for i, disk := range disks.data {
		if !diskPath.MatchString(disk.mount) || path.Clean(disk.mount) != disk.mount {
			return bad(fmt.Sprintf("spec.storage.dataPaths[%d].path", i), "%q is no absolute path without . and ..", disk.mount)
		}
		others := slices.Clone(taken)
		for _, other := range disks.data[:i] {
			others = append(others, other.mount)
		}
		for _, other := range others {
			if within(disk.mount, other) || within(other, disk.mount) {
				return bad(fmt.Sprintf("spec.storage.dataPaths[%d].path", i), "%s and %s are in each other's way", disk.mount, other)
			}
		}
	}
	for _, disk := range disks.all() {
		if err := checkDisk(node.Name, disk); err != nil {
			return err
		}
	}
	return nil
}

func checkDisk(node string, disk disk) error {
	at := strings.TrimSuffix(sizePath(disk.name), ".size")
	shape := disk.shape
	if shape.ExistingClaim == "" && shape.Size == nil && shape.Type != v1beta2.VolumeTypeEmptyDir {
		return &UnsupportedError{Node: node, Path: at, Message: "is neither an existingClaim, nor has a size, nor is an EmptyDir"}
	}
	if shape.Size != nil {
		if _, ok := bytesOf(shape.Size); !ok {
			return &UnsupportedError{Node: node, Path: at + ".size", Message: "must be from 1 byte to 64Pi"}
		}
	}
	if _, err := metav1.LabelSelectorAsSelector(shape.Selector); err != nil {
		return &UnsupportedError{Node: node, Path: at + ".selector", Message: err.Error()}
	}
	return checkMetadata(node, at, shape.Labels, shape.Annotations)
}

// within says whether a path is another one or lies in it.
func within(inner, outer string) bool { return strings.HasPrefix(inner+"/", outer+"/") }

// checkSnapshots wants snapshots on a volume: the container's own file system cannot be written to.
func (p *Plan) checkSnapshots(node string, disks volumes) error {
	dir := p.cluster.Spec.Storage.MetadataSnapshotsDir
	if dir == "" {
		return nil
	}
	for _, disk := range disks.all() {
		if path.Clean(dir) == dir && dir != disk.mount && within(dir, disk.mount) {
			return nil
		}
	}
	return refuse("spec.storage.metadataSnapshotsDir", "%q is on no volume of %s; choose a folder in %s", dir, node, dirMetadata)
}

// checkTemplate finds what the API server would refuse only in the StatefulSet or the Pod, where nobody looks.
func checkTemplate(node string, t template) error {
	if !imageName.MatchString(t.image) {
		return &UnsupportedError{Node: node, Path: "spec.image", Message: fmt.Sprintf("%q is no image", t.image)}
	}
	for _, variable := range t.Env {
		if reserved[variable.Name] {
			return &UnsupportedError{Node: node, Path: "spec.env[" + variable.Name + "]", Message: "is the controller's own"}
		}
	}
	for i, from := range t.EnvFrom {
		if from.Prefix == "" || strings.HasPrefix("GARAGE_", from.Prefix) || strings.HasPrefix(from.Prefix, "GARAGE_") {
			return &UnsupportedError{Node: node, Path: fmt.Sprintf("spec.envFrom[%d].prefix", i), Message: "is needed, and no variable may begin with GARAGE_"}
		}
	}
	if err := checkPodMetadata(node, t); err != nil {
		return err
	}
	if t.Resources == nil {
		return nil
	}
	return checkResources(node, *t.Resources)
}

func checkPodMetadata(node string, t template) error {
	for _, key := range slices.Sorted(maps.Keys(overlay(t.PodLabels, t.PodAnnotations))) {
		if strings.HasPrefix(key, "garage.rajsingh.info/") {
			return &UnsupportedError{Node: node, Path: "spec.podLabels[" + key + "]", Message: "labels and annotations that begin so are the controller's own"}
		}
	}
	if err := checkMetadata(node, "spec.pod", t.PodLabels, t.PodAnnotations); err != nil {
		return err
	}
	return checkMetadata(node, "spec.nodeSelector", t.NodeSelector, nil)
}

func checkResources(node string, resources corev1.ResourceRequirements) error {
	for _, part := range []struct {
		name string
		list corev1.ResourceList
	}{{"requests", resources.Requests}, {"limits", resources.Limits}} {
		for _, name := range slices.Sorted(maps.Keys(part.list)) {
			at := fmt.Sprintf("spec.resources.%s.%s", part.name, name)
			if quantity := part.list[name]; quantity.Sign() < 0 {
				return &UnsupportedError{Node: node, Path: at, Message: "must not be negative"}
			}
			limit, limited := resources.Limits[name]
			if request := resources.Requests[name]; limited && request.Cmp(limit) > 0 {
				return &UnsupportedError{Node: node, Path: at, Message: "the request is more than the limit"}
			}
		}
	}
	return nil
}
