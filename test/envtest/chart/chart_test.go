package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

// TestValuesAreChecked has helm refuse what is no value of the chart, by its name.
func TestValuesAreChecked(t *testing.T) { ofEach(t, checkValues) }

func checkValues(t *testing.T, c chart) {
	t.Helper()
	cases := map[string]refusal{
		"no value":                    {map[string]any{"watchNamespace": []any{}}, "watchNamespace"},
		"no value of the controller":  {within(c.of, "replica", 1), "replica"},
		"no value of its image":       {within(c.of, "image", map[string]any{"repository": "x", "tags": "1"}), "tags"},
		"no value of metrics":         {within("metrics", "services", true), "services"},
		"no value of crds":            {within("crds", "enabled", true), "enabled"},
		"no value of networkPolicy":   {within("networkPolicy", "enable", true), "enable"},
		"no value of a pull Secret":   {map[string]any{"imagePullSecrets": []any{map[string]any{"names": "x"}}}, "names"},
		"no replica":                  {within(c.of, "replicas", 0), "replicas"},
		"replicas as text":            {within(c.of, "replicas", "2"), "replicas"},
		"a wildcard for a namespace":  {map[string]any{"watchNamespaces": []any{"*"}}, "watchNamespaces"},
		"a namespace twice":           {map[string]any{"watchNamespaces": []any{"a", "a"}}, "watchNamespaces"},
		"a digest that is none":       {within(c.of, "image", map[string]any{"digest": "latest"}), "digest"},
		"leader election by hand":     {within(c.of, "extraArgs", []any{"--leader-elect=false"}), "extraArgs"},
		"leader election, one hyphen": {within(c.of, "extraArgs", []any{"-leader-elect=false"}), "extraArgs"},
	}
	maps.Copy(cases, c.refused)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := c.template(t, "default", release, tc.values)
			if err == nil || !strings.Contains(err.Error(), tc.named) || !strings.Contains(err.Error(), "values.schema.json") && !strings.Contains(err.Error(), "values don't meet the specifications of the schema") {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := c.template(t, "default", strings.Repeat("r", 42), map[string]any{}); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("a release name that no Service could have: %v", err)
	}
}

// TestAPIServerTakesEverything applies what is rendered, without writing, and the Pods that would follow in a namespace
// that enforces the restricted Pod security profile.
func TestAPIServerTakesEverything(t *testing.T) { ofEach(t, apiServerTakes) }

func apiServerTakes(t *testing.T, c chart) {
	t.Helper()
	e := env.Start(t)
	namespace, other := e.Namespace(t), e.Namespace(t)
	for name, values := range c.variants(namespace, other) {
		t.Run(name, func(t *testing.T) {
			found := c.rendered(t, namespace, values)
			for _, object := range found {
				typed(t, object)
				if err := e.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.DryRunAll, client.FieldOwner("helm")); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
			deployment := only[*appsv1.Deployment](t, found)
			pod := &corev1.Pod{ObjectMeta: deployment.Spec.Template.ObjectMeta, Spec: deployment.Spec.Template.Spec}
			pod.Name, pod.Namespace, pod.Spec.ServiceAccountName = "controller", namespace, "default"
			for _, pod := range []*corev1.Pod{pod, only[*corev1.Pod](t, found)} {
				if err := e.Client.Create(t.Context(), pod, client.DryRunAll); err != nil {
					t.Errorf("Pod %s: %v", pod.Name, err)
				}
			}
		})
	}
}

// TestTwoReplicasApart holds the defaults: two replicas on different nodes, of which one leads, and a drain takes one
// at a time.
func TestTwoReplicasApart(t *testing.T) { ofEach(t, checkReplicas) }

