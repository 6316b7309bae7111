package realgarage

import (
	"io"
	"net"
	"sync"
)

// relay stands before the RPC port of one server.
type relay struct {
	to       string
	listener net.Listener
	done     sync.WaitGroup

	mu      sync.Mutex
	refused map[string]bool // addresses of servers; "" refuses everybody
	open    map[net.Conn]string
}

func listen(at, to string) (*relay, error) {
	listener, err := net.Listen("tcp", at)
	if err != nil {
		return nil, err
	}
	r := &relay{to: to, listener: listener, refused: map[string]bool{}, open: map[net.Conn]string{}}
	r.done.Go(r.run)
	return r, nil
}

func (r *relay) run() {
	for {
		from, err := r.listener.Accept()
		if err != nil {
			return // closed
		}
		who, _, _ := net.SplitHostPort(from.RemoteAddr().String())
		if !r.admitted(from, who) {
			_ = from.Close()
			continue
		}
		to, err := net.Dial("tcp", r.to)
		if err != nil || !r.admitted(to, who) {
			r.drop(from)
			if err == nil {
				_ = to.Close()
			}
			continue
		}
		r.done.Go(func() { r.carry(from, to) })
		r.done.Go(func() { r.carry(to, from) })
	}
}

// carry copies until one end is closed, and closes the other.
func (r *relay) carry(to, from net.Conn) {
	_, _ = io.Copy(to, from) // how it ends is for the servers to notice
	r.drop(to)
	r.drop(from)
}

// admitted keeps a connection that may go on.
func (r *relay) admitted(conn net.Conn, who string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused[who] || r.refused[""] {
		return false
	}
	r.open[conn] = who
	return true
}

func (r *relay) drop(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, conn)
	_ = conn.Close()
}

// refuse closes the connections of a server, or all for "", and lets no new ones through.
func (r *relay) refuse(who string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[who] = true
	for conn, of := range r.open {
		if who == "" || of == who {
			_ = conn.Close()
		}
	}
}

func (r *relay) admit(who string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.refused, who)
}

func (r *relay) close() error {
	err := r.listener.Close()
	r.refuse("")
	r.done.Wait()
	return err
}
