{{- define "holdfast.test" -}}
apiVersion: v1
kind: Pod
metadata:
  name: {{ include "holdfast.name" . | trunc 57 }}-ready
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/instance: {{ .root.Release.Name }}
    app.kubernetes.io/component: test
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  restartPolicy: Never
  securityContext: {{- include "holdfast.pod-security" . | nindent 4 }}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  automountServiceAccountToken: false
  containers:
    - name: ready
      image: {{ include "holdfast.image" . }}
      imagePullPolicy: {{ .values.image.pullPolicy }}
      args: [check, "http://{{ include "holdfast.name" . }}-health.{{ .root.Release.Namespace }}.svc:8081/readyz"]
      securityContext: {{- include "holdfast.container-security" . | nindent 8 }}
{{- end -}}