func checkReplicas(t *testing.T, c chart) {
	t.Helper()
	found := c.rendered(t, "default", map[string]any{})
	deployment := only[*appsv1.Deployment](t, found)
	if *deployment.Spec.Replicas != 2 {
		t.Errorf("%d replicas", *deployment.Spec.Replicas)
	}
	pod := deployment.Spec.Template
	terms := pod.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	if len(terms) != 1 || terms[0].PodAffinityTerm.TopologyKey != corev1.LabelHostname || !selects(t, terms[0].PodAffinityTerm.LabelSelector, pod.Labels) {
		t.Errorf("they may share a node: %+v", terms)
	}
	for _, arg := range args(t, found) {
		if strings.HasPrefix(arg, "--leader-elect") && !strings.HasPrefix(arg, "--leader-election-id=") {
			t.Errorf("leader election is not left on: %s", arg)
		}
	}
	if budget := only[*policyv1.PodDisruptionBudget](t, found); budget.Spec.MaxUnavailable.IntValue() != 1 || !selects(t, budget.Spec.Selector, pod.Labels) {
		t.Errorf("%+v", budget.Spec)
	}
	one := c.rendered(t, "default", within(c.of, "replicas", 1))
	if budgets := all[*policyv1.PodDisruptionBudget](t, one); len(budgets) > 0 {
		t.Error("a budget for one replica never lets a node be drained")
	}
}

// TestPartsFitTogether has everything that selects the controller's Pods find them, by ports that they have, and
// nothing else.
func TestPartsFitTogether(t *testing.T) { ofEach(t, checkParts) }

func checkParts(t *testing.T, c chart) {
	t.Helper()
	found := c.rendered(t, "default", map[string]any{})
	pod := only[*appsv1.Deployment](t, found).Spec.Template
	test := only[*corev1.Pod](t, found)
	ports := map[string]bool{}
	for _, port := range pod.Spec.Containers[0].Ports {
		ports[port.Name] = true
	}
	check := func(what string, selector *metav1.LabelSelector) {
		if !selects(t, selector, pod.Labels) || selects(t, selector, test.Labels) {
			t.Errorf("%s selects %+v", what, selector)
		}
	}
	services := all[*corev1.Service](t, found)
	for _, service := range services {
		check("Service "+service.Name, &metav1.LabelSelector{MatchLabels: service.Spec.Selector})
		for _, port := range service.Spec.Ports {
			if !ports[port.TargetPort.StrVal] {
				t.Errorf("Service %s leads to port %s, of %v", service.Name, port.TargetPort.String(), ports)
			}
		}
	}
	if len(services) != 2 {
		t.Errorf("%d Services", len(services))
	}
	policy := only[*networkingv1.NetworkPolicy](t, found)
	check("the NetworkPolicy", &policy.Spec.PodSelector)
	admitted := map[string]bool{}
	for _, rule := range policy.Spec.Ingress {
		for _, port := range rule.Ports {
			admitted[port.Port.StrVal] = true
		}
	}
	if diff := cmp.Diff(ports, admitted); diff != "" {
		t.Errorf("the NetworkPolicy admits:\n%s", diff)
	}
	account := only[*corev1.ServiceAccount](t, found)
	if pod.Spec.ServiceAccountName != account.Name {
		t.Errorf("ServiceAccount %s, and the Pods have %s", account.Name, pod.Spec.ServiceAccountName)
	}
}

func selects(t *testing.T, selector *metav1.LabelSelector, set map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return !s.Empty() && s.Matches(labels.Set(set))
}

// TestRights reads every rule that the chart grants.
func TestRights(t *testing.T) { ofEach(t, checkRights) }

