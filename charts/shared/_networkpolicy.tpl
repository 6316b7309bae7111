{{- define "holdfast.networkpolicy" -}}
{{- if .root.Values.networkPolicy.enabled -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{- include "holdfast.metadata" . | nindent 2 }}
spec:
  podSelector:
    matchLabels: {{- include "holdfast.selector" . | nindent 6 }}
  policyTypes: [Ingress]
  ingress:
    - ports: [{port: metrics, protocol: TCP}]
      {{- with .root.Values.networkPolicy.metricsFrom }}
      from: {{- toYaml . | nindent 8 }}
      {{- end }}
    # The kubelet's probes come from the node, which no policy names portably; the test Pod asks too.
    - ports: [{port: health, protocol: TCP}]
{{- end -}}
{{- end -}}
