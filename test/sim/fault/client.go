package fault

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/holdfast-dev/holdfast/test/sim/apimodel"
)

// Options say what the clients of an instance are like.
type Options struct {
	// Cached says whether the cache holds an object, by its labels for instance; nil for all of them.
	Cached func(client.Object) bool
	// ReadYourWrites has cached reads show what the same client wrote, where it heard of it.
	ReadYourWrites bool
	// Now is the time.
	Now func() time.Time
}

// Client is an instance's client of the API server: it reads from a cache and writes. What the model does not know is left
// to a nil interface, and panics.
type Client struct {
	client.Client
	api      *apimodel.Server
	scheme   *runtime.Scheme
	instance *Instance
	options  Options
}

// A cacheState is how far an instance's cache of one kind has come.
type cacheState struct{ shown int64 }

// Lag is how many writes the cached reads of an instance are behind. They never go back.
type Lag struct {
	// Frozen has the cache learn nothing more.
	Frozen bool
	Writes int64
	// Except is a kind that is not behind: each has a watch of its own.
	Except string
}

// NewClient is the client of an instance.
func NewClient(api *apimodel.Server, scheme *runtime.Scheme, instance *Instance, options Options) *Client {
	return &Client{api: api, scheme: scheme, instance: instance, options: options}
}

// Scheme implements client.Client.
func (c *Client) Scheme() *runtime.Scheme { return c.scheme }

// SetLag sets how far the instance's cache is behind from now on.
func (i *Instance) SetLag(lag Lag) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.lag = lag
}

// show is the version of a kind that a cached read sees now.
func (i *Instance) show(kind string, newest int64) int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	state := i.cache(kind, newest)
	lag := i.lag
	if kind == lag.Except {
		lag = Lag{}
	}
	if !lag.Frozen {
		state.shown = max(state.shown, newest-lag.Writes)
	}
	return state.shown
}

func (i *Instance) cache(kind string, newest int64) *cacheState {
	if i.caches[kind] == nil { // a new informer lists first
		i.caches[kind] = &cacheState{shown: newest}
	}
	return i.caches[kind]
}

// saw has the cache of a kind show at least that version.
func (i *Instance) saw(kind string, version int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	state := i.cache(kind, version)
	state.shown = max(state.shown, version)
}

// Get implements client.Reader with the cache.
func (c *Client) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	return c.get(Cached, key, into)
}

func (c *Client) get(class Class, key client.ObjectKey, into client.Object) error {
	gvk, err := apiutil.GVKForObject(into, c.scheme)
	if err != nil {
		return err
	}
	call := Call{Verb: "get", Kind: gvk.Kind, Name: key.Name, Class: class}
	return c.instance.Do(call, func() (func(), error) {
		at := apimodel.Newest
		if class == Cached {
			at = c.instance.show(gvk.Kind, c.api.Revision())
		}
		found := c.api.Get(apimodel.Key{Kind: gvk, Namespace: key.Namespace, Name: key.Name}, at)
		if found == nil || class == Cached && c.options.Cached != nil && !c.options.Cached(found) {
			return nil, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
		}
		return func() { set(into, found) }, nil
	})
}

// List implements client.Reader with the cache.
func (c *Client) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	return c.list(Cached, into, options)
}

func (c *Client) list(class Class, into client.ObjectList, options []client.ListOption) error {
	gvk, err := apiutil.GVKForObject(into, c.scheme)
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	var how client.ListOptions
	how.ApplyOptions(options)
	call := Call{Verb: "list", Kind: gvk.Kind, Class: class}
	return c.instance.Do(call, func() (func(), error) {
		at := apimodel.Newest
		if class == Cached {
			at = c.instance.show(gvk.Kind, c.api.Revision())
		}
		var items []runtime.Object
		for _, object := range c.api.List(gvk, how.Namespace, how.LabelSelector, at) {
			if class != Cached || c.options.Cached == nil || c.options.Cached(object) {
				items = append(items, object)
			}
		}
		return func() {
			if err := meta.SetList(into, items); err != nil {
				panic(err) // a list of another type than its items
			}
		}, nil
	})
}

