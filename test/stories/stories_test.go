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
	garagequickstart "github.com/holdfast-dev/holdfast/test/stories/garage-quickstart"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
	"github.com/holdfast-dev/holdfast/test/stories/lab/garagelab"
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
	name   string
	system func() lab.System
	run    func(*lab.Story)
}

// stories are told in this order; each name is its folder's.
var stories = []story{
	{"quickstart", lab.NATS, quickstart.Run},
	{"memory-change", lab.NATS, memorychange.Run},
	{"version-change", lab.NATS, versionchange.Run},
	{"reload", lab.NATS, reload.Run},
	{"certificate-renewal", lab.NATS, certificaterenewal.Run},
	{"edit-in-the-middle", lab.NATS, editinthemiddle.Run},
	{"foreign-object", lab.NATS, foreignobject.Run},
	{"pod-template", lab.NATS, podtemplate.Run},
	{"chart-reinstall", lab.NATS, chartreinstall.Run},
	{"node-stop", lab.NATS, nodestop.Run},
	{"node-kill", lab.NATS, nodekill.Run},
	{"node-cut", lab.NATS, nodecut.Run},
	{"controller-loss", lab.NATS, controllerloss.Run},
	{"delete", lab.NATS, deletion.Run},
	{"garage-quickstart", lab.Garage, garagelab.Run(garagequickstart.Tell)},
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

// systemVariable is the environment variable that names the one system to tell stories of.
const systemVariable = "HOLDFAST_SYSTEM"

// chosen are the stories of the system that the environment names, or all.
func chosen(t *testing.T) (told []story, systems []lab.System) {
	t.Helper()
	only := os.Getenv(systemVariable)
	known := map[string]bool{}
	for _, story := range stories {
		system := story.system()
		if only != "" && only != system.Name {
			continue
		}
		if told = append(told, story); !known[system.Name] {
			known[system.Name] = true
			systems = append(systems, system)
		}
	}
	if len(told) == 0 {
		t.Fatalf("%s=%s is no system that there are stories of", systemVariable, only)
	}
	return told, systems
}

func TestStories(t *testing.T) {
	told, systems := chosen(t)
	l, err := lab.Up(t.Context(), "stories", os.Stderr, systems...)
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
	for _, story := range told {
		if !t.Run(story.name, func(t *testing.T) { l.Tell(t, story.name, story.system(), story.run) }) {
			return // what the next would show on a broken lab says nothing
		}
	}
}