func checkRights(t *testing.T, c chart) {
	t.Helper()
	shipped, everywhere := env.ShippedRules(t, c.name)
	for name, values := range c.variants("one", "other") {
		t.Run(name, func(t *testing.T) {
			found := c.rendered(t, "default", values)
			_, narrow := values["watchNamespaces"]
			granted := map[string][]rbacv1.PolicyRule{} // by where they hold
			for _, role := range all[*rbacv1.ClusterRole](t, found) {
				granted[""] = append(granted[""], role.Rules...)
			}
			for _, role := range all[*rbacv1.Role](t, found) {
				granted[role.Namespace] = append(granted[role.Namespace], role.Rules...)
			}
			for where, rules := range granted {
				for _, rule := range rules {
					checkRule(t, where, rule, narrow)
				}
			}
			wanted := map[string][]rbacv1.PolicyRule{"": slices.Concat(shipped, everywhere)}
			if narrow {
				wanted = map[string][]rbacv1.PolicyRule{"": everywhere, "one": shipped, "other": shipped}
			}
			for place, rules := range wanted {
				for _, rule := range rules {
					if !slices.ContainsFunc(granted[place], func(r rbacv1.PolicyRule) bool { return cmp.Equal(r, rule) }) {
						t.Errorf("in %q is missing: %+v", place, rule)
					}
				}
			}
			checkBindings(t, found)
		})
	}
}

// checkRule refuses wildcards, every way to see Secrets without knowing their names, and with narrow any right to them
// that holds everywhere.
func checkRule(t *testing.T, where string, rule rbacv1.PolicyRule, narrow bool) {
	t.Helper()
	for _, part := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
		if slices.Contains(part, "*") {
			t.Errorf("in %q: a wildcard: %+v", where, rule)
		}
	}
	if !slices.Contains(rule.Resources, "secrets") {
		return
	}
	for _, verb := range rule.Verbs {
		if !slices.Contains([]string{"get", "create", "patch"}, verb) {
			t.Errorf("in %q: Secrets may be %s: %+v", where, verb, rule)
		}
	}
	if where == "" && narrow {
		t.Errorf("Secrets of all namespaces: %+v", rule)
	}
}

// checkBindings has every role bound once, where it is, and to the chart's ServiceAccount.
func checkBindings(t *testing.T, found objects) {
	t.Helper()
	account := only[*corev1.ServiceAccount](t, found)
	want := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: account.Namespace}}
	bound := map[string]int{}
	for _, binding := range all[*rbacv1.RoleBinding](t, found) {
		bound[binding.RoleRef.Kind+" "+binding.Namespace+"/"+binding.RoleRef.Name]++
		if diff := cmp.Diff(want, binding.Subjects); diff != "" {
			t.Error(diff)
		}
	}
	for _, binding := range all[*rbacv1.ClusterRoleBinding](t, found) {
		bound[binding.RoleRef.Kind+" /"+binding.RoleRef.Name]++
		if diff := cmp.Diff(want, binding.Subjects); diff != "" {
			t.Error(diff)
		}
	}
	roles := map[string]int{}
	for _, role := range all[*rbacv1.Role](t, found) {
		roles["Role "+role.Namespace+"/"+role.Name]++
	}
	for _, role := range all[*rbacv1.ClusterRole](t, found) {
		roles["ClusterRole /"+role.Name]++
	}
	if diff := cmp.Diff(roles, bound); diff != "" {
		t.Errorf("roles and what is bound:\n%s", diff)
	}
}

// TestCRDsStay has the chart bring exactly the CRDs of its groups, which helm leaves where they are.
func TestCRDsStay(t *testing.T) { ofEach(t, checkCRDs) }

func checkCRDs(t *testing.T, c chart) {
	t.Helper()
	var brought []string
	for _, object := range c.rendered(t, "default", map[string]any{}) {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if object.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s goes with the chart", object.GetName())
		}
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations", "helm.sh/resource-policy")
		plural, group, _ := strings.Cut(object.GetName(), ".")
		file := group + "_" + plural + ".yaml"
		brought = append(brought, file)
		crd, _ := env.CRD(t, file)
		if diff := cmp.Diff(crd, object); diff != "" {
			t.Errorf("%s:\n%s", object.GetName(), diff)
		}
	}
	others := func(file string) bool {
		group, _, _ := strings.Cut(file, "_")
		return !slices.Contains(c.groups, group)
	}
	if diff := cmp.Diff(slices.DeleteFunc(env.CRDs(t), others), slices.Sorted(slices.Values(brought))); diff != "" {
		t.Errorf("CRDs (-there +brought):\n%s", diff)
	}
}
