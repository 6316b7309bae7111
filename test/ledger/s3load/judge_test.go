package s3load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

var (
	never     = promise{}
	put       = promise{acked: 3, last: 3}
	putAgain  = promise{acked: 4, last: 4}
	overwrite = promise{acked: 3, last: 4}
	deletion  = promise{acked: 3, last: 4, deleted: 4}
	gone      = promise{acked: 4, last: 4, deleted: 4}
	recreated = promise{acked: 5, last: 5, deleted: 4}
	recreates = promise{acked: 4, last: 5, deleted: 4}
)

func write(sequence uint64) answer { return answer{sequence: sequence} }

func TestJudgeAnswers(t *testing.T) {
	none := answer{absent: true}
	cases := map[string]struct {
		floor, ceiling promise
		answer         answer
		want           ledger.Kind
	}{
		"what was acknowledged":                                      {put, put, write(3), ""},
		"nothing of a key that was never written":                    {never, never, none, ""},
		"nothing while the first write is sent":                      {never, promise{last: 1}, none, ""},
		"the first write before its reply":                           {never, promise{last: 1}, write(1), ""},
		"gone":                                                       {put, put, none, ledger.Lost},
		"gone while it is overwritten":                               {put, overwrite, none, ledger.Lost},
		"the write before":                                           {put, put, write(2), ledger.Stale},
		"the write before while it is overwritten":                   {put, overwrite, write(2), ledger.Stale},
		"the last write while it is overwritten":                     {overwrite, overwrite, write(3), ""},
		"the next write before its reply":                            {overwrite, overwrite, write(4), ""},
		"the last write, though the next was acknowledged meanwhile": {put, putAgain, write(3), ""},
		"the last write, though the next was acknowledged before":    {putAgain, putAgain, write(3), ledger.Stale},
		"a write that was not sent":                                  {put, put, write(4), ledger.Foreign},
		"there while it is deleted":                                  {deletion, deletion, write(3), ""},
		"gone while it is deleted":                                   {put, deletion, none, ""},
		"gone, and deleted and written again meanwhile":              {put, recreated, none, ""},
		"gone, and deleted and written again before":                 {recreated, recreated, none, ledger.Lost},
		"deleted":                 {gone, gone, none, ""},
		"deleted and there again": {gone, gone, write(3), ledger.Returned},
		"deleted and there again while it is written":                 {gone, recreates, write(3), ledger.Returned},
		"written again after a deletion":                              {recreates, recreates, write(5), ""},
		"nothing yet after a deletion":                                {recreates, recreates, none, ""},
		"damaged":                                                     {put, put, answer{damage: "ends"}, ledger.Corrupted},
		"damaged while it is overwritten":                             {put, overwrite, answer{damage: "ends"}, ledger.Corrupted},
		"damaged where nothing should be":                             {gone, gone, answer{damage: "ends"}, ledger.Corrupted},
		"older than the write before the deletion under way":          {deletion, deletion, write(2), ledger.Stale},
		"an older one where an acknowledged deletion was overwritten": {recreated, recreated, write(3), ledger.Stale},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			kind, detail := judge(c.floor, c.ceiling, c.answer)
			if kind != c.want || (kind == "") != (detail == "") {
				t.Errorf("%q (%s), want %q", kind, detail, c.want)
			}
		})
	}
}

