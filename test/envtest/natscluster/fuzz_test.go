package natscluster

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

const (
	// specs is how many are tried, and seed what they are made from: the same every time.
	specs = 200
	seed  = 20261129
)

// TestRandomSpecs hands specs to the API server that a person, or a program, might get wrong. One that is refused has
// its field named. One that is accepted either brings its servers' objects into being, or the NatsCluster says which
// field is in the way. In the end one good NatsCluster is looked after like any other: nobody's spec is in another's
// way.
func TestRandomSpecs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.startController(controllerOptions{})
	secret, _ := selfSigned(t, "there", "f.svc")
	l.create(secret)
	accepted := l.createRandom(dice{rand.New(rand.NewPCG(seed, seed))})
	l.create(plain("good", 1))
	l.Eventually(func() error {
		return l.client.Get(t.Context(), client.ObjectKey{Namespace: l.namespace, Name: "good-0"}, &appsv1.StatefulSet{})
	}).Should(gomega.Succeed(), "another's spec is in the way")
	count := map[string]int{}
	for name, sent := range accepted {
		cluster := l.until(name, "looked at", func(*v1beta1.NatsCluster) bool { return true })
		c := condition(cluster, v1beta1.ConditionProgressing)
		count[c.Reason]++
		if c.Reason == v1beta1.ReasonCreating {
			for _, server := range servers(cluster) {
				get(l, server, &appsv1.StatefulSet{})
			}
			continue
		}
		// Of a refusal by the API server, and of a hold, the field; of a wait the Secret.
		word, known := map[string]string{
			v1beta1.ReasonReconcileFailed: "spec.", v1beta1.ReasonUnsupportedSpec: "spec.",
			v1beta1.ReasonClientCertificateNotReady: "Secret ", v1beta1.ReasonRouteCertificateNotReady: "Secret ",
		}[c.Reason]
		if !known || !strings.Contains(c.Message, word) {
			t.Errorf("%s without %q: %s\n%s", c.Reason, word, c.Message, text(sent))
		}
	}
	held, refused := count[v1beta1.ReasonUnsupportedSpec], count[v1beta1.ReasonReconcileFailed]
	good := len(accepted) - held - refused
	t.Logf("%d specs: %d refused at apply, %d held, of %d the API server refused an object, %d carried out", specs, specs-len(accepted), held, refused, good)
	if specs-len(accepted) < 20 || held < 20 || refused < 5 || good < 20 {
		t.Error("the dice are loaded")
	}
}

// createRandom creates NatsClusters of random specs and returns those that the API server accepted, as they were sent.
func (l *lab) createRandom(dice dice) map[string]*unstructured.Unstructured {
	l.Helper()
	accepted := map[string]*unstructured.Unstructured{}
	for i := range specs {
		name := fmt.Sprintf("f%03d", i)
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1beta1.GroupVersion.String(), "kind": v1beta1.KindNatsCluster,
			"metadata": map[string]any{"name": name, "namespace": l.namespace}, "spec": dice.spec(),
		}}
		sent := object.DeepCopy()
		err := l.client.Create(l.Context(), object)
		switch {
		case err == nil:
			accepted[name] = sent
		case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err), !strings.Contains(err.Error(), "spec"):
			l.Errorf("refused without a field: %v\n%s", err, text(sent))
		}
	}
	return accepted
}

// TestUnreadableQuantity keeps out what the controller's client could not read: it would see no NatsCluster at all.
func TestUnreadableQuantity(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, quantity := range []string{"1e1.5", "1e.5", "1e99999999999999999999"} {
		cluster := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1beta1.GroupVersion.String(), "kind": v1beta1.KindNatsCluster,
			"metadata": map[string]any{"name": "odd", "namespace": l.namespace},
			"spec":     map[string]any{"version": version, "replicas": int64(1), "resources": map[string]any{"limits": map[string]any{"memory": quantity}}},
		}}
		if err := l.client.Create(t.Context(), cluster); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.resources.limits.memory") {
			t.Errorf("%s: %v", quantity, err)
		}
	}
}

func text(object *unstructured.Unstructured) string {
	content, err := object.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(content)
}

// dice make specs.
type dice struct{ *rand.Rand }

// one is one of the values.
func (d dice) one(values ...any) any { return values[d.IntN(len(values))] }

// maybe puts a field in, one time out of n.
func (d dice) maybe(into map[string]any, n int, name string, value func() any) {
	if d.IntN(n) == 0 {
		into[name] = value()
	}
}

func (d dice) quantity() any {
	return d.one("4Gi", "256Mi", "1Gi", "100m", "2", int64(3), "0", "4Gi", "1Gi", "-1Gi", "9E", "1e30", "1e1.5", "0.5e-400", "99999999999999Ei", "x", int64(-1))
}

