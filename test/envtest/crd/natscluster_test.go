package crd

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	natscluster "github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

func TestMain(m *testing.M) { env.Main(m) }

type fields map[string]any

// a NatsCluster whose spec is the smallest there is, with the given fields besides or instead.
func cluster(namespace, name string, changes fields) *unstructured.Unstructured {
	spec := map[string]any{"version": "2.15.3", "replicas": int64(3)}
	maps.Copy(spec, changes)
	maps.DeleteFunc(spec, func(_ string, v any) bool { return v == nil })
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": natscluster.GroupVersion.String(), "kind": natscluster.KindNatsCluster,
		"metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec,
	}}
}

// judge compares an API server's answer: refused with the words, or, without words, accepted.
func judge(t *testing.T, err error, words string) {
	t.Helper()
	switch {
	case words == "" && err != nil:
		t.Errorf("refused: %v", err)
	case words != "" && err == nil:
		t.Errorf("accepted; want a refusal that says %q", words)
	case words != "" && !apierrors.IsInvalid(err):
		t.Errorf("not refused as invalid: %v", err)
	case words != "" && !strings.Contains(err.Error(), words):
		t.Errorf("refused without the words %q: %v", words, err)
	}
}

func repeat(n int, entry func(i int) (string, any)) fields {
	all := fields{}
	for i := range n {
		key, value := entry(i)
		all[key] = value
	}
	return all
}

func labels(n int) fields {
	return repeat(n, func(i int) (string, any) { return fmt.Sprintf("l%d", i), "v" })
}

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func exporter(f fields) fields         { return fields{"exporter": map[string]any(f)} }
func exporterImage(f fields) fields    { return exporter(fields{"image": map[string]any(f)}) }
func image(f fields) fields            { return fields{"image": map[string]any(f)} }
func tags(f fields) fields             { return fields{"serverTags": map[string]any(f)} }
func routesTLS(f fields) fields        { return fields{"routes": map[string]any{"tls": map[string]any(f)}} }
func jetstream(f fields) fields        { return fields{"jetstream": map[string]any(f)} }
func jetstreamLimits(f fields) fields  { return jetstream(fields{"limits": map[string]any(f)}) }
func named(name string) map[string]any { return map[string]any{"name": name} }

// auth is spec.auth with a trustRef, and with the given fields besides or instead.
func auth(f fields) fields {
	all := map[string]any{"trustRef": named("main")}
	maps.Copy(all, f)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return fields{"auth": all}
}
func trustRef(f fields) fields { return auth(fields{"trustRef": map[string]any(f)}) }
func systemCredentials(f fields) fields {
	return auth(fields{"systemCredentials": map[string]any{"secretKeyRef": map[string]any(f)}})
}

func claimMeta(f fields) fields {
	return jetstream(fields{"volumeClaimTemplate": map[string]any{"metadata": map[string]any(f), "spec": map[string]any{}}})
}
func meta(f fields) fields {
	return fields{"podTemplate": map[string]any{"metadata": map[string]any(f)}}
}

func peers(n int) []any {
	var all []any
	for range n {
		all = append(all, map[string]any{"podSelector": map[string]any{}})
	}
	return all
}

const (
	versionRefused  = "version must be a semantic version of at least 2.15.0 without build metadata, for example 2.15.3"
	tagsTooLong     = "keys and values of serverTags have at most 63 characters, and a key has at least one"
	tagKeyRefused   = "keys of serverTags are made of the characters A-Z a-z 0-9 _ . -"
	tagValueRefused = "values of serverTags are made of the characters A-Z a-z 0-9 _ . -"
	secretRefused   = "spec.routes.tls.secretRef: Invalid value: a certificate may be named only while routes.tls is enabled: drop secretRef, or enabled: false"
	standaloneWords = "spec.replicas: Forbidden: with jetstream, replicas cannot go from 1 to more or from more to 1: the servers would delete their streams; " +
		"make a second NatsCluster of the wanted size and bring the data over with a stream mirror, or a stream backup and restore"
	jetstreamStays = "spec.jetstream: Forbidden: jetstream cannot be turned on or off later: without it the servers would forget their streams, " +
		"and turned on one server at a time they would have no majority; make a second NatsCluster and move the clients over"
	routesStay = "spec.routes: Forbidden: routes.tls cannot change under running servers: one that was restarted and one that was not would refuse each other; " +
		"delete the NatsCluster, whose claims stay, and make it again"
	authStays = "spec.auth: Forbidden: auth cannot be turned on or off later: a server that was restarted and one that was not would have no account in common, " +
		"and streams belong to accounts; make a second NatsCluster and move the clients over"
	versionSteps = "version may move by one minor version at a time, up or down, and not to another major version: go through the versions between"
)

