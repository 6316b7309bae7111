package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/holdfast-dev/holdfast/test/ledger"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

// conclude prints the table and says whether the change was what it promises to be.
func conclude(out io.Writer, report ledger.Report, told steps, before, after map[string]lab.Process) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nserver\tseconds\tprocess before\tprocess after\tstarted\n")
	var wrong []string
	for _, server := range slices.Sorted(maps.Keys(before)) {
		took := "-"
		if i := slices.IndexFunc(told, func(s step) bool { return s.server == server }); i >= 0 {
			took = fmt.Sprintf("%.0f", told[i].lasted(time.Now()).Seconds())
		}
		old, renewed := before[server], after[server]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", server, took, brief(old.ID), brief(renewed.ID), renewed.Start.Format(time.TimeOnly))
		if old.ID == renewed.ID || !renewed.Start.After(old.Start) {
			wrong = append(wrong, server+" was not restarted")
		}
	}
	fmt.Fprintln(table)
	if err := table.Flush(); err != nil {
		return err
	}
	if err := ledger.WriteTable(out, report); err != nil {
		return err
	}
	wrong = append(wrong, report.Reasons...)
	for _, change := range report.Changes {
		if change.Acknowledged < minimum {
			wrong = append(wrong, fmt.Sprintf("%d messages were acknowledged during %s, fewer than the %d that say something", change.Acknowledged, change.Name, minimum))
		}
	}
	if len(report.Changes) != 1 {
		wrong = append(wrong, fmt.Sprintf("%d changes were marked, want 1", len(report.Changes)))
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// brief is enough of a server's id to tell two apart.
func brief(id string) string { return id[:min(len(id), 10)] }
