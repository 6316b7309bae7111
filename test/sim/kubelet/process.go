package kubelet

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// process is one run of the server container.
type process struct {
	cmd    *exec.Cmd
	begun  time.Time
	done   chan struct{} // closed when it has ended
	code   int           // exit code, once it has ended; -1 after a signal
	frozen atomic.Bool
}

// launch starts the container's command. It ends with ctx.
func launch(ctx context.Context, box *sandbox, output *logBuffer) (*process, error) {
	words := slices.Concat(box.container.Command, box.container.Args, box.flags)
	p := &process{cmd: box.command(ctx, words, output), begun: time.Now(), done: make(chan struct{})}
	if err := startAs(box.pod.Spec.Hostname, p.cmd); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait()
		p.code = p.cmd.ProcessState.ExitCode()
		close(p.done)
	}()
	return p, nil
}

// launcher runs what it is sent on a thread of its own, for ever: a process has the hostname of the thread that starts it,
// and ends with that thread.
var launcher = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for do := range work {
			do()
		}
	}()
	return work
})

// startAs starts the command with that hostname. Where the machine does not permit it, the hostname is the machine's.
func startAs(hostname string, cmd *exec.Cmd) error {
	started := make(chan error)
	launcher() <- func() {
		if syscall.Unshare(syscall.CLONE_NEWUTS) == nil {
			_ = syscall.Sethostname([]byte(hostname))
		}
		started <- cmd.Start()
	}
	return <-started
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) signal(signal syscall.Signal) { _ = p.cmd.Process.Signal(signal) }

// ended waits until the process has ended, or the deadline has passed and with it every later one.
func (p *process) ended(deadline func() time.Time) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return true
		case now := <-tick.C:
			if !p.frozen.Load() && now.After(deadline()) {
				return false
			}
		}
	}
}

// stop ends the process as a kubelet does: the preStop hook, SIGTERM when that has returned, SIGKILL at the
// deadline. The deadline may come closer meanwhile. A frozen process is left alone until it thaws.
func (p *process) stop(ctx context.Context, box *sandbox, deadline func() time.Time) error {
	for p.frozen.Load() {
		if p.ended(func() time.Time { return time.Time{} }) {
			return nil
		}
	}
	err := preStop(ctx, box, deadline())
	p.signal(syscall.SIGTERM)
	if !p.ended(deadline) {
		p.signal(syscall.SIGKILL)
		<-p.done
	}
	return err
}

func preStop(ctx context.Context, box *sandbox, deadline time.Time) error {
	if box.container.Lifecycle == nil || box.container.Lifecycle.PreStop == nil {
		return nil
	}
	hook := box.container.Lifecycle.PreStop
	if hook.Exec == nil {
		return errors.New("only exec hooks are simulated")
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	var output bytes.Buffer
	if err := box.command(ctx, hook.Exec.Command, &output).Run(); err != nil {
		return errors.Join(err, errors.New(output.String()))
	}
	return nil
}

// logBuffer keeps the end of what a server writes.
type logBuffer struct {
	mu   sync.Mutex
	text []byte
}

const logLimit = 16 << 10

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	l.text = l.text[max(0, len(l.text)-logLimit):]
	return len(p), nil
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

func grace(pod *corev1.Pod) time.Duration {
	seconds := pod.Spec.TerminationGracePeriodSeconds
	if seconds == nil {
		return 30 * time.Second
	}
	return time.Duration(*seconds) * time.Second
}
