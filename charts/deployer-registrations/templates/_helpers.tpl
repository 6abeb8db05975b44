{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "deployer.serviceAccountName" -}}
{{- include "deployer.ownAccountName" . -}}
{{- end -}}

{{- define "deployer.componentLabels" -}}
app.kubernetes.io/component: controller
app.kubernetes.io/part-of: landscaper
{{- end -}}

{{/* Where the objects of deployers are created. */}}
{{- define "registrations.namespace" -}}
{{- default .Release.Namespace .Values.deployerManagement.namespace -}}
{{- end -}}

{{/* The configuration file. */}}
{{- define "deployer-config" -}}
{{- $given := deepCopy .Values.deployerManagement -}}
{{- $_ := set $given "namespace" (include "registrations.namespace" .) -}}
{{- /* A number from a values file is a float. */ -}}
{{- $_ := set $given "tokenSeconds" (int64 $given.tokenSeconds) -}}
deployerManagement:
  {{- toYaml $given | nindent 2 }}
{{- end -}}

{{- define "deployer.checksums" -}}
checksum/config: {{ include "deployer-config" . | sha256sum }}
{{- end -}}

{{- define "deployer.command" -}}
[/longshore, registrations]
{{- end -}}

{{- define "deployer.arguments" -}}
- --config=/app/ls/config/config.yaml
{{ include "deployer.addressArguments" . }}
{{- end -}}

{{- define "deployer.verbosity" -}}
{{- .Values.verbosity | default "" -}}
{{- end -}}

{{- define "deployer.resources" -}}
{{- include "deployer.limitedResources" (dict "given" .Values.resources "request" "32Mi" "limit" "128Mi") -}}
{{- end -}}
