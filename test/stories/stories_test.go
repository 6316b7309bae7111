// Package stories_test tells every story on one local Kubernetes, in order: the first that fails ends it.
package stories_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	certificaterenewal "github.com/holdfast-dev/holdfast/test/stories/certificate-renewal"
	chartreinstall "github.com/holdfast-dev/holdfast/test/stories/chart-reinstall"
	controllerloss "github.com/holdfast-dev/holdfast/test/stories/controller-loss"
	deletion "github.com/holdfast-dev/holdfast/test/stories/delete"
	editinthemiddle "github.com/holdfast-dev/holdfast/test/stories/edit-in-the-middle"
	foreignobject "github.com/holdfast-dev/holdfast/test/stories/foreign-object"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
	memorychange "github.com/holdfast-dev/holdfast/test/stories/memory-change"
	nodecut "github.com/holdfast-dev/holdfast/test/stories/node-cut"
	nodekill "github.com/holdfast-dev/holdfast/test/stories/node-kill"
	nodestop "github.com/holdfast-dev/holdfast/test/stories/node-stop"
	podtemplate "github.com/holdfast-dev/holdfast/test/stories/pod-template"
	"github.com/holdfast-dev/holdfast/test/stories/quickstart"
	"github.com/holdfast-dev/holdfast/test/stories/reload"
	versionchange "github.com/holdfast-dev/holdfast/test/stories/version-change"
)

type story struct {
	name string
	run  func(*lab.Story)
}

// stories are told in this order; each name is its folder's.
var stories = []story{
	{"quickstart", quickstart.Run},
	{"memory-change", memorychange.Run},
	{"version-change", versionchange.Run},
	{"reload", reload.Run},
	{"certificate-renewal", certificaterenewal.Run},
	{"edit-in-the-middle", editinthemiddle.Run},
	{"foreign-object", foreignobject.Run},
	{"pod-template", podtemplate.Run},
	{"chart-reinstall", chartreinstall.Run},
	{"node-stop", nodestop.Run},
	{"node-kill", nodekill.Run},
	{"node-cut", nodecut.Run},
	{"controller-loss", controllerloss.Run},
	{"delete", deletion.Run},
}

func TestEveryFolderIsTold(t *testing.T) {
	pages, err := filepath.Glob("*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if !slices.ContainsFunc(stories, func(s story) bool { return s.name == filepath.Dir(page) }) {
			t.Errorf("no test tells %s", page)
		}
	}
	if len(pages) != len(stories) {
		t.Errorf("%d stories, %d of them with a README.md", len(stories), len(pages))
	}
}

func TestStories(t *testing.T) {
	l, err := lab.Up(t.Context(), "stories", os.Stderr)
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), 3*time.Minute)
		defer stop()
		if err := lab.Down(ctx, "stories"); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, story := range stories {
		if !t.Run(story.name, func(t *testing.T) { l.Tell(t, story.name, story.run) }) {
			return // what the next would show on a broken lab says nothing
		}
	}
}
