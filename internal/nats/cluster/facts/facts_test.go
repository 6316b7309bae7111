package facts

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

var demo = &v1beta1.NatsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", UID: types.UID("u1")}}

func meta(name, uid string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{v1beta1.LabelCluster: "demo"}}
	if uid != "" {
		m.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1beta1.GroupVersion.String(), Kind: "NatsCluster", Name: "demo", UID: types.UID(uid), Controller: new(true)}}
	}
	return m
}

func TestRead(t *testing.T) {
	objects := []client.Object{
		&appsv1.StatefulSet{ObjectMeta: meta("demo-10", "u1")},
		&appsv1.StatefulSet{ObjectMeta: meta("demo-2", "u1")},
		&corev1.ConfigMap{ObjectMeta: meta("demo-2-config", "u1")},
		&corev1.Pod{ObjectMeta: meta("demo-2-0", "")},
		&corev1.PersistentVolumeClaim{ObjectMeta: meta("data-demo-2-0", "")},
		&corev1.PersistentVolumeClaim{ObjectMeta: meta("data-demo-3-0", "")},
		// Of a server's name, and somebody else's.
		&appsv1.StatefulSet{ObjectMeta: meta("demo-0", "u2")},
		&appsv1.StatefulSet{ObjectMeta: meta("demo-1", "")},
		&corev1.ConfigMap{ObjectMeta: meta("demo-1-config", "u2")},
		// Ours, and no server's.
		&corev1.ConfigMap{ObjectMeta: meta("demo-02-config", "u1")},
		&corev1.ConfigMap{ObjectMeta: meta("demo-x-config", "u1")},
		&corev1.Pod{ObjectMeta: meta("demo-2-1", "")},
		&corev1.PersistentVolumeClaim{ObjectMeta: meta("demo-2-0", "")},
	}
	api := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build()
	servers, known := Read(t.Context(), api, demo).Get()
	if !known {
		t.Fatal("the servers are unknown")
	}
	type shape struct {
		Name                      string
		Ordinal                   int
		Set, Config, Pod, Claimed bool
	}
	var got []shape
	for _, s := range servers {
		got = append(got, shape{s.Name, s.Ordinal, s.StatefulSet != nil, s.ConfigMap != nil, s.Pod != nil, s.Claim != nil})
	}
	want := []shape{{"demo-2", 2, true, true, true, true}, {"demo-3", 3, false, false, false, true}, {"demo-10", 10, true, false, false, false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if existing := servers.Existing(); len(existing) != 2 || existing[0].Name != "demo-2" || existing[1].Name != "demo-10" {
		t.Errorf("existing: %v", existing)
	}
}

// TestReadNamed finds what has lost its labels, by its name; and nothing of somebody else's.
func TestReadNamed(t *testing.T) {
	bare := func(object client.Object) client.Object { object.SetLabels(nil); return object }
	api := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(
		&appsv1.StatefulSet{ObjectMeta: meta("demo-10", "u1")},
		&corev1.PersistentVolumeClaim{ObjectMeta: meta("data-demo-3-0", "")},
		bare(&appsv1.StatefulSet{ObjectMeta: meta("demo-2", "u1")}),
		bare(&corev1.Pod{ObjectMeta: meta("demo-3-0", "")}),
		bare(&appsv1.StatefulSet{ObjectMeta: meta("demo-1", "u2")}),
		bare(&corev1.Pod{ObjectMeta: meta("demo-10-0", "")}), // of a server that a list shows
	).Build()
	var gets []string
	counted := interceptor.NewClient(api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			gets = append(gets, key.Name)
			return c.Get(ctx, key, into, opts...)
		},
	})
	servers, _ := ReadNamed(t.Context(), counted, demo, []string{"demo-10", "demo-3", "demo-2", "demo-1", "demo-0"}).Get()
	var got []string
	for _, s := range servers {
		got = append(got, fmt.Sprintf("%s %d set=%t pod=%t claim=%t", s.Name, s.Ordinal, s.StatefulSet != nil, s.Pod != nil, s.Claim != nil))
	}
	want := []string{"demo-2 2 set=true pod=false claim=false", "demo-3 3 set=false pod=true claim=true", "demo-10 10 set=true pod=false claim=false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"demo-3", "demo-3-0", "demo-2", "demo-2-0", "demo-1", "demo-1-0", "demo-0", "demo-0-0"}, gets); diff != "" {
		t.Errorf("asked by name (-want +got):\n%s", diff)
	}
	for _, silent := range []string{"demo-2", "demo-2-0"} {
		fails := interceptor.NewClient(api, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
				if key.Name == silent {
					return errors.New("no answer")
				}
				return c.Get(ctx, key, into, opts...)
			},
		})
		if _, known := ReadNamed(t.Context(), fails, demo, []string{"demo-2"}).Get(); known {
			t.Errorf("without an answer for %s the servers are known", silent)
		}
	}
}

