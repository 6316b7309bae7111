package certificates

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/kit/apply"
)

// bench is a NatsCluster of three servers and an API server that counts what is asked of it.
type bench struct {
	*testing.T
	cluster *v1beta1.NatsCluster
	store   client.WithWatch
	applier *apply.Applier
	gets    []string // Secrets that were read, each name once
	writes  int
	// beforeWrite runs ahead of each write and can fail it.
	beforeWrite func(number int) error
}

func newBench(t *testing.T) *bench {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, beforeWrite: func(int) error { return nil }}
	b.cluster = &v1beta1.NatsCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "messaging", UID: testUID},
		Spec:       v1beta1.NatsClusterSpec{Version: "2.15.3", Replicas: 3},
	}
	b.store = fake.NewClientBuilder().WithScheme(scheme).WithObjects(b.cluster).WithReturnManagedFields().Build()
	write := func() error {
		b.writes++
		return b.beforeWrite(b.writes)
	}
	counted := interceptor.NewClient(b.store, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
			if _, ok := obj.(*corev1.Secret); ok && (len(b.gets) == 0 || b.gets[len(b.gets)-1] != key.Name) {
				b.gets = append(b.gets, key.Name)
			}
			return c.Get(ctx, key, obj, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, ok := list.(*corev1.SecretList); ok {
				t.Error("Secrets were listed")
			}
			return c.List(ctx, list, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.CreateOption) error {
			if err := write(); err != nil {
				return err
			}
			return c.Create(ctx, obj, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
			if err := write(); err != nil {
				return err
			}
			return c.Patch(ctx, obj, patch, options...)
		},
	})
	b.applier = &apply.Applier{Client: counted, Reader: counted, Owner: "test", DigestAnnotation: v1beta1.AnnotationSpecDigest}
	return b
}

func (b *bench) keep() (Named, error) {
	b.Helper()
	b.gets, b.writes = nil, 0
	return Keep(b.Context(), b.applier, b.cluster, birth)
}

func (b *bench) mustKeep() Named {
	b.Helper()
	named, err := b.keep()
	if err != nil {
		b.Fatal(err)
	}
	return named
}

func (b *bench) secret(name string) *corev1.Secret {
	b.Helper()
	var secret corev1.Secret
	if err := b.store.Get(b.Context(), client.ObjectKey{Namespace: "messaging", Name: name}, &secret); err != nil {
		b.Fatal(err)
	}
	return &secret
}

// One pass makes both Secrets, ours and of the cluster's labels; the next finds them and writes nothing.
func TestKeepMakesAndThenRests(t *testing.T) {
	b := newBench(t)
	named := b.mustKeep()
	for _, name := range []string{caName, tlsName} {
		secret := b.secret(name)
		if !metav1.IsControlledBy(secret, b.cluster) || secret.Labels[v1beta1.LabelCluster] != "demo" || secret.Type != corev1.SecretTypeTLS {
			t.Errorf("%s is made as %+v, %s", name, secret.ObjectMeta, secret.Type)
		}
	}
	if named.Routes == nil || named.Routes.Digest != routesCertificate(b.secret(tlsName)).Digest || named.Waiting != nil {
		t.Fatalf("hands on %+v", named)
	}
	if diff := cmp.Diff(named, b.mustKeep()); diff != "" {
		t.Errorf("the second pass hands on something else:\n%s", diff)
	}
	if b.writes != 0 {
		t.Errorf("%d writes at rest", b.writes)
	}
	if diff := cmp.Diff([]string{caName, tlsName}, b.gets); diff != "" {
		t.Errorf("Secrets read at rest (-want +got):\n%s", diff)
	}
}

// What the spec does not need is neither read nor made.
func TestKeepReadsOnlyWhatIsNamed(t *testing.T) {
	cases := map[string]struct {
		change func(*v1beta1.NatsClusterSpec)
		reads  []string
		waits  []string
	}{
		"one server": {change: func(s *v1beta1.NatsClusterSpec) { s.Replicas = 1 }},
		"route TLS off": {
			change: func(s *v1beta1.NatsClusterSpec) { s.Routes.TLS.Enabled = new(false) },
		},
		"a route certificate is named": {
			change: func(s *v1beta1.NatsClusterSpec) { s.Routes.TLS.SecretRef.Name = "mine" },
			reads:  []string{"mine"}, waits: []string{v1beta1.ReasonRouteCertificateNotReady},
		},
		"one server, both named": {
			change: func(s *v1beta1.NatsClusterSpec) {
				s.Replicas = 1
				s.Routes.TLS.SecretRef.Name = "mine"
				s.TLS = &v1beta1.ListenerTLS{SecretRef: v1beta1.SecretReference{Name: "yours"}}
			},
			reads: []string{"yours"}, waits: []string{v1beta1.ReasonClientCertificateNotReady},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			test.change(&b.cluster.Spec)
			named := b.mustKeep()
			if diff := cmp.Diff(test.reads, b.gets); diff != "" {
				t.Errorf("Secrets read (-want +got):\n%s", diff)
			}
			var waits []string
			for _, wait := range named.Waiting {
				waits = append(waits, wait.Reason)
			}
			if diff := cmp.Diff(test.waits, waits); diff != "" || b.writes != 0 {
				t.Errorf("%d writes, waits (-want +got):\n%s", b.writes, diff)
			}
		})
	}
}

