//go:build linux

package initd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/rpc"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/test/cluster/internal/components"
	"github.com/holdfast-dev/holdfast/test/cluster/internal/layout"
)

const (
	// stopPatience bounds a node's clean shutdown: its pods get 30 s, the rest is for its own processes.
	stopPatience = 60 * time.Second
	// importPatience bounds the loading of one image into one node.
	importPatience = 5 * time.Minute
)

// Orders is what the hub does for the tool, over net/rpc. Each order is done when it returns.
type Orders struct {
	cluster *layout.Cluster
	*supervisor
	// power is held while a node is started or ended, so that two orders for one node follow each other.
	power sync.Mutex
	cuts  map[string]Direction
}

// Direction is what of a node's traffic is cut, as the node sees it.
type Direction string

// The ways to cut a node off.
const (
	CutIn   Direction = "in"
	CutOut  Direction = "out"
	CutBoth Direction = "both"
)

// None is the reply of an order that has nothing to say, and the argument of one that needs nothing.
type None struct{}

// NodeState is what the hub knows of a node.
type NodeState struct {
	Running bool
	// PID is the node's first process, as the hub counts.
	PID int
	// Cut is empty while the node is connected.
	Cut Direction
}

func runHub(args []string) error {
	if err := awaitGo(goFD); err != nil {
		return err
	}
	c, err := load(args[0])
	if err != nil {
		return err
	}
	// Mounts of the host come in as they happen, none goes out.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("taking the mounts apart from the host's: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if err := unix.Sethostname([]byte(c.Cgroup())); err != nil {
		return err
	}
	if err := raiseLimits(); err != nil {
		return err
	}
	if err := hubNetwork(c); err != nil {
		return fmt.Errorf("the hub's network: %w", err)
	}
	orders := &Orders{cluster: c, supervisor: newSupervisor(), cuts: map[string]Direction{}}
	if err := orders.nft("list tables"); err != nil {
		return fmt.Errorf("this kernel has no nf_tables, which kube-proxy needs: %w", err)
	}
	go forward(os.NewFile(listenerFD, "listener"), net.JoinHostPort(layout.HubIP, fmt.Sprint(layout.APIPort)))
	return orders.serve()
}

// raiseLimits lets the components have as many files as they may: set explicitly, children inherit it.
func raiseLimits() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	limit.Cur = limit.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
}

func (o *Orders) serve() error {
	folder, err := os.Open(o.cluster.Dir)
	if err != nil {
		return err
	}
	listener, err := net.Listen("unix", ControlSocket(folder))
	if err != nil {
		return err
	}
	server := rpc.NewServer()
	if err := server.RegisterName("Hub", &exported{o}); err != nil {
		return err
	}
	log.Print("the hub is ready")
	server.Accept(listener)
	return errors.New("the control socket is gone")
}

// exported has the methods that net/rpc offers, in the shape that it wants.
type exported struct{ o *Orders }

// Run starts a process of the control plane and keeps it running.
func (e *exported) Run(p components.Process, _ *None) error {
	if _, running := e.o.get(p.Name); running {
		return fmt.Errorf("%s is running already", p.Name)
	}
	e.o.run(p)
	return nil
}

// Boot starts a node.
func (e *exported) Boot(name string, _ *None) error {
	e.o.power.Lock()
	defer e.o.power.Unlock()
	n, err := e.o.cluster.Node(name)
	if err != nil {
		return err
	}
	return e.o.boot(n)
}

// Stop shuts a node down: it ends its pods and processes in order.
func (e *exported) Stop(name string, _ *None) error {
	return e.o.end(name, syscall.SIGTERM, stopPatience)
}

// Kill ends everything in a node at once. The cable goes first: the kernel, which lives on, would close the node's
// connections, and their other ends would learn at once what nobody tells them when the power fails.
func (e *exported) Kill(name string, _ *None) error {
	n, err := e.o.cluster.Node(name)
	if err != nil {
		return err
	}
	if _, running := e.o.get(name); running {
		if err := setPort(n, netlink.LinkSetDown); err != nil {
			return err
		}
	}
	return e.o.end(name, syscall.SIGKILL, stopPatience)
}

