package grants

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
)

var (
	referrer = Referrer{Group: "cluster.nats.mikluko.io", Kind: "NatsCluster", Namespace: "apps"}
	referent = Referent{Group: "nats.mikluko.io", Kind: "NatsOperatorTrust", Namespace: "nats-system", Name: "main"}
)

func grant(namespace string, change func(*natsv1beta1.NatsReferenceGrantSpec)) *natsv1beta1.NatsReferenceGrant {
	g := &natsv1beta1.NatsReferenceGrant{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "grant"},
		Spec: natsv1beta1.NatsReferenceGrantSpec{
			From: []natsv1beta1.ReferenceGrantFrom{{Group: referrer.Group, Kind: referrer.Kind, Namespace: referrer.Namespace}},
			To:   []natsv1beta1.ReferenceGrantTo{{Group: referent.Group, Kind: referent.Kind}},
		},
	}
	if change != nil {
		change(&g.Spec)
	}
	return g
}

func TestAdmitted(t *testing.T) {
	for name, tc := range map[string]struct {
		grant *natsv1beta1.NatsReferenceGrant
		to    func(*Referent)
		want  bool
	}{
		"its own namespace needs no grant":  {to: func(r *Referent) { r.Namespace = "apps" }, want: true},
		"another namespace without a grant": {},
		"every object of the kind":          {grant: grant("nats-system", nil), want: true},
		"the object by name":                {grant: grant("nats-system", func(s *natsv1beta1.NatsReferenceGrantSpec) { s.To[0].Name = "main" }), want: true},
		"another object by name":            {grant: grant("nats-system", func(s *natsv1beta1.NatsReferenceGrantSpec) { s.To[0].Name = "mains" })},
		"another kind":                      {grant: grant("nats-system", func(s *natsv1beta1.NatsReferenceGrantSpec) { s.To[0].Kind = "NatsAccountTrust" })},
		"another group":                     {grant: grant("nats-system", func(s *natsv1beta1.NatsReferenceGrantSpec) { s.To[0].Group = "auth.nats.mikluko.io" })},
		"another referrer's namespace":      {grant: grant("nats-system", func(s *natsv1beta1.NatsReferenceGrantSpec) { s.From[0].Namespace = "other" })},
		"another referrer's kind":           {grant: grant("nats-system", func(s *natsv1beta1.NatsReferenceGrantSpec) { s.From[0].Kind = "NatsUser" })},
		"another referrer's group":          {grant: grant("nats-system", func(s *natsv1beta1.NatsReferenceGrantSpec) { s.From[0].Group = "auth.nats.mikluko.io" })},
		"a grant in the referrer's own":     {grant: grant("apps", nil)},
		"a grant in a third namespace":      {grant: grant("other", nil)},
		"the second of several pairs counts": {grant: grant("nats-system", func(s *natsv1beta1.NatsReferenceGrantSpec) {
			s.From = append([]natsv1beta1.ReferenceGrantFrom{{Group: "g", Kind: "k", Namespace: "n"}}, s.From...)
			s.To = append([]natsv1beta1.ReferenceGrantTo{{Group: "g", Kind: "k"}}, s.To...)
		}), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			build := fake.NewClientBuilder().WithScheme(scheme(t))
			if tc.grant != nil {
				build = build.WithObjects(tc.grant)
			}
			to := referent
			if tc.to != nil {
				tc.to(&to)
			}
			got, err := Admitted(t.Context(), build.Build(), referrer, to)
			if err != nil || got != tc.want {
				t.Errorf("Admitted: %t, %v; want %t", got, err, tc.want)
			}
		})
	}
}

// A grant that is being deleted is already withdrawn: what holds it up is a finalizer of somebody else.
func TestADeletedGrantAdmitsNothing(t *testing.T) {
	g := grant("nats-system", nil)
	g.Finalizers = []string{"example.com/hold"}
	now := metav1.Now()
	g.DeletionTimestamp = &now
	if got, err := Admitted(t.Context(), fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(g).Build(), referrer, referent); got || err != nil {
		t.Errorf("Admitted: %t, %v; want false", got, err)
	}
}

func TestAFailedListIsAnError(t *testing.T) {
	broken := errors.New("the API server is away")
	reader := fake.NewClientBuilder().WithScheme(scheme(t)).WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken },
	}).Build()
	if _, err := Admitted(t.Context(), reader, referrer, referent); !errors.Is(err, broken) {
		t.Errorf("error %v, want the reader's", err)
	}
}

func TestRefusalNamesBothEnds(t *testing.T) {
	message := Refusal(referrer, referent)
	for _, want := range []string{"nats-system", "NatsCluster", "apps", "NatsOperatorTrust main"} {
		if !strings.Contains(message, want) {
			t.Errorf("%q does not name %q", message, want)
		}
	}
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := natsv1beta1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}
