package kubelet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// settleDown is how long a Pod has its address before its server starts: the names of Pods that are made
// together are known by then, which a server that does not find them asks for again only seconds later.
const settleDown = 300 * time.Millisecond

// refreshEvery is how often changed ConfigMaps and Secrets are brought to a container that runs. A real kubelet takes up to
// two minutes.
const refreshEvery = time.Second

// retryAfter is the pause before another try to bring a Pod's volumes in.
const retryAfter = 200 * time.Millisecond

// worker runs one Pod, from its first address to the end of its object.
type worker struct {
	k    *Kubelet
	box  *sandbox
	pod  *corev1.Pod // as first seen: what a worker reads of it does not change
	stop chan struct{}
	lost context.CancelFunc // the object is gone: end at once
	done chan struct{}
	wake chan struct{} // the process was frozen or thawed
	log  logBuffer

	mu        sync.Mutex
	deadline  time.Time // of the Pod, set when stop is closed
	restartBy time.Time // of the process, while a probe wants it to end
	proc      *process
	finished  bool // nothing of the Pod is left but its object

	// Only the worker's own goroutine touches what follows.
	ready, started bool
	restarts       int32
	waiting        *corev1.ContainerStateWaiting
	last           *corev1.ContainerStateTerminated
	begun          metav1.Time
	since          metav1.Time // of the present readiness
}

// told to stop by the deletion of the Pod. A later deletion may only shorten the time.
func (w *worker) tell(deadline time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deadline.IsZero() {
		close(w.stop)
		w.deadline = deadline
	}
	if deadline.Before(w.deadline) {
		w.deadline = deadline
	}
}

// until is when a process that is being stopped is killed.
func (w *worker) until() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.restartBy.IsZero() || (!w.deadline.IsZero() && w.deadline.Before(w.restartBy)) {
		return w.deadline
	}
	return w.restartBy
}

func (w *worker) setProcess(p *process, restartBy time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.proc, w.restartBy = p, restartBy
}

func (w *worker) process() *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.proc
}

func (w *worker) run(ctx context.Context) {
	defer close(w.done)
	w.since, w.begun = metav1.Now(), metav1.Now()
	w.waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	pause := w.introduce(ctx)
	for w.sleep(ctx, pause) {
		p := w.start(ctx)
		if p == nil {
			break
		}
		w.supervise(ctx, p)
		pause = w.crashed(ctx)
	}
	w.finish()
}

// introduce waits until the Pod's address has come to the names, and is how long to wait after that.
func (w *worker) introduce(ctx context.Context) time.Duration {
	settled := time.Now().Add(settleDown)
	w.report(ctx)
	for !w.box.hasHosts() && w.sleep(ctx, retryAfter) {
		w.report(ctx) // again: the API server may not have heard
	}
	return time.Until(settled)
}

// crashed is how long to wait before the container is started again.
func (w *worker) crashed(ctx context.Context) time.Duration {
	if w.restarts++; w.restarts == 1 || w.stopped(ctx) {
		return 0
	}
	w.waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
	w.report(ctx)
	return time.Second << min(w.restarts-2, 2)
}

// sleep is false when the Pod is to stop.
func (w *worker) sleep(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-w.stop:
	case <-time.After(pause):
	}
	return !w.stopped(ctx)
}

func (w *worker) stopped(ctx context.Context) bool {
	select {
	case <-w.stop:
		return true
	default:
		return ctx.Err() != nil
	}
}

// start brings the volumes in and begins the process, trying until that works or the Pod is to stop.
func (w *worker) start(ctx context.Context) *process {
	for {
		err := w.box.prepare(ctx)
		var p *process
		if err == nil {
			p, err = launch(ctx, w.box, &w.log)
		}
		if err == nil {
			w.setProcess(p, time.Time{})
			w.waiting = nil
			w.record(Started, p, "")
			w.report(ctx)
			return p
		}
		w.waiting = &corev1.ContainerStateWaiting{Reason: waitingReason(err), Message: err.Error()}
		w.k.trouble(w.pod.Name, serverOf(w.pod), err.Error())
		w.report(ctx)
		if !w.sleep(ctx, retryAfter) {
			return nil
		}
	}
}