func TestSizesInAList(t *testing.T) {
	size := func(sequence uint64) int { return shapeOf("k", sequence).size }
	cases := map[string]struct {
		so   promise
		want []int
	}{
		"never written":           {so: never},
		"written":                 {so: put, want: []int{size(3)}},
		"overwriting unanswered":  {so: overwrite, want: []int{size(3), size(4)}},
		"deletion unanswered":     {so: deletion, want: []int{size(3)}},
		"deleted":                 {so: gone},
		"written again":           {so: recreated, want: []int{size(5)}},
		"writing again":           {so: recreates, want: []int{size(5)}},
		"first write unanswered":  {so: promise{last: 1}, want: []int{size(1)}},
		"deletion after creation": {so: promise{acked: 1, last: 2, deleted: 2}, want: []int{size(1)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.so.sizes("k")); diff != "" {
				t.Errorf("sizes (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever writes are sent and whatever becomes of them: what a linearisable store would answer is right, and what
// was acknowledged to be replaced before the request began is wrong.
func TestJudgeAgainstAStore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := &object{key: "k"}
		var states []answer // what the store held after each write that was not refused, by its number
		states = append(states, answer{absent: true})
		var floor promise
		from := 0
		for n := range rapid.IntRange(1, 12).Draw(t, "writes") {
			if n == 0 || rapid.Bool().Draw(t, "the request begins here") {
				floor, from = o.promise(), len(states)-1
			}
			del := rapid.Bool().Draw(t, "deletes")
			sequence := o.begin(del)
			state := answer{sequence: sequence}
			if del {
				state = answer{absent: true}
			}
			outcome := rapid.SampledFrom([]string{"acknowledged", "refused", "unanswered"}).Draw(t, "outcome")
			switch outcome {
			case "acknowledged":
				o.acknowledge(false)
			case "refused":
				o.refuse()
				continue
			case "unanswered":
				o.doubt()
			}
			states = append(states, state)
			if outcome == "unanswered" {
				break
			}
		}
		ceiling := o.promise()
		held := states[from:]
		for i, a := range states {
			kind, detail := judge(floor, ceiling, a)
			possible := slices.Contains(held, a)
			if (kind == "") != possible {
				t.Fatalf("%v is %q (%s): state %d of %v, the request began at %d", a, kind, detail, i, states, from)
			}
		}
	})
}

func TestContentIsExamined(t *testing.T) {
	const key = "ledger/0/000001"
	body := func(sequence uint64) []byte { return content(key, sequence) }
	changed := func(at int) []byte {
		b := body(7)
		b[(len(b)+at)%len(b)] ^= 1
		return b
	}
	broken := errors.New("connection reset")
	cases := map[string]struct {
		from io.Reader
		want uint64
		err  string
	}{
		"whole":                     {from: strings.NewReader(string(body(7))), want: 7},
		"byte by byte":              {from: iotest.OneByteReader(strings.NewReader(string(body(7)))), want: 7},
		"end with the last bytes":   {from: iotest.DataErrReader(strings.NewReader(string(body(7)))), want: 7},
		"of an earlier write":       {from: strings.NewReader(string(body(6))), want: 6},
		"first byte changed":        {from: strings.NewReader(string(changed(0))), err: "the content begins with"},
		"number changed":            {from: strings.NewReader(string(changed(len(key) + 1))), err: "says that it has"},
		"a byte changed":            {from: strings.NewReader(string(changed(100))), err: "the content differs"},
		"last byte changed":         {from: strings.NewReader(string(changed(-1))), err: "the content differs"},
		"cut off":                   {from: strings.NewReader(string(body(7)[:100])), err: "the content ends after byte 100"},
		"cut off in the first line": {from: strings.NewReader(string(body(7)[:10])), err: "the content begins with"},
		"empty":                     {from: strings.NewReader(""), err: "the content begins with"},
		"too long":                  {from: strings.NewReader(string(body(7)) + "x"), err: "the content goes on"},
		"of another key":            {from: strings.NewReader(string(content("ledger/0/000002", 7))), err: "the content begins with"},
		"no line at all":            {from: strings.NewReader(strings.Repeat("x", 10000)), err: "the content begins with"},
		"broken off":                {from: io.MultiReader(strings.NewReader(string(body(7)[:100])), iotest.ErrReader(broken)), err: broken.Error()},
		"broken off at the start":   {from: iotest.ErrReader(io.ErrUnexpectedEOF), err: io.ErrUnexpectedEOF.Error()},
		"broken off at the end":     {from: io.MultiReader(strings.NewReader(string(body(7))), iotest.ErrReader(broken)), err: broken.Error()},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			sequence, err := examine(c.from, key)
			if (err == nil) != (c.err == "") || !strings.Contains(fmt.Sprint(err), c.err) && c.err != "" {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if err == nil && sequence != c.want {
				t.Errorf("it is of write %d, want %d", sequence, c.want)
			}
			_, corrupt := errors.AsType[*corruption](err)
			if brokenOff := strings.HasPrefix(name, "broken off"); err != nil && corrupt == brokenOff {
				t.Errorf("corrupt is %t: %v", corrupt, err)
			}
		})
	}
}

// Every sort of content that Garage stores differently is written, and often enough.
func TestShapes(t *testing.T) {
	counts := map[string]int{}
	for sequence := range uint64(10000) {
		s := shapeOf("k", sequence)
		total := 0
		for _, part := range s.parts {
			total += part
		}
		switch {
		case len(s.parts) == 3 && total == s.size:
			counts["parts"]++
		case len(s.parts) > 0 || s.size < smallest:
			t.Fatalf("write %d has the shape %+v", sequence, s)
		case s.size < inlineLimit:
			counts["inline"]++
		case s.size <= blockSize:
			counts["block"]++
		default:
			counts["blocks"]++
		}
	}
	for sort, least := range map[string]int{"inline": 6000, "block": 3000, "blocks": 150, "parts": 150} {
		if counts[sort] < least {
			t.Errorf("%d of 10000 writes are %s, want %d", counts[sort], sort, least)
		}
	}
}

func TestRefused(t *testing.T) {
	status := func(code int) error {
		return fmt.Errorf("operation: %w", &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: code}}, Err: errors.New("no")})
	}
	cases := map[string]struct {
		err  error
		want bool
	}{
		"not connected":     {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, true},
		"403":               {status(http.StatusForbidden), true},
		"404":               {status(http.StatusNotFound), true},
		"500":               {status(http.StatusInternalServerError), false},
		"503":               {status(http.StatusServiceUnavailable), false},
		"200 with an error": {status(http.StatusOK), false},
		"connection reset":  {&net.OpError{Op: "read", Err: errors.New("connection reset")}, false},
		"no reply":          {io.EOF, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if refused(c.err) != c.want {
				t.Errorf("refused is %t", !c.want)
			}
		})
	}
}
