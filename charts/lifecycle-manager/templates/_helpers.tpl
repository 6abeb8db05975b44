{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "lifecycle.image" -}}
{{- $repository := .Values.image.repository | default (printf "%s/longshore" .Values.imageRegistry) -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- if hasPrefix "sha256:" $tag }}{{ $repository }}@{{ $tag }}{{ else }}{{ $repository }}:{{ $tag }}{{ end -}}
{{- end }}

{{- define "lifecycle.account" -}}
{{ .Values.serviceAccount.name | default .Release.Name }}
{{- end }}

{{- define "lifecycle.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "lifecycle.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
