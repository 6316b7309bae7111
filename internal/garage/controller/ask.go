package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/garage/adminapi"
	"github.com/holdfast-dev/holdfast/internal/garage/facts"
	"github.com/holdfast-dev/holdfast/internal/garage/render"
	"github.com/holdfast-dev/holdfast/internal/kit/outcome"
)

// adminToken is the variable from which a process has its token.
const adminToken = "GARAGE_ADMIN_TOKEN"

// ask asks every process what it is and sees.
func (p *pass) ask(ctx context.Context) outcome.Outcome {
	p.report.Processes = facts.Observe(ctx, p.asker, p.nodes)
	return outcome.Continue()
}

// asker is what the observation asks over.
func (p *pass) asker(ctx context.Context, node facts.Node) (facts.API, error) {
	return p.api(ctx, node)
}

// api is the Admin API of the process in the node's Pod, with the token that it was started with.
func (p *pass) api(ctx context.Context, node facts.Node) (*adminapi.Client, error) {
	token, err := p.token(ctx, node)
	if err != nil {
		return nil, err
	}
	admin, _ := p.plan.Ports()
	return adminapi.New(node.AdminURL(admin), token, p.Transport)
}

// token is that of the Secret which the Pod names: after a change of the token not every process has the new one.
func (p *pass) token(ctx context.Context, node facts.Node) (string, error) {
	for _, container := range node.Pod.Spec.Containers {
		if container.Name != render.ContainerGarage {
			continue
		}
		for _, variable := range container.Env {
			if variable.Name == adminToken && variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil {
				return p.secretKey(ctx, variable.ValueFrom.SecretKeyRef)
			}
		}
	}
	return "", fmt.Errorf("the token of Pod %s is not known: it has no %s from a Secret", node.Pod.Name, adminToken)
}

func (p *pass) secretKey(ctx context.Context, ref *corev1.SecretKeySelector) (string, error) {
	if ref.Name == p.secrets.Static {
		return p.secrets.Token, nil
	}
	var secret corev1.Secret
	if err := p.Live.Get(ctx, client.ObjectKey{Namespace: p.cluster.Namespace, Name: ref.Name}, &secret); err != nil {
		return "", fmt.Errorf("reading the token of earlier: %w", err)
	}
	return string(secret.Data[ref.Key]), nil
}
