package natsmodel

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/sysapi/minted"
)

// Names of what a NatsCluster with a system user refers to.
const (
	trustName  = "main"
	systemName = "system"
	systemKey  = "user.creds"
)

// operator is one for all histories. Nothing in a history follows from its keys.
var operator = sync.OnceValue(func() *minted.Operator { return minted.NewOperator(trustName) })

// resigned are JWTs of the system account.
var resigned = sync.OnceValue(func() []string {
	limited := minted.WithJetStream()
	return []string{operator().System.JWT, operator().Resign(operator().System, limited).JWT}
})

// Trusting has a NatsCluster trust the operator, and the controller be a system user.
func Trusting(cluster *v1beta1.NatsCluster) *v1beta1.NatsCluster {
	cluster.Spec.Auth = &v1beta1.Auth{TrustRef: natsv1beta1.ObjectReference{Name: trustName}, SystemCredentials: systemCredentials()}
	return cluster
}

func systemCredentials() *natsv1beta1.Credentials {
	return &natsv1beta1.Credentials{SecretKeyRef: natsv1beta1.CredentialsSecretKey{Name: systemName, Key: systemKey}}
}

func operatorTrust() *natsv1beta1.NatsOperatorTrust {
	return &natsv1beta1.NatsOperatorTrust{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: trustName},
		Spec:       natsv1beta1.NatsOperatorTrustSpec{OperatorJWT: operator().JWT, SystemAccountJWT: resigned()[0]},
	}
}

// systemUser is the Secret with the system user's credentials. The model's servers do not look at them.
func systemUser() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: systemName}, Data: map[string][]byte{systemKey: []byte("credentials")}}
}

// hasSystemUser says that the spec names credentials.
func (w *World) hasSystemUser() bool {
	auth := w.Cluster().Spec.Auth
	return auth != nil && auth.SystemCredentials != nil
}
