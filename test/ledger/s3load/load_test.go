package s3load

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/test/ledger"
)

// found is a finding of the comparison on the last acknowledged write of a key.
func found(kind ledger.Kind, o *object, member *way) ledger.Finding {
	f := ledger.Finding{Kind: kind, Stream: bucket, Sequence: o.promise().acked, ID: o.key, Count: 1}
	if member != nil {
		f.Endpoint = member.url
	}
	return f
}

// tampering does something behind the ledger's back and returns what must be found. Where it is found through
// both members either may have been the first.
type tampering func(x scene) []ledger.Finding

// scene is a service and a load on it.
type scene struct {
	*testing.T
	*service
	load *load
}

func (x scene) key(writes int) *object                { x.Helper(); return x.load.key(x.T, writes) }
func (x scene) keyBefore(is func(shape) bool) *object { x.Helper(); return x.load.keyBefore(x.T, is) }
func (x scene) delete(o *object)                      { x.Helper(); x.load.delete(x.T, o) }
func (x scene) put(key string, body []byte)           { x.Helper(); x.service.put(x.T, key, body) }
func (x scene) remove(key string)                     { x.Helper(); x.service.remove(x.T, key) }
func (x scene) overwrite(o *object) {
	x.load.writers[0].carryOut(x.Context(), intent{object: o, name: overwritten})
}

func one(f ledger.Finding) []ledger.Finding { return []ledger.Finding{f} }

var tamperings = map[string]tampering{
	"nothing": func(scene) []ledger.Finding { return nil },
	"an object is deleted": func(x scene) []ledger.Finding {
		o := x.key(2)
		x.remove(o.key)
		return one(found(ledger.Lost, o, nil))
	},
	"an object in parts is deleted": func(x scene) []ledger.Finding {
		o := x.keyBefore(func(s shape) bool { return len(s.parts) > 0 })
		x.overwrite(o)
		x.remove(o.key)
		return one(found(ledger.Lost, o, nil))
	},
	"an object has older content": func(x scene) []ledger.Finding {
		o := x.key(3)
		x.put(o.key, content(o.key, 2))
		return one(found(ledger.Stale, o, nil))
	},
	"a byte is changed": func(x scene) []ledger.Finding {
		o := x.key(1)
		body := content(o.key, 1)
		body[len(body)-1] ^= 1
		x.put(o.key, body)
		return one(found(ledger.Corrupted, o, nil))
	},
	"a byte is changed in the second block": func(x scene) []ledger.Finding {
		o := x.keyBefore(func(s shape) bool { return s.size > blockSize })
		x.overwrite(o)
		body := content(o.key, o.promise().acked)
		body[blockSize+1] ^= 1
		x.put(o.key, body)
		return one(found(ledger.Corrupted, o, nil))
	},
	"content is cut off": func(x scene) []ledger.Finding {
		o := x.key(1)
		body := content(o.key, 1)
		x.put(o.key, body[:len(body)-1])
		return one(found(ledger.Corrupted, o, nil))
	},
	"two objects have each other's content": func(x scene) []ledger.Finding {
		first, second := x.key(1), x.key(1)
		x.put(first.key, content(second.key, 1))
		x.put(second.key, content(first.key, 1))
		return []ledger.Finding{found(ledger.Corrupted, first, nil), found(ledger.Corrupted, second, nil)}
	},
	"a deletion comes undone": func(x scene) []ledger.Finding {
		o := x.key(2)
		x.delete(o)
		x.put(o.key, content(o.key, 2))
		return one(found(ledger.Returned, o, nil))
	},
	"a strange key": func(x scene) []ledger.Finding {
		x.put(x.load.config.Name+"/strange", []byte("hello"))
		return one(ledger.Finding{Kind: ledger.Foreign, Stream: bucket, ID: x.load.config.Name + "/strange", Count: 1})
	},
	"a write that was never sent": func(x scene) []ledger.Finding {
		o := x.key(2)
		x.put(o.key, content(o.key, 3))
		return one(found(ledger.Foreign, o, nil))
	},
	"a list omits a key": func(x scene) []ledger.Finding {
		o := x.key(1)
		x.members[1].set(rewriteLists(func(list string) string { return strings.Replace(list, entry(list, o.key), "", 1) }))
		return one(found(ledger.Unlisted, o, x.members[1]))
	},
	"a list has the size of an earlier write": func(x scene) []ledger.Finding {
		o := x.key(2)
		x.members[1].set(rewriteLists(func(list string) string {
			size := func(sequence uint64) string { return fmt.Sprintf("<Size>%d<", shapeOf(o.key, sequence).size) }
			return strings.Replace(list, entry(list, o.key), strings.Replace(entry(list, o.key), size(2), size(1), 1), 1)
		}))
		return one(found(ledger.Stale, o, x.members[1]))
	},
	"a list has a key twice": func(x scene) []ledger.Finding {
		o := x.key(1)
		x.members[0].set(rewriteLists(func(list string) string {
			return strings.Replace(list, entry(list, o.key), strings.Repeat(entry(list, o.key), 2), 1)
		}))
		return one(found(ledger.Doubled, o, x.members[0]))
	},
	"a list has a deleted key": func(x scene) []ledger.Finding {
		here, o := x.key(1), x.key(1)
		x.delete(o)
		x.members[0].set(rewriteLists(func(list string) string {
			return strings.Replace(list, entry(list, here.key), entry(list, here.key)+strings.ReplaceAll(entry(list, here.key), here.key, o.key), 1)
		}))
		return one(found(ledger.Returned, o, x.members[0]))
	},
	"one member says that there is no such key": func(x scene) []ledger.Finding {
		o := x.key(1)
		x.members[1].set(only(http.MethodGet, o.key, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`<Error><Code>NoSuchKey</Code></Error>`))
			return true
		}))
		return one(found(ledger.Lost, o, x.members[1]))
	},
	"one member has older content": func(x scene) []ledger.Finding {
		o := x.key(2)
		x.members[0].set(only(http.MethodGet, o.key, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
			_, _ = w.Write(content(o.key, 1))
			return true
		}))
		return one(found(ledger.Stale, o, x.members[0]))
	},
	"one member cannot read an object": func(x scene) []ledger.Finding {
		o := x.key(1)
		x.members[0].set(only(http.MethodGet, o.key, fail))
		return one(found(ledger.Unreadable, o, x.members[0]))
	},
	"one member never ends an answer": func(x scene) []ledger.Finding {
		o := x.key(1)
		x.members[0].set(only(http.MethodGet, o.key, breakOff))
		return one(found(ledger.Unreadable, o, x.members[0]))
	},
	"one member answers at the second time": func(x scene) []ledger.Finding {
		o, asked := x.key(1), 0
		x.members[0].set(only(http.MethodGet, o.key, func(w http.ResponseWriter, r *http.Request, pass http.Handler) bool {
			asked++
			return asked == 1 && fail(w, r, pass)
		}))
		return nil
	},
}

