package adminapi

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/kit/fact"
)

// Version is a version of Garage.
type Version struct{ Major, Minor, Patch int }

// String is the version as "2.3.0".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Compare is below, equal to or above 0 as v is older than, equal to or newer than other.
func (v Version) Compare(other Version) int {
	return cmp.Or(cmp.Compare(v.Major, other.Major), cmp.Compare(v.Minor, other.Minor), cmp.Compare(v.Patch, other.Patch))
}

var numbers = regexp.MustCompile(`([0-9]+)\.([0-9]+)\.([0-9]+)`)

// ParseVersion finds the version in what a node calls its own: "v2.3.0" of a release, "cargo:2.3.0" of a published crate,
// "git:…" of a source tree. Without three numbers it is unknown, which is not old (Garage server facts, 2.6 Node, workers,
// repair, blocks).
func ParseVersion(text string) fact.Fact[Version] {
	unknown := fact.Unknown[Version](fmt.Sprintf("%.40q has no version in it", text))
	found := numbers.FindStringSubmatch(text)
	if found == nil {
		return unknown
	}
	var v Version
	for i, into := range []*int{&v.Major, &v.Minor, &v.Patch} {
		var err error
		if *into, err = strconv.Atoi(found[i+1]); err != nil {
			return unknown
		}
	}
	return fact.Known(v)
}
