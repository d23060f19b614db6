{{- define "webhooks.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* Short enough for "-worker" and what Kubernetes adds. */}}
{{- define "webhooks.fullname" -}}
{{- $name := include "webhooks.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "webhooks.selectorLabels" -}}
app.kubernetes.io/name: {{ include "webhooks.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "webhooks.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "webhooks.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: {{ include "webhooks.name" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* What ServiceMonitors put onto all metrics of this release, and rules ask for. */}}
{{- define "webhooks.metricsRelease" -}}
{{- printf "%s/%s" .Release.Namespace (include "webhooks.fullname" .) }}
{{- end }}

{{- define "webhooks.serviceAccountName" -}}
{{- default (ternary (include "webhooks.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name }}
{{- end }}

{{/* Of dict "root" $ "image" "webhooks-api". */}}
{{- define "webhooks.image" -}}
{{- printf "%s%s:%s" .root.Values.image.prefix .image (default .root.Chart.AppVersion .root.Values.image.tag) }}
{{- end }}