// A named route certificate has to be valid for each planned server.
func TestKeepAsksForEveryServersName(t *testing.T) {
	b := newBench(t)
	b.mustKeep()
	mine := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "messaging", Name: "mine"}, Data: b.secret(tlsName).Data}
	if err := b.store.Create(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	b.cluster.Spec.Routes.TLS.SecretRef.Name = "mine"
	if named := b.mustKeep(); named.Routes == nil || named.Routes.SecretName != "mine" || named.Waiting != nil {
		t.Errorf("hands on %+v", named)
	}
	b.cluster.Name = "other"
	if named := b.mustKeep(); named.Routes != nil || len(named.Waiting) != 1 {
		t.Errorf("hands on %+v", named)
	}
}

// A crash, or a refused write, at any write leaves a state from which the next pass arrives.
func TestKeepAfterACrash(t *testing.T) {
	broken := errors.New("the process ends here")
	for crash := 1; ; crash++ {
		b := newBench(t)
		b.beforeWrite = func(number int) error {
			if number == crash {
				return broken
			}
			return nil
		}
		_, err := b.keep()
		if err == nil {
			if crash < 3 {
				t.Errorf("only %d writes", crash-1)
			}
			return
		}
		if !errors.Is(err, broken) {
			t.Fatalf("write %d: %v", crash, err)
		}
		b.beforeWrite = func(int) error { return nil }
		if named := b.mustKeep(); named.Routes == nil {
			t.Errorf("after a crash at write %d: hands on %+v", crash, named)
		}
	}
}

// Of two leaders that make a CA at the same moment, the second one is refused, and then uses the first one's.
func TestKeepWithASecondLeader(t *testing.T) {
	for name, before := range map[string]func(*bench){
		"both make it": func(*bench) {},
		"both replace a damaged one": func(b *bench) {
			b.mustKeep()
			damaged := b.secret(caName)
			damaged.Data[corev1.TLSPrivateKeyKey] = []byte("x")
			if err := b.store.Update(b.Context(), damaged); err != nil {
				b.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			before(b)
			other := *b.applier
			other.Client, other.Reader = b.store, b.store
			b.beforeWrite = func(number int) error {
				if number > 1 {
					return nil
				}
				_, err := Keep(t.Context(), &other, b.cluster, birth)
				return err
			}
			_, err := b.keep()
			if !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
				t.Fatalf("the second leader got %v", err)
			}
			first := b.secret(caName)
			b.mustKeep()
			if diff := cmp.Diff(first.Data, b.secret(caName).Data); diff != "" || b.writes != 0 {
				t.Errorf("the first leader's CA was replaced, with %d writes:\n%s", b.writes, diff)
			}
		})
	}
}

// Secrets of our names that somebody else has are named, each, and left alone.
func TestKeepRefusesForeignSecrets(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{caName, tlsName} {
		theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "messaging", Name: name}, Data: map[string][]byte{"a": []byte("b")}}
		if err := b.store.Create(t.Context(), theirs); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.keep()
	var got []apply.ForeignError
	for _, foreign := range apply.Foreign(err) {
		got = append(got, *foreign)
	}
	want := []apply.ForeignError{{Kind: "Secret", Namespace: "messaging", Name: caName}, {Kind: "Secret", Namespace: "messaging", Name: tlsName}}
	if diff := cmp.Diff(want, got); diff != "" || b.writes != 0 {
		t.Errorf("%d writes, foreign (-want +got):\n%s", b.writes, diff)
	}
}

// A user's edit of the pair is put right without touching the CA.
func TestKeepPutsAnEditRight(t *testing.T) {
	b := newBench(t)
	was := b.mustKeep()
	ca := b.secret(caName)
	edited := b.secret(tlsName)
	edited.Data[corev1.TLSCertKey] = []byte("mine now")
	if err := b.store.Update(t.Context(), edited); err != nil {
		t.Fatal(err)
	}
	now := b.mustKeep()
	if now.Routes == nil || now.Routes.Digest == was.Routes.Digest {
		t.Errorf("hands on %+v after %+v", now.Routes, was.Routes)
	}
	if diff := cmp.Diff(ca.Data, b.secret(caName).Data); diff != "" {
		t.Errorf("the CA was touched:\n%s", diff)
	}
}
