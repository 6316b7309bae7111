package render

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
)

// imageOf is a node's image: its own, its own repository, the GarageCluster's, the GarageCluster's repository, the default.
// A repository takes tag and digest from the default image.
func (p *Plan) imageOf(node *v1beta1.GarageNode) string {
	for _, from := range []struct{ image, repository string }{
		{node.Spec.Image, node.Spec.ImageRepository}, {p.cluster.Spec.Image, p.cluster.Spec.ImageRepository},
	} {
		if from.image != "" {
			return from.image
		}
		if from.repository != "" {
			return from.repository + tagOf(p.defaultImage)
		}
	}
	return p.defaultImage
}

// tagOf is an image's tag and digest, with the signs before them. A colon before the last slash is a port's.
func tagOf(image string) string {
	name := image[strings.LastIndex(image, "/")+1:]
	if at := strings.IndexAny(name, ":@"); at >= 0 {
		return name[at:]
	}
	return ""
}

var versionTag = regexp.MustCompile(`^:v?([0-9]+)\.([0-9]+)\.([0-9]+)`)

// versionOf is Garage's version as the image's tag has it, as major and minor number; false where the tag is another word.
func versionOf(image string) (major, minor int, known bool) {
	found := versionTag.FindStringSubmatch(tagOf(image))
	if found == nil {
		return 0, 0, false
	}
	major, err := strconv.Atoi(found[1])
	minor, errMinor := strconv.Atoi(found[2])
	return major, minor, err == nil && errMinor == nil
}

// checkVersion refuses a version that does not know what is asked of it: it would ignore it without a word. And one of a minor
// version before that which the node has run: nobody promises that it reads what the later one has written.
func (p *Plan) checkVersion(node *v1beta1.GarageNode, image string) error {
	major, minor, known := versionOf(image)
	if !known {
		return nil
	}
	if major < 2 {
		return &UnsupportedError{Node: node.Name, Path: "spec.image", Message: image + " is older than Garage 2.0, which has another Admin API; take a newer one"}
	}
	if ran, known := adminapi.ParseVersion(node.Status.Version).Get(); known && (major < ran.Major || major == ran.Major && minor < ran.Minor) {
		return &UnsupportedError{Node: node.Name, Path: "spec.image", Message: fmt.Sprintf(
			"the node has run Garage %d.%d, and %s is older: a store cannot go back to an earlier minor version; take %d.%d or a newer one", ran.Major, ran.Minor, image, ran.Major, ran.Minor)}
	}
	blocks := p.cluster.Spec.Blocks
	for _, need := range []struct {
		path  string
		set   bool
		minor int
	}{
		{"spec.database.engine", p.settings.engine == v1beta2.DatabaseFjall, 1},
		{"spec.blocks.maxConcurrentReads", blocks.MaxConcurrentReads != 0, 1},
		{"spec.blocks.maxConcurrentWritesPerRequest", blocks.MaxConcurrentWritesPerRequest != 0, 2},
	} {
		if need.set && major == 2 && minor < need.minor {
			return refuse(need.path, "needs Garage 2.%d, and the image of %s is %s; drop it, or take a newer image", need.minor, node.Name, image)
		}
	}
	return nil
}