// waitingReason is why a container that could not be started waits.
func waitingReason(err error) string {
	if _, ok := errors.AsType[noProgramError](err); ok {
		return "ImagePullBackOff"
	}
	if errors.Is(err, errEnvironment) {
		return "CreateContainerConfigError"
	}
	return "ContainerCreating"
}

// supervise returns when the process has ended.
func (w *worker) supervise(ctx context.Context, p *process) {
	health, cancel := context.WithCancel(ctx)
	defer cancel()
	verdicts := make(chan verdict)
	go watchHealth(health, w.box, p, verdicts)
	stop, stopping := w.stop, false
	end := func() {
		if stopping {
			return
		}
		stopping = true
		w.record(Stopping, p, "")
		go func() {
			if err := p.stop(ctx, w.box, w.until); err != nil && ctx.Err() == nil {
				w.k.trouble(w.pod.Name, serverOf(w.pod), fmt.Sprintf("preStop: %v", err))
			}
		}()
	}
	volumes := time.NewTicker(refreshEvery)
	defer volumes.Stop()
	for {
		select {
		case <-volumes.C:
			w.box.refresh(ctx)
		case <-p.done:
			w.exited(ctx, p)
			return
		case <-stop:
			stop = nil
			end()
		case <-w.wake:
			w.thawed(ctx, p)
		case v := <-verdicts:
			if v == isDead && !stopping {
				w.k.trouble(w.pod.Name, serverOf(w.pod), probeFailed)
				w.setProcess(p, time.Now().Add(grace(w.pod)))
				end()
			}
			w.heard(ctx, p, v)
		}
	}
}

const probeFailed = "a probe failed for good: restarting the container"

func (w *worker) heard(ctx context.Context, p *process, v verdict) {
	switch v {
	case startedUp:
		w.started = true
		w.report(ctx)
	case isServing:
		w.setReady(ctx, p, !p.frozen.Load())
	case isUnready:
		w.setReady(ctx, p, false)
	case isDead: // the caller ends the process
	}
}

// thawed is called when the process was frozen, or goes on. Its probe says how it is then; without one it runs, so it is
// ready.
func (w *worker) thawed(ctx context.Context, p *process) {
	switch {
	case p.frozen.Load():
		w.setReady(ctx, p, false)
	case w.box.container.ReadinessProbe == nil && w.started:
		w.setReady(ctx, p, true)
	}
}

func (w *worker) setReady(ctx context.Context, p *process, ready bool) {
	if w.ready == ready {
		return
	}
	w.ready, w.since = ready, metav1.Now()
	kind := NotReady
	if ready {
		kind = Ready
	}
	w.record(kind, p, "")
	w.report(ctx)
}

func (w *worker) exited(ctx context.Context, p *process) {
	if w.ready {
		w.since = metav1.Now()
	}
	w.ready, w.started = false, false
	w.last = &corev1.ContainerStateTerminated{
		ExitCode: int32(p.code), Reason: "Error", StartedAt: metav1.NewTime(p.begun), FinishedAt: metav1.Now(),
	}
	if p.code == 0 {
		w.last.Reason = "Completed"
	}
	w.record(Exited, p, p.cmd.ProcessState.String())
	w.report(ctx)
}

// finish takes the Pod apart. Its object may go then.
func (w *worker) finish() {
	if err := w.box.dismantle(); err != nil {
		w.k.trouble(w.pod.Name, serverOf(w.pod), err.Error())
	}
	w.mu.Lock()
	w.finished = true
	w.mu.Unlock()
	w.k.poke()
}

func (w *worker) hasFinished() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.finished
}

func (w *worker) record(kind EventKind, p *process, detail string) {
	w.k.record(Event{
		Kind: kind, Pod: w.pod.Name, Server: serverOf(w.pod), PID: p.pid(),
		Version: imageVersion(w.box.container.Image), Revision: w.box.revision, Detail: detail,
	})
}

func newWorker(k *Kubelet, pod *corev1.Pod, ip string) *worker {
	return &worker{
		k: k, pod: pod, box: newSandbox(k, pod, ip),
		stop: make(chan struct{}), done: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}
