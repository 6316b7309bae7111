// Package chartreinstall is the story of a chart that is removed and installed again.
package chartreinstall

import (
	"embed"
	"time"

	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

//go:embed *.yaml
var files embed.FS

// Run tells the story.
func Run(s *lab.Story) {
	ctx := s.Context()
	cluster := s.Create(files)
	processes := s.Running()
	book := s.Load(cluster)

	s.Must(book.Mark(ctx, "reinstall"))
	versions := s.Versions()
	s.Must(s.Uninstall(ctx, s.System))
	s.Must(s.Install(ctx, s.System))
	_, err := s.Helm(ctx, "test", s.System.Release, "--namespace", lab.Namespace, "--timeout", "1m")
	s.Must(err)
	s.Must(lab.Until(ctx, time.Minute, "a controller to lead", s.Led))
	s.AtRest()
	for name, version := range s.Versions() {
		if versions[name] != version {
			s.Errorf("%s was written", name)
		}
	}
	s.Must(book.End(ctx))

	s.UpToDate(time.Minute)
	s.Restarted(processes)
	s.Conclude(book)
}
