package credentials

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

const uid = types.UID("7f0c")

var digits = strings.Repeat("0a", 32)

func secret(name string, owner types.UID, pairs ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{}}
	if owner != "" {
		s.OwnerReferences = []metav1.OwnerReference{{UID: owner, Controller: new(true)}}
	}
	for i := 0; i < len(pairs); i += 2 {
		s.Data[pairs[i]] = []byte(pairs[i+1])
	}
	return s
}

func ref(s *corev1.Secret, key string) *Reference {
	return &Reference{Name: "mine", Key: key, Secret: fact.Known(s)}
}

// complete is a World with nothing left to do.
func complete() World {
	return World{
		Cluster: "g", UID: uid,
		OwnRPC:   fact.Known(secret("g-rpc-secret", uid, render.KeyRPCSecret, digits)),
		OwnAdmin: fact.Known(secret("g-admin-token", uid, render.KeyAdminToken, "token")),
		Static:   holding(map[string][]byte{render.KeyAdminToken: []byte("token")}),
	}
}

// holding are the Secrets with tokens, of which there is the one with those.
func holding(data map[string][]byte) func(string) fact.Fact[*corev1.Secret] {
	return func(name string) fact.Fact[*corev1.Secret] {
		if name != StaticName("g", data) {
			return fact.Known[*corev1.Secret](nil)
		}
		return fact.Known(secret(name, uid))
	}
}

