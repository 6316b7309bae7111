package credentials

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// An ActionKind is one Secret that is created.
type ActionKind string

const (
	// GenerateRPC makes the RPC secret.
	GenerateRPC ActionKind = "GenerateRPC"
	// TakeRPC keeps the RPC secret of the Secret that the spec names.
	TakeRPC ActionKind = "TakeRPC"
	// GenerateAdmin makes a token for the Admin API.
	GenerateAdmin ActionKind = "GenerateAdmin"
	// Publish keeps the tokens of now under their own name.
	Publish ActionKind = "Publish"
)

// An Action is one Secret that is created.
type Action struct {
	Kind ActionKind
	// Name is the Secret's, Data its content; of one that is to be generated there is none yet.
	Name string
	Data map[string][]byte
}

// Plan is what to do now. With an Action, decide again after it.
type Plan struct {
	Action *Action
	// Wait says what is missing, with the Secret's name; empty when nothing is.
	Wait string
	// Warning is what is wrong and stops nothing.
	Warning string
	// Foreign are Secrets of names that are needed and that somebody else controls.
	Foreign []string
	// RPC and Static are the names of the Secrets that nodes are started with. Complete without an Action and a Wait.
	RPC, Static string
	// Token is that of the Admin API, Metrics says that there is one for metrics.
	Token   string
	Metrics bool
}

// RPCName is the Secret with the RPC secret: the generated one, or the copy of the named one.
func RPCName(cluster string, named bool) string {
	if named {
		return cluster + "-rpc-secret-snapshot"
	}
	return render.RPCSecretName(cluster)
}

// AdminName is the Secret with a generated token.
func AdminName(cluster string) string { return cluster + "-admin-token" }

// StaticName is the Secret with those tokens.
func StaticName(cluster string, data map[string][]byte) string {
	sum := sha256.New()
	for _, key := range []string{render.KeyAdminToken, render.KeyMetricsToken} {
		fmt.Fprintf(sum, "%s %d %s\n", key, len(data[key]), data[key])
	}
	return cluster + "-credentials-" + hex.EncodeToString(sum.Sum(nil))[:16]
}

// Decide looks at the Secrets as they are and says what is missing.
func Decide(w World) Plan {
	plan := Plan{RPC: RPCName(w.Cluster, w.RPC != nil)}
	for _, step := range []func(World, *Plan) bool{rpc, static} {
		if !step(w, &plan) {
			break
		}
	}
	return plan
}

var rpcForm = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

// rpc sees to the RPC secret. It is false when the plan goes no further.
func rpc(w World, plan *Plan) bool {
	kept, ok := own(w, plan, w.OwnRPC, plan.RPC)
	if !ok {
		return false
	}
	named, problem := w.RPC.value(rpcForm, "64 hexadecimal digits")
	switch {
	case kept != nil:
		return rpcKept(plan, string(kept.Data[render.KeyRPCSecret]), named, w.RPC)
	case w.NodesMayRun:
		plan.Wait = fmt.Sprintf("Secret %s is gone, and nodes may run with the RPC secret that was in it: put it back", plan.RPC)
	case w.RPC == nil:
		plan.Action = &Action{Kind: GenerateRPC, Name: plan.RPC}
	case problem != "":
		plan.Wait = problem
	default:
		plan.Action = &Action{Kind: TakeRPC, Name: plan.RPC, Data: map[string][]byte{render.KeyRPCSecret: []byte(named)}}
	}
	return false
}

// rpcKept checks the Secret that nodes are started with.
func rpcKept(plan *Plan, kept, named string, ref *Reference) bool {
	if !rpcForm.MatchString(kept) {
		plan.Wait = fmt.Sprintf("key %s of Secret %s is not 64 hexadecimal digits: put it back as it was", render.KeyRPCSecret, plan.RPC)
		return false
	}
	if ref != nil && named != "" && named != kept {
		plan.Warning = fmt.Sprintf("key %s of Secret %s is not what it was when the GarageCluster was made, and the nodes go on with what it was: put it back", ref.Key, ref.Name)
	}
	return true
}

// bearer is what a token may consist of (Garage server facts, 2.1 Transport, routing, authentication): one with a dot is
// taken for one of Garage's dynamic tokens.
var bearer = regexp.MustCompile(`^[A-Za-z0-9_~-]{1,512}$`)

const bearerForm = "letters, digits, -, _ and ~, at most 512 of them"

// static sees to the tokens.
func static(w World, plan *Plan) bool {
	data, ok := tokens(w, plan)
	if !ok {
		return false
	}
	plan.Static, plan.Token = StaticName(w.Cluster, data), string(data[render.KeyAdminToken])
	_, plan.Metrics = data[render.KeyMetricsToken]
	kept, ok := own(w, plan, w.Static(plan.Static), plan.Static)
	if !ok {
		return false
	}
	if kept == nil {
		plan.Action = &Action{Kind: Publish, Name: plan.Static, Data: data}
		return false
	}
	return true
}

// tokens are those of now.
func tokens(w World, plan *Plan) (map[string][]byte, bool) {
	data := map[string][]byte{}
	admin := w.Admin
	if admin == nil {
		kept, ok := own(w, plan, w.OwnAdmin, AdminName(w.Cluster))
		if !ok {
			return nil, false
		}
		if kept == nil {
			plan.Action = &Action{Kind: GenerateAdmin, Name: AdminName(w.Cluster)}
			return nil, false
		}
		admin = &Reference{Name: kept.Name, Key: render.KeyAdminToken, Secret: fact.Known(kept)}
	}
	for _, of := range []struct {
		key string
		ref *Reference
	}{{render.KeyAdminToken, admin}, {render.KeyMetricsToken, w.Metrics}} {
		value, problem := of.ref.value(bearer, bearerForm)
		if problem != "" {
			plan.Wait = problem
			return nil, false
		}
		if of.ref != nil {
			data[of.key] = []byte(value)
		}
	}
	return data, true
}

// own is the Secret of our own of that name, nil if there is none. It is not ok if it is not known or somebody else's.
func own(w World, plan *Plan, of fact.Fact[*corev1.Secret], name string) (*corev1.Secret, bool) {
	secret, known := of.Get()
	switch {
	case !known:
		plan.Wait = fmt.Sprintf("Secret %s cannot be read: %s", name, of.Why())
		return nil, false
	case secret == nil:
		return nil, true
	}
	if owner := metav1.GetControllerOf(secret); owner == nil || owner.UID != w.UID {
		plan.Foreign = append(plan.Foreign, name)
		return nil, false
	}
	return secret, true
}

// value is what the reference leads to without white space around it, or what is wrong. Of no reference it is nothing.
func (r *Reference) value(form *regexp.Regexp, as string) (value, problem string) {
	if r == nil {
		return "", ""
	}
	secret, known := r.Secret.Get()
	switch {
	case !known:
		return "", fmt.Sprintf("Secret %s cannot be read: %s", r.Name, r.Secret.Why())
	case secret == nil:
		return "", fmt.Sprintf("Secret %s does not exist", r.Name)
	}
	content, has := secret.Data[r.Key]
	if !has {
		return "", fmt.Sprintf("Secret %s has no key %s", r.Name, r.Key)
	}
	if value = strings.TrimSpace(string(content)); !form.MatchString(value) {
		return "", fmt.Sprintf("key %s of Secret %s is not as Garage takes it: want %s", r.Key, r.Name, as)
	}
	return value, ""
}
