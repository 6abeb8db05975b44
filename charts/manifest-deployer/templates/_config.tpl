{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* The Configuration document. */}}
{{- define "deployer-config" -}}
{{- $config := include "deployer.baseConfig" . | fromYaml -}}
{{- $_ := set $config "apiVersion" "manifest.deployer.landscaper.gardener.cloud/v1alpha2" -}}
{{- with .Values.deployer.lateChanges }}{{ $_ := set $config "manifest" (dict "lateChanges" .) }}{{ end -}}
{{- toYaml $config -}}
{{- end -}}
