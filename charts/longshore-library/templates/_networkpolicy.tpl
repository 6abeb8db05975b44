{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "deployer.networkPolicy" -}}
{{- if .Values.networkPolicy.enabled }}
# Applies only to the controller, not to runs.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "deployer.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "deployer.selectorLabels" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
  {{- if .Values.probes.enabled }}
  - ports: [{port: {{ .Values.probes.port }}, protocol: TCP}]
  {{- end }}
  {{- if .Values.metrics.port }}
  - ports: [{port: {{ .Values.metrics.port }}, protocol: TCP}]
    {{- with .Values.networkPolicy.metricsFrom }}
    from:
      {{- toYaml . | nindent 6 }}
    {{- end }}
  {{- end }}
  egress:
  - ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
  - ports:
    {{- range .Values.networkPolicy.apiServerPorts }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
  {{- with .Values.networkPolicy.extraEgress }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}
