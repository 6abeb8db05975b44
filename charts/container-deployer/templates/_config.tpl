{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* initContainer or waitContainer of the Configuration. */}}
{{- define "deployer.helperContainer" -}}
{{- $given := .container -}}
{{- $made := dict "image" (include "deployer.image" (dict "root" .root "name" .name "image" $given)) -}}
{{- if $given.pullPolicy }}{{ $_ := set $made "imagePullPolicy" $given.pullPolicy }}{{ end -}}
{{- range $key := list "command" "args" "resources" "goImage" -}}
{{- with get $given $key }}{{ $_ := set $made $key . }}{{ end -}}
{{- end -}}
{{- toYaml $made -}}
{{- end -}}

{{/* The Configuration document. */}}
{{- define "deployer-config" -}}
{{- $given := .Values.deployer -}}
{{- $config := dict "apiVersion" "container.deployer.landscaper.gardener.cloud/v1alpha1" "kind" "Configuration" -}}
{{- $_ := set $config "namespace" (include "deployer.hostNamespace" .) -}}
{{- with $given.identity }}{{ $_ := set $config "identity" (toString .) }}{{ end -}}
{{- $_ := set $config "initContainer" (include "deployer.helperContainer" (dict "root" . "name" "longshore-init" "container" ($given.initContainer | default dict)) | fromYaml) -}}
{{- $_ := set $config "waitContainer" (include "deployer.helperContainer" (dict "root" . "name" "longshore-wait" "container" ($given.waitContainer | default dict)) | fromYaml) -}}
{{- with $given.defaultImage -}}
{{- $image := .image | default (ternary (printf "%s@%s" .repository (toString .tag)) (printf "%s:%s" .repository (toString (default "latest" .tag))) (hasPrefix "sha256:" (toString .tag))) -}}
{{- $_ := set $config "defaultImage" (dict "image" $image) -}}
{{- end -}}
{{- with $given.oci -}}
{{- $oci := dict "allowPlainHttp" (default false .allowPlainHttp) "insecureSkipVerify" (default false .insecureSkipVerify) -}}
{{- $files := list -}}
{{- range $name, $_ := .secrets }}{{ $files = append $files (printf "/app/ls/registry/secrets/%s" $name) }}{{ end -}}
{{- with $files }}{{ $_ := set $oci "configFiles" . }}{{ end -}}
{{- $_ := set $config "oci" $oci -}}
{{- end -}}
{{- range $key := list "targetSelector" "garbageCollection" "debug" "deleteOperation" "imageGracePeriod" "state" "logTail" "pod" "script" "manifest" -}}
{{- with get $given $key }}{{ $_ := set $config $key . }}{{ end -}}
{{- end -}}
{{- $_ := set $config "hpa" .Values.hpa -}}
{{- $election := dict "enabled" true "leaseName" (include "deployer.fullname" .) -}}
{{- range $key, $value := $given.leaderElection }}{{ $_ := set $election $key $value }}{{ end -}}
{{- $_ := set $config "leaderElection" $election -}}
{{- $_ := set $config "serve" (dict "metricsPort" (int .Values.metrics.port) "healthPort" (ternary (int .Values.probes.port) 0 .Values.probes.enabled)) -}}
{{- if .Values.ui.enabled }}{{ $_ := set $config "ui" .Values.ui }}{{ end -}}
{{- toYaml $config -}}
{{- end -}}
