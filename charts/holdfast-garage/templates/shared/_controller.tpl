{{/*
What the charts have in common. `make generate` copies these files into each.

A chart describes a controller by a dict, which the templates below take:
  root     the chart's own scope ($)
  values   the values of this controller
  program  the name of its program
  suffix   the end of its objects' names, after the release's
  lease    the end of its lease's name
  args     further flags
  env      its variables; absent for none
  alone    true where a second replica may not even run during an update; absent where it may
*/}}
{{- define "holdfast.controller" -}}
{{- range list "serviceaccount" "rbac" "services" "poddisruptionbudget" "networkpolicy" "deployment" "test" }}
---
{{ include (printf "holdfast.%s" .) $ }}
{{- end }}
{{- end -}}

{{/* The name of the controller's objects: with -health at its end it has at most 63 characters, since a Service has it. */}}
{{- define "holdfast.name" -}}
{{- $name := printf "%s-%s" .root.Release.Name .suffix -}}
{{- if gt (len $name) 56 -}}
{{- fail (printf "the release name %q is too long: the Service %s-health would have more than 63 characters" .root.Release.Name $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "holdfast.selector" -}}
app.kubernetes.io/name: {{ .program }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}

{{- define "holdfast.labels" -}}
{{ include "holdfast.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: holdfast
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "holdfast.metadata" -}}
name: {{ include "holdfast.name" . }}
namespace: {{ .root.Release.Namespace }}
labels: {{- include "holdfast.labels" . | nindent 2 }}
{{- end -}}

{{- define "holdfast.image" -}}
{{- with .values.image -}}
{{ .repository }}:{{ .tag | default $.root.Chart.AppVersion }}{{ with .digest }}@{{ . }}{{ end }}
{{- end -}}
{{- end -}}

{{/* What the restricted Pod Security Standard asks of a container, and a read-only root. */}}
{{- define "holdfast.container-security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "holdfast.pod-security" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* The lease by which the replicas agree on a leader. */}}
{{- define "holdfast.lease" -}}
{{ .root.Release.Name }}-{{ .lease }}
{{- end -}}

{{- define "holdfast.serviceaccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata: {{- include "holdfast.metadata" . | nindent 2 }}
{{- end -}}