// tamper does each tampering to a service of its own load, and wants it found, and nothing else.
func tamper(t *testing.T, s *service) {
	t.Helper()
	for name, do := range tamperings {
		t.Run(name, func(t *testing.T) {
			l := s.load(t)
			l.writeSome(t, 20)
			want := do(scene{T: t, service: s, load: l})
			report := l.compare(t)
			expect(t, report, want)
			if len(report.Problems) > 0 {
				t.Errorf("problems: %v", report.Problems)
			}
		})
	}
}

// expect compares what was found, and requires that each finding is explained, and says when and through whom. The
// endpoint is compared where it can be known.
func expect(t *testing.T, report ledger.Report, want []ledger.Finding) {
	t.Helper()
	for i, f := range report.Findings {
		if f.Detail == "" || f.At.IsZero() || f.Endpoint == "" {
			t.Errorf("not explained: %v", f)
		}
		if i < len(want) && want[i].Endpoint == "" {
			report.Findings[i].Endpoint = ""
		}
	}
	if diff := cmp.Diff(want, report.Findings, cmpopts.IgnoreFields(ledger.Finding{}, "Detail", "At"), cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(a, b ledger.Finding) bool { return a.ID+string(a.Kind) < b.ID+string(b.Kind) })); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// The ledger is believed because of these: it reports nothing where nothing is wrong, and exactly what was done
// behind its back where something is.
func TestTampering(t *testing.T) { tamper(t, inMemory(t)) }

