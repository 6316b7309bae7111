// Package minted makes NATS operators, accounts and users for tests, with keys that live as long as the test, and pushes
// accounts to servers as an auth controller would.
package minted

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// An Operator is a NATS operator with its system account.
type Operator struct {
	// JWT is the operator's, and Key its public key.
	JWT, Key string
	// System is the system account.
	System Account

	pair nkeys.KeyPair
}

// An Account is one account of an operator.
type Account struct {
	// Name is what people call it, Key its public key, and JWT what the operator signed.
	Name, Key, JWT string

	pair nkeys.KeyPair
}

// must is for what only fails where there is no entropy.
func must[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("mint a key or a JWT: %v", err))
	}
	return value
}

// NewOperator is a new operator with a new system account.
func NewOperator(name string) *Operator {
	pair := must(nkeys.CreateOperator())
	o := &Operator{pair: pair, Key: must(pair.PublicKey())}
	o.System = o.Account("SYS", nil)
	o.Sign(name)
	return o
}

// Sign signs the operator's JWT afresh, for its present system account, with so many signing keys that it did not have.
func (o *Operator) Sign(name string, signingKeys ...string) {
	claims := jwt.NewOperatorClaims(o.Key)
	claims.Name = name
	claims.SystemAccount = o.System.Key
	claims.SigningKeys = signingKeys
	o.JWT = must(claims.Encode(o.pair))
}

// Account is a new account with those limits, and with those of a new account where they are nil: no JetStream, and
// everything else.
func (o *Operator) Account(name string, limits *jwt.OperatorLimits) Account {
	pair := must(nkeys.CreateAccount())
	account := Account{Name: name, Key: must(pair.PublicKey()), pair: pair}
	return o.Resign(account, limits)
}

// Resign is the account under a new JWT.
func (o *Operator) Resign(account Account, limits *jwt.OperatorLimits) Account {
	claims := jwt.NewAccountClaims(account.Key)
	claims.Name = account.Name
	if limits != nil {
		claims.Limits = *limits
	}
	account.JWT = must(claims.Encode(o.pair))
	return account
}

// WithJetStream are limits that leave JetStream, and everything else, unlimited.
func WithJetStream() *jwt.OperatorLimits {
	limits := jwt.NewAccountClaims("any").Limits
	limits.JetStreamLimits = jwt.JetStreamLimits{
		MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit,
	}
	return &limits
}

// User is the text of a credentials file of a new user of the account, who may do everything in it, or what the
// permissions say.
func (a Account) User(name string, permissions ...jwt.Permissions) []byte {
	pair := must(nkeys.CreateUser())
	claims := jwt.NewUserClaims(must(pair.PublicKey()))
	claims.Name = name
	for _, p := range permissions {
		claims.Permissions = p
	}
	return must(jwt.FormatUserConfig(must(claims.Encode(a.pair)), must(pair.Seed())))
}

// ClusterController are the permissions of the preset of that name (nats-operator v1 design, 5.3 Users).
func ClusterController() jwt.Permissions {
	var p jwt.Permissions
	p.Pub.Allow.Add(
		"$SYS.REQ.SERVER.PING.STATSZ", "$SYS.REQ.SERVER.PING.JSZ", "$SYS.REQ.SERVER.PING.GATEWAYZ",
		"$SYS.REQ.SERVER.PING.LEAFZ", "$SYS.REQ.SERVER.*.VARZ", "$SYS.REQ.SERVER.*.RELOAD",
		"$JS.API.SERVER.EVACUATE", "$JS.API.SERVER.REMOVE", "$JS.API.META.LEADER.STEPDOWN",
	)
	p.Sub.Allow.Add("_INBOX.cluster-controller.>")
	return p
}

// Push brings the accounts to every server that the connection, one of the system account, can reach, and returns when
// servers of them have confirmed each.
func Push(ctx context.Context, system *nats.Conn, servers int, accounts ...Account) error {
	for _, account := range accounts {
		if err := push(ctx, system, servers, account); err != nil {
			return fmt.Errorf("push account %s: %w", account.Name, err)
		}
	}
	return nil
}

func push(ctx context.Context, system *nats.Conn, servers int, account Account) error {
	replies, err := system.SubscribeSync(nats.NewInbox())
	if err != nil {
		return err
	}
	defer func() { _ = replies.Unsubscribe() }()
	if err := system.PublishRequest("$SYS.REQ.CLAIMS.UPDATE", replies.Subject, []byte(account.JWT)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for range servers {
		message, err := replies.NextMsgWithContext(ctx)
		if err != nil {
			return err
		}
		var reply struct {
			Error *struct {
				Description string `json:"description"`
			} `json:"error"`
		}
		if err := json.Unmarshal(message.Data, &reply); err != nil {
			return err
		}
		if reply.Error != nil {
			return fmt.Errorf("a server refused: %s", reply.Error.Description)
		}
	}
	return nil
}

// Settings are the keys of nats.conf that have servers trust the operator, with resolvers that keep their accounts
// under dir.
func (o *Operator) Settings(dir string) map[string]any {
	return map[string]any{
		"operator":         o.JWT,
		"system_account":   o.System.Key,
		"resolver":         map[string]any{"type": "full", "dir": dir, "allow_delete": true},
		"resolver_preload": map[string]string{o.System.Key: o.System.JWT},
	}
}
