package trust

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/jwt/v2"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/words"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

// Plan is whom to trust, or why nothing may be written.
type Plan struct {
	// Trust is what is rendered; nil while Reason says why not.
	Trust *render.Trust
	// Reason is a reason of the condition Progressing: TrustNotFound, TrustNotReady, TrustInvalid, NoGrant or
	// UnsupportedSpec.
	Reason string
	// Message says what is in the way and what to do.
	Message string
}

func hold(reason, format string, args ...any) Plan {
	return Plan{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Decide says whom to trust.
func Decide(w World, now time.Time) Plan {
	name := "NatsOperatorTrust " + w.Name
	refusal, known := w.Refusal.Get()
	if !known {
		return hold(v1beta1.ReasonTrustNotReady, "%s: whether it may be named is not known: %s; a controller that watches only some namespaces has to watch that one too", name, w.Refusal.Why())
	}
	if refusal != "" {
		return Plan{Reason: v1beta1.ReasonNoGrant, Message: refusal}
	}
	trust, known := w.Trust.Get()
	switch {
	case !known:
		return hold(v1beta1.ReasonTrustNotReady, "%s: %s", name, w.Trust.Why())
	case trust == nil:
		return hold(v1beta1.ReasonTrustNotFound, "%s does not exist: create it, or correct spec.auth.trustRef", name)
	case w.Operator.Token == "" || w.SystemAccount.Token == "":
		return hold(v1beta1.ReasonTrustNotReady, "%s waits for NatsOperator %s to sign both JWTs into its status", name, trust.Spec.OperatorRef.Name)
	}
	if problem := w.invalid(now); problem != "" {
		return hold(v1beta1.ReasonTrustInvalid, "%s: %s", name, problem)
	}
	if others := w.otherSystemAccount(); len(others) > 0 {
		return hold(v1beta1.ReasonUnsupportedSpec, "%s names another system account than %s runs with; restarted one by one, they would lose each other and the controller them: "+
			"name a NatsOperatorTrust with system account %s, or make a second NatsCluster and move the clients over",
			name, words.Names(others), w.Running[others[0]])
	}
	return Plan{Trust: &render.Trust{
		OperatorJWT:      w.Operator.Token,
		SystemAccount:    w.SystemAccount.Claims.Subject,
		SystemAccountJWT: w.SystemAccount.Token,
	}}
}

// invalid looks at what nats-server would refuse to start with, and at what would leave it without a system account.
func (w World) invalid(now time.Time) string {
	switch {
	case w.Operator.Claims == nil:
		return "its operatorJWT cannot be read: " + w.Operator.Problem
	case w.SystemAccount.Claims == nil:
		return "its systemAccountJWT cannot be read: " + w.SystemAccount.Problem
	}
	operator, account := w.Operator.Claims, w.SystemAccount.Claims
	expired := func(claims jwt.ClaimsData) bool { return claims.Expires != 0 && claims.Expires <= now.Unix() }
	switch {
	case expired(operator.ClaimsData):
		return "its operatorJWT has expired"
	case expired(account.ClaimsData):
		return "its systemAccountJWT has expired"
	case olderThan(w.Version, operator.AssertServerVersion):
		return fmt.Sprintf("its operatorJWT asks for nats-server %s or newer, and spec.version is %s", operator.AssertServerVersion, w.Version)
	}
	return unsigned(operator, account)
}

// unsigned says which signature is missing between the two.
func unsigned(operator *jwt.OperatorClaims, account *jwt.AccountClaims) string {
	switch {
	case operator.Issuer != operator.Subject && !slices.Contains(operator.SigningKeys, operator.Issuer):
		return "its operatorJWT is not signed by the operator"
	case account.Issuer != operator.Subject && !slices.Contains(operator.SigningKeys, account.Issuer):
		return "its systemAccountJWT is not signed by the operator of its operatorJWT"
	case operator.SystemAccount != "" && operator.SystemAccount != account.Subject:
		return fmt.Sprintf("its operatorJWT names system account %s, and its systemAccountJWT is of %s", operator.SystemAccount, account.Subject)
	case operator.StrictSigningKeyUsage && account.Issuer == operator.Subject:
		return "its operatorJWT asks for signing keys everywhere, and its systemAccountJWT is signed by the identity key"
	}
	return ""
}

// olderThan says whether the version is below the least that an operator asks for. nats-server refuses to start then.
func olderThan(version, least string) bool {
	if least == "" {
		return false
	}
	major, minor, patch, err := jwt.ParseServerVersion(version)
	leastMajor, leastMinor, leastPatch, leastErr := jwt.ParseServerVersion(least)
	return err != nil || leastErr != nil ||
		slices.Compare([]int{major, minor, patch}, []int{leastMajor, leastMinor, leastPatch}) < 0
}

// otherSystemAccount names the servers that run with another one.
func (w World) otherSystemAccount() []string {
	var others []string
	for _, server := range slices.Sorted(maps.Keys(w.Running)) {
		if w.Running[server] != w.SystemAccount.Claims.Subject {
			others = append(others, server)
		}
	}
	return others
}
