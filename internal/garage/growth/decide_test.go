package growth

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

func storage(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

// claim is a bound one of class fast that asks for something and has something.
func claim(name, asks, has string, changes ...func(*corev1.PersistentVolumeClaim)) corev1.PersistentVolumeClaim {
	live := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)}}
	live.Spec.StorageClassName = new("fast")
	live.Spec.Resources.Requests = storage(asks)
	live.Status.Phase, live.Status.Capacity = corev1.ClaimBound, storage(has)
	for _, change := range changes {
		change(&live)
	}
	return live
}

func class(name string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &name }
}

func unbound(c *corev1.PersistentVolumeClaim) {
	c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
}

func owned(kind string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "other", Controller: new(true)}}
	}
}

func status(word corev1.ClaimResourceStatus) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: word}
	}
}

func says(kind corev1.PersistentVolumeClaimConditionType, value corev1.ConditionStatus, message string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Status.Conditions = append(c.Status.Conditions, corev1.PersistentVolumeClaimCondition{Type: kind, Status: value, Message: message})
	}
}

// node is one with a claim for data of 2Gi.
func node(name string, live ...corev1.PersistentVolumeClaim) Node {
	return Node{Name: name, Live: live, Claims: []render.Claim{
		{Name: "data-" + name, Volume: "data", Size: resource.MustParse("2Gi"), Path: "spec.storage.data.size", Data: true},
	}}
}

// withMetadata has a claim for metadata of 1Gi before that for data.
func withMetadata(n Node) Node {
	n.Claims = append([]render.Claim{{Name: "metadata-" + n.Name, Volume: "metadata", Size: resource.MustParse("1Gi")}}, n.Claims...)
	return n
}

// expected is what a plan comes down to.
type expected struct {
	grow           []string
	growing, stuck []string
	cramped        map[string]string
}

