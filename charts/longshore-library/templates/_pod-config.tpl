{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* initContainer or waitContainer of the Configuration. */}}
{{- define "deployer.helperContainer" -}}
{{- $given := .container -}}
{{- $made := dict "image" (include "deployer.image" (dict "root" .root "name" .name "image" $given)) -}}
{{- if $given.pullPolicy }}{{ $_ := set $made "imagePullPolicy" $given.pullPolicy }}{{ end -}}
{{- range $key := list "command" "args" "resources" "goImage" "env" -}}
{{- with get $given $key }}{{ $_ := set $made $key . }}{{ end -}}
{{- end -}}
{{- toYaml $made -}}
{{- end -}}

{{/* helm of the Configuration. */}}
{{- define "deployer.helmConfig" -}}
{{- $given := .given -}}
{{- $made := dict -}}
{{- if hasKey $given "enabled" }}{{ $_ := set $made "enabled" $given.enabled }}{{ end -}}
{{- if $given.enabled | default (not (hasKey $given "enabled")) -}}
{{- $_ := set $made "image" (include "deployer.image" (dict "root" .root "name" "longshore-helm" "image" $given)) -}}
{{- end -}}
{{- with $given.pullPolicy }}{{ $_ := set $made "imagePullPolicy" . }}{{ end -}}
{{- range $key := list "command" "version" "resources" -}}
{{- with get $given $key }}{{ $_ := set $made $key . }}{{ end -}}
{{- end -}}
{{- toYaml $made -}}
{{- end -}}

{{/* oci of the Configuration. Secrets are mounted by "deployer.serveMounts" or by the chart. */}}
{{- define "deployer.ociConfig" -}}
{{- $oci := dict "allowPlainHttp" (default false .allowPlainHttp) "insecureSkipVerify" (default false .insecureSkipVerify) -}}
{{- $files := list -}}
{{- range $name, $_ := .secrets }}{{ $files = append $files (printf "/app/ls/registry/secrets/%s" $name) }}{{ end -}}
{{- with $files }}{{ $_ := set $oci "configFiles" . }}{{ end -}}
{{- with .caBundle }}{{ $_ := set $oci "caBundle" . }}{{ end -}}
{{- toYaml $oci -}}
{{- end -}}

{{/* The parts of a Configuration document that all deployers have that run pods. */}}
{{- define "deployer.podConfig" -}}
{{- $given := .Values.deployer -}}
{{- $config := include "deployer.baseConfig" . | fromYaml -}}
{{- $_ := set $config "initContainer" (include "deployer.helperContainer" (dict "root" . "name" "longshore-init" "container" ($given.initContainer | default dict)) | fromYaml) -}}
{{- $_ := set $config "waitContainer" (include "deployer.helperContainer" (dict "root" . "name" "longshore-wait" "container" ($given.waitContainer | default dict)) | fromYaml) -}}
{{- with $given.oci }}{{ $_ := set $config "oci" (include "deployer.ociConfig" . | fromYaml) }}{{ end -}}
{{- range $key := list "garbageCollection" "debug" "deleteOperation" "imageGracePeriod" "state" "logTail" "pod" "script" "manifest" -}}
{{- with get $given $key }}{{ $_ := set $config $key . }}{{ end -}}
{{- end -}}
{{- with $given.helm }}{{ $_ := set $config "helm" (include "deployer.helmConfig" (dict "root" $ "given" .) | fromYaml) }}{{ end -}}
{{- toYaml $config -}}
{{- end -}}
