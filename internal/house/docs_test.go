package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/jwt/v2"

	"github.com/holdfast-dev/holdfast/internal/nats/sysapi/minted"
)

var (
	fenced = regexp.MustCompile("(?s)```.*?```")
	quoted = regexp.MustCompile("`[^`\n]+`")
)

// code is what a page shows as code.
func code(page string) string {
	blocks := fenced.FindAllString(page, -1)
	return strings.Join(append(blocks, quoted.FindAllString(fenced.ReplaceAllString(page, ""), -1)...), "\n")
}

// TestCommands wants every `make x` that a page shows to be a verb of the Makefile, and the Makefile to have
// the verbs that people and scripts count on.
func TestCommands(t *testing.T) {
	var verbs []string
	for _, found := range regexp.MustCompile(`(?m)^([a-z0-9]+):.* ## .+$`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		verbs = append(verbs, found[1])
	}
	for verb := range strings.FieldsSeq("help demo up down test verify generate lint unit envtest e2e bench mutate images chart clean") {
		if !slices.Contains(verbs, verb) {
			t.Errorf("the Makefile has no verb %s with a line of help", verb)
		}
	}
	shown := regexp.MustCompile(`\bmake ([a-z0-9]+)`)
	for _, name := range files(t) {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, found := range shown.FindAllStringSubmatch(code(read(t, name)), -1) {
			if !slices.Contains(verbs, found[1]) {
				t.Errorf("%s shows %q, which the Makefile does not have", name, found[0])
			}
		}
	}
}

// TestLinks wants every relative link of a page to lead to a file or folder.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	for _, name := range files(t) {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, found := range link.FindAllStringSubmatch(read(t, name), -1) {
			if target := path.Join(path.Dir(name), found[1]); !strings.Contains(found[1], "://") && !exists(target) {
				t.Errorf("%s links to %s, which is not there", name, found[1])
			}
		}
	}
}

// TestPermissions wants the guide to give the system user what the tests give it, no more and no less.
func TestPermissions(t *testing.T) {
	var shown jwt.Permissions
	flag := regexp.MustCompile(`--allow-(pub|sub) '([^']*)'`)
	for _, found := range flag.FindAllStringSubmatch(read(t, "docs/natscluster.md"), -1) {
		allow := &shown.Pub.Allow
		if found[1] == "sub" {
			allow = &shown.Sub.Allow
		}
		allow.Add(strings.Split(found[2], ",")...)
	}
	if diff := cmp.Diff(minted.ClusterController(), shown); diff != "" {
		t.Errorf("permissions (-given in tests +shown):\n%s", diff)
	}
}

// pages has the page of each kind, and the package with its constants.
var pages = map[string]string{"docs/natscluster.md": "api/nats/cluster/v1beta1"}

// TestReasons wants a kind's page to name every condition, reason and gate of its API, and its part "Conditions"
// to name no other.
func TestReasons(t *testing.T) {
	word := regexp.MustCompile("`([A-Z][A-Za-z]+)`|\\*\\*([A-Z][A-Za-z]+)\\*\\*")
	words := func(text string) []string {
		var all []string
		for _, found := range word.FindAllStringSubmatch(text, -1) {
			all = append(all, found[1]+found[2])
		}
		return all
	}
	for page, pkg := range pages {
		text := read(t, page)
		values := constants(t, pkg)
		for name, value := range values {
			if !slices.Contains(words(text), value) {
				t.Errorf("%s does not name `%s` (%s)", page, value, name)
			}
		}
		_, part, _ := strings.Cut(text, "\n## Conditions\n")
		part, _, _ = strings.Cut(part, "\n## ")
		named := words(part)
		if len(named) == 0 {
			t.Errorf("%s has no part \"Conditions\" with names in it", page)
		}
		for _, value := range named {
			if !slices.Contains(slices.Collect(maps.Values(values)), value) {
				t.Errorf("%s names `%s`, which %s does not have", page, value, pkg)
			}
		}
	}
}

// constants are the values of a package's constants for conditions, reasons and gates, by name.
func constants(t *testing.T, pkg string) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, name := range files(t) {
		if path.Dir(name) != pkg || path.Ext(name) != ".go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, read(t, name), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !regexp.MustCompile(`^(Condition|Reason|Gate)[A-Z]`).MatchString(spec.Names[0].Name) || len(spec.Values) != 1 {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				values[spec.Names[0].Name], err = strconv.Unquote(literal.Value)
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return values
}
