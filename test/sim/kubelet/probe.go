package kubelet

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// verdict is what a probe has found, its thresholds applied.
type verdict int

const (
	startedUp verdict = iota
	isUnready
	isServing
	isDead
)

// watchHealth runs the container's probes until ctx ends: the startup probe first, then the other two side by
// side. An absent probe succeeds.
func watchHealth(ctx context.Context, box *sandbox, p *process, verdicts chan<- verdict) {
	send := func(v verdict) {
		select {
		case verdicts <- v:
		case <-ctx.Done():
		}
	}
	c := box.container
	startup, stop := context.WithCancel(ctx)
	defer stop()
	up := false
	watch(startup, box, p, c.StartupProbe, func(ok bool) { up = ok; stop() })
	if !up {
		if ctx.Err() == nil {
			send(isDead)
		}
		return
	}
	send(startedUp)
	if c.LivenessProbe != nil {
		go watch(ctx, box, p, c.LivenessProbe, func(ok bool) {
			if !ok {
				send(isDead)
			}
		})
	}
	watch(ctx, box, p, c.ReadinessProbe, func(ok bool) {
		if ok {
			send(isServing)
		} else {
			send(isUnready)
		}
	})
}

// watch calls report each time a threshold of the probe is reached, until ctx ends.
func watch(ctx context.Context, box *sandbox, p *process, probe *corev1.Probe, report func(bool)) {
	if probe == nil {
		report(true)
		return
	}
	good, bad := int32(0), int32(0)
	next := time.NewTimer(time.Duration(probe.InitialDelaySeconds) * time.Second)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		next.Reset(time.Duration(probe.PeriodSeconds) * time.Second)
		if p.frozen.Load() { // the node's kubelet stands still with it
			continue
		}
		ok := check(ctx, box, probe)
		switch {
		case ctx.Err() != nil:
			return
		case p.frozen.Load(): // meanwhile
			continue
		case ok:
			good, bad = good+1, 0
		default:
			good, bad = 0, bad+1
		}
		if good >= probe.SuccessThreshold {
			report(true)
		} else if bad >= probe.FailureThreshold {
			report(false)
		}
	}
}

func check(ctx context.Context, box *sandbox, probe *corev1.Probe) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(probe.TimeoutSeconds)*time.Second)
	defer cancel()
	switch {
	case probe.HTTPGet != nil:
		return answers(ctx, box, probe.HTTPGet)
	case probe.TCPSocket != nil:
		return accepts(ctx, address(box, probe.TCPSocket.Port))
	}
	return false // the other kinds are not simulated
}

func address(box *sandbox, port intstr.IntOrString) string {
	return net.JoinHostPort(box.ip, strconv.Itoa(portOf(box.container, port)))
}

func accepts(ctx context.Context, address string) bool {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}

func answers(ctx context.Context, box *sandbox, get *corev1.HTTPGetAction) bool {
	url := fmt.Sprintf("%s://%s/%s", strings.ToLower(string(get.Scheme)), address(box, get.Port), strings.TrimPrefix(get.Path, "/"))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := probeClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode >= 200 && response.StatusCode < 400
}

// probeClient makes a connection for each probe, as a kubelet does.
var probeClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func portOf(container corev1.Container, port intstr.IntOrString) int {
	for _, p := range container.Ports {
		if port.Type == intstr.String && p.Name == port.StrVal {
			return int(p.ContainerPort)
		}
	}
	return port.IntValue()
}
