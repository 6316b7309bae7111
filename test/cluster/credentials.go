//go:build linux

package cluster

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/holdfast-dev/holdfast/test/cluster/internal/layout"
	"github.com/holdfast-dev/holdfast/test/cluster/internal/pki"
)

// writeCredentials makes everyone's certificate and the kubeconfigs.
func writeCredentials(c *layout.Cluster) error {
	authority, err := pki.NewAuthority("holdfast-" + c.Name)
	if err != nil {
		return err
	}
	private, public, err := pki.NewKey()
	if err != nil {
		return err
	}
	apiserver, err := authority.Server("kube-apiserver", "127.0.0.1", layout.HubIP, layout.FirstSvcIP, "localhost", "kubernetes",
		"kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc."+layout.Domain)
	if err != nil {
		return err
	}
	kubeletClient, err := authority.Client("kube-apiserver-kubelet-client", "system:masters")
	if err != nil {
		return err
	}
	files := map[string][]byte{"sa.key": private, "sa.pub": public}
	addPair(files, "ca", authority.Pair)
	addPair(files, "apiserver", apiserver)
	addPair(files, "kubelet-client", kubeletClient)
	for _, n := range c.AllNodes() {
		server, err := authority.Server("system:node:"+n.Name, n.Name, n.IP())
		if err != nil {
			return err
		}
		addPair(files, n.Name, server)
	}
	for name, content := range files {
		if err := writeFile(c.PKI(name), content); err != nil {
			return err
		}
	}
	return writeKubeconfigs(c, authority)
}

func addPair(files map[string][]byte, name string, pair pki.Pair) {
	files[name+".crt"], files[name+".key"] = pair.Certificate, pair.Key
}

func writeKubeconfigs(c *layout.Cluster, authority *pki.Authority) error {
	inside := fmt.Sprintf("https://%s:%d", layout.HubIP, layout.APIPort)
	type user struct{ path, server, name, group string }
	users := []user{
		{c.Path("kubeconfig"), fmt.Sprintf("https://127.0.0.1:%d", c.APIPort), "admin", "system:masters"},
		{c.KubeconfigOf("controller-manager"), inside, "system:kube-controller-manager", ""},
		{c.KubeconfigOf("scheduler"), inside, "system:kube-scheduler", ""},
		{c.KubeconfigOf("kube-proxy"), inside, "system:kube-proxy", ""},
		{c.KubeconfigOf("coredns"), inside, dnsUser, ""},
		{c.KubeconfigOf("provisioner"), inside, "holdfast-provisioner", "system:masters"},
	}
	for _, n := range c.AllNodes() {
		users = append(users, user{c.KubeconfigOf(n.Name), inside, "system:node:" + n.Name, "system:nodes"})
	}
	for _, u := range users {
		var groups []string
		if u.group != "" {
			groups = append(groups, u.group)
		}
		pair, err := authority.Client(u.name, groups...)
		if err != nil {
			return err
		}
		config := api.NewConfig()
		config.Clusters[c.Name] = &api.Cluster{Server: u.server, CertificateAuthorityData: authority.Certificate}
		config.AuthInfos[u.name] = &api.AuthInfo{ClientCertificateData: pair.Certificate, ClientKeyData: pair.Key}
		config.Contexts[c.Name] = &api.Context{Cluster: c.Name, AuthInfo: u.name}
		config.CurrentContext = c.Name
		if err := clientcmd.WriteToFile(*config, u.path); err != nil {
			return err
		}
	}
	return nil
}
