package natsmodel

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/nats/cluster/render"
)

const user = "user"

// A Disturbance is something that the world or a user does to the NATS cluster. It says whether there was anything to do it to.
type Disturbance struct {
	// Name says what.
	Name string
	do   func(w *World, server string, number int) bool
}

// Disturb does it to that server. number tells edits apart.
func (w *World) Disturb(d Disturbance, server string, number int) bool {
	w.Tick++
	return d.do(w, server, number)
}

// Failures are what goes wrong by itself.
var Failures = []Disturbance{
	{"kill the process", func(w *World, server string, _ int) bool {
		p := w.running(server)
		if p != nil {
			w.end(p)
		}
		return p != nil
	}},
	{"delete the Pod", func(w *World, server string, _ int) bool {
		p, exists := peek(w, server+"-0", &corev1.Pod{})
		if exists {
			w.deletePod(user, p)
		}
		return exists
	}},
	{"evict the Pod, with no other node for it", func(w *World, server string, _ int) bool {
		p, exists := peek(w, server+"-0", &corev1.Pod{})
		if exists {
			w.node(server).closed = true
			w.deletePod(user, p)
		}
		return exists
	}},
	{"lose the node", func(w *World, server string, _ int) bool {
		if p := w.running(server); p != nil {
			w.end(p)
		}
		was := w.node(server).lost
		w.node(server).lost = true
		return !was
	}},
	{"bring a node back", func(w *World, _ string, _ int) bool {
		for _, server := range w.all() {
			if *w.node(server) != (node{}) {
				*w.node(server) = node{}
				return true
			}
		}
		return false
	}},
	{"freeze the process", func(w *World, server string, _ int) bool {
		p := w.running(server)
		if p == nil || p.process.frozen {
			return false
		}
		p.process.frozen = true
		w.lose(server)
		return true
	}},
	{"thaw a process", func(w *World, _ string, _ int) bool {
		for _, server := range w.all() {
			if p := w.running(server); p != nil && p.process.frozen {
				p.process.frozen = false
				return true
			}
		}
		return false
	}},
	{"refuse to reload", func(w *World, server string, _ int) bool {
		p := w.running(server)
		if p == nil || p.process.refuses {
			return false
		}
		p.process.refuses = true
		return true
	}},
	{"bring no ConfigMap into containers that run", func(w *World, server string, _ int) bool {
		was := w.node(server).late
		w.node(server).late = true
		return !was
	}},
	{"fall behind in a group", func(w *World, server string, number int) bool {
		for i := range w.groups { // the first from that number on in which it can
			if g := w.groups[(number+i)%len(w.groups)]; g.current[server] && g.leader != server {
				g.current[server] = false
				return true
			}
		}
		return false
	}},
	{"lose the leader of a group", func(w *World, _ string, number int) bool {
		if len(w.groups) == 0 {
			return false
		}
		g := w.groups[number%len(w.groups)]
		w.handOver(g.leader)
		return g.leader == ""
	}},
}

