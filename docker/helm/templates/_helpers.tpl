{{- define "hookferry.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* Short enough for "-worker" and what Kubernetes adds. */}}
{{- define "hookferry.fullname" -}}
{{- $name := include "hookferry.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "hookferry.selectorLabels" -}}
app.kubernetes.io/name: {{ include "hookferry.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "hookferry.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "hookferry.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: {{ include "hookferry.name" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* What ServiceMonitors put onto all metrics of this release, and rules ask for. */}}
{{- define "hookferry.metricsRelease" -}}
{{- printf "%s/%s" .Release.Namespace (include "hookferry.fullname" .) }}
{{- end }}

{{- define "hookferry.serviceAccountName" -}}
{{- default (ternary (include "hookferry.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name }}
{{- end }}

{{/* Of dict "root" $ "image" "hookferry-api". */}}
{{- define "hookferry.image" -}}
{{- printf "%s%s:%s" .root.Values.image.prefix .image (default .root.Chart.AppVersion .root.Values.image.tag) }}
{{- end }}
