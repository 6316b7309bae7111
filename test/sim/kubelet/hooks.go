package kubelet

import "syscall"

// Addr is the address of a Pod, "" while none of that name runs.
func (k *Kubelet) Addr(pod string) string {
	if w := k.named(pod); w != nil {
		return w.box.ip
	}
	return ""
}

// Kill ends the Pod's server with SIGKILL. The test fails where none runs.
func (k *Kubelet) Kill(pod string) {
	k.t.Helper()
	_, p := k.running(pod)
	p.signal(syscall.SIGKILL)
}

// Freeze stops the Pod's server as the halt of its node would: it answers nothing, its Pod reads not ready,
// and neither probes nor a deletion touch it, until the returned function is called. The test fails where no
// server runs.
func (k *Kubelet) Freeze(pod string) (thaw func()) {
	k.t.Helper()
	w, p := k.running(pod)
	resume := p.freeze()
	w.rouse()
	return func() {
		resume()
		w.rouse()
	}
}

// Halt is Freeze before anybody has noticed: the Pod still reads ready, as that of a node does for most of a minute.
func (k *Kubelet) Halt(pod string) (thaw func()) {
	k.t.Helper()
	w, p := k.running(pod)
	resume := p.freeze()
	w.record(Halted, p, "")
	return func() {
		resume()
		w.record(Resumed, p, "")
	}
}

// freeze stops the process until the returned function is called.
func (p *process) freeze() (thaw func()) {
	p.frozen.Store(true)
	p.signal(syscall.SIGSTOP)
	return func() {
		p.signal(syscall.SIGCONT)
		p.frozen.Store(false)
	}
}

// rouse has the worker look whether its process is frozen.
func (w *worker) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// named is the worker of the Pod, nil if none of that name runs.
func (k *Kubelet) named(pod string) *worker {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.workers {
		if w.pod.Name == pod && !w.hasFinished() {
			return w
		}
	}
	return nil
}

func (k *Kubelet) running(pod string) (*worker, *process) {
	k.t.Helper()
	w := k.named(pod)
	if w == nil {
		k.t.Fatalf("no Pod %s runs", pod)
	}
	p := w.process()
	if p == nil {
		k.t.Fatalf("the server of Pod %s has not started yet", pod)
	}
	return w, p
}