// Create implements client.Writer.
func (c *Client) Create(_ context.Context, object client.Object, options ...client.CreateOption) error {
	var how client.CreateOptions
	how.ApplyOptions(options)
	return c.write("create", object, false, how.DisableReadYourWritesConsistency, func(sent client.Object) (client.Object, error) {
		return c.api.Create(c.instance.Name, how.FieldManager, sent)
	})
}

// Patch implements client.Writer.
func (c *Client) Patch(_ context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	var how client.PatchOptions
	how.ApplyOptions(options)
	body, err := patch.Data(object)
	if err != nil {
		return err
	}
	key, err := c.api.KeyOf(object)
	if err != nil {
		return err
	}
	what := apimodel.Patch{Type: patch.Type(), Body: body, Manager: how.FieldManager, Force: how.Force != nil && *how.Force, DryRun: len(how.DryRun) > 0}
	return c.write(verb(what), object, what.DryRun, how.DisableReadYourWritesConsistency, func(client.Object) (client.Object, error) {
		return c.api.Patch(c.instance.Name, key, what)
	})
}

func verb(patch apimodel.Patch) string {
	if strings.Contains(string(patch.Type), "apply") {
		return "apply"
	}
	return "patch"
}

// Delete implements client.Writer.
func (c *Client) Delete(_ context.Context, object client.Object, options ...client.DeleteOption) error {
	var how client.DeleteOptions
	how.ApplyOptions(options)
	key, err := c.api.KeyOf(object)
	if err != nil {
		return err
	}
	return c.write("delete", object, false, how.DisableReadYourWritesConsistency, func(client.Object) (client.Object, error) {
		return nil, c.api.Delete(c.instance.Name, key, how.Preconditions, c.options.Now())
	})
}

// Status implements client.Client.
func (c *Client) Status() client.SubResourceWriter { return statusWriter{c: c} }

type statusWriter struct {
	client.SubResourceWriter
	c *Client
}

// Update implements client.SubResourceWriter.
func (w statusWriter) Update(_ context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	var how client.SubResourceUpdateOptions
	how.ApplyOptions(options)
	return w.c.write("update status", object, false, how.DisableReadYourWritesConsistency, func(sent client.Object) (client.Object, error) {
		return w.c.api.UpdateStatus(w.c.instance.Name, sent)
	})
}

// write sends a copy of the object: what becomes of it after a lost reply is nothing that the instance sees.
func (c *Client) write(verb string, object client.Object, dryRun, unseen bool, send func(client.Object) (client.Object, error)) error {
	gvk, err := apiutil.GVKForObject(object, c.scheme)
	if err != nil {
		return err
	}
	sent, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return errors.New("the copy of an object is none")
	}
	call := Call{Verb: verb, Kind: gvk.Kind, Name: object.GetName(), Class: Write, DryRun: dryRun}
	return c.instance.Do(call, func() (func(), error) {
		answer, err := send(sent)
		if err != nil {
			return nil, err
		}
		version := c.api.Revision()
		return func() {
			if c.options.ReadYourWrites && !unseen && !dryRun {
				c.instance.saw(gvk.Kind, version)
			}
			if answer != nil {
				set(object, answer)
			}
		}, nil
	})
}

// set makes into what from is.
func set(into, from client.Object) {
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(from).Elem())
}

// LiveReader reads from the API server.
type LiveReader struct{ client *Client }

// Live is a reader that asks the API server each time.
func (c *Client) Live() LiveReader { return LiveReader{c} }

// Get implements client.Reader.
func (r LiveReader) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	return r.client.get(Live, key, into)
}

// List implements client.Reader.
func (r LiveReader) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	return r.client.list(Live, into, options)
}
