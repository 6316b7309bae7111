package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

// A step is one server's turn, as it was seen.
type step struct {
	server     string
	begin, end time.Time
}

// steps are in the order in which they began.
type steps []step

// see takes up what the journal says: a step lasts until the next server is chosen or the rollout is over.
func (s steps) see(cluster *v1beta1.NatsCluster, now time.Time) steps {
	current := ""
	if cluster.Status.Rollout != nil {
		current = cluster.Status.Rollout.Current
	}
	if last := len(s) - 1; last >= 0 && s[last].end.IsZero() && s[last].server != current {
		s[last].end = now
	}
	if current != "" && (len(s) == 0 || s[len(s)-1].server != current) {
		s = append(s, step{server: current, begin: now})
	}
	return s
}

// watch shows the NatsCluster until it is up to date: on a live screen on a terminal, else as a line for each
// thing that changed. In the middle of it a node may be lost.
func watch(ctx context.Context, l *lab.Lab, within time.Duration, lost *outage) (steps, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	show, finish := stage(stop)
	var told steps
	var broken error
	_, err := l.UntilCluster(ctx, within, namespace, name, "up to date", func(cluster *v1beta1.NatsCluster) (bool, string) {
		told = told.see(cluster, time.Now())
		picture := frame(cluster, told, time.Now())
		if lost != nil {
			broken = lost.see(ctx, l, cluster)
			picture.outage = lost.String()
		}
		show(picture)
		done, state := lab.UpToDate(cluster)
		return done || broken != nil, state
	})
	finish()
	return told, errors.Join(err, broken)
}

// stage is where pictures are shown: a live screen on a terminal, else lines. quit ends what is shown.
func stage(quit func()) (show func(picture), finish func()) {
	if term.IsTerminal(int(os.Stdout.Fd())) {
		return liveScreen(quit)
	}
	return printLines(), func() {}
}

// printLines prints the sentence of a picture when it speaks of something else than the last one: another server, or
// another thing that is waited for. The details of one wait are left to the live screen.
func printLines() func(picture) {
	last, outage := "", ""
	return func(p picture) {
		if p.outage != outage {
			say("%s", p.outage)
			outage = p.outage
		}
		if about := p.about(); about != last {
			say("%s", p.sentence)
			last = about
		}
	}
}

type screen struct {
	picture picture
	quit    func()
}

// Init is part of tea.Model; the pictures come from outside.
func (s screen) Init() tea.Cmd { return nil }

// Update takes a new picture, or ctrl-c, which the terminal in its raw mode does not turn into a signal.
func (s screen) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case picture:
		s.picture = message
	case tea.KeyPressMsg:
		if message.String() == "ctrl+c" {
			s.quit()
			return s, tea.Quit
		}
	}
	return s, nil
}

// View is part of tea.Model.
func (s screen) View() tea.View { return tea.NewView(s.picture.String()) }

// liveScreen runs the screen until finish is called; the last picture stays on the terminal.
func liveScreen(quit func()) (show func(picture), finish func()) {
	program := tea.NewProgram(screen{quit: quit}, tea.WithoutSignalHandler())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := program.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "demo: the screen:", err)
		}
	}()
	return func(p picture) { program.Send(p) }, func() {
		program.Quit()
		<-done
	}
}
