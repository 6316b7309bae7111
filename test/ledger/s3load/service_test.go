package s3load

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/holdfast-dev/holdfast/test/ledger"
	"github.com/holdfast-dev/holdfast/test/ledger/run"
)

const bucket = "books"

// service is an S3 service with two ways in that can be tampered with, and one that cannot.
type service struct {
	direct  string
	members []*way
	client  *s3.Client
	loads   int
	bound   time.Duration
}

// way is a proxy. What tampers with a request answers it, or returns false to have it passed on.
type way struct {
	url    string
	tamper atomic.Pointer[func(w http.ResponseWriter, r *http.Request, pass http.Handler) bool]
}

func (w *way) set(tamper func(w http.ResponseWriter, r *http.Request, pass http.Handler) bool) {
	w.tamper.Store(&tamper)
}

func newWay(t *testing.T, target string) *way {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // it is signed
		},
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // as if there were no proxy
	}
	w := &way{}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if tamper := w.tamper.Load(); tamper == nil || !(*tamper)(out, r, pass) {
			pass.ServeHTTP(out, r)
		}
	}))
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

func through(t *testing.T, direct string) *service {
	t.Helper()
	s := &service{direct: direct, members: []*way{newWay(t, direct), newWay(t, direct)}}
	config := s.config()
	access, err := config.access()
	if err != nil {
		t.Fatal(err)
	}
	s.client = config.client(access, direct)
	return s
}

// inMemory is a service of a maintained in-memory implementation.
func inMemory(t *testing.T) *service {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket(bucket); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "somebody")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	return through(t, server.URL)
}

func (s *service) config() Config {
	var urls []string
	for _, m := range s.members {
		urls = append(urls, m.url)
	}
	return Config{
		URL: strings.Join(urls, ","), Bucket: bucket, Region: "garage", Writers: 2, Keys: 60,
		Config: run.Config{Name: "ledger", Interval: time.Millisecond, Minimum: 20, Bound: cmp.Or(s.bound, 20*time.Second)},
	}
}

// load is one with nothing written yet, whose writes are the test's to do. Nobody tampers with anything.
func (s *service) load(t *testing.T) *load {
	t.Helper()
	for _, m := range s.members {
		m.set(untouched)
	}
	s.loads++
	config := s.config()
	config.Name = fmt.Sprintf("ledger-%d", s.loads)
	l, err := newLoad(config, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	l.believe, l.page = 100*time.Millisecond, 7 // many pages
	if err := l.SetUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// writeSome does n writes by each writer, one after the other.
func (l *load) writeSome(t *testing.T, n int) {
	t.Helper()
	for _, w := range l.writers {
		for range n {
			next, found := w.choose()
			if !found {
				t.Fatal("there is no key to write")
			}
			w.carryOut(t.Context(), next)
		}
	}
	if errors := l.book.Report().Whole.Errors; errors > 0 {
		t.Fatalf("%d writes failed", errors)
	}
}

// key is a new one of the first writer with that many writes acknowledged.
func (l *load) key(t *testing.T, writes int) *object {
	t.Helper()
	w := l.writers[0]
	i := w.create()
	for range writes {
		w.carryOut(t.Context(), i)
		i.name = overwritten
	}
	if so := i.promise(); so.acked != uint64(writes) {
		t.Fatalf("%s: %+v", i.key, so)
	}
	return i.object
}

// keyBefore is a new key whose next write has that shape.
func (l *load) keyBefore(t *testing.T, is func(shape) bool) *object {
	t.Helper()
	o := l.key(t, 1)
	for !is(shapeOf(o.key, o.promise().last+1)) {
		l.writers[0].carryOut(t.Context(), intent{object: o, name: overwritten})
		if so := o.promise(); so.acked != so.last || so.acked > 1000 {
			t.Fatalf("%s: %+v", o.key, so)
		}
	}
	return o
}

func (l *load) delete(t *testing.T, o *object) {
	t.Helper()
	l.writers[0].carryOut(t.Context(), intent{object: o, name: deleted, deletion: true})
	if so := o.promise(); !so.absent() {
		t.Fatalf("%s: %+v", o.key, so)
	}
}

// put puts a content under a key behind the ledger's back, and remove removes one.
func (s *service) put(t *testing.T, key string, body []byte) {
	t.Helper()
	name := bucket
	if _, err := s.client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &name, Key: &key, Body: bytes.NewReader(body)}); err != nil {
		t.Fatal(err)
	}
}

func (s *service) remove(t *testing.T, key string) {
	t.Helper()
	name := bucket
	if _, err := s.client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &name, Key: &key}); err != nil {
		t.Fatal(err)
	}
}

// compare has everything read again, and says what was found.
func (l *load) compare(t *testing.T) ledger.Report {
	t.Helper()
	l.Compare(t.Context())
	return l.book.Report()
}

// rewriteLists changes the answers to lists.
func rewriteLists(change func(string) string) func(http.ResponseWriter, *http.Request, http.Handler) bool {
	return func(w http.ResponseWriter, r *http.Request, pass http.Handler) bool {
		if r.URL.Query().Get("list-type") != "2" {
			return false
		}
		said := httptest.NewRecorder()
		pass.ServeHTTP(said, r)
		w.Header().Set("Content-Type", said.Header().Get("Content-Type"))
		w.WriteHeader(said.Code)
		_, _ = io.WriteString(w, change(said.Body.String()))
		return true
	}
}

// entry is the part of a list that is about a key, empty when it is not in it.
func entry(list, key string) string {
	at := strings.Index(list, "<Key>"+key+"</Key>")
	if at < 0 {
		return ""
	}
	from, to := strings.LastIndex(list[:at], "<Contents>"), strings.Index(list[at:], "</Contents>")
	return list[from : at+to+len("</Contents>")]
}

// only tampers with requests of that method for that key.
func only(method, key string, tamper func(http.ResponseWriter, *http.Request, http.Handler) bool) func(http.ResponseWriter, *http.Request, http.Handler) bool {
	return func(w http.ResponseWriter, r *http.Request, pass http.Handler) bool {
		return r.Method == method && r.URL.Path == "/"+bucket+"/"+key && tamper(w, r, pass)
	}
}

// loseReply passes the request on and ends the connection instead of answering.
func loseReply(_ http.ResponseWriter, r *http.Request, pass http.Handler) bool {
	pass.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// loseRequest ends the connection.
func loseRequest(http.ResponseWriter, *http.Request, http.Handler) bool { panic(http.ErrAbortHandler) }

// refuse answers in a way that says that nothing was done.
func refuse(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
	w.WriteHeader(http.StatusForbidden)
	_, _ = fmt.Fprint(w, `<Error><Code>AccessDenied</Code></Error>`)
	return true
}

// fail answers that something went wrong.
func fail(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = fmt.Fprint(w, `<Error><Code>InternalError</Code></Error>`)
	return true
}

// breakOff begins an answer with content and ends the connection.
func breakOff(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
	w.Header().Set("Content-Length", "1000000")
	_, _ = io.WriteString(w, "ledger/")
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