// Cut cuts a node off.
func (e *exported) Cut(order CutOrder, _ *None) error { return e.o.cut(order) }

// CutOrder says which node is cut off, and which way.
type CutOrder struct {
	Node      string
	Direction Direction
}

// Join undoes a cut.
func (e *exported) Join(name string, _ *None) error {
	n, err := e.o.cluster.Node(name)
	if err != nil {
		return err
	}
	return e.o.join(n)
}

// Nodes tells the state of each node.
func (e *exported) Nodes(_ None, reply *map[string]NodeState) error {
	*reply = map[string]NodeState{}
	for _, n := range e.o.cluster.AllNodes() {
		state := NodeState{Cut: e.o.cutOf(n)}
		if p, running := e.o.get(n.Name); running {
			state.Running, state.PID = true, p.pid
		}
		(*reply)[n.Name] = state
	}
	return nil
}

// ImportOrder says which image archive goes into which node.
type ImportOrder struct{ Node, Archive string }

// Import loads an image archive into a node. The client runs here and not below the tool: were the tool
// killed, nothing would be left that waits for a node.
func (e *exported) Import(order ImportOrder, _ *None) error {
	p, running := e.o.get(order.Node)
	if !running {
		return fmt.Errorf("node %s is not running", order.Node)
	}
	ctx, cancel := context.WithTimeout(context.Background(), importPatience)
	defer cancel()
	socket := filepath.Join("/proc", fmt.Sprint(p.pid), "root", components.ContainerdSocket)
	if err := awaitSocket(ctx, socket); err != nil {
		return fmt.Errorf("containerd of %s does not listen: %w; see logs/%s/containerd.log", order.Node, err, order.Node)
	}
	out, err := e.o.output(ctx, e.o.cluster.Program("containerd", "ctr"),
		"--address", socket, "--namespace", "k8s.io", "images", "import", order.Archive)
	if err != nil {
		return fmt.Errorf("loading %s into %s: %w\n%s", order.Archive, order.Node, err, out)
	}
	return nil
}

// output runs a short command to its end. It cannot be os/exec that waits for it: process 1 reaps everything.
func (o *Orders) output(ctx context.Context, program string, args ...string) ([]byte, error) {
	file, err := os.CreateTemp(o.cluster.Path("logs"), filepath.Base(program)+"-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	name := filepath.Base(file.Name())
	p, err := o.start(components.Process{Name: name, Path: program, Args: args, Log: file.Name()}, true, &syscall.SysProcAttr{Setsid: true})
	if err != nil {
		return nil, err
	}
	defer o.forget(name)
	select {
	case <-p.gone:
	case <-ctx.Done():
		o.kill(p)
		<-p.gone
		return nil, ctx.Err()
	}
	out, err := io.ReadAll(file)
	if err == nil && p.exit != 0 {
		err = fmt.Errorf("exit status %d", p.exit.ExitStatus())
	}
	return out, err
}

func awaitSocket(ctx context.Context, path string) error {
	for {
		conn, err := net.Dial("unix", path)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// forward carries each connection to the listener on to the address. It runs in the hub's network; the
// listener belongs to the host's.
func forward(file *os.File, address string) {
	listener, err := net.FileListener(file)
	if err != nil {
		log.Printf("forwarding to %s: %v", address, err)
		return
	}
	for {
		from, err := listener.Accept()
		if err != nil {
			log.Printf("accepting a connection for %s: %v", address, err)
			return
		}
		go func() {
			to, err := net.DialTimeout("tcp", address, 5*time.Second)
			if err != nil {
				_ = from.Close()
				return
			}
			defer from.Close()
			defer to.Close()
			back := make(chan struct{})
			go func() { defer close(back); pipe(from, to) }()
			pipe(to, from)
			<-back
		}()
	}
}

// pipe copies until one side ends, and passes the end on.
func pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.(*net.TCPConn).CloseWrite()
}
