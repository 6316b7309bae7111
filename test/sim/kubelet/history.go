package kubelet

import (
	"fmt"
	"slices"
	"time"
)

// EventKind is what happened to a server's process.
type EventKind string

const (
	// Started is a process that was begun.
	Started EventKind = "Started"
	// Ready is a Pod that became ready.
	Ready EventKind = "Ready"
	// NotReady is a Pod that stopped being ready while its process lives.
	NotReady EventKind = "NotReady"
	// Halted is a process that stands still while its Pod reads ready.
	Halted EventKind = "Halted"
	// Resumed is one that goes on after that.
	Resumed EventKind = "Resumed"
	// Stopping is a Pod that was told to stop: its preStop hook begins.
	Stopping EventKind = "Stopping"
	// Exited is a process that ended, for whatever reason.
	Exited EventKind = "Exited"
	// Trouble is something that a cluster would report as a warning event: a Pod that could not be made, a
	// volume that is not there, a hook that failed.
	Trouble EventKind = "Trouble"
)

// Event is one entry of the history.
type Event struct {
	// Time is when it happened, by the clock of the test process.
	Time time.Time
	// Kind is what happened.
	Kind EventKind
	// Pod is the Pod's name, Server its StatefulSet's.
	Pod, Server string
	// PID is the process, 0 where there is none.
	PID int
	// Version is the tag of the image that runs.
	Version string
	// Revision is about the configuration that the server was started with: config_revision of a nats-server's own metadata,
	// for Garage the first 16 digits of the SHA-256 of the file in the ConfigMap or Secret.
	Revision string
	// Detail says more, for a reader.
	Detail string
}

// String is the event on one line.
func (e Event) String() string {
	return fmt.Sprintf("%s %s %s pid=%d version=%s revision=%s %s",
		e.Time.Format("15:04:05.000"), e.Kind, e.Pod, e.PID, e.Version, e.Revision, e.Detail)
}

// History is everything that has happened so far, in order.
func (k *Kubelet) History() []Event {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.history)
}

func (k *Kubelet) record(e Event) {
	e.Time = time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.history = append(k.history, e)
}

// trouble records a warning, and the same one in a row only once.
func (k *Kubelet) trouble(pod, server, detail string) {
	k.mu.Lock()
	repeated := k.troubles[pod] == detail
	k.troubles[pod] = detail
	k.mu.Unlock()
	if !repeated {
		k.record(Event{Kind: Trouble, Pod: pod, Server: server, Detail: detail})
	}
}
