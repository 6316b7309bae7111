package render

import (
	"fmt"
	"net"
	"strconv"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// listener is where one of Garage's APIs listens in the Pod.
type listener struct {
	name    string
	address string
	port    int32
}

// listeners are the listeners of every node; web and k2v are nil where they are off.
type listeners struct {
	rpc, s3, admin listener
	web, k2v       *listener
}

// wanted is a listener as the spec has it: an address that goes before a port, and the fields of both.
type wanted struct {
	name, addressPath, address, portPath string
	port, unset                          int32
	off                                  bool
}

func listenersOf(cluster *v1beta2.GarageCluster) (listeners, error) {
	spec := cluster.Spec
	network, s3, admin, web, k2v := deref(spec.Network), deref(spec.S3API), deref(spec.Admin), deref(spec.WebAPI), deref(spec.K2VAPI)
	found, seen := map[string]*listener{}, map[int32]string{}
	for _, w := range []wanted{
		{PortRPC, "spec.network.rpcBindAddress", network.RPCBindAddress, "spec.network.rpcBindPort", network.RPCBindPort, 3901, false},
		{PortS3, "spec.s3Api.bindAddress", s3.BindAddress, "spec.s3Api.bindPort", s3.BindPort, 3900, false},
		{PortAdmin, "spec.admin.bindAddress", admin.BindAddress, "spec.admin.bindPort", admin.BindPort, 3903, false},
		{PortWeb, "spec.webApi.bindAddress", web.BindAddress, "spec.webApi.bindPort", web.BindPort, 3902, !on(web.Enabled)},
		{PortK2V, "spec.k2vApi.bindAddress", k2v.BindAddress, "spec.k2vApi.bindPort", k2v.BindPort, 3904, spec.K2VAPI == nil},
	} {
		if w.off {
			continue
		}
		l, path, err := w.listener()
		if err != nil {
			return listeners{}, err
		}
		if other, taken := seen[l.port]; taken {
			return listeners{}, refuse(path, "port %d is taken by %s; each listener needs one of its own", l.port, other)
		}
		seen[l.port], found[w.name] = w.name, &l
	}
	return listeners{
		rpc: *found[PortRPC], s3: *found[PortS3], admin: *found[PortAdmin], web: found[PortWeb], k2v: found[PortK2V],
	}, nil
}

// listener is what is wanted, and the field that it is from.
func (w wanted) listener() (listener, string, error) {
	l, path := listener{name: w.name, address: w.address}, w.addressPath
	if w.address == "" {
		l.address, path = fmt.Sprintf("[::]:%d", orDefault(w.port, w.unset)), w.portPath
	}
	host, port, err := net.SplitHostPort(l.address)
	number, numberErr := strconv.Atoi(port)
	if err != nil || numberErr != nil || number < 1 || number > 65535 || (host != "::" && host != "0.0.0.0") {
		return listener{}, path, refuse(path, "%q is not 0.0.0.0 or [::] with a port of 1 to 65535", l.address)
	}
	l.port = int32(number)
	return l, path, nil
}

// all are the listeners that there are, in an order that does not change.
func (l listeners) all() []listener {
	out := []listener{l.s3, l.rpc, l.admin}
	for _, optional := range []*listener{l.web, l.k2v} {
		if optional != nil {
			out = append(out, *optional)
		}
	}
	return out
}
