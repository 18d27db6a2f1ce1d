{{- define "orchtw.selector" -}}
app.kubernetes.io/name: {{ .Release.Name }}
{{- end }}

{{- define "orchtw.etcd" -}}
{{ .Release.Name }}-etcd
{{- end }}

{{- define "orchtw.endpoints" -}}
{{- if .Values.etcd.endpoints -}}
{{ join "," .Values.etcd.endpoints }}
{{- else -}}
http://{{ include "orchtw.etcd" . }}:2379
{{- end -}}
{{- end }}

{{- define "orchtw.certificate-names" -}}
{{- $service := list .Release.Name (printf "%s.%s.svc" .Release.Name .Release.Namespace) "$(POD_IP)" -}}
{{ join "," (concat $service .Values.tls.names) }}
{{- end }}
