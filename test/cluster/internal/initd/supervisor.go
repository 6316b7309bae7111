//go:build linux

package initd

import (
	"cmp"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/test/cluster/internal/components"
)

// restartPause is how long a process that ended is left alone before it is started again, as systemd does.
const restartPause = time.Second

// supervisor starts processes, starts them again when they end, and reaps every process that ends below it:
// it is process 1 of a process namespace, so shims that lose their parent become its children.
type supervisor struct {
	mu        sync.Mutex
	processes map[string]*process
	stopping  bool
}

type process struct {
	what components.Process
	pid  int
	// gone is closed when this pid has been reaped.
	gone chan struct{}
	// once says that it is not started again.
	once bool
	exit syscall.WaitStatus
}

func newSupervisor() *supervisor {
	s := &supervisor{processes: map[string]*process{}}
	ended := make(chan os.Signal, 16)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		for range ended {
			s.reap()
		}
	}()
	return s
}

// run starts a process as soon as the files that it waits for are there, and keeps it running.
func (s *supervisor) run(p components.Process) {
	go func() {
		await(func() bool { return allExist(p.After) }, forever)
		if _, err := s.start(p, false, &syscall.SysProcAttr{Setsid: true}); err != nil {
			log.Printf("starting %s: %v", p.Name, err)
		}
	}()
}

// start starts it now. The files are its descriptors from 3 on.
func (s *supervisor) start(p components.Process, once bool, how *syscall.SysProcAttr, files ...uintptr) (*process, error) {
	output, err := os.OpenFile(p.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()

	// Held over the fork, so that reap, which takes it too, knows every process that can have ended.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return nil, errors.New("shutting down")
	}
	if old := s.processes[p.Name]; old != nil && old.alive() {
		return nil, fmt.Errorf("%s is running already", p.Name)
	}
	pid, err := syscall.ForkExec(p.Path, append([]string{cmp.Or(p.As, p.Name)}, p.Args...), &syscall.ProcAttr{
		Dir: "/", Sys: how,
		// Nothing of the user's environment: a proxy setting in it would keep components from each other.
		Env:   []string{"PATH=" + filepath.Dir(p.Path) + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		Files: append([]uintptr{null.Fd(), output.Fd(), output.Fd()}, files...),
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Path, err)
	}
	started := &process{what: p, pid: pid, gone: make(chan struct{}), once: once}
	s.processes[p.Name] = started
	return started, nil
}

func (s *supervisor) reap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if pid <= 0 || err != nil {
			return
		}
		for _, p := range s.processes {
			if p.pid == pid && p.alive() {
				s.ended(p, status)
			}
		}
	}
}

func (s *supervisor) ended(p *process, status syscall.WaitStatus) {
	p.exit = status
	close(p.gone)
	if s.stopping || p.once {
		return
	}
	log.Printf("%s ended with status %d, signal %d: starting it again", p.what.Name, status.ExitStatus(), status.Signal())
	time.AfterFunc(restartPause, func() { s.run(p.what) })
}

func (p *process) alive() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// stop asks a process to end and waits, at most so long. It is not started again.
func (s *supervisor) stop(name string, patience time.Duration) {
	s.mu.Lock()
	p := s.processes[name]
	if p == nil || !p.alive() {
		s.mu.Unlock()
		return
	}
	p.once = true
	_ = syscall.Kill(p.pid, syscall.SIGTERM)
	s.mu.Unlock()
	select {
	case <-p.gone:
	case <-time.After(patience):
	}
}

// kill ends a process at once, if it has not ended: its number may be another's by now.
func (s *supervisor) kill(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.alive() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

func (s *supervisor) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.processes, name)
}

func (s *supervisor) shutdown() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
}

func (s *supervisor) get(name string) (*process, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.processes[name]
	return p, p != nil && p.alive()
}

// forever is a patience without an end: what is waited for may be long in coming, and ends with this process.
const forever = 1<<63 - 1

// await looks again and again until it is so, at most as long as patience lasts.
func await(so func() bool, patience time.Duration) {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	end := time.After(patience)
	for !so() {
		select {
		case <-again.C:
		case <-end:
			return
		}
	}
}

func allExist(paths []string) bool {
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return false
		}
	}
	return true
}

func makeDirs(paths ...string) error {
	for _, path := range paths {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
