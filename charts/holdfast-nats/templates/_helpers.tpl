{{/* The name of the cluster controller's objects: at most 63 characters, since a Service has it. */}}
{{- define "cluster.name" -}}
{{- $name := printf "%s-cluster-controller" .Release.Name -}}
{{- if gt (len $name) 56 -}}
{{- fail (printf "the release name %q is too long: the Service %s -health would have more than 63 characters" .Release.Name $name) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "cluster.selector" -}}
app.kubernetes.io/name: nats-cluster-controller
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "cluster.labels" -}}
{{ include "cluster.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: holdfast
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "cluster.image" -}}
{{- with .Values.cluster.image -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ with .digest }}@{{ . }}{{ end }}
{{- end -}}
{{- end -}}

{{/* What the restricted Pod Security Standard asks of a container, and a read-only root. */}}
{{- define "container.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "pod.security" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* The lease by which the replicas agree on a leader. */}}
{{- define "cluster.lease" -}}
{{ .Release.Name }}-cluster.nats.mikluko.io
{{- end -}}