func (d dice) labels() any {
	return d.one(map[string]any{"a": "b"}, map[string]any{"a/b/c": "d"}, map[string]any{"a": "not a label!"},
		map[string]any{v1beta1.LabelCluster: "other"}, map[string]any{strings.Repeat("l", 64): ""}, map[string]any{"": "x"})
}

func (d dice) resources() any {
	kind := func() any {
		return map[string]any{d.one("memory", "cpu", "storage", "hugepages-2Mi", "no thing").(string): d.quantity()}
	}
	resources := map[string]any{}
	d.maybe(resources, 2, "limits", kind)
	d.maybe(resources, 2, "requests", kind)
	return resources
}

func (d dice) spec() any {
	spec := map[string]any{
		"version": version, "replicas": d.one(int64(1), int64(3), int64(3), int64(2), int64(5)),
	}
	d.maybe(spec, 10, "version", func() any { return d.one("2.15.2", "2.16.0", "2.14.9", "two", "2.15.3+b1", "2.15.3-rc.1") })
	d.maybe(spec, 20, "replicas", func() any { return d.one(int64(0), int64(64), int64(65), "3") })
	d.maybe(spec, 10, "image", func() any {
		return map[string]any{"repository": d.one("nats", "registry.example.com:5000/a/b", "Upper", "a b", "a//b"), "digest": d.one("sha256:"+strings.Repeat("0a", 32), "sha256:0a")}
	})
	d.maybe(spec, 5, "resources", d.resources)
	d.maybe(spec, 3, "jetstream", d.jetstream)
	d.maybe(spec, 12, "serverTags", func() any {
		return d.one(map[string]any{"region": "a"}, map[string]any{"a,b": "c"}, map[string]any{"": ""}, map[string]any{"a": "b c"})
	})
	d.maybe(spec, 2, "podTemplate", d.podTemplate)
	d.maybe(spec, 6, "exporter", d.exporter)
	d.maybe(spec, 12, "monitor", func() any {
		return d.one(map[string]any{"networkPolicy": false}, map[string]any{"networkPolicy": "no"}, map[string]any{})
	})
	d.maybe(spec, 8, "tls", func() any {
		return map[string]any{"secretRef": map[string]any{"name": d.one("there", "nowhere", "", "Not A Name")}}
	})
	d.maybe(spec, 8, "routes", func() any {
		return map[string]any{"tls": d.one(map[string]any{"enabled": false}, map[string]any{"secretRef": map[string]any{"name": "there"}},
			map[string]any{"enabled": false, "secretRef": map[string]any{"name": "there"}}, map[string]any{})}
	})
	return spec
}

func (d dice) jetstream() any {
	jetstream := map[string]any{}
	d.maybe(jetstream, 3, "limits", func() any { return map[string]any{d.one("maxMemoryStore", "maxFileStore").(string): d.quantity()} })
	d.maybe(jetstream, 2, "volumeClaimTemplate", func() any {
		claim := map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": d.quantity()}}}
		d.maybe(claim, 4, "accessModes", func() any {
			return d.one([]any{"ReadWriteOnce"}, []any{"Sometimes"}, []any{}, []any{"ReadWriteOncePod", "ReadWriteOnce"})
		})
		d.maybe(claim, 6, "volumeMode", func() any { return d.one("Block", "Filesystem", "Tape") })
		d.maybe(claim, 6, "storageClassName", func() any { return d.one("standard", "", "Not A Class") })
		d.maybe(claim, 8, "dataSource", func() any { return map[string]any{"kind": "PersistentVolumeClaim", "name": "x"} })
		d.maybe(claim, 8, "selector", func() any {
			return map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "Perhaps"}}}
		})
		template := map[string]any{"spec": claim}
		d.maybe(template, 4, "metadata", func() any { return map[string]any{"labels": d.labels()} })
		return template
	})
	return jetstream
}