func TestDecide(t *testing.T) {
	const due = ": its claim data-a is to grow from 1Gi to 2Gi"
	leave := func(n Node) Node { n.Leave = "its node is being deleted"; return n }
	one := func(changes ...func(*corev1.PersistentVolumeClaim)) []Node {
		return []Node{node("a", claim("data-a", "1Gi", "1Gi", changes...))}
	}
	asked := func(changes ...func(*corev1.PersistentVolumeClaim)) []Node {
		return []Node{node("a", claim("data-a", "2Gi", "1Gi", changes...))}
	}
	held := func(why string) expected {
		why = "a: its claim data-a does not grow from 1Gi to 2Gi: " + why
		return expected{stuck: []string{why}, cramped: map[string]string{"a": why}}
	}
	grows := func(stage string) expected {
		why := "a: its claim data-a has 1Gi of 2Gi: " + stage
		return expected{growing: []string{why}, cramped: map[string]string{"a": why}}
	}
	fails := func(stage string) expected {
		why := "a: its claim data-a has 1Gi of 2Gi: " + stage
		return expected{stuck: []string{why}, cramped: map[string]string{"a": why}}
	}
	const (
		resizing = corev1.PersistentVolumeClaimResizing
		pending  = corev1.PersistentVolumeClaimFileSystemResizePending
		yes      = corev1.ConditionTrue
		kubelet  = "the kubelet is to grow its file system, with some drivers when the Pod starts the next time"
		no       = "the storage cannot make it that large"
	)
	for name, c := range map[string]struct {
		nodes []Node
		want  expected
	}{
		"what has its size rests":              {nodes: []Node{node("a", claim("data-a", "2Gi", "2Gi"))}},
		"or has been given more than it asked": {nodes: []Node{node("a", claim("data-a", "2Gi", "3Gi"))}},
		"a node that runs elsewhere has none":  {nodes: []Node{{Name: "a"}}},
		"a claim of a user's is not looked at": {nodes: []Node{{Name: "a", Claims: []render.Claim{{Name: "mine", Existing: true, Data: true}}}}},
		"one that asks for too little is to grow": {
			nodes: one(owned("StatefulSet")),
			want:  expected{grow: []string{"a data-a uid-data-a 1Gi 2Gi"}, growing: []string{"a" + due}, cramped: map[string]string{"a": "a" + due}},
		},
		"one node at a time, and the others wait": {
			nodes: []Node{node("0", claim("data-0", "2Gi", "2Gi")), node("a", claim("data-a", "1Gi", "1Gi")), node("b", claim("data-b", "1Gi", "1Gi"))},
			want: expected{
				grow:    []string{"a data-a uid-data-a 1Gi 2Gi"},
				growing: []string{"a" + due, "b: its claim data-b is to grow from 1Gi to 2Gi"},
				cramped: map[string]string{"a": "a" + due, "b": "b: its claim data-b is to grow from 1Gi to 2Gi"},
			},
		},
		"all claims of the node at once, and metadata is no capacity": {
			nodes: []Node{withMetadata(node("a", claim("metadata-a", "512Mi", "512Mi"), claim("data-a", "1Gi", "1Gi")))},
			want: expected{
				grow:    []string{"a metadata-a uid-metadata-a 512Mi 1Gi", "a data-a uid-data-a 1Gi 2Gi"},
				growing: []string{"a: its claim metadata-a is to grow from 512Mi to 1Gi", "a" + due}, cramped: map[string]string{"a": "a" + due},
			},
		},
		"the first reason is the node's": {
			nodes: []Node{{Name: "a", Claims: []render.Claim{{Name: "x", Data: true}, {Name: "y", Data: true}}}},
			want: expected{
				stuck:   []string{"a: its claim x is not there, or has not the node's labels", "a: its claim y is not there, or has not the node's labels"},
				cramped: map[string]string{"a": "a: its claim x is not there, or has not the node's labels"},
			},
		},
		"one that grows has the turn": {
			nodes: append(asked(), node("b", claim("data-b", "1Gi", "1Gi"))),
			want: expected{
				growing: []string{"a: its claim data-a has 1Gi of 2Gi: the storage has not begun", "b: its claim data-b is to grow from 1Gi to 2Gi"},
				cramped: map[string]string{"a": "a: its claim data-a has 1Gi of 2Gi: the storage has not begun", "b": "b: its claim data-b is to grow from 1Gi to 2Gi"},
			},
		},
		"one that cannot grow as things are holds nobody": {
			nodes: append(one(class("slow")), node("b", claim("data-b", "1Gi", "1Gi"))),
			want: expected{
				grow:    []string{"b data-b uid-data-b 1Gi 2Gi"},
				growing: []string{"b: its claim data-b is to grow from 1Gi to 2Gi"},
				stuck:   []string{"a: its claim data-a does not grow from 1Gi to 2Gi: StorageClass slow does not let it: set allowVolumeExpansion there, if its driver can"},
				cramped: map[string]string{
					"a": "a: its claim data-a does not grow from 1Gi to 2Gi: StorageClass slow does not let it: set allowVolumeExpansion there, if its driver can",
					"b": "b: its claim data-b is to grow from 1Gi to 2Gi",
				},
			},
		},
		"one that the storage refuses stops the rest": {
			nodes: append(asked(status(corev1.PersistentVolumeClaimControllerResizeInfeasible)), node("b", claim("data-b", "1Gi", "1Gi"))),
			want: expected{
				stuck:   []string{"a: its claim data-a has 1Gi of 2Gi: " + no, "b: its claim data-b is to grow from 1Gi to 2Gi, once a has grown"},
				cramped: map[string]string{"a": "a: its claim data-a has 1Gi of 2Gi: " + no, "b": "b: its claim data-b is to grow from 1Gi to 2Gi"},
			},
		},

		"one after a claim of a user's": {
			nodes: []Node{{Name: "a", Live: one()[0].Live, Claims: append([]render.Claim{{Name: "mine", Existing: true}}, one()[0].Claims...)}},
			want:  expected{grow: []string{"a data-a uid-data-a 1Gi 2Gi"}, growing: []string{"a" + due}, cramped: map[string]string{"a": "a" + due}},
		},

		"without its class's word":       {nodes: one(class("other")), want: held("whether StorageClass other lets it is not known: not read")},
		"with a class nobody could read": {nodes: one(class("lost")), want: held("whether StorageClass lost lets it is not known: no answer")},
		"without a class":                {nodes: one(class("")), want: held("it has no StorageClass, and only a volume that one has provisioned can grow")},
		"before it is bound":             {nodes: one(unbound), want: held("it is not bound to a volume")},
		"while it is being deleted":      {nodes: one(func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{} }), want: held("it is being deleted")},
		"of somebody else":               {nodes: one(owned("Database")), want: held("it belongs to Database other")},
		"of a node that is left alone":   {nodes: []Node{leave(one()[0])}, want: held("its node is being deleted")},
		"one that is larger": {
			nodes: []Node{node("a", claim("data-a", "3Gi", "3Gi"))},
			want:  expected{stuck: []string{"a: its claim data-a asks for 3Gi already and does not shrink to 2Gi: set spec.storage.data.size to at least that"}},
		},
		"one that asks for more and has less": {
			nodes: []Node{node("a", claim("data-a", "3Gi", "1Gi"))},
			want: expected{
				stuck:   []string{"a: its claim data-a asks for 3Gi already and does not shrink to 2Gi: set spec.storage.data.size to at least that"},
				cramped: map[string]string{"a": "a: its claim data-a asks for 3Gi already and does not shrink to 2Gi: set spec.storage.data.size to at least that"},
			},
		},
		"a new one that has no volume yet": {
			nodes: []Node{node("a", claim("data-a", "2Gi", "2Gi", unbound))},
			want: expected{
				stuck:   []string{"a: its claim data-a has 0 of 2Gi: it is not bound to a volume yet"},
				cramped: map[string]string{"a": "a: its claim data-a has 0 of 2Gi: it is not bound to a volume yet"},
			},
		},

		"the storage is asked":              {nodes: asked(), want: grows("the storage has not begun")},
		"the storage is at it":              {nodes: asked(says(resizing, yes, "")), want: grows("the storage makes it larger")},
		"a word of earlier does not count":  {nodes: asked(says(resizing, corev1.ConditionFalse, "")), want: grows("the storage has not begun")},
		"the storage says that it is at it": {nodes: asked(status(corev1.PersistentVolumeClaimControllerResizeInProgress)), want: grows("the storage makes it larger")},
		"the file system is still to grow":  {nodes: asked(says(resizing, yes, ""), says(pending, yes, "")), want: grows(kubelet)},
		"the node is still to begin":        {nodes: asked(status(corev1.PersistentVolumeClaimNodeResizePending)), want: grows(kubelet)},
		"the node is at it":                 {nodes: asked(status(corev1.PersistentVolumeClaimNodeResizeInProgress)), want: grows(kubelet)},
		"the storage has tried in vain":     {nodes: asked(says(corev1.PersistentVolumeClaimControllerResizeError, yes, "quota")), want: grows("the storage has not begun: quota")},
		"the node has tried in vain":        {nodes: asked(says(pending, yes, "wait"), says(corev1.PersistentVolumeClaimNodeResizeError, yes, "busy")), want: grows(kubelet + ": busy")},
		"an error without a word":           {nodes: asked(says(corev1.PersistentVolumeClaimNodeResizeError, yes, "")), want: grows("the storage has not begun")},
		"the storage cannot":                {nodes: asked(status(corev1.PersistentVolumeClaimControllerResizeInfeasible), says(corev1.PersistentVolumeClaimControllerResizeError, yes, "full")), want: fails(no + ": full")},
		"the node cannot":                   {nodes: asked(status(corev1.PersistentVolumeClaimNodeResizeInfeasible)), want: fails(no)},
		"a size that the file system has not yet": {
			nodes: []Node{node("a", claim("data-a", "2Gi", "2Gi", says(pending, yes, "")))},
			want: expected{
				growing: []string{"a: its claim data-a has 2Gi of 2Gi: " + kubelet}, cramped: map[string]string{"a": "a: its claim data-a has 2Gi of 2Gi: " + kubelet},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := Decide(World{Nodes: c.nodes, Classes: map[string]fact.Fact[bool]{
				"fast": fact.Known(true), "slow": fact.Known(false), "lost": fact.Unknown[bool]("no answer"), "": fact.Known(true),
			}})
			got := expected{growing: plan.Growing, stuck: plan.Stuck, cramped: plan.Cramped}
			for _, one := range plan.Grow {
				got.grow = append(got.grow, one.Node+" "+one.Claim.Name+" "+string(one.UID)+" "+one.From.String()+" "+one.Claim.Size.String())
			}
			if c.want.cramped == nil {
				c.want.cramped = map[string]string{}
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(expected{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestClasses(t *testing.T) {
	n := node("a", claim("data-a", "1Gi", "1Gi"), claim("x", "1Gi", "1Gi", class("x")), claim("whole", "2Gi", "2Gi", class("whole")),
		claim("none", "1Gi", "1Gi", class("")), claim("unset", "1Gi", "1Gi", func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil }))
	for _, name := range []string{"whole", "none", "unset", "not-there"} {
		n.Claims = append(n.Claims, render.Claim{Name: name, Size: resource.MustParse("2Gi")})
	}
	n.Claims = append(n.Claims, render.Claim{Name: "x", Existing: true, Size: resource.MustParse("2Gi")})
	if diff := cmp.Diff(map[string]bool{"fast": true}, Classes([]Node{n})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
