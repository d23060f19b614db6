{{/* A rule for TCP, of dict "to" (peers) "ports" (numbers). */}}
{{- define "hookferry.tcpRule" -}}
- to:
    {{- toYaml .to | nindent 4 }}
  ports:
    {{- range .ports }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- end }}

{{/* What both processes need: names, Redis, and the collector of traces if there is one. */}}
{{- define "hookferry.commonEgress" -}}
- to:
    {{- toYaml .Values.networkPolicy.dns.to | nindent 4 }}
  ports:
    {{- range .Values.networkPolicy.dns.ports }}
    - { protocol: UDP, port: {{ . }} }
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- if not .Values.networkPolicy.redis.to }}
{{- fail "networkPolicy.redis.to is empty, and nothing would reach Redis: say where it is, such as [{ podSelector: { matchLabels: { app: redis } } }], or set networkPolicy.enabled to false." }}
{{- end }}
{{ include "hookferry.tcpRule" .Values.networkPolicy.redis }}
{{- if .Values.tracing.endpoint }}
{{- if not .Values.networkPolicy.tracing.to }}
{{- fail "networkPolicy.tracing.to is empty, and no trace would reach tracing.endpoint: say where the collector is, such as [{ namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: monitoring } } }], and its port in networkPolicy.tracing.ports." }}
{{- end }}
{{ include "hookferry.tcpRule" .Values.networkPolicy.tracing }}
{{- end }}
{{- end }}