func (d dice) exporter() any {
	exporter := map[string]any{}
	d.maybe(exporter, 3, "enabled", func() any { return d.one(true, false) })
	d.maybe(exporter, 3, "image", func() any {
		return map[string]any{d.one("repository", "tag", "digest").(string): d.one("x", "X Y", "1.0", "sha256:"+strings.Repeat("ff", 32))}
	})
	d.maybe(exporter, 3, "resources", d.resources)
	d.maybe(exporter, 3, "from", func() any {
		return []any{d.one(map[string]any{}, map[string]any{"podSelector": map[string]any{}}, map[string]any{"ipBlock": map[string]any{"cidr": "10.0.0.0/8", "except": []any{"11.0.0.0/8"}}},
			map[string]any{"ipBlock": map[string]any{"cidr": "everywhere"}}, map[string]any{"podSelector": map[string]any{"matchLabels": d.labels()}},
			map[string]any{"namespaceSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "In"}}}})}
	})
	return exporter
}

func (d dice) podTemplate() any {
	template := map[string]any{}
	d.maybe(template, 8, "metadata", func() any { return map[string]any{d.one("labels", "annotations").(string): d.labels()} })
	d.maybe(template, 1, "spec", func() any {
		if d.IntN(6) == 0 {
			return d.json(4)
		}
		spec := map[string]any{}
		for range 1 + d.IntN(2) {
			field := d.one(podFields...).(podField)
			spec[field.name] = field.value
		}
		return spec
	})
	return template
}

// json is an object of any shape, with words that mean something to a Pod among others.
func (d dice) json(depth int) any {
	words := []any{"containers", "name", "nats", "image", "$patch", "delete", "replace", "$setElementOrder/containers", "volumes", "env", "affinity", "", "\u0000", "ß", "metadata"}
	object := map[string]any{}
	for range d.IntN(4) {
		var value any
		switch d.IntN(6) {
		case 0:
			value = d.one(words...)
		case 1:
			value = d.one(int64(-1), int64(0), int64(1<<40), 0.5, true, nil)
		case 2:
			if depth > 0 {
				value = []any{d.json(depth - 1), d.one(words...)}
			}
		default:
			if depth > 0 {
				value = d.json(depth - 1)
			}
		}
		object[d.one(words...).(string)] = value
	}
	return object
}

type podField struct {
	name  string
	value any
}

func inNATS(field string, value any) podField {
	return podField{"containers", []any{map[string]any{"name": "nats", field: value}}}
}

// podFields are parts of Pod specs: good, refused by the renderer, and refused by the API server alone.
var podFields = []any{
	podField{"terminationGracePeriodSeconds", int64(400)}, podField{"terminationGracePeriodSeconds", int64(1)},
	podField{"terminationGracePeriodSeconds", "long"}, podField{"priorityClassName", "high"}, podField{"nodeSelector", map[string]any{"disk": "fast"}},
	podField{"nodeSelector", map[string]any{"disk": int64(1)}}, podField{"tolerations", []any{map[string]any{"operator": "Exists"}}},
	podField{"tolerations", []any{map[string]any{"key": "a", "operator": "Perhaps"}}}, podField{"hostNetwork", true}, podField{"dnsPolicy", "Default"},
	podField{"restartPolicy", "Never"}, podField{"hostname", "h"}, podField{"unknown", int64(1)}, podField{"containers", nil}, podField{"containers", []any{}},
	podField{"containers", []any{map[string]any{"$patch": "replace"}}}, podField{"containers", []any{map[string]any{"name": "nats", "$patch": "delete"}}},
	podField{"containers", []any{map[string]any{"name": "beside", "image": "x"}}}, podField{"containers", []any{map[string]any{"name": "Not A Name", "image": "x"}}},
	podField{"containers", []any{map[string]any{"name": "beside"}}}, podField{"containers", []any{int64(7)}},
	podField{"initContainers", []any{map[string]any{"name": "first", "image": "x", "restartPolicy": "Always"}}},
	podField{"volumes", []any{map[string]any{"name": "config", "$patch": "delete"}}}, podField{"volumes", []any{map[string]any{"name": "more", "emptyDir": map[string]any{}}}},
	podField{"volumes", []any{map[string]any{"name": "more", "emptyDir": map[string]any{}, "hostPath": map[string]any{"path": "/"}}}},
	podField{"volumes", []any{map[string]any{"name": "pid", "emptyDir": map[string]any{"sizeLimit": "1e1.5"}}}},
	podField{"affinity", map[string]any{"nodeAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": []any{}}}}},
	podField{"securityContext", map[string]any{"runAsUser": int64(-5)}}, podField{"securityContext", nil}, podField{"topologySpreadConstraints", []any{map[string]any{"maxSkew": int64(0)}}},
	inNATS("env", []any{map[string]any{"name": "A", "value": "b"}}), inNATS("env", []any{map[string]any{"name": "=", "value": "b"}}),
	inNATS("env", []any{map[string]any{"name": "GOMEMLIMIT", "value": "1"}}), inNATS("image", "other"), inNATS("command", []any{"sh"}), inNATS("lifecycle", nil),
	inNATS("ports", []any{map[string]any{"containerPort": int64(4222), "name": "other"}}), inNATS("ports", []any{map[string]any{"containerPort": int64(99999)}}),
	inNATS("volumeMounts", []any{map[string]any{"name": "nowhere", "mountPath": "/x"}}), inNATS("readinessProbe", map[string]any{"periodSeconds": int64(-1)}),
	inNATS("resources", map[string]any{"limits": map[string]any{"memory": "1Gi"}}), inNATS("securityContext", map[string]any{"privileged": true}),
	inNATS("livenessProbe", map[string]any{"tcpSocket": map[string]any{"port": "monitor"}}),
}
