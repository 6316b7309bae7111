{{- define "holdfast.services" -}}
{{- if .root.Values.metrics.service }}
apiVersion: v1
kind: Service
metadata: {{- include "holdfast.metadata" . | nindent 2 }}
spec:
  selector: {{- include "holdfast.selector" . | nindent 4 }}
  ports:
    - {name: metrics, port: 8080, targetPort: metrics}
---
{{- end }}
# Where the chart's test asks; not ready Pods are left out by the Service, so an answer means a ready one.
apiVersion: v1
kind: Service
metadata:
  name: {{ include "holdfast.name" . }}-health
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "holdfast.labels" . | nindent 4 }}
spec:
  selector: {{- include "holdfast.selector" . | nindent 4 }}
  ports:
    - {name: health, port: 8081, targetPort: health}
{{- end -}}
