// Package garagelab is the part of the lab that knows Garage: a GarageCluster, its nodes, and the S3 ledger under it.
package garagelab

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/garage/v1beta1"
	"github.com/holdfast-dev/holdfast/api/garage/v1beta2"
	"github.com/holdfast-dev/holdfast/test/ledger"
	"github.com/holdfast-dev/holdfast/test/stories/lab"
)

// Name is that of the GarageCluster in the manifests of stories, and in the sample.
const Name = "garage"

// bucket is that of the ledger, and the name of its key and of the Secret with it.
const bucket = "ledger"

// Lab is a lab on which Garage's chart is installed.
type Lab struct{ *lab.Lab }

// Get reads the GarageCluster of a namespace.
func (l Lab) Get(ctx context.Context, namespace string) (*v1beta2.GarageCluster, error) {
	cluster := &v1beta2.GarageCluster{}
	return cluster, l.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: Name}, cluster)
}

// Nodes are the GarageNodes of a namespace by name.
func (l Lab) Nodes(ctx context.Context, namespace string) (map[string]v1beta1.GarageNode, error) {
	var list v1beta1.GarageNodeList
	err := l.Client.List(ctx, &list, client.InNamespace(namespace))
	found := map[string]v1beta1.GarageNode{}
	for _, node := range list.Items {
		found[node.Name] = node
	}
	return found, err
}

// UntilReady waits until the GarageCluster is Ready, and shows each look at it.
func (l Lab) UntilReady(ctx context.Context, within time.Duration, namespace string, show func(*v1beta2.GarageCluster)) (*v1beta2.GarageCluster, error) {
	var found *v1beta2.GarageCluster
	return found, lab.Until(ctx, within, "GarageCluster "+Name+" to be ready", func(ctx context.Context) (bool, string) {
		cluster, err := l.Get(ctx, namespace)
		if err != nil {
			return false, err.Error()
		}
		found = cluster
		show(cluster)
		ready := meta.FindStatusCondition(cluster.Status.Conditions, v1beta2.ConditionReady)
		return ready != nil && ready.ObservedGeneration == cluster.Generation && ready.Status == metav1.ConditionTrue, Summary(cluster)
	})
}

// Summary is every condition in one line.
func Summary(cluster *v1beta2.GarageCluster) string { return lab.Conditions(cluster.Status.Conditions) }

// StartLedger makes a bucket and a key through one node, as a person would, and starts the S3 ledger with them.
func (l Lab) StartLedger(ctx context.Context, cluster *v1beta2.GarageCluster) (*ledger.Client, error) {
	key, err := l.bucket(ctx, cluster.Namespace)
	if err != nil {
		return nil, err
	}
	if err := l.Client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: bucket},
		StringData: map[string]string{"access-key-id": key.ID, "secret-access-key": key.Secret},
	}); err != nil {
		return nil, err
	}
	return l.RunLedger(ctx, cluster.Namespace, "ledger-s3.yaml",
		"http://demo:3900", cluster.Status.Endpoints.S3, "http://demo-headless:3900", "http://"+Name+"-headless:3900")
}

type key struct {
	ID     string `json:"accessKeyId"`
	Secret string `json:"secretAccessKey"`
}

func (l Lab) bucket(ctx context.Context, namespace string) (key, error) {
	var made struct {
		key
		Bucket string `json:"id"`
	}
	for _, call := range []struct {
		endpoint string
		body     func() any
	}{
		{"CreateKey", func() any { return map[string]string{"name": bucket} }},
		{"CreateBucket", func() any { return map[string]string{"globalAlias": bucket} }},
		{"AllowBucketKey", func() any {
			return map[string]any{"bucketId": made.Bucket, "accessKeyId": made.ID, "permissions": map[string]bool{"read": true, "write": true, "owner": true}}
		}},
	} {
		body, err := json.Marshal(call.body())
		if err != nil {
			return key{}, err
		}
		said, err := l.Kubectl(ctx, "exec", "-n", namespace, Name+"-storage-0-0", "--", "/garage", "json-api", call.endpoint, string(body))
		if err != nil {
			return key{}, err
		}
		if err := json.NewDecoder(strings.NewReader(said)).Decode(&made); err != nil {
			return key{}, fmt.Errorf("%s answers what is no JSON: %w", call.endpoint, err)
		}
	}
	return made.key, nil
}

// Story is one that is told of a GarageCluster.
type Story struct{ *lab.Story }

// Run tells such a story.
func Run(story func(*Story)) func(*lab.Story) {
	return func(s *lab.Story) { story(&Story{s}) }
}

// Garage is the lab that the story is told in.
func (s *Story) Garage() Lab { return Lab{s.Lab} }

// Apply applies one of the story's manifests and waits until its GarageCluster is ready.
func (s *Story) Apply(files fs.FS, manifest string, within time.Duration) *v1beta2.GarageCluster {
	s.Helper()
	s.Must(s.Lab.Apply(s.Context(), s.Namespace, files, manifest))
	cluster, err := s.Garage().UntilReady(s.Context(), within, s.Namespace, func(*v1beta2.GarageCluster) {})
	s.Must(err)
	return cluster
}

// Load starts the ledger against the GarageCluster.
func (s *Story) Load(cluster *v1beta2.GarageCluster) *ledger.Client {
	s.Helper()
	book, err := s.Garage().StartLedger(s.Context(), cluster)
	s.Must(err)
	return book
}

// Nodes are the GarageNodes by name.
func (s *Story) Nodes() map[string]v1beta1.GarageNode {
	s.Helper()
	nodes, err := s.Garage().Nodes(s.Context(), s.Namespace)
	s.Must(err)
	return nodes
}

// AtRest checks that nothing is written once everything has been told: what members hear of each other by gossip comes a look
// later.
func (s *Story) AtRest() {
	s.Helper()
	s.Must(lab.Until(s.Context(), 2*time.Minute, "every node to be told of", func(context.Context) (bool, string) {
		for name, node := range s.Nodes() {
			if node.Status.Hostname == "" || node.Status.Address == "" {
				return false, name + " is not"
			}
		}
		return true, ""
	}))
	s.Story.AtRest()
}
