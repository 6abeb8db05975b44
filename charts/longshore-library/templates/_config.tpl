{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* The parts of a Configuration document that all deployers have. */}}
{{- define "deployer.baseConfig" -}}
{{- $given := .Values.deployer -}}
{{- $config := dict "kind" "Configuration" "namespace" (include "deployer.hostNamespace" .) "hpa" .Values.hpa -}}
{{- with $given.identity }}{{ $_ := set $config "identity" (toString .) }}{{ end -}}
{{- with $given.targetSelector }}{{ $_ := set $config "targetSelector" . }}{{ end -}}
{{- with .Values.rbac.namespaces }}{{ $_ := set $config "namespaces" . }}{{ end -}}
{{- $election := dict "enabled" true "leaseName" (include "deployer.fullname" .) -}}
{{- range $key, $value := $given.leaderElection }}{{ $_ := set $election $key $value }}{{ end -}}
{{- $_ := set $config "leaderElection" $election -}}
{{- $_ := set $config "serve" (dict "metricsPort" (int .Values.metrics.port) "healthPort" (ternary (int .Values.probes.port) 0 .Values.probes.enabled)) -}}
{{- with .Values.ui }}{{ if .enabled }}{{ $_ := set $config "ui" . }}{{ end }}{{ end -}}
{{- toYaml $config -}}
{{- end -}}
