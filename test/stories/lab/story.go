package lab

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// A Story is told once in a namespace of its own, on a cluster on which the chart is installed.
type Story struct {
	*testing.T
	*Lab
	Namespace string
}

// Tell runs a story in a new namespace, and removes the namespace after it. A story that fails shows what a
// person would look at.
func (l *Lab) Tell(t *testing.T, name string, story func(*Story)) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}
	if err := l.Client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), 8*time.Minute)
		defer stop()
		if t.Failed() {
			l.show(ctx, t, namespace.Name)
		}
		if err := l.removeNamespace(ctx, namespace); err != nil {
			t.Error(err)
		}
	})
	story(&Story{T: t, Lab: l, Namespace: namespace.Name})
}

// removeNamespace ends the servers first: a namespace that is removed with Pods in it is looked at again only after
// half of their grace period, which for these is minutes.
func (l *Lab) removeNamespace(ctx context.Context, namespace *corev1.Namespace) error {
	if err := l.Client.DeleteAllOf(ctx, &v1beta1.NatsCluster{}, client.InNamespace(namespace.Name)); err != nil {
		return err
	}
	if err := Until(ctx, 3*time.Minute, "the servers to be gone", func(ctx context.Context) (bool, string) {
		var pods corev1.PodList
		err := l.Client.List(ctx, &pods, client.InNamespace(namespace.Name), client.HasLabels{v1beta1.LabelCluster})
		return err == nil && len(pods.Items) == 0, fmt.Sprintf("%d Pods, %v", len(pods.Items), err)
	}); err != nil {
		return err
	}
	if err := l.Client.Delete(ctx, namespace); err != nil {
		return err
	}
	return Until(ctx, 7*time.Minute, "namespace "+namespace.Name+" to be gone", func(ctx context.Context) (bool, string) {
		err := l.Client.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		return apierrors.IsNotFound(err), fmt.Sprint(namespace.Status.Conditions)
	})
}

func (l *Lab) show(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	for _, words := range []string{
		"get natsclusters,statefulsets,pods,pvc,events -n " + namespace + " -o wide",
		"describe natsclusters -n " + namespace,
		"logs -n " + Release + " -l app.kubernetes.io/name=nats-cluster-controller --tail=60 --prefix",
		"get nodes,pods -A -o wide",
	} {
		out, err := l.Kubectl(ctx, strings.Fields(words)...)
		t.Logf("kubectl %s\n%s%v", words, out, err)
	}
}

// Must ends the story on an error.
func (s *Story) Must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}
