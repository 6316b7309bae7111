package kubelet

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// garageServer is Garage. No flag changes where it listens, so its container is shown a configuration that does.
type garageServer struct{}

func (garageServer) container() string  { return "garage" }
func (garageServer) repository() string { return "garage" }
func (garageServer) program() string    { return "/garage" }

func (s garageServer) words(given []string) []string {
	if len(given) == 0 {
		return []string{s.program(), "server"} // the image's command
	}
	return given
}

func (garageServer) config(words, env []string) string {
	path := "/etc/garage.toml"
	for _, variable := range env {
		if value, ok := strings.CutPrefix(variable, "GARAGE_CONFIG_FILE="); ok {
			path = value
		}
	}
	if flag := configFlag(words); flag != "" {
		path = flag
	}
	return path
}

var (
	// bindAddress is a key that Garage listens by. A path in its place is a socket, which is the sandbox's own.
	bindAddress = regexp.MustCompile(`(?m)^([ \t]*(?:[\w-]+\.)*(?:rpc_|api_)?bind_addr[ \t]*=[ \t]*["'])([^/"'\n][^"'\n]*|)(:\d+["'])`)
	bindPath    = regexp.MustCompile(`(?m)^[ \t]*(?:[\w-]+\.)*(?:api_)?bind_addr[ \t]*=[ \t]*["']/`)
	bindMention = regexp.MustCompile(`(?m)^[^#\n]*bind_addr\b`)
	firstTable  = regexp.MustCompile(`(?m)^[ \t]*\[`)
)

// Keys that Garage takes from the top of its configuration alone.
var (
	rpcPort       = regexp.MustCompile(`(?m)^[ \t]*rpc_bind_addr[ \t]*=[ \t]*["'][^"'\n]*:(\d+)["']`)
	publicAddress = regexp.MustCompile(`(?m)^[ \t]*rpc_public_addr[ \t]*=`)
	bindOutgoing  = regexp.MustCompile(`(?m)^[ \t]*rpc_bind_outgoing[ \t]*=`)
)

// view has the Pod's address in the place of every address to listen on, and keys of its own where the configuration does
// not set them: the address for peers, which the server would look for among those of the machine, and one that has it
// make its connections from there, as those of a Pod are. All else is byte for byte what was given.
func (garageServer) view(content []byte, ip string) []byte {
	top := content
	if table := firstTable.FindIndex(content); table != nil {
		top = content[:table[0]]
	}
	var own []byte
	if port := rpcPort.FindSubmatch(top); port != nil && !publicAddress.Match(top) {
		own = fmt.Appendf(own, "rpc_public_addr = \"%s:%s\"\n", ip, port[1])
	}
	if !bindOutgoing.Match(top) {
		own = append(own, "rpc_bind_outgoing = true\n"...)
	}
	return append(own, bindAddress.ReplaceAll(content, []byte("${1}"+ip+"${3}"))...)
}

// start's revision is the beginning of the configuration's SHA-256, in hexadecimal.
func (garageServer) start(content []byte, _ string) (flags []string, revision string, err error) {
	known := len(bindAddress.FindAll(content, -1)) + len(bindPath.FindAll(content, -1))
	if known == 0 || known != len(bindMention.FindAll(content, -1)) {
		return nil, "", errors.New("the configuration has an address to listen on that is not KEY = \"ADDRESS:PORT\" on a line of " +
			"its own: the server would listen on every Pod's address")
	}
	return nil, fmt.Sprintf("%x", sha256.Sum256(content))[:16], nil
}