// shortly is too short for a write that is never answered.
func shortly(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// wayOfWriting is a kind of write, and the requests that do it.
type wayOfWriting struct {
	method   string
	shape    func(shape) bool
	deletion bool
}

var waysOfWriting = map[string]wayOfWriting{
	"put":        {method: http.MethodPut, shape: func(s shape) bool { return len(s.parts) == 0 }},
	"deletion":   {method: http.MethodDelete, shape: func(shape) bool { return true }, deletion: true},
	"completion": {method: http.MethodPost, shape: func(s shape) bool { return len(s.parts) > 0 }},
}

var waysOfNotAnswering = map[string]struct {
	tamper func(http.ResponseWriter, *http.Request, http.Handler) bool
	counts []ledger.Count
}{
	"happened":       {tamper: loseReply, counts: []ledger.Count{{Name: happened, Number: 1}, {Name: didNot}, {Name: readThrough, Number: 2}}},
	"did not happen": {tamper: loseRequest, counts: []ledger.Count{{Name: happened}, {Name: didNot, Number: 1}, {Name: readThrough, Number: 2}}},
	"failed":         {tamper: fail, counts: []ledger.Count{{Name: happened}, {Name: didNot, Number: 1}, {Name: readThrough, Number: 2}}},
}

// unanswered tries writes whose requests or replies are lost, and wants to be told that either state is right, that
// no other is, and what became of them.
func unanswered(t *testing.T, s *service) {
	t.Helper()
	for name, write := range waysOfWriting {
		for how, c := range waysOfNotAnswering {
			t.Run(name+" "+how, func(t *testing.T) {
				l := s.load(t)
				o := l.writeUnanswered(t, s, write, c.tamper)
				report := l.compare(t)
				expect(t, report, nil)
				if diff := cmp.Diff(c.counts, report.Harmless); diff != "" {
					t.Errorf("what became of it (-want +got):\n%s", diff)
				}
				if report.Whole.Retries < 2 || report.Whole.Errors != 1 {
					t.Errorf("%d retries, %d errors", report.Whole.Retries, report.Whole.Errors)
				}
				s.put(t, o.key, []byte("neither the one nor the other"))
				if report := l.compare(t); report.Faults[ledger.Corrupted] != 1 {
					t.Errorf("a third state is not found: %v", report.Findings)
				}
			})
		}
	}
}

// writeUnanswered does one write none of whose attempts is answered.
func (l *load) writeUnanswered(t *testing.T, s *service, write wayOfWriting, tamper func(http.ResponseWriter, *http.Request, http.Handler) bool) *object {
	t.Helper()
	o := l.keyBefore(t, write.shape)
	before := o.promise()
	for _, m := range s.members {
		m.set(func(w http.ResponseWriter, r *http.Request, pass http.Handler) bool {
			begins := r.URL.Query().Has("uploads") // only the last request of an upload makes the object
			return r.Method == write.method && !begins && tamper(w, r, pass)
		})
	}
	l.writers[0].carryOut(shortly(t), intent{object: o, name: overwritten, deletion: write.deletion})
	if so := o.promise(); so.acked != before.acked || so.last != before.last+1 || !o.rests() {
		t.Fatalf("before %+v, now %+v, rests %t", before, so, o.rests())
	}
	return o
}

func TestUnansweredWrites(t *testing.T) { unanswered(t, inMemory(t)) }

// When replies are lost and a repeat is answered, the write is acknowledged, and is the last one of its key: the
// first attempt may still be on its way.
func TestRepeatedWriteIsTheLastOfItsKey(t *testing.T) {
	s := inMemory(t)
	l := s.load(t)
	o := l.key(t, 1)
	lost := 0
	for _, m := range s.members {
		m.set(only(http.MethodPut, o.key, func(w http.ResponseWriter, r *http.Request, pass http.Handler) bool {
			lost++
			return lost <= 4 && loseReply(w, r, pass)
		}))
	}
	l.writers[0].carryOut(t.Context(), intent{object: o, name: overwritten})
	if so := o.promise(); so.acked != 2 || !o.rests() {
		t.Errorf("%+v, rests %t", so, o.rests())
	}
	next := l.key(t, 1)
	for range 20 {
		if i, ok := l.writers[0].choose(); !ok || i.object == o {
			t.Fatalf("chosen: %v", i.object)
		}
	}
	report := l.compare(t)
	expect(t, report, nil)
	if whole := report.Whole; whole.Retries != 4 || whole.Errors != 0 || whole.Acknowledged != 3 || next.rests() {
		t.Errorf("%+v", whole)
	}
}

// A write that was refused did not happen, and its key goes on.
func TestRefusedWrite(t *testing.T) {
	s := inMemory(t)
	l := s.load(t)
	o := l.key(t, 1)
	for _, m := range s.members {
		m.set(only(http.MethodDelete, o.key, refuse))
	}
	l.writers[0].carryOut(t.Context(), intent{object: o, name: deleted, deletion: true})
	if so, want := o.promise(), (promise{acked: 1, last: 1}); so != want || o.rests() {
		t.Errorf("%+v, rests %t", so, o.rests())
	}
	expect(t, l.compare(t), nil)
	s.remove(t, o.key)
	expect(t, l.compare(t), one(found(ledger.Lost, o, nil)))
}

// A refusal says nothing about the attempt before it that went unanswered: such as "no such upload" when that one had
// completed it.
func TestRefusalAfterALostReply(t *testing.T) {
	s := inMemory(t)
	l := s.load(t)
	o := l.key(t, 1)
	lost := false
	for _, m := range s.members {
		m.set(only(http.MethodDelete, o.key, func(w http.ResponseWriter, r *http.Request, pass http.Handler) bool {
			if lost {
				return refuse(w, r, pass)
			}
			lost = true
			return loseReply(w, r, pass)
		}))
	}
	l.writers[0].carryOut(t.Context(), intent{object: o, name: deleted, deletion: true})
	if so, want := o.promise(), (promise{acked: 1, last: 2, deleted: 2}); so != want || !o.rests() {
		t.Errorf("%+v, rests %t", so, o.rests())
	}
	expect(t, l.compare(t), nil)
}

// An unanswered write that one member shows has happened, whatever the others say.
func TestUnansweredWriteThatOneMemberShows(t *testing.T) {
	s := inMemory(t)
	l := s.load(t)
	o := l.writeUnanswered(t, s, waysOfWriting["put"], loseReply)
	s.members[0].set(untouched)
	s.members[1].set(only(http.MethodGet, o.key, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		_, _ = w.Write(content(o.key, o.promise().acked))
		return true
	}))
	report := l.compare(t)
	expect(t, report, nil)
	if diff := cmp.Diff(ledger.Count{Name: happened, Number: 1}, report.Harmless[0]); diff != "" {
		t.Errorf("what became of it (-want +got):\n%s", diff)
	}
}

