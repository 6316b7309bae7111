{{- define "holdfast.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata: {{- include "holdfast.metadata" . | nindent 2 }}
spec:
  replicas: {{ .values.replicas }}
  {{- if .alone }}
  strategy: {type: Recreate}
  {{- end }}
  selector:
    matchLabels: {{- include "holdfast.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "holdfast.labels" . | nindent 8 }}
    spec:
      serviceAccountName: {{ include "holdfast.name" . }}
      securityContext: {{- include "holdfast.pod-security" . | nindent 8 }}
      {{- with .root.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with .values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      affinity:
        {{- with .values.affinity }}
        {{- toYaml . | nindent 8 }}
        {{- else }}
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector:
                  matchLabels: {{- include "holdfast.selector" . | nindent 20 }}
        {{- end }}
      containers:
        - name: controller
          image: {{ include "holdfast.image" . }}
          imagePullPolicy: {{ .values.image.pullPolicy }}
          args:
            - --leader-election-id={{ include "holdfast.lease" . }}
            {{- with .root.Values.watchNamespaces }}
            - --watch-namespaces={{ join "," . }}
            {{- end }}
            {{- range concat .args .values.extraArgs }}
            - {{ . | quote }}
            {{- end }}
          {{- with .env }}
          env: {{- toYaml . | nindent 12 }}
          {{- end }}
          ports:
            - {name: metrics, containerPort: 8080}
            - {name: health, containerPort: 8081}
          startupProbe:
            httpGet: {path: /readyz, port: health}
            periodSeconds: 1
            failureThreshold: 60
          readinessProbe:
            httpGet: {path: /readyz, port: health}
            periodSeconds: 5
          livenessProbe:
            httpGet: {path: /healthz, port: health}
            periodSeconds: 20
          resources: {{- toYaml .values.resources | nindent 12 }}
          securityContext: {{- include "holdfast.container-security" . | nindent 12 }}
{{- end -}}
