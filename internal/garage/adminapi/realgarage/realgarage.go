// Package realgarage runs real Garage processes on the loopback interface, for tests that must see what they really do.
//
// Each process has its own address, which depends on the test's process, so that several test programs run at the same
// time, and its own folders. The nodes reach each other through a relay, so that one can be cut off while it goes on
// running. A process that the test does not end dies with it.
package realgarage

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// ProgramsVariable is the environment variable with the programs to run, as "2.3.0=/path,2.4.1=/path", the oldest first.
	ProgramsVariable = "HOLDFAST_GARAGE_SERVERS"
	// ShortDelayVariable is the environment variable with the path of the variant for tests, see ShortDelay.
	ShortDelayVariable = "HOLDFAST_GARAGE_SHORT_DELAY"
)

// Program is a Garage to run.
type Program struct {
	// Version is its version, for instance "2.4.1".
	Version string
	// Path is where the program is.
	Path string
	// BlockDelay is how long it keeps a block that nothing refers to any more.
	BlockDelay time.Duration
}

// Programs are those to run, the oldest first.
func Programs() ([]Program, error) {
	list := os.Getenv(ProgramsVariable)
	if list == "" {
		return nil, fmt.Errorf("%s is not set: it must list Garage servers as version=path, which `make test` builds", ProgramsVariable)
	}
	var programs []Program
	for entry := range strings.SplitSeq(list, ",") {
		version, path, found := strings.Cut(entry, "=")
		if !found {
			return nil, fmt.Errorf("%s: %q is not version=path", ProgramsVariable, entry)
		}
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%s: %w", ProgramsVariable, err)
		}
		programs = append(programs, Program{Version: version, Path: path, BlockDelay: 600 * time.Second})
	}
	return programs, nil
}

// ShortDelay is a variant of Garage 2.4.1 for tests, which differs in one constant: it keeps a block that nothing refers to
// any more for 20 s instead of 600 s.
func ShortDelay() (Program, error) {
	path := os.Getenv(ShortDelayVariable)
	if path == "" {
		return Program{}, fmt.Errorf("%s is not set: it must be the path of a Garage with a short block delay, which `make test` builds", ShortDelayVariable)
	}
	if _, err := os.Stat(path); err != nil {
		return Program{}, fmt.Errorf("%s: %w", ShortDelayVariable, err)
	}
	return Program{Version: "2.4.1", Path: path, BlockDelay: 20 * time.Second}, nil
}

// Ports of each server, at its own address.
const (
	s3Port    = 3900
	rpcPort   = 3901
	relayPort = 3902
	adminPort = 3903
)

const (
	// Token is the static admin token of every server.
	Token = "8f1b1d4c9e0a4f5bb1a3d2c6e7f80912"
	// Region is the S3 region of every server.
	Region = "garage"

	secret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	// patience bounds every wait for a process: they start within a second, and end within one.
	patience = 30 * time.Second
	glance   = 20 * time.Millisecond
)

// Options are what a cluster is made with.
type Options struct {
	// Nodes is how many servers there are.
	Nodes int
	// ReplicationFactor is 0 for 3.
	ReplicationFactor int
	// Settings are further keys of the configuration of server number i, which replace those of the same name. The keys of a
	// table are in a map of their own: {"rpc_timeout_msec": 5000, "admin": {"metrics_token": "…"}}. It may be nil.
	Settings func(i int) map[string]any
}

// Server is one Garage process and its files.
type Server struct {
	// Name is garage-0, garage-1, …
	Name string
	// Admin is the base URL of its Admin API, S3 that of its S3 API, and RPC the address and port at which others reach it.
	Admin, S3, RPC string
	// MetadataDir and DataDir are its folders.
	MetadataDir, DataDir string
	// Program is what the next Start runs.
	Program Program
	// Config is its configuration, which it reads when it starts.
	Config map[string]any

	address string
	dir     string
	relay   *relay
	process *exec.Cmd
}

// Cluster is servers that know of each other. They have no layout yet.
type Cluster []*Server

// addresses counts the servers of this process.
var addresses atomic.Int64

// New prepares servers with their files under dir, and starts none. Each has an identity, and the others as bootstrap peers.
func New(program Program, dir string, options Options) (Cluster, error) {
	var servers Cluster
	var peers []string
	for i := range options.Nodes {
		server := &Server{Name: fmt.Sprintf("garage-%d", i), Program: program, address: nextAddress()}
		server.dir = filepath.Join(dir, server.Name)
		server.Admin = fmt.Sprintf("http://%s:%d", server.address, adminPort)
		server.S3 = fmt.Sprintf("http://%s:%d", server.address, s3Port)
		server.RPC = fmt.Sprintf("%s:%d", server.address, relayPort)
		server.MetadataDir = filepath.Join(server.dir, "meta")
		server.DataDir = filepath.Join(server.dir, "data")
		if err := server.identify(); err != nil {
			return nil, err
		}
		id, err := server.ID()
		if err != nil {
			return nil, err
		}
		peers = append(peers, id+"@"+server.RPC)
		servers = append(servers, server)
	}
	for i, server := range servers {
		server.Config = server.config(cmp.Or(options.ReplicationFactor, 3), peers)
		if options.Settings != nil {
			merge(server.Config, options.Settings(i))
		}
	}
	return servers, nil
}