// TestCreate holds each bound and rule from both sides.
func TestCreate(t *testing.T) {
	e := env.Start(t)
	ns := e.Namespace(t)
	cases := map[string]struct {
		changes fields
		refused string // "" = accepted
	}{
		"version at the minimum":          {changes: fields{"version": "2.15.0"}},
		"version of a later major":        {changes: fields{"version": "3.0.0"}},
		"version with a pre-release":      {changes: fields{"version": "2.16.0-RC.1"}},
		"version below the minimum":       {fields{"version": "2.14.99"}, versionRefused},
		"version before the minimum":      {fields{"version": "2.15.0-beta.1"}, versionRefused},
		"version with a v":                {fields{"version": "v2.15.3"}, versionRefused},
		"version of two numbers":          {fields{"version": "2.151"}, versionRefused},
		"version no image can have":       {fields{"version": "2.15.3+build"}, versionRefused},
		"version too short":               {fields{"version": "2.15"}, "spec.version in body should be at least 5 chars long"},
		"version too long":                {fields{"version": "2.15.3-" + strings.Repeat("a", 58)}, "spec.version: Too long"},
		"version of the greatest length":  {changes: fields{"version": "2.15.3-" + strings.Repeat("a", 57)}},
		"version missing":                 {fields{"version": nil}, "spec.version: Required value"},
		"replicas missing":                {fields{"replicas": nil}, "spec.replicas: Required value"},
		"replicas below the least":        {fields{"replicas": int64(0)}, "spec.replicas: Invalid value: 0"},
		"replicas at the least":           {changes: fields{"replicas": int64(1)}},
		"replicas at the most":            {changes: fields{"replicas": int64(64)}},
		"replicas above the most":         {fields{"replicas": int64(65)}, "spec.replicas: Invalid value: 65"},
		"image empty":                     {image(fields{}), "spec.image: Invalid value: 0: spec.image in body should have at least 1 properties"},
		"image repository":                {changes: image(fields{"repository": "registry.example.com:5000/a-b/c_d/nats"})},
		"image repository with a tag":     {image(fields{"repository": "nats:2.15.3"}), "spec.image.repository: Invalid value: \"nats:2.15.3\""},
		"image repository with a digest":  {image(fields{"repository": "nats@" + digest}), "spec.image.repository"},
		"image repository empty":          {image(fields{"repository": ""}), "spec.image.repository"},
		"image repository too long":       {image(fields{"repository": strings.Repeat("a", 256)}), "spec.image.repository: Too long"},
		"image repository at its longest": {changes: image(fields{"repository": strings.Repeat("a", 255)})},
		"image digest":                    {changes: image(fields{"digest": digest})},
		"image digest in capitals":        {image(fields{"digest": strings.ToUpper(digest)}), "spec.image.digest"},
		"image digest short":              {image(fields{"digest": digest[:70]}), "spec.image.digest"},
		"image digest long":               {image(fields{"digest": digest + "0"}), "spec.image.digest: Too long"},
		"exporter empty":                  {exporter(fields{}), "spec.exporter: Invalid value: 0"},
		"exporter image empty":            {exporterImage(fields{}), "spec.exporter.image: Invalid value: 0"},
		"exporter image":                  {changes: exporterImage(fields{"repository": "r.example.com/x", "tag": "0.17.3", "digest": digest})},
		"exporter image with a tag":       {exporterImage(fields{"repository": "x:0.17.3"}), "spec.exporter.image.repository"},
		"exporter repository at longest":  {changes: exporterImage(fields{"repository": strings.Repeat("a", 255)})},
		"exporter repository too long":    {exporterImage(fields{"repository": strings.Repeat("a", 256)}), "spec.exporter.image.repository: Too long"},
		"exporter tag empty":              {exporterImage(fields{"tag": ""}), "spec.exporter.image.tag"},
		"exporter tag with a slash":       {exporterImage(fields{"tag": "a/b"}), "spec.exporter.image.tag: Invalid value: \"a/b\""},
		"exporter tag at its longest":     {changes: exporterImage(fields{"tag": strings.Repeat("a", 128)})},
		"exporter tag too long":           {exporterImage(fields{"tag": strings.Repeat("a", 129)}), "spec.exporter.image.tag: Too long"},
		"exporter digest of another kind": {exporterImage(fields{"digest": "sha512" + digest[6:]}), "spec.exporter.image.digest"},
		"exporter without peers":          {exporter(fields{"from": []any{}}), "spec.exporter.from: Invalid value: 0"},
		"exporter with most peers":        {changes: exporter(fields{"from": peers(64)})},
		"exporter with too many peers":    {exporter(fields{"from": peers(65)}), "spec.exporter.from: Too many: 65"},
		"monitor empty":                   {fields{"monitor": map[string]any{}}, "spec.monitor: Invalid value: 0"},
		"server tags":                     {changes: tags(fields{"region": "eu-1", "A.b_c-9": "", strings.Repeat("k", 63): strings.Repeat("v", 63)})},
		"server tag with a space":         {tags(fields{"region": "eu 1"}), tagValueRefused},
		"server tag with a colon":         {tags(fields{"a:b": "c"}), tagKeyRefused},
		"server tag without a key":        {tags(fields{"": "c"}), tagsTooLong},
		"server tag key too long":         {tags(fields{strings.Repeat("k", 64): "v"}), tagsTooLong},
		"server tag value too long":       {tags(fields{"k": strings.Repeat("v", 64)}), tagsTooLong},
		"most server tags":                {changes: tags(labels(15))},
		"too many server tags":            {tags(labels(16)), "spec.serverTags: Too many: 16"},
		"pod template empty":              {fields{"podTemplate": map[string]any{}}, "spec.podTemplate: Invalid value: 0"},
		"pod metadata empty":              {meta(fields{}), "spec.podTemplate.metadata: Invalid value: 0"},
		"most pod labels":                 {changes: meta(fields{"labels": map[string]any(labels(64))})},
		"too many pod labels":             {meta(fields{"labels": map[string]any(labels(65))}), "spec.podTemplate.metadata.labels: Too many: 65"},
		"too many pod annotations":        {meta(fields{"annotations": map[string]any(labels(65))}), "spec.podTemplate.metadata.annotations: Too many: 65"},
		"most pod annotations":            {changes: meta(fields{"annotations": map[string]any(labels(64))})},
		"claim metadata empty":            {claimMeta(fields{}), "spec.jetstream.volumeClaimTemplate.metadata: Invalid value: 0"},
		"most claim metadata":             {changes: claimMeta(fields{"labels": map[string]any(labels(64)), "annotations": map[string]any(labels(64))})},
		"too many claim labels":           {claimMeta(fields{"labels": map[string]any(labels(65))}), "spec.jetstream.volumeClaimTemplate.metadata.labels: Too many: 65"},
		"too many claim annotations":      {claimMeta(fields{"annotations": map[string]any(labels(65))}), "spec.jetstream.volumeClaimTemplate.metadata.annotations: Too many: 65"},
		"pod spec no object":              {fields{"podTemplate": map[string]any{"spec": "x"}}, "spec.podTemplate.spec: Invalid value: \"string\""},
		"client TLS without a Secret":     {fields{"tls": map[string]any{}}, "spec.tls.secretRef: Required value"},
		"client TLS with no name":         {fields{"tls": map[string]any{"secretRef": named("")}}, "spec.tls.secretRef.name"},
		"client TLS":                      {changes: fields{"tls": map[string]any{"secretRef": named(strings.Repeat("a", 253))}}},
		"client TLS with too long a name": {fields{"tls": map[string]any{"secretRef": named(strings.Repeat("a", 254))}}, "spec.tls.secretRef.name: Too long"},
		"client TLS by no name":           {fields{"tls": map[string]any{"secretRef": map[string]any{}}}, "spec.tls.secretRef.name: Required value"},
		"routes TLS by no name":           {routesTLS(fields{"secretRef": map[string]any{}}), "spec.routes.tls.secretRef.name: Required value"},
		"routes TLS with an empty name":   {routesTLS(fields{"secretRef": named("")}), "spec.routes.tls.secretRef.name"},
		"routes TLS at its longest":       {changes: routesTLS(fields{"secretRef": named(strings.Repeat("a", 253))})},
		"routes TLS with too long a name": {routesTLS(fields{"secretRef": named(strings.Repeat("a", 254))}), "spec.routes.tls.secretRef.name: Too long"},
		"routes empty":                    {fields{"routes": map[string]any{}}, "spec.routes: Invalid value: 0"},
		"routes TLS empty":                {routesTLS(fields{}), "spec.routes.tls: Invalid value: 0"},
		"routes TLS off":                  {changes: routesTLS(fields{"enabled": false})},
		"routes TLS by a Secret":          {changes: routesTLS(fields{"secretRef": named("s")})},
		"routes TLS on, by a Secret":      {changes: routesTLS(fields{"enabled": true, "secretRef": named("s")})},
		"routes TLS off, by a Secret":     {routesTLS(fields{"enabled": false, "secretRef": named("s")}), secretRefused},
		"jetstream, nothing else":         {changes: jetstream(fields{})},
		"jetstream limits empty":          {jetstreamLimits(fields{}), "spec.jetstream.limits: Invalid value: 0"},
		"jetstream limits":                {changes: jetstreamLimits(fields{"maxMemoryStore": "1Gi", "maxFileStore": int64(0)})},
		"jetstream memory below zero":     {jetstreamLimits(fields{"maxMemoryStore": "-1"}), "spec.jetstream.limits.maxMemoryStore: Invalid value: \"-1\": a limit is 0 or more"},
		"jetstream file below zero":       {jetstreamLimits(fields{"maxFileStore": int64(-1)}), "spec.jetstream.limits.maxFileStore: Invalid value: -1: a limit is 0 or more"},
		"jetstream limit no quantity":     {jetstreamLimits(fields{"maxFileStore": "a lot"}), "spec.jetstream.limits.maxFileStore"},
		"auth empty":                      {fields{"auth": map[string]any{}}, "spec.auth.trustRef: Required value"},
		"auth without a trust":            {auth(fields{"trustRef": nil, "resolver": "Full"}), "spec.auth.trustRef: Required value"},
		"auth":                            {changes: auth(nil)},
		"auth with jetstream":             {changes: fields{"auth": auth(nil)["auth"], "jetstream": map[string]any{}}},
		"trust by no name":                {trustRef(fields{"namespace": "nats-system"}), "spec.auth.trustRef.name: Required value"},
		"trust with an empty name":        {trustRef(fields{"name": ""}), "spec.auth.trustRef.name: Invalid value: \"\""},
		"trust name at its longest":       {changes: trustRef(fields{"name": strings.Repeat("a", 253)})},
		"trust name too long":             {trustRef(fields{"name": strings.Repeat("a", 254)}), "spec.auth.trustRef.name: Too long"},
		"trust with an empty namespace":   {trustRef(fields{"name": "main", "namespace": ""}), "spec.auth.trustRef.namespace: Invalid value: \"\""},
		"trust namespace at its longest":  {changes: trustRef(fields{"name": "main", "namespace": strings.Repeat("a", 63)})},
		"trust namespace too long":        {trustRef(fields{"name": "main", "namespace": strings.Repeat("a", 64)}), "spec.auth.trustRef.namespace: Too long"},
		"resolver full":                   {changes: auth(fields{"resolver": "Full"})},
		"resolver cache":                  {changes: auth(fields{"resolver": "Cache"})},
		"resolver memory":                 {auth(fields{"resolver": "Memory"}), `spec.auth.resolver: Unsupported value: "Memory": supported values: "Full", "Cache"`},
		"resolver empty":                  {auth(fields{"resolver": ""}), "spec.auth.resolver: Unsupported value"},
		"system credentials of nothing":   {auth(fields{"systemCredentials": map[string]any{}}), "spec.auth.systemCredentials.secretKeyRef: Required value"},
		"system credentials":              {changes: systemCredentials(fields{"name": "system"})},
		"system credentials, another key": {changes: systemCredentials(fields{"name": "system", "key": "sys.creds"})},
		"system credentials by no name":   {systemCredentials(fields{"key": "user.creds"}), "spec.auth.systemCredentials.secretKeyRef.name: Required value"},
		"system credentials, empty name":  {systemCredentials(fields{"name": ""}), "spec.auth.systemCredentials.secretKeyRef.name: Invalid value: \"\""},
		"system credentials at longest":   {changes: systemCredentials(fields{"name": strings.Repeat("a", 253), "key": strings.Repeat("a", 253)})},
		"system credentials, long name":   {systemCredentials(fields{"name": strings.Repeat("a", 254)}), "spec.auth.systemCredentials.secretKeyRef.name: Too long"},
		"system credentials, empty key":   {systemCredentials(fields{"name": "system", "key": ""}), "spec.auth.systemCredentials.secretKeyRef.key: Invalid value: \"\""},
		"system credentials, long key":    {systemCredentials(fields{"name": "system", "key": strings.Repeat("a", 254)}), "spec.auth.systemCredentials.secretKeyRef.key: Too long"},
		"jetstream claim without a spec":  {jetstream(fields{"volumeClaimTemplate": map[string]any{}}), "spec.jetstream.volumeClaimTemplate.spec: Required value"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := e.Client.Create(t.Context(), cluster(ns, "x", c.changes), client.DryRunAll)
			judge(t, err, c.refused)
		})
	}
}

