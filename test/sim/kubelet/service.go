package kubelet

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// service is what is particular to one kind of server. Nothing else in this package knows any.
type service interface {
	// container is what the container that runs the server is called.
	container() string
	// repository is what the image is called, without registry, folders and tag.
	repository() string
	// program is where the image has the server, and so where a sandbox has it.
	program() string
	// words are what runs in a container that gives these as its command.
	words(given []string) []string
	// config is the file that the server reads, "" where that command and environment name none.
	config(words, env []string) string
	// view is what the container is shown of that file, so that the server keeps to the Pod's address.
	view(content []byte, ip string) []byte
	// start reads the file as the cluster has it, before the server does: the flags that the server needs to keep to the
	// Pod's address, and the revision for the history. It fails where the server would listen on the addresses of others.
	start(content []byte, ip string) (flags []string, revision string, err error)
}

// services are all kinds of servers. A Pod that shows no sign of any has the first.
var services = []service{natsServer{}, garageServer{}}

// serverContainer is the container that runs a server: the one of that name, or the first.
func serverContainer(pod *corev1.Pod) (corev1.Container, service) {
	for _, s := range services {
		i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == s.container() })
		if i >= 0 {
			return pod.Spec.Containers[i], s
		}
	}
	c := pod.Spec.Containers[0]
	repository, _, _ := strings.Cut(imageName(c.Image), ":")
	i := slices.IndexFunc(services, func(s service) bool { return s.repository() == repository })
	return c, services[max(i, 0)]
}

// imageName is an image's name and tag: neither registry nor folders, nor the digest.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	return image[strings.LastIndex(image, "/")+1:]
}

// imageVersion is the tag of an image.
func imageVersion(image string) string {
	_, tag, _ := strings.Cut(imageName(image), ":")
	return tag
}

// configFlag is the file that the flag -c or --config names.
func configFlag(words []string) string {
	for i, word := range words {
		flag, path, joined := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if flag != "c" && flag != "config" {
			continue
		}
		if !joined && i+1 < len(words) {
			path = words[i+1]
		}
		return path
	}
	return ""
}

const (
	natsVariable       = "HOLDFAST_NATS_SERVERS"
	garageVariable     = "HOLDFAST_GARAGE_SERVERS"
	shortDelayVariable = "HOLDFAST_GARAGE_SHORT_DELAY"
)

// ServersFromEnv are the programs that HOLDFAST_NATS_SERVERS names, as "2.15.2=/path,2.15.3=/path", by image. The test
// fails where it names none.
func ServersFromEnv(tb testing.TB) map[string]string {
	tb.Helper()
	servers, _ := fromEnv(natsVariable, "nats:")
	if len(servers) == 0 {
		tb.Fatal(natsVariable + " is not set: it gives nats-server programs as 2.15.2=/path,2.15.3=/path; run the tests " +
			"through make, or build them: go -C tools/toolbox run ./cmd/toolbox nats-server/2.15.2 nats-server/2.15.3")
	}
	return servers
}

// GarageFromEnv are the programs that HOLDFAST_GARAGE_SERVERS names, as "2.3.0=/path,2.4.1=/path", by image. The test
// fails where it names none.
func GarageFromEnv(tb testing.TB) map[string]string {
	tb.Helper()
	servers, _ := garageFromEnv(tb)
	return servers
}

// ShortDelayGarageFromEnv is GarageFromEnv with the variant in HOLDFAST_GARAGE_SHORT_DELAY in the place of the newest
// version: one that deletes blocks which nothing refers to after seconds. The test fails where there is none.
func ShortDelayGarageFromEnv(tb testing.TB) map[string]string {
	tb.Helper()
	servers, newest := garageFromEnv(tb)
	path := os.Getenv(shortDelayVariable)
	if path == "" {
		tb.Fatal(shortDelayVariable + " is not set: it is the path of a Garage whose delay before blocks are deleted is short; " +
			"run the tests through make, which builds it")
	}
	servers[newest] = path
	return servers
}

func garageFromEnv(tb testing.TB) (servers map[string]string, newest string) {
	tb.Helper()
	servers, newest = fromEnv(garageVariable, "garage:v")
	if len(servers) == 0 {
		tb.Fatal(garageVariable + " is not set: it gives Garage programs as 2.3.0=/path,2.4.1=/path; run the tests through make, " +
			"which builds them")
	}
	return servers, newest
}

// fromEnv reads a list of programs by version, oldest first. An image is the prefix and the version.
func fromEnv(variable, prefix string) (servers map[string]string, newest string) {
	servers = map[string]string{}
	for pair := range strings.SplitSeq(os.Getenv(variable), ",") {
		if version, path, ok := strings.Cut(pair, "="); ok {
			newest = prefix + version
			servers[newest] = path
		}
	}
	return servers, newest
}

// noProgramError is about an image that nothing was given for.
type noProgramError struct{ program, image string }

func (e noProgramError) Error() string {
	return "no " + e.program + " program was given for " + e.image
}

// install puts the image's program into the root, with what it needs to run there.
func install(servers map[string]string, s service, image, root string) error {
	source, ok := servers[imageName(image)]
	if !ok {
		return noProgramError{program: filepath.Base(s.program()), image: image}
	}
	target := filepath.Join(root, s.program())
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	needed, err := libraries(source)
	if err != nil {
		return err
	}
	for _, library := range needed {
		if err := linkOrCopy(library, filepath.Join(root, library)); err != nil {
			return err
		}
	}
	return linkOrCopy(source, target)
}

func linkOrCopy(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	from, err := filepath.EvalSymlinks(from) // what a link points to is not in the sandbox
	if err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755)
}
