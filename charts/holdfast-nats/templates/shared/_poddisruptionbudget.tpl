{{- define "holdfast.poddisruptionbudget" -}}
{{- if gt (int .values.replicas) 1 -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{- include "holdfast.metadata" . | nindent 2 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- include "holdfast.selector" . | nindent 6 }}
{{- end -}}
{{- end -}}
