{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "deployer.disruptionBudget" -}}
{{- if .Values.podDisruptionBudget.enabled }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "deployer.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .Values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels:
      {{- include "deployer.selectorLabels" . | nindent 6 }}
{{- end }}
{{- end -}}
