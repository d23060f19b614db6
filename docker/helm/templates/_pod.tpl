{{/*
The pod of a process, of dict "root" $, "component" "api", "values" .Values.api, "port" 3000, "portSetting" "API_PORT",
"secrets" (those that it may read), "settings" (variables by name), "graceSeconds".
*/}}
{{- define "hookferry.pod" -}}
{{- $root := .root }}
{{- $values := .values }}
{{- $names := (include "hookferry.secrets" $root | fromJson).names }}
{{- $volumes := list }}
{{- range $root.Values.extraVolumes }}
{{- $volumes = append $volumes .name }}
{{- end }}
{{- range $root.Values.extraVolumeMounts }}
{{- if not (has .name $volumes) }}
{{- fail (printf "extraVolumeMounts names %s, and extraVolumes has no volume of that name." .name) }}
{{- end }}
{{- end }}
metadata:
  labels:
    {{- include "hookferry.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  annotations:
    # Pods are made anew when the Secret of the chart changes.
    checksum/secrets: {{ $root.Values.secrets.values | toJson | sha256sum }}
    {{- with $values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "hookferry.serviceAccountName" $root }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .graceSeconds }}
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    seccompProfile: { type: RuntimeDefault }
  containers:
    - name: {{ .component }}
      image: {{ include "hookferry.image" (dict "root" $root "image" $values.image) }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      ports:
        - { name: http, containerPort: {{ .port }} }
      env:
        {{- range $name, $value := .settings }}
        - { name: {{ $name }}, value: {{ $value | toString | quote }} }
        {{- end }}
        {{- range .secrets }}
        {{- if has . $names }}
        - { name: {{ . | snakecase | upper }}_FILE, value: /run/secrets/hookferry/{{ include "hookferry.secretFile" . }} }
        {{- end }}
        {{- end }}
      # A process that is short of CPU, or has not reached Redis yet, gets five minutes to start.
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 60
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 5
        timeoutSeconds: 3
      resources:
        {{- toYaml $values.resources | nindent 8 }}
      volumeMounts:
        - { name: secrets, mountPath: /run/secrets/hookferry, readOnly: true }
        {{- with $root.Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: secrets
      secret:
        secretName: {{ include "hookferry.secretName" $root }}
        # For the group of the pod.
        defaultMode: 0440
        items:
          {{- range .secrets }}
          {{- if has . $names }}
          {{- $file := include "hookferry.secretFile" . }}
          - key: {{ ternary (get $root.Values.secrets.keys .) $file (not (empty $root.Values.secrets.existingSecret)) }}
            path: {{ $file }}
          {{- end }}
          {{- end }}
    {{- with $root.Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $root.Values.topologySpread.keys }}
  topologySpreadConstraints:
    {{- range . }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "hookferry.selectorLabels" $root | nindent 10 }}
          app.kubernetes.io/component: {{ $.component }}
    {{- end }}
  {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
{{- end }}

{{/* What both processes are set to, beside their own settings: a JSON object. */}}
{{- define "hookferry.commonSettings" -}}
{{- $settings := dict "SHUTDOWN_TIMEOUT" (printf "%ds" (int .Values.shutdownTimeoutSeconds)) "LOG_FORMAT" "json" }}
{{- with .Values.allowedCidrs }}
{{- $_ := set $settings "DELIVERY_ALLOWED_CIDRS" (join "," .) }}
{{- end }}
{{- with .Values.tracing.endpoint }}
{{- $_ := set $settings "OTEL_EXPORTER_OTLP_ENDPOINT" . }}
{{- end }}
{{- $api := .Values.api }}
{{- $ofIngress := and $api.ingress.enabled $api.ingress.tlsSecret }}
{{- with $api.publicUrl | default (ternary (printf "https://%s" $api.ingress.host) "" (not (empty $ofIngress))) }}
{{- $_ := set $settings "PUBLIC_URL" . }}
{{- end }}
{{- merge (deepCopy .Values.settings) $settings | toJson }}
{{- end }}

{{/* What the API is told of the portal, and for its page for receivers: a JSON object. */}}
{{- define "hookferry.portalSettings" -}}
{{- $api := .Values.api }}
{{- $settings := dict "PORTAL" (toString $api.portal.enabled) "DELIVERY_TIMEOUT" (printf "%ds" (int .Values.worker.deliveryTimeoutSeconds)) }}
{{- with $api.portal.frameAncestors }}
{{- $_ := set $settings "PORTAL_FRAME_ANCESTORS" (join "," .) }}
{{- end }}
{{- $settings | toJson }}
{{- end }}
