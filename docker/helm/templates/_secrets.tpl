{{- define "hookferry.secretName" -}}
{{- default (include "hookferry.fullname" .) .Values.secrets.existingSecret }}
{{- end }}

{{/* The names, as in `secrets.keys`, of what there is. */}}
{{- define "hookferry.secrets" -}}
{{- $there := list }}
{{- range $name, $key := .Values.secrets.keys }}
{{- $value := get $.Values.secrets.values $name }}
{{- if and $value $.Values.secrets.existingSecret }}
{{- fail (printf "secrets.values.%s and secrets.existingSecret are both set: put it into that Secret, or leave out existingSecret." $name) }}
{{- end }}
{{- if or $value (and $key $.Values.secrets.existingSecret) }}
{{- $there = append $there $name }}
{{- end }}
{{- end }}
{{- range list "redisUrl" "secretsEncryptionKey" }}
{{- if not (has . $there) }}
{{- fail (printf "secrets.values.%s is missing: set it, or name a Secret of yours in secrets.existingSecret, and the key that holds it in secrets.keys.%s." . .) }}
{{- end }}
{{- end }}
{{- dict "names" $there | toJson }}
{{- end }}

{{/* Its file's name below /run/secrets/hookferry, and its key in the Secret of the chart. */}}
{{- define "hookferry.secretFile" -}}
{{ . | kebabcase }}
{{- end }}