// Edits are changes of the NatsCluster.
var Edits = []Disturbance{
	editSpec("memory", func(spec *v1beta1.NatsClusterSpec, number int) {
		spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dGi", 4+number%5))}
	}),
	editSpec("another version", func(spec *v1beta1.NatsClusterSpec, number int) { spec.Version = []string{Good, Other}[number%2] }),
	editSpec("server tags", func(spec *v1beta1.NatsClusterSpec, number int) {
		spec.ServerTags = map[string]string{"tag": fmt.Sprint(number % 5)}
	}),
	editSpec("a limit, up", func(spec *v1beta1.NatsClusterSpec, number int) { limit(spec, int64(number%3+1)) }),
	editSpec("a version that crashes", func(spec *v1beta1.NatsClusterSpec, _ int) { spec.Version = Crashing }),
	editSpec("a version that there is not", func(spec *v1beta1.NatsClusterSpec, _ int) { spec.Version = Absent }),
	editSpec("revert the version", func(spec *v1beta1.NatsClusterSpec, _ int) { spec.Version = Good }),
	editSpec("a limit, down", func(spec *v1beta1.NatsClusterSpec, number int) { limit(spec, -int64(number%3+1)) }),
	editSpec("more replicas", func(spec *v1beta1.NatsClusterSpec, _ int) {
		if spec.Replicas > 1 && spec.Replicas < 5 {
			spec.Replicas++
		}
	}),
	editSpec("pause", func(spec *v1beta1.NatsClusterSpec, _ int) { spec.Rollout.Paused = new(true) }),
	editSpec("go on", func(spec *v1beta1.NatsClusterSpec, _ int) { spec.Rollout.Paused = new(false) }),
	{"order a step", func(w *World, server string, number int) bool {
		if w.Gone() {
			return false
		}
		cluster := w.Cluster().DeepCopy()
		if r := cluster.Status.Rollout; r != nil && len(r.Pending) > 0 && number%4 > 0 { // mostly of one that waits for it
			server = r.Pending[0]
		}
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, v1beta1.AnnotationForceStep, server)
		must(w.API.Update(user, cluster))
		return true
	}},
}

// SystemEdits are changes of what a NatsCluster with a system user refers to.
var SystemEdits = []Disturbance{
	editSpec("the system user, out or in", func(spec *v1beta1.NatsClusterSpec, _ int) {
		switch auth := spec.Auth; {
		case auth == nil:
		case auth.SystemCredentials == nil:
			auth.SystemCredentials = systemCredentials()
		default:
			auth.SystemCredentials = nil
		}
	}),
	{"edit: another JWT of the system account", func(w *World, _ string, number int) bool {
		trust, exists := edit(w, trustName, &natsv1beta1.NatsOperatorTrust{})
		if !exists {
			return false
		}
		before := trust.ResourceVersion
		trust.Spec.SystemAccountJWT = resigned()[number%2]
		return must(w.API.Update(user, trust)).GetResourceVersion() != before
	}},
	{"the Secret of the system user, away or back", func(w *World, _ string, _ int) bool {
		return w.API.Delete(user, keyOf(systemUser()), nil, w.now()) == nil || w.restoreSystemUser()
	}},
}

// limit moves the limit of the file store by so many gibibytes.
func limit(spec *v1beta1.NatsClusterSpec, by int64) {
	if spec.JetStream == nil {
		return
	}
	const gibi = 1 << 30
	now := int64(10)
	if set := spec.JetStream.Limits.MaxFileStore; set != nil {
		now = set.Value() / gibi
	}
	spec.JetStream.Limits.MaxFileStore = resource.NewQuantity(max(now+by, 1)*gibi, resource.BinarySI)
}

// restoreSystemUser makes the Secret that the spec refers to, if it is not there.
func (w *World) restoreSystemUser() bool {
	if _, exists := peek(w, systemName, &corev1.Secret{}); exists || w.Cluster().Spec.Auth == nil {
		return false
	}
	must(w.API.Create(user, user, systemUser()))
	return true
}

func editSpec(name string, change func(spec *v1beta1.NatsClusterSpec, number int)) Disturbance {
	return Disturbance{"edit: " + name, func(w *World, _ string, number int) bool {
		if w.Gone() {
			return false
		}
		cluster := w.Cluster().DeepCopy()
		before := cluster.ResourceVersion
		change(&cluster.Spec, number)
		return must(w.API.Update(user, cluster)).GetResourceVersion() != before
	}}
}

