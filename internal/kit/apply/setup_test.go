package apply_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-dev/holdfast/internal/kit/apply"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

const (
	fieldOwner = "holdfast/test"
	digest     = "test.holdfast.dev/digest"
)

func TestMain(m *testing.M) { env.Main(m) }

// bench is one namespace with an owner in it, and an Applier whose requests are counted and can be tampered with.
type bench struct {
	*testing.T
	apply.Applier
	// user is a client of somebody else.
	user  client.WithWatch
	owner *corev1.ConfigMap
	// reads and writes count the Applier's requests: reads those that a cache would answer, asks those to the
	// API server.
	reads, asks, writes int
	// beforeWrite runs ahead of each write of the Applier and can fail it; stale replaces what the cache answers.
	beforeWrite func(what string) error
	stale       func(obj client.Object) error
	// absent makes the API server's answer to the next read "not found".
	absent error
}

func newBench(t *testing.T) *bench {
	t.Helper()
	server := env.Start(t)
	user, err := client.NewWithWatch(server.Config, client.Options{FieldOwner: "kubectl-edit"})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, user: user}
	b.owner = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace(t), Name: "owner"}}
	b.must(user.Create(t.Context(), b.owner))
	b.Applier = apply.Applier{
		Client: interceptor.NewClient(user, interceptor.Funcs{
			Get:    b.cachedGet,
			Create: b.create,
			Patch:  b.patch,
		}),
		Reader: interceptor.NewClient(user, interceptor.Funcs{Get: b.liveGet}),
		Owner:  fieldOwner, DigestAnnotation: digest,
	}
	return b
}

func (b *bench) cachedGet(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	b.reads++
	if b.stale != nil {
		return b.stale(obj)
	}
	return c.Get(ctx, key, obj, options...)
}

func (b *bench) liveGet(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	b.asks++
	if b.absent != nil {
		return b.absent
	}
	return c.Get(ctx, key, obj, options...)
}

func (b *bench) create(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.CreateOption) error {
	b.writes++
	if b.beforeWrite != nil {
		if err := b.beforeWrite("create"); err != nil {
			return err
		}
	}
	return c.Create(ctx, obj, options...)
}

func (b *bench) patch(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	b.writes++
	if b.beforeWrite != nil {
		if err := b.beforeWrite(string(patch.Type())); err != nil {
			return err
		}
	}
	return c.Patch(ctx, obj, patch, options...)
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// apply applies desired and checks whether it wrote.
func (b *bench) apply(desired client.Object, changed bool) {
	b.Helper()
	got, err := b.Apply(b.Context(), b.owner, desired)
	b.must(err)
	if got != changed {
		b.Fatalf("Apply says changed %t, want %t", got, changed)
	}
}

// rests checks that one more Apply of desired asks the cache once and does nothing else.
func (b *bench) rests(desired client.Object) {
	b.Helper()
	b.reads, b.asks, b.writes = 0, 0, 0
	b.apply(desired, false)
	read := b.reads
	if _, secret := desired.(*corev1.Secret); secret {
		read = b.asks
		b.asks = b.reads
	}
	if read != 1 || b.asks != 0 || b.writes != 0 {
		b.Fatalf("at rest: %d reads, %d other reads, %d writes; want a single read", read, b.asks, b.writes)
	}
}

// live returns what the API server has under desired's name.
func live[T client.Object](b *bench, desired T) T {
	b.Helper()
	got := desired.DeepCopyObject().(T)
	b.must(b.user.Get(b.Context(), client.ObjectKeyFromObject(desired), got))
	return got
}

func (b *bench) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: b.owner.Namespace, Name: name,
		Labels: map[string]string{"test.holdfast.dev/app": name, "test.holdfast.dev/part": "server"},
	}
}

func (b *bench) configMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: b.meta("config"), Data: map[string]string{"keep": "a", "drop": "b"}}
}

func (b *bench) secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: b.meta("secret"), Data: map[string][]byte{"key": []byte("k"), "drop": []byte("d")}}
}

func (b *bench) service() *corev1.Service {
	return &corev1.Service{ObjectMeta: b.meta("service"), Spec: corev1.ServiceSpec{
		Selector:                 map[string]string{"app": "a"},
		PublishNotReadyAddresses: true,
		Ports: []corev1.ServicePort{
			{Name: "client", Port: 4222, TargetPort: intstr.FromString("client")},
			{Name: "monitor", Port: 8222, TargetPort: intstr.FromInt32(8222)},
		},
	}}
}

func (b *bench) budget() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: b.meta("budget"), Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: new(intstr.FromInt32(1)),
		Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
	}}
}

func (b *bench) networkPolicy() *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: b.meta("policy"), Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
		Ingress: []networkingv1.NetworkPolicyIngressRule{
			{Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(4222))}}},
			{
				Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(8222))}},
				From:  []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}},
			},
		},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
	}}
}
