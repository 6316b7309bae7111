package render_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
)

// TestTemplateMerge holds what a node has in place of the group's.
func TestTemplateMerge(t *testing.T) {
	p := plan(t, with(func(_ *render.Input, spec *v1beta2.GarageClusterSpec) {
		spec.ServiceAccountName, spec.Logging.Level, spec.Logging.Syslog = "group", "warn", new(true)
		spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "group"}}
		spec.Storage.PodTemplate = v1beta2.PodTemplate{
			Resources:         &corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": *size("1Gi")}},
			NodeSelector:      map[string]string{"disk": "ssd"},
			Tolerations:       []corev1.Toleration{{Key: "a"}},
			PodLabels:         map[string]string{"team": "x", "stage": "live"},
			PriorityClassName: "low",
			Env:               []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "1"}},
			EnvFrom:           []corev1.EnvFromSource{{Prefix: "X_"}},
			SecurityContext:   &corev1.PodSecurityContext{RunAsUser: new(int64(7))},
		}
	}))
	node := auto(t, p, 0)
	node.Spec.ServiceAccountName, node.Spec.Logging.Level = "own", "debug"
	node.Spec.PodTemplate = v1beta2.PodTemplate{
		NodeSelector: map[string]string{}, Tolerations: []corev1.Toleration{}, PodLabels: map[string]string{"team": "y"},
		Env: []corev1.EnvVar{{Name: "B", Value: "2"}, {Name: "C", Value: "2"}, {Name: "RUST_LOG", Value: "trace"}},
	}
	out := rendered(t, p, node)
	spec, c := pod(out), container(out)
	type merged struct {
		Selector, Tolerations                  int // an empty choice of the node's is one, too
		Account, Priority, PullSecret, EnvFrom string
		User                                   int64
		Team, Stage, Limit                     string
	}
	labels, limit := out.StatefulSet.Spec.Template.Labels, c.Resources.Limits["memory"]
	got := merged{
		len(spec.NodeSelector), len(spec.Tolerations), spec.ServiceAccountName, spec.PriorityClassName, spec.ImagePullSecrets[0].Name, c.EnvFrom[0].Prefix,
		*spec.SecurityContext.RunAsUser, labels["team"], labels["stage"], limit.String(),
	}
	if diff := cmp.Diff(merged{0, 0, "own", "low", "group", "X_", 7, "y", "live", "1Gi"}, got); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	var env []string
	for _, variable := range c.Env {
		if variable.ValueFrom == nil {
			env = append(env, variable.Name+"="+variable.Value)
		}
	}
	want := []string{"GARAGE_CONFIG_FILE=/etc/garage/garage.toml", "RUST_LOG=trace", "GARAGE_LOG_TO_SYSLOG=true", "A=1", "B=2", "C=2"}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

