package trust

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi/minted"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// whole is a trust that can be used, by a NatsCluster that is admitted to it.
func whole(operator *minted.Operator) World {
	trust := &natsv1beta1.NatsOperatorTrust{Spec: natsv1beta1.NatsOperatorTrustSpec{OperatorJWT: operator.JWT, SystemAccountJWT: operator.System.JWT}}
	w := World{
		Name: "apps/main", Version: "2.15.3", Refusal: fact.Known(""), Trust: fact.Known(trust),
		Running: map[string]string{"demo-0": operator.System.Key, "demo-1": operator.System.Key},
	}
	w.decode(trust)
	return w
}

func TestDecide(t *testing.T) {
	operator, other := minted.NewOperator("main"), minted.NewOperator("other")
	signer, err := nkeys.CreateOperator()
	if err != nil {
		t.Fatal(err)
	}
	operatorClaims := func(change func(*jwt.OperatorClaims)) func(*World) {
		return func(w *World) { change(w.Operator.Claims) }
	}
	accountClaims := func(change func(*jwt.AccountClaims)) func(*World) {
		return func(w *World) { change(w.SystemAccount.Claims) }
	}
	ofTrust := func(spec natsv1beta1.NatsOperatorTrustSpec, status natsv1beta1.NatsOperatorTrustStatus) func(*World) {
		return func(w *World) {
			trust := &natsv1beta1.NatsOperatorTrust{Spec: spec, Status: status}
			w.Trust, w.Operator, w.SystemAccount = fact.Known(trust), Claims[jwt.OperatorClaims]{}, Claims[jwt.AccountClaims]{}
			w.decode(trust)
		}
	}
	reference := natsv1beta1.NatsOperatorTrustSpec{OperatorRef: natsv1beta1.ObjectReference{Name: "main"}}
	for name, tc := range map[string]struct {
		change func(*World)
		// reason and says are empty where the trust can be used.
		reason, says string
	}{
		"whole": {},
		"a reference that is signed": {change: ofTrust(reference, natsv1beta1.NatsOperatorTrustStatus{
			OperatorJWT: operator.JWT, SystemAccountJWT: operator.System.JWT,
		})},
		"a reference of which only the operator is signed": {change: ofTrust(reference, natsv1beta1.NatsOperatorTrustStatus{OperatorJWT: operator.JWT}),
			reason: v1beta1.ReasonTrustNotReady, says: "waits for NatsOperator main"},
		"a reference of which only the account is signed": {change: ofTrust(reference, natsv1beta1.NatsOperatorTrustStatus{SystemAccountJWT: operator.System.JWT}),
			reason: v1beta1.ReasonTrustNotReady, says: "waits for NatsOperator main"},
		"literals win over a status that somebody wrote": {change: ofTrust(
			natsv1beta1.NatsOperatorTrustSpec{OperatorJWT: operator.JWT, SystemAccountJWT: operator.System.JWT},
			natsv1beta1.NatsOperatorTrustStatus{OperatorJWT: other.JWT, SystemAccountJWT: other.System.JWT})},

		"not admitted": {change: func(w *World) { w.Refusal = fact.Known("no grant") }, reason: v1beta1.ReasonNoGrant, says: "no grant"},
		"whether it is admitted is unknown": {change: func(w *World) { w.Refusal = fact.Unknown[string]("no list") },
			reason: v1beta1.ReasonTrustNotReady, says: "no list"},
		"not there": {change: func(w *World) { w.Trust = fact.Known[*natsv1beta1.NatsOperatorTrust](nil) },
			reason: v1beta1.ReasonTrustNotFound, says: "apps/main does not exist"},
		"whether it is there is unknown": {change: func(w *World) { w.Trust = fact.Unknown[*natsv1beta1.NatsOperatorTrust]("no answer") },
			reason: v1beta1.ReasonTrustNotReady, says: "no answer"},

		"no operator JWT": {change: ofTrust(natsv1beta1.NatsOperatorTrustSpec{OperatorJWT: "x", SystemAccountJWT: operator.System.JWT}, natsv1beta1.NatsOperatorTrustStatus{}),
			reason: v1beta1.ReasonTrustInvalid, says: "its operatorJWT cannot be read"},
		"an account's JWT for the operator's": {change: ofTrust(natsv1beta1.NatsOperatorTrustSpec{OperatorJWT: operator.System.JWT, SystemAccountJWT: operator.System.JWT}, natsv1beta1.NatsOperatorTrustStatus{}),
			reason: v1beta1.ReasonTrustInvalid, says: "its operatorJWT cannot be read"},
		"an operator's JWT for the account's": {change: ofTrust(natsv1beta1.NatsOperatorTrustSpec{OperatorJWT: operator.JWT, SystemAccountJWT: operator.JWT}, natsv1beta1.NatsOperatorTrustStatus{}),
			reason: v1beta1.ReasonTrustInvalid, says: "its systemAccountJWT cannot be read"},
		"a system account of another operator": {change: ofTrust(natsv1beta1.NatsOperatorTrustSpec{OperatorJWT: operator.JWT, SystemAccountJWT: other.System.JWT}, natsv1beta1.NatsOperatorTrustStatus{}),
			reason: v1beta1.ReasonTrustInvalid, says: "its systemAccountJWT is not signed by the operator"},
		"another account than the operator names": {change: ofTrust(natsv1beta1.NatsOperatorTrustSpec{OperatorJWT: operator.JWT, SystemAccountJWT: operator.Account("orders", nil).JWT}, natsv1beta1.NatsOperatorTrustStatus{}),
			reason: v1beta1.ReasonTrustInvalid, says: "its operatorJWT names system account " + operator.System.Key},
		"an operator that names no system account": {change: operatorClaims(func(c *jwt.OperatorClaims) { c.SystemAccount = "" })},
		"an operator that another signed": {change: operatorClaims(func(c *jwt.OperatorClaims) { c.Issuer = other.Key }),
			reason: v1beta1.ReasonTrustInvalid, says: "its operatorJWT is not signed by the operator"},
		"an operator that a signing key signed": {change: func(w *World) {
			key, _ := signer.PublicKey()
			w.Operator.Claims.SigningKeys, w.Operator.Claims.Issuer, w.SystemAccount.Claims.Issuer = jwt.StringList{key}, key, key
		}},
		"signing keys everywhere, and the account is signed by the identity": {change: operatorClaims(func(c *jwt.OperatorClaims) { c.StrictSigningKeyUsage = true }),
			reason: v1beta1.ReasonTrustInvalid, says: "signing keys everywhere"},

		"an operator that expires later": {change: operatorClaims(func(c *jwt.OperatorClaims) { c.Expires = now.Unix() + 1 })},
		"an operator that expires now": {change: operatorClaims(func(c *jwt.OperatorClaims) { c.Expires = now.Unix() }),
			reason: v1beta1.ReasonTrustInvalid, says: "its operatorJWT has expired"},
		"an account that expires later": {change: accountClaims(func(c *jwt.AccountClaims) { c.Expires = now.Unix() + 1 })},
		"an account that expires now": {change: accountClaims(func(c *jwt.AccountClaims) { c.Expires = now.Unix() }),
			reason: v1beta1.ReasonTrustInvalid, says: "its systemAccountJWT has expired"},

		"the version that the operator asks for": {change: operatorClaims(func(c *jwt.OperatorClaims) { c.AssertServerVersion = "2.15.3" })},
		"an older version than the operator asks for": {change: operatorClaims(func(c *jwt.OperatorClaims) { c.AssertServerVersion = "2.15.4" }),
			reason: v1beta1.ReasonTrustInvalid, says: "asks for nats-server 2.15.4 or newer"},
		"an operator that asks for no version": {change: operatorClaims(func(c *jwt.OperatorClaims) { c.AssertServerVersion = "new" }),
			reason: v1beta1.ReasonTrustInvalid, says: "asks for nats-server new or newer"},

		"servers with another system account": {change: func(w *World) { w.Running = map[string]string{"demo-1": "AOTHER", "demo-0": operator.System.Key} },
			reason: v1beta1.ReasonUnsupportedSpec, says: "names another system account than demo-1 runs with"},
		"no servers yet": {change: func(w *World) { w.Running = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			w := whole(operator)
			if tc.change != nil {
				tc.change(&w)
			}
			plan := Decide(w, now)
			if plan.Reason != tc.reason || !strings.Contains(plan.Message, tc.says) {
				t.Errorf("%s: %q; want %s: %q", plan.Reason, plan.Message, tc.reason, tc.says)
			}
			if (plan.Trust == nil) != (tc.reason != "") {
				t.Errorf("trust %+v with reason %q", plan.Trust, plan.Reason)
			}
			if plan.Trust != nil && (plan.Trust.SystemAccount != operator.System.Key || plan.Trust.OperatorJWT != operator.JWT || plan.Trust.SystemAccountJWT != operator.System.JWT) {
				t.Errorf("trust %+v", plan.Trust)
			}
		})
	}
}
