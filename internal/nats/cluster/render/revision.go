package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/nats/cluster/v1beta1"
)

// digestLength is the number of hexadecimal digits of a digest in an annotation.
const digestLength = 10

// digest is the beginning of the SHA-256 of v's JSON, in which map keys are sorted.
func digest(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		// Only our own types and Kubernetes' come here, and those are written to the API server as JSON.
		panic(fmt.Sprintf("encode for a digest: %v", err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:digestLength]
}

// revisionOf names what a restart brings to the servers. It is one for all of them: a rollout has one target.
// The claims are left out, as no restart changes those.
func revisionOf(p plan, servers []Server) string {
	type part struct {
		Config string
		Spec   appsv1.StatefulSetSpec
	}
	parts := make([]part, 0, len(servers))
	for _, server := range servers {
		spec := *server.StatefulSet.Spec.DeepCopy()
		spec.VolumeClaimTemplates = nil
		parts = append(parts, part{Config: string(server.Config), Spec: spec})
	}
	var certificates []string
	for _, certificate := range []*Certificate{p.clientTLS, p.routesTLS} {
		if certificate != nil {
			certificates = append(certificates, certificate.SecretName, certificate.Digest)
		}
	}
	return digest([]any{parts, certificates})
}

// stamp writes the revision to a server's objects. The Pod template carries it, so that every new revision
// restarts the Pod.
func stamp(server *Server, revision string) {
	set := server.StatefulSet
	for _, object := range []*metav1.ObjectMeta{&set.ObjectMeta, &set.Spec.Template.ObjectMeta, &server.ConfigMap.ObjectMeta} {
		object.Annotations = overlay(object.Annotations, map[string]string{v1beta1.AnnotationConfigRevision: revision})
	}
}
