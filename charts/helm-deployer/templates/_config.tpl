{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* The Configuration document. */}}
{{- define "deployer-config" -}}
{{- $config := include "deployer.podConfig" . | fromYaml -}}
{{- $_ := set $config "apiVersion" "helm.deployer.landscaper.gardener.cloud/v1alpha1" -}}
{{- toYaml $config -}}
{{- end -}}
