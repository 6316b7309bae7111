package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	crdFolder = "config/crd"
	// policyFolder has what the API server is to refuse, in files that are named after the API group, as CRDs are.
	policyFolder = "config/admission"
)

// groupsOfCharts says which API groups' CRDs and policies a chart brings.
var groupsOfCharts = map[string][]string{
	"charts/holdfast-garage": {"garage.rajsingh.info"},
	"charts/holdfast-nats":   {"cluster.nats.mikluko.io", "nats.mikluko.io"},
}

// sharedTemplates are copied into every chart, which has to be whole by itself.
const sharedTemplates = "charts/shared"

// generateVerb writes what is made from the types: deep copies, CRDs, and the charts' copies of those. And their copies of the
// policies and of the templates that they share.
func generateVerb(ctx context.Context, r *repo, args []string) error {
	if err := parse(flag.NewFlagSet("generate", flag.ContinueOnError), args); err != nil {
		return err
	}
	generator, err := r.box.Program(ctx, "controller-gen", "controller-gen")
	if err != nil {
		return err
	}
	// A CRD whose type is gone must go too.
	old, err := filepath.Glob(r.path(crdFolder, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	if err := r.run(ctx, ".", generator, "object", "crd", "paths=./api/...", "output:crd:dir="+crdFolder); err != nil {
		return err
	}
	return errors.Join(r.narrowQuantities(), r.dropForeignDescriptions(), r.copyToCharts())
}

// controller-gen lets a quantity's exponent have a fraction, and any length. Go's parser refuses both, and a client
// that cannot read one object of a list reads none of them: one such NatsCluster would take all the others out of the
// controller's sight.
const (
	anyExponent  = `([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+)))`
	goodExponent = `([eE](\+|-)?[0-9]{1,3})`
)

// narrowQuantities makes the CRDs refuse the quantities that cannot be read.
func (r *repo) narrowQuantities() error {
	files, err := filepath.Glob(r.path(crdFolder, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		narrow := strings.ReplaceAll(string(content), anyExponent, goodExponent)
		if strings.Contains(narrow, "numkMGTPE") && !strings.Contains(narrow, goodExponent) {
			return fmt.Errorf("%s: controller-gen writes quantities in another way now: look at narrowQuantities", file)
		}
		if err := os.WriteFile(file, []byte(narrow), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// foreignTypes are the fields of a group's kinds that hold a type of Kubernetes, which has its documentation elsewhere. With
// it, CRDs with several Pod templates would be larger than what `kubectl apply` can keep: docs/adr/0012.
var foreignTypes = map[string][]string{
	"garage.rajsingh.info": {
		"affinity", "conditions", "containerSecurityContext", "env", "envFrom", "imagePullSecrets", "resources", "securityContext",
		"selector", "tolerations", "topologySpreadConstraints",
	},
}

// dropForeignDescriptions takes the descriptions out of Kubernetes' types. What the API server checks stays as it is, and so
// does the description of the field itself.
func (r *repo) dropForeignDescriptions() error {
	for group, fields := range foreignTypes {
		files, err := filepath.Glob(r.path(crdFolder, group+"_*.yaml"))
		if err != nil {
			return err
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := os.WriteFile(file, []byte(withoutDescriptions(string(content), fields)), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutDescriptions is a CRD as controller-gen writes it, without the descriptions inside the given fields. Lines tell by
// their indentation what they belong to.
func withoutDescriptions(crd string, fields []string) string {
	var out strings.Builder
	at := position{fields: fields, inside: -1, dropping: -1}
	for line := range strings.Lines(crd) {
		if !at.dropped(line) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// A position is where in a CRD a line is.
type position struct {
	fields []string
	// inside and dropping are the indentations of the field and of the description that the line is in, -1 for none.
	inside, dropping int
}

// dropped says that the next line is of a description that has to go.
func (p *position) dropped(line string) bool {
	text := strings.TrimLeft(line, " ")
	depth := len(line) - len(text)
	if p.dropping >= 0 && (depth > p.dropping || text == "\n") {
		return true
	}
	p.dropping = -1
	if depth <= p.inside {
		p.inside = -1
	}
	key, value, _ := strings.Cut(strings.TrimSuffix(text, "\n"), ":")
	switch {
	case p.inside < 0 && value == "" && slices.Contains(p.fields, key):
		p.inside = depth
	case p.inside >= 0 && depth > p.inside+2 && key == "description" && value != "":
		p.dropping = depth
	}
	return p.dropping >= 0
}

func (r *repo) copyToCharts() error {
	var folders [3][]string
	for i, pattern := range []string{r.path(crdFolder, "*.yaml"), r.path(policyFolder, "*.yaml"), r.path(sharedTemplates, "*.tpl")} {
		var err error
		if folders[i], err = filepath.Glob(pattern); err != nil {
			return err
		}
	}
	crds, policies, templates := folders[0], folders[1], folders[2]
	for chart, groups := range groupsOfCharts {
		err := errors.Join(
			fill(r.path(chart, "files", "crds"), ofGroups(crds, groups)), fill(r.path(chart, "files", "admission"), ofGroups(policies, groups)),
			fill(r.path(chart, "templates", "shared"), templates),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// ofGroups are the files that are named after one of the API groups.
func ofGroups(files, groups []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(file string) bool {
		group, _, _ := strings.Cut(filepath.Base(file), "_")
		return !slices.Contains(groups, group)
	})
}

// fill makes the folder hold copies of these files and nothing else; without any there is none.
func fill(folder string, files []string) error {
	if err := os.RemoveAll(folder); err != nil || len(files) == 0 {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
