{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* The CustomResourceDefinitions in files/crds of the chart. */}}
{{- define "deployer.definitions" -}}
{{- if .Values.crds.install }}
{{- range $path, $_ := .Files.Glob "files/crds/*.yaml" }}
{{- $definition := $.Files.Get $path | fromYaml }}
{{- if $.Values.crds.keep }}
{{- $_ := set $definition.metadata "annotations" (merge (dict "helm.sh/resource-policy" "keep") ($definition.metadata.annotations | default dict)) }}
{{- end }}
---
{{ toYaml $definition }}
{{- end }}
{{- end }}
{{- end -}}
