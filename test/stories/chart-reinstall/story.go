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
	s.Must(s.Apply(ctx, s.Namespace, files, "cluster.yaml"))
	cluster, err := s.UntilCluster(ctx, 3*time.Minute, s.Namespace, "demo", "up to date", lab.UpToDate)
	s.Must(err)
	processes, err := s.Processes(ctx, s.Namespace, "demo")
	s.Must(err)
	book, err := s.StartLedger(ctx, s.Namespace, cluster.Status.Endpoints.Client)
	s.Must(err)

	s.Must(book.Mark(ctx, "reinstall"))
	versions := s.Versions(cluster)
	s.Must(s.Uninstall(ctx))
	s.Must(s.Install(ctx))
	_, err = s.Helm(ctx, "test", lab.Release, "--namespace", lab.Release, "--timeout", "1m")
	s.Must(err)
	s.Must(lab.Until(ctx, time.Minute, "a controller to lead", s.Led))
	s.AtRest(cluster)
	for name, version := range s.Versions(cluster) {
		if versions[name] != version {
			s.Errorf("%s was written", name)
		}
	}
	s.Must(book.End(ctx))

	_, err = s.UntilCluster(ctx, time.Minute, s.Namespace, "demo", "up to date", lab.UpToDate)
	s.Must(err)
	again, err := s.Processes(ctx, s.Namespace, "demo")
	s.Must(err)
	for name, process := range processes {
		if again[name].ID != process.ID {
			s.Errorf("%s was restarted", name)
		}
	}
	report, err := book.Finish(ctx)
	s.Must(err)
	if !report.OK {
		s.Errorf("the ledger: %v", report.Reasons)
	}
}