// Tampering is what a user does to the objects that the controller has made.
var Tampering = []Disturbance{
	tamper("the ConfigMap's data", configMap, func(config *corev1.ConfigMap, number int) {
		config.Data[render.ConfigKey] = []string{"{", `{"server_name":"demo-0"}`, config.Data[render.ConfigKey] + " "}[number%3]
	}),
	tamper("the StatefulSet's template", statefulSet, func(set *appsv1.StatefulSet, number int) {
		set.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(number % 5))
	}),
	tamper("the StatefulSet's replicas, to zero", statefulSet, func(set *appsv1.StatefulSet, _ int) { set.Spec.Replicas = new(int32(0)) }),
	tamper("the StatefulSet's labels", statefulSet, func(set *appsv1.StatefulSet, _ int) { set.Labels = nil }),
	tamper("the ConfigMap's labels", configMap, func(config *corev1.ConfigMap, _ int) { config.Labels = nil }),
	{"delete the StatefulSet", func(w *World, server string, _ int) bool {
		return w.API.Delete(user, keyOf(statefulSet(server)), nil, w.now()) == nil
	}},
	{"delete the StatefulSet, and orphan its Pod", func(w *World, server string, _ int) bool {
		if w.API.Delete(user, keyOf(statefulSet(server)), nil, w.now()) != nil {
			return false
		}
		p, exists := edit(w, server+"-0", &corev1.Pod{})
		if exists {
			p.OwnerReferences = nil
			must(w.API.Update(collector, p))
		}
		return exists
	}},
	{"delete the ConfigMap", func(w *World, server string, _ int) bool {
		return w.API.Delete(user, keyOf(configMap(server)), nil, w.now()) == nil
	}},
}

func statefulSet(server string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: server}}
}

func configMap(server string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: server + "-config"}}
}

// tamper edits an object as kubectl edit does: the user owns what has changed.
func tamper[T client.Object](what string, of func(server string) T, change func(object T, number int)) Disturbance {
	return Disturbance{"tamper with " + what, func(w *World, server string, number int) bool {
		object, exists := edit(w, of(server).GetName(), of(server))
		if !exists {
			return false
		}
		before := object.GetResourceVersion()
		change(object, number)
		return must(w.API.UpdateFor(user, user, object)).GetResourceVersion() != before
	}}
}

// Deletions are what a user does who wants to be rid of the NatsCluster.
var Deletions = []Disturbance{
	{"delete the NatsCluster", func(w *World, _ string, _ int) bool {
		return !w.deleting() && w.API.Delete(user, keyOf(w.Cluster()), nil, w.now()) == nil
	}},
	{"delete a stream", func(w *World, _ string, number int) bool {
		streams := w.streams()
		if meta := w.meta(); len(streams) == 0 || meta == nil || !w.led(meta) {
			return false
		}
		w.drop(streams[number%len(streams)])
		return true
	}},
	{"delete all streams", func(w *World, _ string, _ int) bool {
		streams, meta := w.streams(), w.meta()
		if len(streams) == 0 || meta == nil || !w.led(meta) {
			return false
		}
		for _, stream := range streams {
			w.drop(stream)
		}
		return true
	}},
	{"order to let it go", func(w *World, _ string, _ int) bool {
		cluster := w.Cluster().DeepCopy()
		if _, ordered := cluster.Annotations[v1beta1.AnnotationForceDelete]; ordered || w.Gone() {
			return false
		}
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, v1beta1.AnnotationForceDelete, "")
		must(w.API.Update(user, cluster))
		return true
	}},
}

// deleting says that the NatsCluster is to go, or has gone.
func (w *World) deleting() bool { return w.Gone() || w.Cluster().DeletionTimestamp != nil }

func (w *World) drop(gone *group) {
	w.groups = slices.DeleteFunc(w.groups, func(g *group) bool { return g == gone })
}

// Heal undoes what goes wrong by itself, for good.
func (w *World) Heal() {
	w.Tick++
	w.calm = true
	for _, n := range w.nodes {
		*n = node{}
	}
	for _, p := range w.pods {
		if p.process != nil {
			p.process.frozen, p.process.refuses = false, false
		}
		p.trying = false
	}
}

// Settle gives the NatsCluster a spec that can be carried out.
func (w *World) Settle() {
	w.Tick++
	if w.Gone() {
		return
	}
	cluster := w.Cluster().DeepCopy()
	cluster.Spec.Version, cluster.Spec.Rollout.Paused = Good, nil
	if cluster.Spec.Auth != nil {
		cluster.Spec.Auth.SystemCredentials = systemCredentials()
	}
	must(w.API.Update(user, cluster))
	w.restoreSystemUser()
}