// TestImage holds which image a node has.
func TestImage(t *testing.T) {
	const pinned = "registry.example.com:5000/dxflrs/garage:v2.3.0@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for name, c := range map[string]struct {
		byDefault, cluster, clusterRepository, node, nodeRepository, want string
	}{
		"the default":                {want: defaultImage},
		"the store's":                {cluster: "a/b:v2.4.1", clusterRepository: "c/d", want: "a/b:v2.4.1"},
		"the store's repository":     {clusterRepository: "c/d", want: "c/d:v2.3.0"},
		"with a digest":              {byDefault: pinned, clusterRepository: "c/d", want: "c/d" + pinned[len("registry.example.com:5000/dxflrs/garage"):]},
		"without a tag":              {byDefault: "registry.example.com:5000/garage", clusterRepository: "c/d", want: "c/d"},
		"the node's":                 {cluster: "a/b:v2.4.1", node: "e:v2.4.0", nodeRepository: "f", want: "e:v2.4.0"},
		"the node's repository":      {cluster: "a/b:v2.4.1", nodeRepository: "f", want: "f:v2.3.0"},
		"a tag that tells no number": {cluster: "a/b:nightly", want: "a/b:nightly"},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan(t, with(func(in *render.Input, spec *v1beta2.GarageClusterSpec) {
				if c.byDefault != "" {
					in.DefaultImage = c.byDefault
				}
				spec.Image, spec.ImageRepository = c.cluster, c.clusterRepository
			}))
			node := auto(t, p, 0)
			node.Spec.Image, node.Spec.ImageRepository = c.node, c.nodeRepository
			if got := container(rendered(t, p, node)).Image; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestVolumes holds what each kind of volume becomes: a claim of the StatefulSet's, one that is there, or a folder.
func TestVolumes(t *testing.T) {
	p := plan(t, quickstart())
	node := auto(t, p, 0)
	node.Spec.Storage.Data = nil
	shape := func(s v1beta1.NodeVolumeShape) v1beta1.NodeVolumeShape { return s }
	node.Spec.Storage.DataPaths = []v1beta1.NodeDataPath{
		{Path: "/data/a", NodeVolumeShape: shape(v1beta1.NodeVolumeShape{Size: size("1Ti"), StorageClassName: new("fast"), Labels: map[string]string{"x": "y"}})},
		{Path: "/data/b", Capacity: size("2Ti"), NodeVolumeShape: shape(v1beta1.NodeVolumeShape{ExistingClaim: "old"})},
		{Path: "/data/c", Capacity: size("1Gi"), NodeVolumeShape: shape(v1beta1.NodeVolumeShape{Type: v1beta2.VolumeTypeEmptyDir})},
		{Path: "/data/d", ReadOnly: new(true), NodeVolumeShape: shape(v1beta1.NodeVolumeShape{Size: size("1Gi")})},
	}
	out := rendered(t, p, node)
	want := []render.Claim{
		{Name: "metadata-demo-storage-0-0", Volume: "metadata", Size: *size("1Gi"), Path: "spec.storage.metadata.size"},
		{Name: "data-0-demo-storage-0-0", Volume: "data-0", Size: *size("1Ti"), Path: "spec.storage.dataPaths[0].size", Data: true},
		{Name: "old", Volume: "data-1", Existing: true},
		{Name: "data-3-demo-storage-0-0", Volume: "data-3", Size: *size("1Gi"), Path: "spec.storage.dataPaths[3].size"},
	}
	if diff := cmp.Diff(want, out.Claims); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	alone, err := render.Claims(node)
	if diff := cmp.Diff(want, alone); diff != "" {
		t.Errorf("claims without the rest (-want +got): %v\n%s", err, diff)
	}
	if volume := render.Ephemeral(pod(out)); volume != "data-2" {
		t.Errorf("%q goes with the Pod", volume)
	}
	var made, volumes []string
	for _, claim := range out.StatefulSet.Spec.VolumeClaimTemplates {
		made = append(made, claim.Name)
	}
	for _, volume := range pod(out).Volumes {
		volumes = append(volumes, volume.Name)
	}
	if diff := cmp.Diff([][]string{{"metadata", "data-0", "data-3"}, {"config", "data-1", "data-2"}}, [][]string{made, volumes}); diff != "" {
		t.Errorf("made, and mounted besides (-want +got):\n%s", diff)
	}
	mounts := map[string]string{}
	for _, mount := range container(out).VolumeMounts {
		mounts[mount.Name] = mount.MountPath
	}
	if diff := cmp.Diff(map[string]string{"config": "/etc/garage", "metadata": "/data/metadata", "data-0": "/data/a", "data-1": "/data/b", "data-2": "/data/c", "data-3": "/data/d"}, mounts); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	if template := out.StatefulSet.Spec.VolumeClaimTemplates[1]; *template.Spec.StorageClassName != "fast" || template.Labels["x"] != "y" {
		t.Errorf("claim: %+v", template)
	}
}

func TestANodeElsewhereHasNoClaims(t *testing.T) {
	if none, err := render.Claims(&v1beta1.GarageNode{}); err != nil || none != nil {
		t.Errorf("%+v, %v", none, err)
	}
}

// TestEphemeral holds which volumes of a Pod take data with them.
func TestEphemeral(t *testing.T) {
	for name, want := range map[string]string{"metadata": "metadata", "data": "data", "data-0": "data-0", "datas": "", "mine": ""} {
		spec := corev1.PodSpec{Volumes: []corev1.Volume{{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}}
		if got := render.Ephemeral(spec); got != want {
			t.Errorf("%s: %q", name, got)
		}
		spec.Volumes[0].VolumeSource = corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}
		if got := render.Ephemeral(spec); got != "" {
			t.Errorf("%s on something else: %q", name, got)
		}
	}
}

// TestClaimsStay holds that a StatefulSet which is there keeps its claim templates and takes the rest.
func TestClaimsStay(t *testing.T) {
	before := first(t, quickstart()).StatefulSet
	after := first(t, with(func(_ *render.Input, spec *v1beta2.GarageClusterSpec) {
		spec.Storage.Data.Size, spec.Storage.PriorityClassName = size("200Gi"), "high"
	})).StatefulSet
	live := before.DeepCopy()
	live.Spec.VolumeClaimTemplates[0].Status.Phase = corev1.ClaimPending
	got := render.WithClaimsOf(after, live)
	if diff := cmp.Diff(before.Spec.VolumeClaimTemplates, got.Spec.VolumeClaimTemplates); diff != "" {
		t.Errorf("claim templates (-there +to be written):\n%s", diff)
	}
	if diff := cmp.Diff(after.Spec.Template, got.Spec.Template); diff != "" {
		t.Errorf("Pod template (-rendered +to be written):\n%s", diff)
	}
}

// TestHashes holds what makes a node restart, and what does not.
func TestHashes(t *testing.T) {
	was := first(t, quickstart())
	for name, c := range map[string]struct {
		change      func(*render.Input, *v1beta2.GarageClusterSpec)
		config, pod bool
	}{
		"nothing":          {func(*render.Input, *v1beta2.GarageClusterSpec) {}, false, false},
		"garage.toml":      {func(_ *render.Input, s *v1beta2.GarageClusterSpec) { s.Blocks.MaxConcurrentReads = 2 }, true, false},
		"the image":        {func(_ *render.Input, s *v1beta2.GarageClusterSpec) { s.Image = "x:v2.4.1" }, false, true},
		"a Pod's label":    {func(_ *render.Input, s *v1beta2.GarageClusterSpec) { s.Storage.PodLabels = map[string]string{"a": "b"} }, false, true},
		"a secret":         {func(in *render.Input, _ *v1beta2.GarageClusterSpec) { in.Admin.Name = "other" }, false, true},
		"a secret's bytes": {func(in *render.Input, _ *v1beta2.GarageClusterSpec) { in.Admin.Digest = "other" }, false, true},
		"a port":           {func(_ *render.Input, s *v1beta2.GarageClusterSpec) { s.S3API = &v1beta2.S3APISpec{BindPort: 80} }, true, true},
		"a claim's size":   {func(_ *render.Input, s *v1beta2.GarageClusterSpec) { s.Storage.Data.Size = size("200Gi") }, false, false},
		"the retention": {func(_ *render.Input, s *v1beta2.GarageClusterSpec) {
			s.Storage.PVCRetentionPolicy = &v1beta2.PVCRetentionPolicy{WhenDeleted: "Delete"}
		}, false, false},
		"the layout's zones": {func(_ *render.Input, s *v1beta2.GarageClusterSpec) { s.Zone, s.DefaultNodeTags = "b", []string{"t"} }, false, false},
		"the workers":        {func(_ *render.Input, s *v1beta2.GarageClusterSpec) { s.Workers.ResyncWorkerCount = 2 }, false, false},
		"more nodes":         {func(_ *render.Input, s *v1beta2.GarageClusterSpec) { s.Storage.Replicas = new(int32(5)) }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			is := first(t, with(c.change))
			if changed := is.ConfigHash != was.ConfigHash; changed != c.config {
				t.Errorf("another garage.toml: %v", changed)
			}
			if changed := is.PodSpecHash != was.PodSpecHash; changed != c.pod {
				t.Errorf("another Pod: %v", changed)
			}
			want := map[string]string{v1beta2.AnnotationConfigHash: is.ConfigHash, v1beta2.AnnotationPodSpecHash: is.PodSpecHash}
			for _, got := range []map[string]string{is.StatefulSet.Annotations, is.StatefulSet.Spec.Template.Annotations} {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("annotations (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestDropsClaims holds that claims are deleted only where that was asked for, and never by a StatefulSet.
func TestDropsClaims(t *testing.T) {
	cluster := quickstart().Cluster
	if render.DropsClaims(cluster, false) || render.DropsClaims(cluster, true) {
		t.Error("claims are deleted although nobody has asked for it")
	}
	for policy, want := range map[v1beta2.PVCRetentionPolicy][2]bool{
		{}:                      {},
		{WhenDeleted: "Delete"}: {true, false},
		{WhenScaled: "Delete"}:  {false, true},
		{WhenDeleted: "Retain"}: {},
	} {
		cluster.Spec.Storage.PVCRetentionPolicy = &policy
		for i, scaledAway := range []bool{false, true} {
			if got := render.DropsClaims(cluster, scaledAway); got != want[i] {
				t.Errorf("%+v, scaled away %v: %v", policy, scaledAway, got)
			}
		}
	}
}

// TestBudget holds how many nodes an eviction leaves.
func TestBudget(t *testing.T) {
	percent, two := intstr.FromString("50%"), intstr.FromInt32(2)
	for name, c := range map[string]struct {
		budget      *v1beta2.PodDisruptionBudget
		replicas    int32
		manual      bool
		nodes       int32
		least, most *intstr.IntOrString
		none        bool
	}{
		"all but one":              {replicas: 3, nodes: 3, least: &two},
		"of those that are to be":  {replicas: 3, nodes: 0, least: &two},
		"of those that are still":  {replicas: 2, nodes: 3, least: &two},
		"of a user's":              {replicas: 9, manual: true, nodes: 3, least: &two},
		"one of one":               {replicas: 1, nodes: 1, most: new(intstr.FromInt32(1))},
		"as many as are asked for": {budget: &v1beta2.PodDisruptionBudget{MinAvailable: &percent}, replicas: 3, least: &percent},
		"as many as may be away":   {budget: &v1beta2.PodDisruptionBudget{MaxUnavailable: &percent}, replicas: 3, most: &percent},
		"turned off":               {budget: &v1beta2.PodDisruptionBudget{Enabled: new(false)}, replicas: 3, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan(t, with(func(_ *render.Input, spec *v1beta2.GarageClusterSpec) {
				spec.Storage.PodDisruptionBudget, spec.Storage.Replicas = c.budget, &c.replicas
				if c.manual {
					spec.LayoutPolicy = v1beta2.LayoutPolicyManual
				}
			}))
			at := slices.IndexFunc(p.Shared(c.nodes), func(o client.Object) bool { _, is := o.(*policyv1.PodDisruptionBudget); return is })
			if c.none {
				if at >= 0 {
					t.Error("there is one")
				}
				return
			}
			spec := p.Shared(c.nodes)[at].(*policyv1.PodDisruptionBudget).Spec
			if diff := cmp.Diff([]*intstr.IntOrString{c.least, c.most}, []*intstr.IntOrString{spec.MinAvailable, spec.MaxUnavailable}); diff != "" {
				t.Errorf("least and most (-want +got):\n%s", diff)
			}
		})
	}
}

// TestServices holds that clients reach members only, that nodes find each other before they are ready, and that neither the Admin API
// nor the RPC port leaves the Kubernetes cluster.
func TestServices(t *testing.T) {
	for kind, want := range map[v1beta2.ServiceType]string{"": "s3 admin web", v1beta2.ServiceTypeClusterIP: "s3 admin web", v1beta2.ServiceTypeNodePort: "s3 web", v1beta2.ServiceTypeLoadBalancer: "s3 web"} {
		p := plan(t, with(func(_ *render.Input, spec *v1beta2.GarageClusterSpec) {
			spec.Network = &v1beta2.NetworkSpec{Service: &v1beta2.ServiceSpec{Type: kind}}
		}))
		service, headless := p.Shared(3)[0].(*corev1.Service), p.Shared(3)[1].(*corev1.Service)
		var ports []string
		for _, port := range service.Spec.Ports {
			ports = append(ports, port.Name)
		}
		if got := strings.Join(ports, " "); got != want {
			t.Errorf("type %q has %s, want %s", kind, got, want)
		}
		if service.Spec.PublishNotReadyAddresses || service.Spec.Selector[v1beta2.LabelS3Member] != "true" {
			t.Errorf("clients reach who is no member: %+v", service.Spec)
		}
		if !headless.Spec.PublishNotReadyAddresses || headless.Spec.Selector[v1beta2.LabelS3Member] != "" || headless.Spec.ClusterIP != corev1.ClusterIPNone {
			t.Errorf("nodes do not find each other: %+v", headless.Spec)
		}
		labels := first(t, quickstart()).StatefulSet.Spec.Template.Labels
		if _, member := labels[v1beta2.LabelS3Member]; member {
			t.Error("a Pod is born a member")
		}
		for key, value := range headless.Spec.Selector {
			if labels[key] != value {
				t.Errorf("a Pod's %s is %q, and %q is looked for", key, labels[key], value)
			}
		}
	}
}

// TestAutoNodes holds how many nodes there are to be, and how they are known.
func TestAutoNodes(t *testing.T) {
	p := plan(t, quickstart())
	nodes, err := p.AutoNodes()
	if err != nil {
		t.Fatal(err)
	}
	for i, node := range nodes {
		if number, mine := render.Ordinal(node); number != i || !mine || node.Name != render.NodeName("demo", i) {
			t.Errorf("%s is number %d", node.Name, number)
		}
	}
	manual := with(func(_ *render.Input, spec *v1beta2.GarageClusterSpec) {
		spec.Storage.LayoutPolicy = v1beta2.LayoutPolicyManual
	})
	none, err := plan(t, manual).AutoNodes()
	if len(nodes) != 3 || len(none) != 0 || err != nil {
		t.Errorf("%d nodes, %d with the policy Manual, %v", len(nodes), len(none), err)
	}
	want := []string{
		"garage.rajsingh.info/cluster=demo,garage.rajsingh.info/scale-target=storage", "garage.rajsingh.info/cluster=demo,garage.rajsingh.info/scale-target=disabled",
	}
	if diff := cmp.Diff(want, []string{render.ScaleSelector(quickstart().Cluster), render.ScaleSelector(manual.Cluster)}); diff != "" {
		t.Errorf("selectors (-want +got):\n%s", diff)
	}
	unset := quickstart().Cluster
	unset.Spec.Storage.Replicas = nil
	if got := render.Replicas(unset); got != 3 {
		t.Errorf("%d nodes where nobody has said, want 3", got)
	}
	if diff := cmp.Diff(v1beta2.Endpoints{
		S3: "http://demo.objects.svc:3900", Admin: "http://demo-headless.objects.svc:3903", RPC: "demo-headless.objects.svc:3901",
	}, p.Endpoints()); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
}

// TestReservedNames holds that what the schema refuses is what is refused here.
func TestReservedNames(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(render.Reserved())) {
		p := plan(t, with(func(_ *render.Input, spec *v1beta2.GarageClusterSpec) {
			spec.Storage.Env = []corev1.EnvVar{{Name: name}}
		}))
		_, err := p.Node(auto(t, p, 0))
		if got := unsupported(t, err); !strings.HasSuffix(got, "spec.env["+name+"]") {
			t.Errorf("%s: refused as %s", name, got)
		}
	}
	if err := error(&render.UnsupportedError{Path: "a", Message: "b"}); err.Error() != "a: b" || errors.Unwrap(err) != nil {
		t.Errorf("%v", err)
	}
}
