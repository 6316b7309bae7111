package credentials

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// World is what the decision rests on.
type World struct {
	// Cluster is the GarageCluster's name, and UID its identity: it decides whose a Secret is.
	Cluster string
	UID     types.UID
	// NodesMayRun says that there is a StatefulSet, a Pod or a recorded identity, or that it is not known.
	NodesMayRun bool
	// RPC, Admin and Metrics are the Secrets that the spec names; nil where it names none.
	RPC, Admin, Metrics *Reference
	// OwnRPC is the Secret that holds the RPC secret for the nodes, OwnAdmin the one with a token that was made for lack of a
	// named one.
	OwnRPC, OwnAdmin fact.Fact[*corev1.Secret]
	// Static is the Secret that the tokens of now would lie in. Its name comes from them, so that it is asked for last.
	Static func(name string) fact.Fact[*corev1.Secret]
}

// Reference is one key of a Secret that the spec names.
type Reference struct {
	Name, Key string
	// Secret is nil when it does not exist.
	Secret fact.Fact[*corev1.Secret]
}