// TestName holds what a name must be to serve as part of host names.
func TestName(t *testing.T) {
	e := env.Start(t)
	ns := e.Namespace(t)
	for name, refused := range map[string]string{
		"a":                     "",
		"demo-1":                "",
		strings.Repeat("a", 40): "",
		strings.Repeat("a", 41): "the name is at most 40 characters: server, Pod and claim names are built from it and a DNS label ends at 63",
		"1st":                   "the name begins with a letter and has no dots: it becomes a Service's name and part of every server's host name",
		"a.b":                   "the name begins with a letter and has no dots: it becomes a Service's name and part of every server's host name",
	} {
		t.Run(name, func(t *testing.T) {
			judge(t, e.Client.Create(t.Context(), cluster(ns, name, nil), client.DryRunAll), refused)
		})
	}
}

// TestUpdate holds what may become of a NatsCluster.
func TestUpdate(t *testing.T) {
	e := env.Start(t)
	ns := e.Namespace(t)
	with := func(version string) fields { return fields{"version": version} }
	sized := func(replicas int64, js any) fields { return fields{"replicas": replicas, "jetstream": js} }
	on := map[string]any{}
	trusting := func(trust string, js any, f fields) fields {
		all := fields{"trustRef": named(trust)}
		maps.Copy(all, f)
		return fields{"auth": map[string]any(all), "jetstream": js}
	}
	limited := map[string]any{"limits": map[string]any{"maxMemoryStore": "1Gi"}}
	cases := map[string]struct {
		from, to fields
		refused  string
	}{
		"patch up":                       {with("2.15.2"), with("2.15.30"), ""},
		"patch down":                     {with("2.15.30"), with("2.15.2"), ""},
		"minor up by one":                {with("2.15.9"), with("2.16.0"), ""},
		"minor down by one":              {with("2.17.0"), with("2.16.9"), ""},
		"minor up by two":                {with("2.15.9"), with("2.17.0"), versionSteps},
		"minor down by two":              {with("2.17.0"), with("2.15.9"), versionSteps},
		"major up":                       {with("2.15.0"), with("3.15.0"), versionSteps},
		"major down":                     {with("3.15.0"), with("2.15.0"), versionSteps},
		"one to three with jetstream":    {sized(1, on), sized(3, on), standaloneWords},
		"one to two with other limits":   {sized(1, on), sized(2, limited), standaloneWords},
		"three to one with jetstream":    {sized(3, on), sized(1, on), standaloneWords},
		"three to five with jetstream":   {sized(3, on), sized(5, on), ""},
		"three to two with jetstream":    {sized(3, on), sized(2, on), ""},
		"one to three without jetstream": {sized(1, nil), sized(3, nil), ""},
		"three to one without jetstream": {sized(3, nil), sized(1, nil), ""},
		"jetstream on":                   {sized(3, nil), sized(3, on), jetstreamStays},
		"jetstream on while growing":     {sized(1, nil), sized(3, on), jetstreamStays},
		"jetstream off":                  {sized(3, on), sized(3, nil), jetstreamStays},
		"jetstream changed":              {sized(3, on), sized(3, limited), ""},
		"routes TLS off":                 {fields{}, routesTLS(fields{"enabled": false}), routesStay},
		"routes TLS on":                  {routesTLS(fields{"enabled": false}), fields{}, routesStay},
		"routes TLS by a Secret":         {fields{}, routesTLS(fields{"secretRef": named("s")}), routesStay},
		"routes TLS by another Secret":   {routesTLS(fields{"secretRef": named("s")}), routesTLS(fields{"secretRef": named("t")}), routesStay},
		"routes TLS said to be on":       {fields{}, routesTLS(fields{"enabled": true}), ""},
		"auth on with jetstream":         {jetstream(fields{}), trusting("main", on, nil), authStays},
		"auth off with jetstream":        {trusting("main", on, nil), jetstream(fields{}), authStays},
		"another trust with jetstream":   {trusting("main", on, nil), trusting("other", on, nil), ""},
		"auth changed with jetstream":    {trusting("main", on, nil), trusting("main", on, fields{"resolver": "Cache"}), ""},
		"auth on without jetstream":      {fields{}, auth(nil), authStays},
		"auth off without jetstream":     {auth(nil), fields{}, authStays},
		"auth on along with jetstream":   {fields{}, trusting("main", on, nil), jetstreamStays},
		"routes TLS off, Secret stays":   {routesTLS(fields{"secretRef": named("s")}), routesTLS(fields{"secretRef": named("s"), "enabled": false}), secretRefused},
	}
	n := 0
	for name, c := range cases {
		n++
		object := cluster(ns, fmt.Sprintf("u-%d", n), c.from)
		t.Run(name, func(t *testing.T) {
			if err := e.Client.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			next := cluster(ns, object.GetName(), c.to)
			next.SetResourceVersion(object.GetResourceVersion())
			judge(t, e.Client.Update(t.Context(), next, client.DryRunAll), c.refused)
		})
	}
}

