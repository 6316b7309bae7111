package crd

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/runtime"
	versions "k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/holdfast-dev/holdfast/test/envtest/env"
)

// oldest is the oldest Kubernetes that a CRD is for, where that is another one than the chart's.
var oldest = map[string]*versions.Version{garageFile: versions.MajorMinor(1, 25), nodeFile: versions.MajorMinor(1, 25)}

// TestRulesOfOldKubernetes compiles every rule with only the functions that the oldest API server has: one that it does not know would
// keep the whole CRD out. Fields of rules that came later (fieldPath, reason, messageExpression) would be dropped there, or keep a
// strict apply out.
func TestRulesOfOldKubernetes(t *testing.T) {
	for file, of := range oldest {
		t.Run(file, func(t *testing.T) {
			rules, cost := 0, uint64(0)
			eachNode(t, file, func(path string, node *schema.Structural, root bool) {
				results, err := cel.Compile(node, model.SchemaDeclType(node, root), celconfig.PerCallLimit, environment.MustBaseEnvSet(of), cel.NewExpressionsEnvLoader())
				if err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				for i, result := range results {
					rules++
					cost = max(cost, result.MaxCost)
					if result.Error != nil {
						t.Errorf("%s: %q: %v", path, node.XValidations[i].Rule, result.Error)
					}
				}
				for _, rule := range node.XValidations {
					if rule.FieldPath != "" || rule.Reason != nil || rule.MessageExpression != "" || rule.OptionalOldSelf != nil {
						t.Errorf("%s: %q has a field that Kubernetes %s does not know", path, rule.Rule, of)
					}
				}
			})
			t.Logf("%d rules, the dearest at %d", rules, cost)
			if rules < 20 {
				t.Errorf("only %d rules were looked at", rules)
			}
		})
	}
}

// eachNode visits each part of a CRD's schema.
func eachNode(t *testing.T, file string, visit func(path string, node *schema.Structural, root bool)) {
	t.Helper()
	object, _ := env.CRD(t, file)
	crd, internal := &apiextensionsv1.CustomResourceDefinition{}, &apiextensions.JSONSchemaProps{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, crd); err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, internal, nil); err != nil {
		t.Fatal(err)
	}
	whole, err := schema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(path string, node *schema.Structural, root bool)
	walk = func(path string, node *schema.Structural, root bool) {
		visit(path, node, root)
		for name, child := range node.Properties {
			walk(path+"."+name, &child, false)
		}
		if node.Items != nil {
			walk(path+"[]", node.Items, false)
		}
	}
	walk("", whole, true)
}
