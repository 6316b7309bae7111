package lab

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/ledger"
)

// A Story is told once in a namespace of its own, on a cluster on which the chart is installed.
type Story struct {
	*testing.T
	*Lab
	System    System
	Namespace string
}

// Tell runs a story in a new namespace, and removes the namespace after it. A story that fails shows what a
// person would look at.
func (l *Lab) Tell(t *testing.T, name string, system System, story func(*Story)) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}
	if err := l.Client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), 8*time.Minute)
		defer stop()
		if t.Failed() {
			l.show(ctx, t, system, namespace.Name)
		}
		if err := l.removeNamespace(ctx, system, namespace); err != nil {
			t.Error(err)
		}
	})
	story(&Story{T: t, Lab: l, System: system, Namespace: namespace.Name})
}

// removeNamespace ends the servers first: a namespace that is removed with Pods in it is looked at again only after
// half of their grace period, which for these is minutes. Nobody needs the streams any more that would hold them.
func (l *Lab) removeNamespace(ctx context.Context, system System, namespace *corev1.Namespace) error {
	if err := l.End(ctx, system, namespace.Name); err != nil {
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

func (l *Lab) show(ctx context.Context, t *testing.T, system System, namespace string) {
	t.Helper()
	for _, words := range []string{
		"get " + system.kinds + ",statefulsets,pods,pvc,events -n " + namespace + " -o wide",
		"describe " + system.kinds + " -n " + namespace,
		"logs -n " + Namespace + " -l app.kubernetes.io/name=" + system.program + " --tail=60 --prefix",
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

// Create applies the story's cluster.yaml, whose NatsCluster is called demo, and waits until it is up to date.
func (s *Story) Create(files fs.FS) *v1beta1.NatsCluster {
	s.Helper()
	s.Must(s.Apply(s.Context(), s.Namespace, files, "cluster.yaml"))
	return s.UpToDate(3 * time.Minute)
}

// UpToDate waits until the NatsCluster demo is up to date.
func (s *Story) UpToDate(within time.Duration) *v1beta1.NatsCluster {
	s.Helper()
	cluster, err := s.UntilCluster(s.Context(), within, s.Namespace, "demo", "up to date", UpToDate)
	s.Must(err)
	return cluster
}

// Load starts the ledger against the NatsCluster.
func (s *Story) Load(cluster *v1beta1.NatsCluster) *ledger.Client {
	s.Helper()
	book, err := s.StartLedger(s.Context(), s.Namespace, cluster.Status.Endpoints.Client)
	s.Must(err)
	return book
}

// Conclude ends the ledger, which must have found nothing wrong.
func (s *Story) Conclude(book *ledger.Client) ledger.Report {
	s.Helper()
	report, err := book.Finish(s.Context())
	s.Must(err)
	if !report.OK {
		s.Errorf("the ledger: %v", report.Reasons)
	}
	for _, change := range report.Changes {
		s.Logf("%s: %d acknowledged in %.0f s, longest gap %d ms; %d lost and %d doubled in all", change.Name, change.Acknowledged, change.Seconds,
			change.Gaps.LongestMillis, report.Faults[ledger.Lost], report.Faults[ledger.Doubled])
	}
	return report
}

// Running are the processes of the NatsCluster demo by server.
func (s *Story) Running() map[string]Process {
	s.Helper()
	processes, err := s.Processes(s.Context(), s.Namespace, "demo")
	s.Must(err)
	return processes
}

// Restarted checks that of the servers that ran before those named run as new processes, and the others do not.
func (s *Story) Restarted(before map[string]Process, servers ...string) {
	s.Helper()
	now := s.Running()
	for name, old := range before {
		renewed := now[name].ID != old.ID && now[name].Start.After(old.Start)
		if renewed != slices.Contains(servers, name) {
			s.Errorf("%s: process %s since %s, before %s since %s", name, now[name].ID, now[name].Start, old.ID, old.Start)
		}
	}
}