func TestReadFailsAsUnknown(t *testing.T) {
	for _, kind := range []client.ObjectList{&appsv1.StatefulSetList{}, &corev1.ConfigMapList{}, &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}} {
		api := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme(t)).Build(), interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if cmp.Equal(list, kind) {
					return errors.New("no answer")
				}
				return c.List(ctx, list, opts...)
			},
		})
		if _, known := Read(t.Context(), api, demo).Get(); known {
			t.Errorf("known although %T could not be listed", kind)
		}
	}
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// whole is a server whose Pod is Ready at its template.
func whole() Server {
	return Server{
		Name:        "demo-1",
		ConfigMap:   &corev1.ConfigMap{},
		StatefulSet: &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: appsv1.StatefulSetStatus{ObservedGeneration: 2, UpdateRevision: "h2"}},
		Pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: "demo-1-0", Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: "h2"},
				OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "demo-1", Controller: new(true)}},
			},
			Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue},
			}},
		},
	}
}

func waiting(container, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
}

func TestNotReady(t *testing.T) {
	unready := func(s *Server) { s.Pod.Status.Conditions[1].Status = corev1.ConditionFalse }
	cases := map[string]struct {
		change func(*Server)
		want   string
	}{
		"whole":          {func(*Server) {}, ""},
		"nothing at all": {func(s *Server) { s.StatefulSet, s.Pod = nil, nil }, "demo-1 does not exist yet"},
		"no StatefulSet": {func(s *Server) { s.StatefulSet = nil }, ""},
		"no StatefulSet, and the Pod goes": {func(s *Server) { s.StatefulSet, s.Pod.DeletionTimestamp = nil, &metav1.Time{} },
			"Pod demo-1-0 is shutting down"},
		"of an earlier StatefulSet": {func(s *Server) { s.StatefulSet.UID = "new" }, "Pod demo-1-0 is not of the StatefulSet that is there now"},
		"of nobody":                 {func(s *Server) { s.Pod.OwnerReferences = nil }, "Pod demo-1-0 is not of the StatefulSet that is there now"},
		"of an earlier StatefulSet, and it goes": {func(s *Server) { s.StatefulSet.UID, s.Pod.DeletionTimestamp = "new", &metav1.Time{} },
			"Pod demo-1-0 is shutting down"},
		"template not taken up": {func(s *Server) { s.StatefulSet.Generation = 3 }, "the StatefulSet controller has not taken up the template of demo-1"},
		"no Pod":                {func(s *Server) { s.Pod = nil }, "Pod demo-1-0 does not exist yet"},
		"shutting down":         {func(s *Server) { s.Pod.DeletionTimestamp = &metav1.Time{} }, "Pod demo-1-0 is shutting down"},
		"the template before":   {func(s *Server) { s.Pod.Labels = nil }, "Pod demo-1-0 has the template before the last"},
		"not Ready":             {unready, "Pod demo-1-0 is not Ready"},
		"no condition at all":   {func(s *Server) { s.Pod.Status.Conditions = nil }, "Pod demo-1-0 is not Ready"},
		"no node": {func(s *Server) {
			unready(s)
			s.Pod.Status.Conditions[0] = corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable"}
		}, "Pod demo-1-0 is not Ready: no node for it (Unschedulable)"},
		"creating says nothing": {func(s *Server) {
			unready(s)
			s.Pod.Status.ContainerStatuses = []corev1.ContainerStatus{waiting("nats", "ContainerCreating")}
		}, "Pod demo-1-0 is not Ready"},
		"an image is missing": {func(s *Server) {
			unready(s)
			s.Pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "exporter"}, waiting("nats", "ErrImagePull")}
		}, "Pod demo-1-0 is not Ready: container nats, ImagePullBackOff"},
		"it crashes": {func(s *Server) {
			unready(s)
			s.Pod.Status.InitContainerStatuses = []corev1.ContainerStatus{waiting("init", "CrashLoopBackOff")}
		}, "Pod demo-1-0 is not Ready: container init, CrashLoopBackOff"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := whole()
			tc.change(&server)
			if got := server.NotReady(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestStoppedAndStuck(t *testing.T) {
	container := func(state corev1.ContainerState) func(*Server) {
		return func(s *Server) {
			s.Pod.Status.ContainerStatuses = []corev1.ContainerStatus{
				{Name: "exporter", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}},
				{Name: Container, State: state},
			}
		}
	}
	waits := func(reason string) func(*Server) {
		return container(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}})
	}
	running := container(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	cases := map[string]struct {
		change         func(*Server)
		stopped, stuck bool
	}{
		"it runs":               {running, false, false},
		"not yet looked at":     {func(*Server) {}, true, false},
		"no Pod":                {func(s *Server) { s.Pod = nil }, true, false},
		"it is being made":      {waits("ContainerCreating"), true, false},
		"the image is missing":  {waits("ImagePullBackOff"), true, true},
		"the image was not had": {waits("ErrImagePull"), true, true},
		"it crashes":            {waits("CrashLoopBackOff"), true, true},
		"a Secret is missing":   {waits("CreateContainerConfigError"), true, true},
		"it has just crashed":   {container(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}), true, false},
		"its ConfigMap is gone": {func(s *Server) { waits("ContainerCreating")(s); s.ConfigMap = nil }, true, true},
		"gone while it runs":    {func(s *Server) { running(s); s.ConfigMap = nil }, false, false},
		"gone, and the Pod too": {func(s *Server) { s.Pod, s.ConfigMap = nil, nil }, true, false},
		"it crashes, and goes":  {func(s *Server) { waits("CrashLoopBackOff")(s); s.Pod.DeletionTimestamp = &metav1.Time{} }, true, false},
		"no node for it": {func(s *Server) {
			s.Pod.Status.Conditions[0] = corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable"}
		}, true, true},
		"held back by a gate": {func(s *Server) {
			s.Pod.Status.Conditions[0] = corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulingGated"}
		}, true, false},
		"scaled to nothing":      {func(s *Server) { s.Pod, s.StatefulSet.Spec.Replicas = nil, new(int32(0)) }, true, true},
		"about to be scaled so":  {func(s *Server) { running(s); s.StatefulSet.Spec.Replicas = new(int32(0)) }, false, false},
		"one, as it should be":   {func(s *Server) { s.Pod, s.StatefulSet.Spec.Replicas = nil, new(int32(1)) }, true, false},
		"neither set nor Pod":    {func(s *Server) { s.Pod, s.StatefulSet = nil, nil }, true, false},
		"no set, and it crashes": {func(s *Server) { waits("CrashLoopBackOff")(s); s.StatefulSet = nil }, true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := whole()
			tc.change(&server)
			if server.Stopped() != tc.stopped || server.Stuck() != tc.stuck {
				t.Errorf("stopped %t, stuck %t; want %t, %t", server.Stopped(), server.Stuck(), tc.stopped, tc.stuck)
			}
		})
	}
}

func TestOrphaned(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Server)
		want   bool
	}{
		"it has its StatefulSet":     {func(*Server) {}, false},
		"a Pod of an older revision": {func(s *Server) { s.StatefulSet = nil }, true},
		"a Pod of the revision": {func(s *Server) {
			s.StatefulSet = nil
			s.Pod.Annotations = map[string]string{v1beta1.AnnotationConfigRevision: "new"}
		}, false},
		"a Pod that goes":                 {func(s *Server) { s.StatefulSet, s.Pod.DeletionTimestamp = nil, &metav1.Time{} }, false},
		"neither a StatefulSet nor a Pod": {func(s *Server) { s.StatefulSet, s.Pod = nil, nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := whole()
			server.Pod.Annotations = map[string]string{v1beta1.AnnotationConfigRevision: "old"}
			tc.change(&server)
			if got := server.Orphaned("new"); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
