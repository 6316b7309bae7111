// Package realnats runs real nats-servers on the loopback interface, for tests that must see what they really answer.
package realnats

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// ProgramVariable is the environment variable that holds the path of the nats-server to run.
const ProgramVariable = "HOLDFAST_NATS_SERVER"

// Program is the path of the nats-server to run.
func Program() (string, error) {
	path := os.Getenv(ProgramVariable)
	if path == "" {
		return "", fmt.Errorf("%s is not set: it must hold the path of a nats-server binary, which `make test` builds", ProgramVariable)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s: %w", ProgramVariable, err)
	}
	return path, nil
}

// Accounts are accounts of every server, each with JetStream and a user whose name and password are the account's.
var Accounts = []string{"ALPHA", "BRAVO", "CHARLIE"}

const (
	clientPort  = 4222
	routePort   = 6222
	monitorPort = 8222
)

// Server is one nats-server.
type Server struct {
	// Name is its server_name.
	Name string
	// URL is where its monitoring port answers.
	URL string
	// Client is where clients connect.
	Client string
	// Config is the configuration that was written last.
	Config map[string]any

	program string
	dir     string
	process *exec.Cmd
}

// New prepares a cluster of size servers named demo-0, demo-1, …, with their files under dir, and starts none. A single
// server stands alone, without a cluster. So many more accounts with JetStream come before Accounts in their order. The
// servers listen on loopback addresses that depend on the process, so that several test programs run at the same time.
func New(program, dir string, size, moreAccounts int) ([]*Server, error) {
	return Make(program, dir, size, func(string) map[string]any {
		return map[string]any{"accounts": accounts(moreAccounts), "system_account": "SYS"}
	})
}

// Make is New with the accounts left to the caller: settings are further keys of the configuration of a server whose files
// are under that directory.
func Make(program, dir string, size int, settings func(dir string) map[string]any) ([]*Server, error) {
	var routes []string
	for i := range size {
		routes = append(routes, fmt.Sprintf("nats-route://%s:%d", address(i), routePort))
	}
	var servers []*Server
	for i := range size {
		server := &Server{
			Name:    fmt.Sprintf("demo-%d", i),
			URL:     fmt.Sprintf("http://%s:%d", address(i), monitorPort),
			Client:  fmt.Sprintf("nats://%s:%d", address(i), clientPort),
			program: program,
			dir:     filepath.Join(dir, fmt.Sprintf("demo-%d", i)),
		}
		config := map[string]any{
			"server_name":     server.Name,
			"listen":          fmt.Sprintf("%s:%d", address(i), clientPort),
			"http":            fmt.Sprintf("%s:%d", address(i), monitorPort),
			"server_metadata": map[string]string{"config_revision": "0123456789"},
			"jetstream":       map[string]any{"store_dir": filepath.Join(server.dir, "jetstream")},
		}
		if size > 1 {
			config["cluster"] = map[string]any{
				"name": "demo", "listen": fmt.Sprintf("%s:%d", address(i), routePort), "routes": routes,
			}
		}
		maps.Copy(config, settings(server.dir))
		if err := server.Write(config); err != nil {
			return nil, err
		}
		servers = append(servers, server)
	}
	return servers, nil
}

// address is where server number i listens.
func address(i int) string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d", 64+pid>>8%64, pid%256, i+1)
}

func accounts(more int) map[string]any {
	all := map[string]any{"SYS": map[string]any{"users": []any{map[string]string{"user": "SYS", "password": "SYS"}}}}
	for _, name := range Accounts {
		all[name] = map[string]any{
			"jetstream": "enabled",
			"users":     []any{map[string]string{"user": name, "password": name}},
		}
	}
	for i := range more {
		all[fmt.Sprintf("A%d", i)] = map[string]any{"jetstream": "enabled"}
	}
	return all
}

// Write gives the server another configuration, which it reads when it starts, or is asked to reload.
func (s *Server) Write(config map[string]any) error {
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return fmt.Errorf("render the configuration of %s: %w", s.Name, err)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of %s: %w", s.Name, err)
	}
	if err := os.WriteFile(s.config(), text, 0o600); err != nil {
		return fmt.Errorf("write the configuration of %s: %w", s.Name, err)
	}
	s.Config = config
	return nil
}

func (s *Server) config() string { return filepath.Join(s.dir, "nats.conf") }

// Log is the path of what the server wrote.
func (s *Server) Log() string { return filepath.Join(s.dir, "log") }

// Start starts the process and does not wait for it to answer. It dies with the process that started it.
func (s *Server) Start() error {
	log, err := os.OpenFile(s.Log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", s.Name, err)
	}
	defer func() { _ = log.Close() }()
	process := exec.Command(s.program, "-c", s.config())
	process.Stdout, process.Stderr = log, log
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	s.process = process
	return nil
}

// Kill ends the process as a power loss would, and returns when it is gone. It does nothing when none runs.
func (s *Server) Kill() error { return s.end(os.Kill) }

// Stop ends the process cleanly: it tells its neighbours, which take it for offline at once instead of minutes later.
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
	_ = process.Wait() // an error only says how it ended
	return nil
}
