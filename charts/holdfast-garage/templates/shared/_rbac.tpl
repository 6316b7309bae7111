{{- define "holdfast.subjects" }}
subjects:
  - kind: ServiceAccount
    name: {{ include "holdfast.name" . }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}

{{- define "holdfast.rbac" -}}
{{- $name := include "holdfast.name" . }}
{{- $rules := .root.Files.Get (printf "files/rules/%s.yaml" .suffix) | fromYamlArray }}
{{- $labels := include "holdfast.labels" . }}
{{- if .root.Values.watchNamespaces }}
{{- range .root.Values.watchNamespaces }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name }}
  namespace: {{ . }}
  labels: {{- $labels | nindent 4 }}
rules: {{- toYaml $rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
  namespace: {{ . }}
  labels: {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $name }}
{{- include "holdfast.subjects" $ }}
{{- end }}
{{- else }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name }}
  labels: {{- $labels | nindent 4 }}
rules: {{- toYaml $rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $name }}
  labels: {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $name }}
{{- include "holdfast.subjects" . }}
{{- end }}
{{- with .root.Files.Get (printf "files/rules/%s-everywhere.yaml" .suffix) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name }}-everywhere
  labels: {{- $labels | nindent 4 }}
rules: {{- fromYamlArray . | toYaml | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $name }}-everywhere
  labels: {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $name }}-everywhere
{{- include "holdfast.subjects" $ }}
{{- end }}
---
# The lease of the leader, and the event that says who leads.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name }}-leader
  namespace: {{ .root.Release.Namespace }}
  labels: {{- $labels | nindent 4 }}
rules:
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    verbs: [create]
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [{{ include "holdfast.lease" . }}]
    verbs: [get, update]
  - apiGroups: [""]
    resources: [events]
    verbs: [create, patch]
  - apiGroups: [events.k8s.io]
    resources: [events]
    verbs: [create, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}-leader
  namespace: {{ .root.Release.Namespace }}
  labels: {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $name }}-leader
{{- include "holdfast.subjects" . }}
---
# Who calls /metrics, and may they.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name }}-metrics
  labels: {{- $labels | nindent 4 }}
rules:
  - apiGroups: [authentication.k8s.io]
    resources: [tokenreviews]
    verbs: [create]
  - apiGroups: [authorization.k8s.io]
    resources: [subjectaccessreviews]
    verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $name }}-metrics
  labels: {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $name }}-metrics
{{- include "holdfast.subjects" . }}
{{- end -}}
