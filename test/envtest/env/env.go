// Package env gives tests a real kube-apiserver and etcd with the repository's CRDs, one of each per test
// process. The programs come from the folder in KUBEBUILDER_ASSETS; without it a test fails and says how to
// get them.
//
// Nothing but the API server runs: no scheduler, no kubelet, no controller, no garbage collector. Admission
// is the API server's own default, ServiceAccount and PodSecurity included.
package env

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	garagev1beta1 "github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	natscluster "github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
	natsv1beta1 "github.com/holdfast-dev/holdfast/api/nats/nats/v1beta1"
)

const assetsVariable = "KUBEBUILDER_ASSETS"

// Env is the process's API server.
type Env struct {
	// Config reaches the API server as cluster administrator, without a client-side rate limit that matters.
	Config *rest.Config
	// Client reads and writes there, uncached.
	Client client.Client
	// Scheme knows the built-in kinds and the repository's own.
	Scheme *runtime.Scheme

	plane *envtest.Environment
}

var (
	once       sync.Once
	shared     *Env
	errShared  error
	stoppable  bool // Main is there to stop what Start starts
	wrapperDir string
)

// Main runs the package's tests and then ends what Start has started. A package that uses Start has it as its
// TestMain.
func Main(m *testing.M) {
	stoppable = true
	log.SetLogger(logr.Discard())
	code := m.Run()
	var err error
	if shared != nil {
		err = shared.plane.Stop()
	}
	if err := errors.Join(err, os.RemoveAll(wrapperDir)); err != nil {
		fmt.Fprintln(os.Stderr, "ending the API server:", err)
		code = 1
	}
	os.Exit(code)
}

// Start gives the process's API server, which the first call starts.
func Start(tb testing.TB) *Env {
	tb.Helper()
	if !stoppable {
		tb.Fatal("nothing would end the API server: let the package's TestMain call env.Main")
	}
	once.Do(func() { shared, errShared = start() })
	if errShared != nil {
		tb.Fatal(errShared)
	}
	return shared
}

func start() (*Env, error) {
	assets := os.Getenv(assetsVariable)
	if assets == "" {
		return nil, errors.New(assetsVariable + " is not set: it names a folder with kube-apiserver and etcd; run the tests " +
			"through make, or link there what these two folders hold: go -C tools/toolbox run ./cmd/toolbox kubernetes etcd")
	}
	root, err := repository()
	if err != nil {
		return nil, err
	}
	e := &Env{Scheme: NewScheme(), plane: &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd")},
		ErrorIfCRDPathMissing: true,
		// Another package's servers may be at work beside it.
		ControlPlaneStartTimeout: 2 * time.Minute,
	}}
	e.plane.ControlPlane.Etcd = &envtest.Etcd{}
	api := e.plane.ControlPlane.GetAPIServer()
	if wrapperDir, err = os.MkdirTemp("", "holdfast-assets-"); err != nil {
		return nil, err
	}
	for name, path := range map[string]*string{"kube-apiserver": &api.Path, "etcd": &e.plane.ControlPlane.Etcd.Path} {
		if *path, err = mortal(assets, name); err != nil {
			return nil, err
		}
	}
	// envtest turns the ServiceAccount plugin off; a real cluster has it on.
	api.Configure().Disable("disable-admission-plugins")
	// envtest's own range is used up by 254 Services.
	api.Configure().Set("service-cluster-ip-range", "10.0.0.0/16")
	if e.Config, err = e.plane.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the API server: %w", err), e.plane.Stop())
	}
	e.Client, err = client.New(e.Config, client.Options{Scheme: e.Scheme})
	return e, err
}

// NewScheme knows the built-in kinds and the repository's own. A manager adds to its scheme, so each needs one to itself.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), natscluster.AddToScheme(scheme), natsv1beta1.AddToScheme(scheme),
		v1beta2.AddToScheme(scheme), garagev1beta1.AddToScheme(scheme)); err != nil {
		panic(err) // the same kinds every time
	}
	return scheme
}

// mortal wraps a program so that it ends with this process however that ends: a test that runs into its time
// limit dies without a word to the API server.
func mortal(assets, name string) (string, error) {
	program, err := filepath.Abs(filepath.Join(assets, name))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("%s names a folder without %s: %w", assetsVariable, name, err)
	}
	run := "exec"
	if setpriv, err := exec.LookPath("setpriv"); err == nil {
		run += " " + setpriv + " --pdeathsig KILL"
	}
	wrapper := filepath.Join(wrapperDir, name)
	return wrapper, os.WriteFile(wrapper, []byte("#!/bin/sh\n"+run+" '"+program+"' \"$@\"\n"), 0o755)
}

// repository is the folder that holds the tested module.
func repository() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "config", "crd")); err == nil {
			return dir, nil
		}
	}
	return "", errors.Join(errors.New("no folder above this one holds config/crd"), err)
}
