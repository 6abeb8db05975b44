{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "registrations.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "registrations.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "registrations.serviceAccountName" -}}
{{- default (ternary (include "registrations.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{/* Where the objects of deployers are created. */}}
{{- define "registrations.namespace" -}}
{{- default .Release.Namespace .Values.deployerManagement.namespace -}}
{{- end -}}

{{- define "registrations.selectorLabels" -}}
app.kubernetes.io/name: {{ include "registrations.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "registrations.labels" -}}
{{ include "registrations.selectorLabels" . }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: controller
app.kubernetes.io/part-of: landscaper
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "registrations.image" -}}
{{- $registry := .Values.imageRegistry -}}
{{- $ours := ternary (printf "%s/longshore" (trimSuffix "/" $registry)) "longshore" (not (empty $registry)) -}}
{{- $tag := toString (default .Chart.AppVersion .Values.image.tag) -}}
{{- default $ours .Values.image.repository }}{{ ternary "@" ":" (hasPrefix "sha256:" $tag) }}{{ $tag -}}
{{- end -}}

{{/* The configuration file. */}}
{{- define "registrations.config" -}}
{{- $given := deepCopy .Values.deployerManagement -}}
{{- $_ := set $given "namespace" (include "registrations.namespace" .) -}}
{{- /* A number from a values file is a float. */ -}}
{{- $_ := set $given "tokenSeconds" (int64 $given.tokenSeconds) -}}
deployerManagement:
  {{- toYaml $given | nindent 2 }}
{{- end -}}

{{/* The pod of the Deployment and of the test. */}}
{{- define "registrations.podSettings" -}}
serviceAccountName: {{ include "registrations.serviceAccountName" . }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
- name: config
  configMap: {name: {{ include "registrations.fullname" . }}}
{{- end -}}
