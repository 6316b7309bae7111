package house

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// files are the repository's files by their path from the root, without what is built or downloaded.
func files(t *testing.T) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains([]string{".git", "out"}, name):
			return fs.SkipDir
		case name == ".git": // a file, in a worktree
		case !e.IsDir():
			found = append(found, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestPicture compares the picture of the house with the folders: every folder that has files is in the
// picture, and the picture has no folder that is not there. A line `a/b/**` stands for a/b and all below it.
func TestPicture(t *testing.T) {
	picture := map[string]bool{}
	for line := range strings.SplitSeq(block(t, read(t, "docs/architecture.md"), "house"), "\n") {
		folder, what, _ := strings.Cut(line, " ")
		if folder == "" {
			continue
		}
		if strings.TrimSpace(what) == "" {
			t.Errorf("the picture says nothing about %s", folder)
		}
		picture[folder] = false
	}
	for _, folder := range folders(t) {
		entry := entryOf(picture, folder)
		if entry == "" {
			t.Errorf("%s is not in the picture of docs/architecture.md: add a line that says what it is for", folder)
			continue
		}
		picture[entry] = true
	}
	for entry, seen := range picture {
		if !seen {
			t.Errorf("docs/architecture.md pictures %s, which is not there", entry)
		}
	}
}

// entryOf is the picture's line that speaks of a folder.
func entryOf(picture map[string]bool, folder string) string {
	if _, ok := picture[folder]; ok {
		return folder
	}
	for at := folder; at != "."; at = path.Dir(at) {
		if _, ok := picture[at+"/**"]; ok {
			return at + "/**"
		}
	}
	return ""
}

// folders are those with files of their own. A testdata folder belongs to the one above it.
func folders(t *testing.T) []string {
	t.Helper()
	seen := map[string]bool{}
	for _, name := range files(t) {
		folder, _, _ := strings.Cut(path.Dir(name), "/testdata")
		if folder != "." {
			seen[folder] = true
		}
	}
	var all []string
	for folder := range seen {
		all = append(all, folder)
	}
	slices.Sort(all)
	return all
}

// block is the text of the fenced block of that language.
func block(t *testing.T, page, language string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "```"+language+"\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("no block of ```%s", language)
	}
	return text
}

// TestSizes holds the budgets that the linter cannot tell apart: 400 lines a file, 1,000 a test file.
func TestSizes(t *testing.T) {
	generated := regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	for _, name := range files(t) {
		if path.Ext(name) != ".go" {
			continue
		}
		budget := 400
		if strings.HasSuffix(name, "_test.go") {
			budget = 1000
		}
		text := read(t, name)
		if lines := strings.Count(text, "\n"); lines > budget && !generated.MatchString(text) {
			t.Errorf("%s has %d lines, at most %d are allowed", name, lines, budget)
		}
	}
}

// TestConcerns wants a package that decides to have its promise, its facts and tests of its decision.
func TestConcerns(t *testing.T) {
	for _, name := range files(t) {
		if path.Base(name) != "decide.go" {
			continue
		}
		for _, other := range []string{"doc.go", "world.go", "decide_test.go"} {
			if beside := path.Join(path.Dir(name), other); !exists(beside) {
				t.Errorf("%s is missing beside %s", beside, name)
			}
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil
}

// words that say where or how the repository was made instead of what it is.
var words = regexp.MustCompile(`(?i)/(root|work|home/[a-z]+)/|\b(issue|ticket|task) #?[0-9]|\b(this|the last|a previous|an earlier) session\b|\bfor now\b|\b(TODO|FIXME|XXX)\b`)

// TestWords keeps such words out of every file that a person reads.
func TestWords(t *testing.T) {
	const here = "internal/house/house_test.go" // has the words themselves
	for _, name := range files(t) {
		if name == here || name == "LICENSE" || path.Ext(name) == ".sum" || strings.Contains(name, "/testdata/") {
			continue
		}
		text := read(t, name)
		for _, at := range words.FindAllStringIndex(text, -1) {
			t.Errorf("%s:%d: %q", name, 1+strings.Count(text[:at[0]], "\n"), text[at[0]:at[1]])
		}
	}
}

// TestDecisions wants the decision records numbered without a gap, and each to have all its parts.
func TestDecisions(t *testing.T) {
	records, err := filepath.Glob(root + "/docs/adr/*.md")
	if err != nil || len(records) == 0 {
		t.Fatalf("no records: %v", err)
	}
	for i, record := range records {
		name := filepath.Base(record)
		if want := fmt.Sprintf("%04d-", i+1); !strings.HasPrefix(name, want) {
			t.Errorf("%s: want a name that starts with %s", name, want)
		}
		text := read(t, "docs/adr/"+name)
		for _, part := range []string{"# ", "\n## Context\n", "\n## Decision\n", "\n## Alternatives\n", "\n## Consequences\n"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no part %q", name, strings.TrimSpace(part))
			}
		}
	}
}

// TestStories wants every folder of test/stories with a manifest to say what a person does with it.
func TestStories(t *testing.T) {
	for _, name := range files(t) {
		folder := path.Dir(name)
		if path.Dir(folder) == "test/stories" && path.Ext(name) == ".yaml" && !exists(path.Join(folder, "README.md")) {
			t.Errorf("%s has %s and no README.md", folder, path.Base(name))
		}
	}
}