// TestStoredAsSent holds that nothing is added to a spec, that unknown fields are dropped, and that a Pod spec is
// kept to the letter.
func TestStoredAsSent(t *testing.T) {
	e := env.Start(t)
	ns := e.Namespace(t)
	pod := map[string]any{"containers": []any{map[string]any{"name": "nats", "madeUp": []any{int64(1), nil, "x"}}}, "alsoMadeUp": map[string]any{}}
	sent := cluster(ns, "x", fields{
		"podTemplate": map[string]any{"spec": pod, "madeUp": "x"}, "jetstream": map[string]any{"madeUp": "x"}, "madeUp": "x",
	})
	if err := e.Client.Create(t.Context(), sent.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	stored := cluster(ns, "x", nil)
	if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"version": "2.15.3", "replicas": int64(3), "podTemplate": map[string]any{"spec": pod}, "jetstream": map[string]any{}}
	if diff := cmp.Diff(want, stored.Object["spec"]); diff != "" {
		t.Errorf("stored spec (-want +got):\n%s", diff)
	}
	if status, there := stored.Object["status"]; there {
		t.Errorf("a new object has the status %v", status)
	}
	strict := client.FieldValidation(metav1.FieldValidationStrict)
	err := e.Client.Create(t.Context(), cluster(ns, "y", fields{"madeUp": "x"}), strict, client.DryRunAll)
	if err == nil || !strings.Contains(err.Error(), `unknown field "spec.madeUp"`) {
		t.Errorf("strict validation does not name the unknown field: %v", err)
	}
}

// TestDefaultKey holds the one thing that is added to a spec: where a credentials file lies in its Secret.
func TestDefaultKey(t *testing.T) {
	e := env.Start(t)
	ns := e.Namespace(t)
	object := cluster(ns, "x", systemCredentials(fields{"name": "system"}))
	if err := e.Client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	want := cluster(ns, "x", systemCredentials(fields{"name": "system", "key": "user.creds"})).Object["spec"]
	if diff := cmp.Diff(want, object.Object["spec"]); diff != "" {
		t.Errorf("stored spec (-want +got):\n%s", diff)
	}
}

// TestSamples applies every manifest in config/samples as a careful user does.
func TestSamples(t *testing.T) {
	e := env.Start(t)
	for file, objects := range env.Samples(t) {
		t.Run(file, func(t *testing.T) {
			ns := e.Namespace(t)
			for _, object := range objects {
				object.SetNamespace(ns)
				if err := e.Client.Create(t.Context(), object, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
