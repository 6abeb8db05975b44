{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* The Configuration document. */}}
{{- define "deployer-config" -}}
{{- $given := .Values.deployer -}}
{{- $config := dict "apiVersion" "manifest.deployer.landscaper.gardener.cloud/v1alpha2" "kind" "Configuration" -}}
{{- $_ := set $config "namespace" (include "deployer.hostNamespace" .) -}}
{{- with $given.identity }}{{ $_ := set $config "identity" (toString .) }}{{ end -}}
{{- with $given.targetSelector }}{{ $_ := set $config "targetSelector" . }}{{ end -}}
{{- with .Values.rbac.namespaces }}{{ $_ := set $config "namespaces" . }}{{ end -}}
{{- $_ := set $config "hpa" .Values.hpa -}}
{{- with $given.lateChanges }}{{ $_ := set $config "manifest" (dict "lateChanges" .) }}{{ end -}}
{{- $election := dict "enabled" true "leaseName" (include "deployer.fullname" .) -}}
{{- range $key, $value := $given.leaderElection }}{{ $_ := set $election $key $value }}{{ end -}}
{{- $_ := set $config "leaderElection" $election -}}
{{- $_ := set $config "serve" (dict "metricsPort" (int .Values.metrics.port) "healthPort" (ternary (int .Values.probes.port) 0 .Values.probes.enabled)) -}}
{{- toYaml $config -}}
{{- end -}}
