// Command kubernetes is kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, kube-proxy and
// kubectl in one file. The name it is called by picks the component (so a symbolic link named
// kube-apiserver is one); called by any other name, the first argument does.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var components = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": manager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kube-proxy":              proxy.NewProxyCommand,
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
	"kubectl":                 kubectl.NewDefaultKubectlCommand,
}

func main() {
	name := filepath.Base(os.Args[0])
	if components[name] == nil && len(os.Args) > 1 {
		name, os.Args = os.Args[1], os.Args[1:]
	}
	build := components[name]
	if build == nil {
		fmt.Fprintf(os.Stderr, "usage: kubernetes COMPONENT [flags], with COMPONENT one of %s\n",
			strings.Join(slices.Sorted(maps.Keys(components)), ", "))
		os.Exit(2)
	}
	os.Args[0] = name
	if name == "kubectl" { // its errors are for a person: no usage text, exit codes of its own
		if err := cli.RunNoErrOutput(build()); err != nil {
			util.CheckErr(err)
		}
		return
	}
	os.Exit(cli.Run(build()))
}
