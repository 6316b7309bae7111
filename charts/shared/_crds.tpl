{{/* The CRDs of the chart whose scope is given. */}}
{{- define "holdfast.crds" -}}
{{- if .Values.crds.install }}
{{- range $path, $_ := .Files.Glob "files/crds/*.yaml" }}
{{- $crd := $.Files.Get $path | fromYaml }}
{{- $_ := set $crd.metadata.annotations "helm.sh/resource-policy" "keep" }}
---
{{ toYaml $crd }}
{{- end }}
{{- end }}
{{- end -}}
