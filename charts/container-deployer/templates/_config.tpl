{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* The Configuration document. */}}
{{- define "deployer-config" -}}
{{- $given := .Values.deployer -}}
{{- $config := include "deployer.podConfig" . | fromYaml -}}
{{- $_ := set $config "apiVersion" "container.deployer.landscaper.gardener.cloud/v1alpha1" -}}
{{- with $given.defaultImage -}}
{{- $image := .image | default (ternary (printf "%s@%s" .repository (toString .tag)) (printf "%s:%s" .repository (toString (default "latest" .tag))) (hasPrefix "sha256:" (toString .tag))) -}}
{{- $_ := set $config "defaultImage" (dict "image" $image) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