// With the bucket everything in it is lost, and nothing that was deleted before.
func TestBucketIsGone(t *testing.T) {
	s := inMemory(t)
	l := s.load(t)
	here, gone := l.key(t, 2), l.key(t, 1)
	l.delete(t, gone)
	for _, m := range s.members {
		m.set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`<Error><Code>NoSuchBucket</Code></Error>`))
			return true
		})
	}
	report := l.compare(t)
	expect(t, report, one(found(ledger.Lost, here, nil)))
	if len(report.Problems) > 0 {
		t.Errorf("problems: %q", report.Problems)
	}
}

// Attempts go to the next endpoint, so that one that is gone costs a repeat and no write.
func TestOneOfTwoIsGone(t *testing.T) {
	s := inMemory(t)
	s.bound = time.Second
	l := s.load(t)
	s.members[0].set(loseRequest)
	for range 5 {
		l.key(t, 1)
	}
	if retries := l.book.Report().Whole.Retries; retries < 2 {
		t.Errorf("%d attempts went to the one that is gone", retries)
	}
	report := l.compare(t)
	expect(t, report, nil)
	if want := "5 of 5 keys could not be read through " + s.members[0].url; len(report.Problems) != 2 || !strings.HasPrefix(report.Problems[0], want) {
		t.Errorf("problems: %q", report.Problems)
	}
}

func TestNoKeyIsLeft(t *testing.T) {
	s := inMemory(t)
	l := s.load(t)
	w := l.writers[0]
	for range l.config.Keys {
		w.create().doubt()
	}
	if i, ok := w.choose(); ok {
		t.Fatalf("chosen: %v", i.object)
	}
	w.write(t.Context(), make(chan struct{}))
	if problems := l.book.Report().Problems; len(problems) != 1 || !strings.Contains(problems[0], "none left to write") {
		t.Errorf("problems: %q", problems)
	}
}