// nextAddress is an address that no other server has.
func nextAddress() string {
	pid, n := os.Getpid(), addresses.Add(1)
	return fmt.Sprintf("127.%d.%d.%d", 16+pid>>8%40, pid%256, n)
}

// identify gives the server an identity, so that it is known before it starts. Garage's key is the private key of Ed25519
// with the public one behind it, as Go's is.
func (s *Server) identify() error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return fmt.Errorf("make the identity of %s: %w", s.Name, err)
	}
	for _, dir := range []string{s.MetadataDir, s.DataDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make the folders of %s: %w", s.Name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.MetadataDir, "node_key"), private, 0o600); err != nil {
		return fmt.Errorf("write the identity of %s: %w", s.Name, err)
	}
	return os.WriteFile(filepath.Join(s.MetadataDir, "node_key.pub"), public, 0o600)
}

// ID is the identity of the node, as it is on its disk now.
func (s *Server) ID() (string, error) {
	public, err := os.ReadFile(filepath.Join(s.MetadataDir, "node_key.pub"))
	if err != nil {
		return "", fmt.Errorf("read the identity of %s: %w", s.Name, err)
	}
	return hex.EncodeToString(public), nil
}

// Wipe empties the disks of a server that does not run. It starts with another identity then.
func (s *Server) Wipe() error {
	return errors.Join(os.RemoveAll(s.MetadataDir), os.RemoveAll(s.DataDir))
}

// Log is the path of what the server wrote.
func (s *Server) Log() string { return filepath.Join(s.dir, "log") }

// Start writes the configuration, starts the process and does not wait for it to answer.
func (s *Server) Start() error {
	path := filepath.Join(s.dir, "garage.toml")
	if err := os.WriteFile(path, toml(s.Config), 0o600); err != nil {
		return fmt.Errorf("write the configuration of %s: %w", s.Name, err)
	}
	if s.relay == nil {
		relay, err := listen(s.RPC, fmt.Sprintf("%s:%d", s.address, rpcPort))
		if err != nil {
			return fmt.Errorf("relay the connections of %s: %w", s.Name, err)
		}
		s.relay = relay
	}
	log, err := os.OpenFile(s.Log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", s.Name, err)
	}
	defer func() { _ = log.Close() }()
	process := exec.Command(s.Program.Path, "-c", path, "server")
	process.Stdout, process.Stderr = log, log
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	s.process = process
	return nil
}

// Await returns when the server answers its Admin API, or with an error when it does not within 30 s.
func (s *Server) Await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Admin+"/health", nil)
		if err != nil {
			return fmt.Errorf("ask %s: %w", s.Name, err)
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			return response.Body.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w; see %s", s.Name, ctx.Err(), s.Log())
		case <-tick.C:
		}
	}
}

// Running says whether the process was started and not ended.
func (s *Server) Running() bool { return s.process != nil }

// Kill ends the process as a power loss would, and returns when it is gone. It does nothing when none runs.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

// Stop ends the process cleanly, and returns when it is gone. It does nothing when none runs, and fails when the process
// had to be killed after 30 s.
func (s *Server) Stop() error { return s.end(syscall.SIGTERM) }

func (s *Server) end(signal os.Signal) error {
	if s.process == nil {
		return nil
	}
	process := s.process
	s.process = nil
	if err := process.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", s.Name, err)
	}
	late := time.AfterFunc(patience, func() { _ = process.Process.Kill() })
	_ = process.Wait() // an error only says how it ended
	if !late.Stop() {
		return fmt.Errorf("%s did not end within %s and was killed", s.Name, patience)
	}
	return nil
}

// Cut breaks the connections between the server and all others, and lets no new ones through. Clients still reach it.
func (c Cluster) Cut(i int) {
	for at, server := range c {
		if server.relay != nil && at != i {
			server.relay.refuse(c[i].address)
		}
	}
	c[i].relay.refuse("")
}

// Heal lets connections through again. The nodes try within half a minute, or when they are told to connect.
func (c Cluster) Heal(i int) {
	for _, server := range c {
		if server.relay != nil {
			server.relay.admit(c[i].address)
		}
	}
	c[i].relay.admit("")
}

// Close kills every process and ends the relays.
func (c Cluster) Close() error {
	var failed []error
	for _, server := range c {
		failed = append(failed, server.Kill())
		if server.relay != nil {
			failed = append(failed, server.relay.close())
			server.relay = nil
		}
	}
	return errors.Join(failed...)
}
