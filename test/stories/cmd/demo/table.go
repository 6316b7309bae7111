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
)

// conclude prints the table and says whether the changes were what they promise to be.
func conclude(out io.Writer, report ledger.Report, acts []*act) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\nCHANGE\tSERVER\tSECONDS\tVERSION\tPROCESS BEFORE\tPROCESS AFTER\tSTARTED\n")
	var wrong []string
	for _, a := range acts {
		wrong = append(wrong, a.rows(table)...)
	}
	fmt.Fprintln(table)
	if err := table.Flush(); err != nil {
		return err
	}
	for _, a := range acts {
		if a.lost != nil {
			fmt.Fprintf(out, "%s: %s; nobody else was touched meanwhile\n\n", a.name, a.lost)
		}
	}
	if err := ledger.WriteTable(out, report); err != nil {
		return err
	}
	if wrong = append(wrong, judge(report, len(acts), minimum)...); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// judge says what is wrong with a report of so many changes, during each of which so much must have been acknowledged.
func judge(report ledger.Report, changes int, least uint64) []string {
	wrong := slices.Clone(report.Reasons)
	for _, change := range report.Changes {
		if change.Acknowledged < least {
			wrong = append(wrong, fmt.Sprintf("%d %s were acknowledged during %s, fewer than the %d that say something", change.Acknowledged, report.Unit, change.Name, least))
		}
	}
	if len(report.Changes) != changes {
		wrong = append(wrong, fmt.Sprintf("%d changes were marked, want %d", len(report.Changes), changes))
	}
	return wrong
}

// rows prints a line for each server, and says what is wrong.
func (a *act) rows(table io.Writer) (wrong []string) {
	for _, name := range slices.Sorted(maps.Keys(a.before)) {
		took := "-"
		if i := slices.IndexFunc(a.told, func(s step) bool { return s.server == name }); i >= 0 {
			took = fmt.Sprintf("%.0f", a.told[i].lasted(time.Now()).Seconds())
		}
		old, renewed := a.before[name], a.after[name]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.name, name, took, renewed.version, brief(old.ID), brief(renewed.ID), renewed.Start.Format(time.TimeOnly))
		if old.ID == renewed.ID || !renewed.Start.After(old.Start) {
			wrong = append(wrong, fmt.Sprintf("%s: %s was not restarted", a.name, name))
		}
		if renewed.version != a.version {
			wrong = append(wrong, fmt.Sprintf("%s: %s runs %s, want %s", a.name, name, renewed.version, a.version))
		}
	}
	if a.lost != nil && a.lost.end.IsZero() {
		wrong = append(wrong, a.name+": no node was lost in the middle of it")
	}
	return wrong
}

// brief is enough of a server's id to tell two apart.
func brief(id string) string { return id[:min(len(id), 10)] }
