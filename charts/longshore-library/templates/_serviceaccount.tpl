{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "deployer.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "deployer.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
  {{- with .Values.serviceAccount.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end -}}