func TestDecide(t *testing.T) {
	none, unknown := fact.Known[*corev1.Secret](nil), fact.Unknown[*corev1.Secret]("forbidden")
	static := StaticName("g", map[string][]byte{render.KeyAdminToken: []byte("token")})
	named := secret("mine", "", render.KeyRPCSecret, digits+"\n", render.KeyAdminToken, "mine-1", render.KeyMetricsToken, "seen", "dotted", "a.b", "short", "0a")
	both := map[string][]byte{render.KeyAdminToken: []byte("mine-1"), render.KeyMetricsToken: []byte("seen")}
	for name, c := range map[string]struct {
		change func(*World)
		want   Plan
	}{
		"complete": {
			change: func(*World) {}, want: Plan{RPC: "g-rpc-secret", Static: static, Token: "token"},
		},
		"the RPC secret is made": {
			change: func(w *World) { w.OwnRPC = none },
			want:   Plan{RPC: "g-rpc-secret", Action: &Action{Kind: GenerateRPC, Name: "g-rpc-secret"}},
		},
		"but not where nodes may run": {
			change: func(w *World) { w.OwnRPC, w.NodesMayRun = none, true },
			want:   Plan{RPC: "g-rpc-secret", Wait: "Secret g-rpc-secret is gone, and nodes may run with the RPC secret that was in it: put it back"},
		},
		"nor when it cannot be read": {
			change: func(w *World) { w.OwnRPC = unknown },
			want:   Plan{RPC: "g-rpc-secret", Wait: "Secret g-rpc-secret cannot be read: forbidden"},
		},
		"nor over somebody else's": {
			change: func(w *World) { w.OwnRPC = fact.Known(secret("g-rpc-secret", "other", render.KeyRPCSecret, digits)) },
			want:   Plan{RPC: "g-rpc-secret", Foreign: []string{"g-rpc-secret"}},
		},
		"nor over nobody's": {
			change: func(w *World) { w.OwnRPC = fact.Known(secret("g-rpc-secret", "", render.KeyRPCSecret, digits)) },
			want:   Plan{RPC: "g-rpc-secret", Foreign: []string{"g-rpc-secret"}},
		},
		"a damaged one is waited for": {
			change: func(w *World) { w.OwnRPC = fact.Known(secret("g-rpc-secret", uid, render.KeyRPCSecret, "x")) },
			want:   Plan{RPC: "g-rpc-secret", Wait: "key rpc-secret of Secret g-rpc-secret is not 64 hexadecimal digits: put it back as it was"},
		},
		"a named one is taken": {
			change: func(w *World) { w.OwnRPC, w.RPC = none, ref(named, render.KeyRPCSecret) },
			want: Plan{RPC: "g-rpc-secret-snapshot", Action: &Action{
				Kind: TakeRPC, Name: "g-rpc-secret-snapshot", Data: map[string][]byte{render.KeyRPCSecret: []byte(digits)},
			}},
		},
		"and not a second time": {
			change: func(w *World) { w.OwnRPC, w.RPC, w.NodesMayRun = none, ref(named, render.KeyRPCSecret), true },
			want:   Plan{RPC: "g-rpc-secret-snapshot", Wait: "Secret g-rpc-secret-snapshot is gone, and nodes may run with the RPC secret that was in it: put it back"},
		},
		"one that does not exist is waited for": {
			change: func(w *World) { w.OwnRPC, w.RPC = none, ref(nil, render.KeyRPCSecret) },
			want:   Plan{RPC: "g-rpc-secret-snapshot", Wait: "Secret mine does not exist"},
		},
		"one without the key": {
			change: func(w *World) { w.OwnRPC, w.RPC = none, ref(named, "other") },
			want:   Plan{RPC: "g-rpc-secret-snapshot", Wait: "Secret mine has no key other"},
		},
		"one of another form": {
			change: func(w *World) { w.OwnRPC, w.RPC = none, ref(named, "short") },
			want:   Plan{RPC: "g-rpc-secret-snapshot", Wait: "key short of Secret mine is not as Garage takes it: want 64 hexadecimal digits"},
		},
		"one that cannot be read": {
			change: func(w *World) {
				w.OwnRPC, w.RPC = none, &Reference{Name: "mine", Key: render.KeyRPCSecret, Secret: unknown}
			},
			want: Plan{RPC: "g-rpc-secret-snapshot", Wait: "Secret mine cannot be read: forbidden"},
		},
		"a named one that has changed is reported": {
			change: func(w *World) {
				w.RPC = ref(secret("mine", "", render.KeyRPCSecret, strings.Repeat("0b", 32)), render.KeyRPCSecret)
			},
			want: Plan{
				RPC: "g-rpc-secret-snapshot", Static: static, Token: "token",
				Warning: "key rpc-secret of Secret mine is not what it was when the GarageCluster was made, and the nodes go on with what it was: put it back",
			},
		},
		"a named one that is the same": {
			change: func(w *World) { w.RPC = ref(named, render.KeyRPCSecret) },
			want:   Plan{RPC: "g-rpc-secret-snapshot", Static: static, Token: "token"},
		},
		"one that has gone since is not needed": {
			change: func(w *World) { w.RPC = ref(nil, render.KeyRPCSecret) },
			want:   Plan{RPC: "g-rpc-secret-snapshot", Static: static, Token: "token"},
		},
		"a token is made": {
			change: func(w *World) { w.OwnAdmin = none },
			want:   Plan{RPC: "g-rpc-secret", Action: &Action{Kind: GenerateAdmin, Name: "g-admin-token"}},
		},
		"but not over somebody else's": {
			change: func(w *World) { w.OwnAdmin = fact.Known(secret("g-admin-token", "other")) },
			want:   Plan{RPC: "g-rpc-secret", Foreign: []string{"g-admin-token"}},
		},
		"nor when it may be there": {
			change: func(w *World) { w.OwnAdmin = unknown },
			want:   Plan{RPC: "g-rpc-secret", Wait: "Secret g-admin-token cannot be read: forbidden"},
		},
		"a named token is published": {
			change: func(w *World) { w.Admin, w.OwnAdmin = ref(named, render.KeyAdminToken), unknown },
			want: Plan{RPC: "g-rpc-secret", Token: "mine-1", Static: StaticName("g", map[string][]byte{render.KeyAdminToken: []byte("mine-1")}), Action: &Action{
				Kind: Publish, Name: StaticName("g", map[string][]byte{render.KeyAdminToken: []byte("mine-1")}), Data: map[string][]byte{render.KeyAdminToken: []byte("mine-1")},
			}},
		},
		"with that for metrics": {
			change: func(w *World) {
				w.Admin, w.Metrics, w.Static = ref(named, render.KeyAdminToken), ref(named, render.KeyMetricsToken), holding(both)
			},
			want: Plan{RPC: "g-rpc-secret", Token: "mine-1", Metrics: true, Static: StaticName("g", both)},
		},
		"a token with a dot is none": {
			change: func(w *World) { w.Admin, w.Metrics = ref(named, "dotted"), ref(named, "nothing") },
			want:   Plan{RPC: "g-rpc-secret", Wait: "key dotted of Secret mine is not as Garage takes it: want letters, digits, -, _ and ~, at most 512 of them"},
		},
		"one for metrics that is missing": {
			change: func(w *World) { w.Metrics = ref(named, "nothing") },
			want:   Plan{RPC: "g-rpc-secret", Wait: "Secret mine has no key nothing"},
		},
		"the tokens cannot be read": {
			change: func(w *World) { w.Static = func(string) fact.Fact[*corev1.Secret] { return unknown } },
			want:   Plan{RPC: "g-rpc-secret", Static: static, Token: "token", Wait: "Secret " + static + " cannot be read: forbidden"},
		},
		"the tokens' name is taken": {
			change: func(w *World) {
				w.Static = func(name string) fact.Fact[*corev1.Secret] { return fact.Known(secret(name, "other")) }
			},
			want: Plan{RPC: "g-rpc-secret", Static: static, Token: "token", Foreign: []string{static}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := complete()
			c.change(&w)
			if diff := cmp.Diff(c.want, Decide(w)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A name that two pairs of tokens share would have a process read another token than its name says.
func TestStaticNameIsOfTheTokens(t *testing.T) {
	names := map[string]bool{}
	for _, data := range []map[string][]byte{
		{render.KeyAdminToken: []byte("ab")}, {render.KeyAdminToken: []byte("a"), render.KeyMetricsToken: []byte("b")}, {render.KeyAdminToken: []byte("b"), render.KeyMetricsToken: []byte("a")}, {render.KeyMetricsToken: []byte("ab")},
	} {
		names[StaticName("g", data)] = true
	}
	if len(names) != 4 {
		t.Errorf("%d names of 4 pairs", len(names))
	}
}
