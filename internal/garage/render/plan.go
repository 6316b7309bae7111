package render

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
)

// Input is everything besides GarageNodes that the objects depend on.
type Input struct {
	// Cluster is the GarageCluster; only its name, namespace, UID and spec are looked at.
	Cluster *v1beta2.GarageCluster
	// DefaultImage is Garage's image with its tag or digest where nothing else is asked for.
	DefaultImage string
	// RPC is the secret that all nodes share, and Admin the token of the Admin API. Metrics is the token of /metrics, and has no
	// name where there is none.
	RPC, Admin, Metrics SecretKey
}

// SecretKey is a key of a Secret in the GarageCluster's namespace.
type SecretKey struct {
	// Name is the Secret's name and Key the key in it.
	Name, Key string
	// Digest stands for the bytes. Another one restarts the nodes; empty where the name already tells.
	Digest string
}

// UnsupportedError says that a spec cannot be carried out as it stands.
type UnsupportedError struct {
	// Node is the GarageNode that it is about, empty for the GarageCluster.
	Node string
	// Path is the field that is in the way, from the object's root.
	Path string
	// Message says what is wrong with it and what to do.
	Message string
}

// Error is the GarageNode, if it is one, the path and the message.
func (e *UnsupportedError) Error() string {
	if e.Node != "" {
		return fmt.Sprintf("GarageNode %s: %s: %s", e.Node, e.Path, e.Message)
	}
	return e.Path + ": " + e.Message
}

// refuse is an UnsupportedError about the GarageCluster.
func refuse(path, format string, args ...any) error {
	return &UnsupportedError{Path: path, Message: fmt.Sprintf(format, args...)}
}

// Plan is a checked Input.
type Plan struct {
	cluster      *v1beta2.GarageCluster
	defaultImage string
	rpc, admin   SecretKey
	metrics      SecretKey
	listeners    listeners
	settings     settings
}

// NewPlan checks the input. It does not change it and does not keep what it would have to change.
func NewPlan(in Input) (*Plan, error) {
	listeners, err := listenersOf(in.Cluster)
	if err != nil {
		return nil, err
	}
	settings, err := settingsOf(in.Cluster)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		cluster: in.Cluster, defaultImage: in.DefaultImage, rpc: in.RPC, admin: in.Admin, metrics: in.Metrics,
		listeners: listeners, settings: settings,
	}
	return p, p.check()
}

// on reads a switch that is on when unset, and is one that is off when unset.
func on(b *bool) bool { return b == nil || *b }
func is(b *bool) bool { return b != nil && *b }

// orDefault is the value, or another one where it is unset.
func orDefault[T comparable](value, other T) T {
	var unset T
	if value == unset {
		return other
	}
	return value
}

// deref is what a pointer leads to, and nothing where it leads nowhere.
func deref[T any](of *T) T {
	if of == nil {
		return *new(T)
	}
	return *of
}
