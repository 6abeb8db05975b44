{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* Names as the Go deployer's chart makes them: an upgrade of its release must find its own objects. */}}
{{- define "deployer.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "deployer.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "deployer.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "deployer.fullname" .) .Values.serviceAccount.name }}-tmp
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The name of the account in charts of other programs than deployers, which define deployer.serviceAccountName with this. */}}
{{- define "deployer.ownAccountName" -}}
{{- default (ternary (include "deployer.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{/* Where the pods run. */}}
{{- define "deployer.hostNamespace" -}}
{{- default .Release.Namespace .Values.deployer.namespace -}}
{{- end -}}

{{- define "deployer.selectorLabels" -}}
app.kubernetes.io/name: {{ include "deployer.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "deployer.labels" -}}
{{ include "deployer.selectorLabels" . }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{ include "deployer.componentLabels" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "deployer.componentLabels" -}}
app.kubernetes.io/component: deployer
app.kubernetes.io/part-of: landscaper
{{- end -}}

{{/* The reason why an image has no name, for {root, name}. */}}
{{- define "deployer.noRegistry" -}}
imageRegistry is not set, so it is unknown where to pull the image {{ .name }} from. Push the images of the release to a registry that the nodes can reach and name it: --set imageRegistry=registry.example/longshore. Images that were loaded onto the nodes with their names of `make images` need --set imageRegistry=localhost. docs/install.md has the steps.
{{- end -}}

{{/* The image of {root, name: ours, image: {repository, tag}}. */}}
{{- define "deployer.image" -}}
{{- $registry := trimSuffix "/" (.root.Values.imageRegistry | default "") -}}
{{- if not (or $registry .image.repository) -}}
{{- include "deployer.noRegistry" . | fail -}}
{{- end -}}
{{- $tag := toString (default .root.Chart.AppVersion .image.tag) -}}
{{- default (printf "%s/%s" $registry .name) .image.repository }}{{ ternary "@" ":" (hasPrefix "sha256:" $tag) }}{{ $tag -}}
{{- end -}}

{{/* The log level, or nothing. */}}
{{- define "deployer.verbosity" -}}
{{- include "deployer.level" (.Values.deployer | default dict).verbosityLevel -}}
{{- end -}}

{{/* The level for a given one: older releases of the Go programs took numbers. */}}
{{- define "deployer.level" -}}
{{- $level := toString (. | default "") -}}
{{- if regexMatch "^[0-9]+$" $level -}}
{{- ternary "debug" "info" (gt (int $level) 1) -}}
{{- else -}}
{{- $level -}}
{{- end -}}
{{- end -}}

{{/* Resources for {given; request, limit: the defaults for memory}. The default limit is dropped if the request is not the default: it might be lower. */}}
{{- define "deployer.limitedResources" -}}
{{- $resources := deepCopy (.given | default dict) -}}
{{- $limits := $resources.limits | default dict -}}
{{- if and (ne (toString ($resources.requests | default dict).memory) .request) (eq (toString $limits.memory) .limit) -}}
{{- $_ := set $resources "limits" (omit $limits "memory") -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{/* The resources of the program. */}}
{{- define "deployer.resources" -}}
{{- include "deployer.limitedResources" (dict "given" .Values.resources "request" "32Mi" "limit" "256Mi") -}}
{{- end -}}

{{/* The kubeconfigs by cluster, as JSON. */}}
{{- define "deployer.kubeconfigs" -}}
{{- $deployer := .Values.deployer | default dict -}}
{{- dict "landscaper" $deployer.landscaperClusterKubeconfig "host" $deployer.hostClusterKubeconfig | toJson -}}
{{- end -}}

{{/* The list for "command" if the image's own entrypoint, the controller, is not wanted. Charts of other commands override this. */}}
{{- define "deployer.command" -}}
{{- end -}}

{{/* The Configuration document. A program that has none needs no volume for it. */}}
{{- define "deployer-config" -}}
{{- end -}}

{{/* Arguments, volume mounts and volumes for the configuration and the kubeconfigs, also of the pod of helm test. */}}
{{- define "deployer.arguments" -}}
- --config=/app/ls/config/config.yaml
{{- if .Values.deployer.landscaperClusterKubeconfig }}
- --landscaper-kubeconfig=/app/ls/landscaper-cluster-kubeconfig/kubeconfig
{{- end }}
{{- if .Values.deployer.hostClusterKubeconfig }}
- --kubeconfig=/app/ls/host-cluster-kubeconfig/kubeconfig
{{- end }}
{{- end -}}

{{- define "deployer.configMounts" -}}
{{- if include "deployer-config" . -}}
- {name: config, mountPath: /app/ls/config, readOnly: true}
{{- end }}
{{- range $cluster, $given := include "deployer.kubeconfigs" . | fromJson }}
{{- if $given }}
- {name: {{ $cluster }}-cluster-kubeconfig, mountPath: /app/ls/{{ $cluster }}-cluster-kubeconfig, readOnly: true}
{{- end }}
{{- end }}
{{- end -}}

{{- define "deployer.configVolumes" -}}
{{- $full := include "deployer.fullname" . -}}
{{- if include "deployer-config" . -}}
- name: config
  secret: {secretName: {{ $full }}-config, defaultMode: 0440}
{{- end }}
{{- range $cluster, $given := include "deployer.kubeconfigs" . | fromJson }}
{{- if $given }}
- name: {{ $cluster }}-cluster-kubeconfig
  secret:
    secretName: {{ if $given.kubeconfig }}{{ $full }}-{{ $cluster }}-cluster-kubeconfig{{ else }}{{ required (printf "deployer.%sClusterKubeconfig needs kubeconfig or secretRef" $cluster) $given.secretRef }}{{ end }}
    defaultMode: 0440
{{- end }}
{{- end }}
{{- end -}}

{{/* Arguments, volume mounts and volumes that only the Deployment has. */}}
{{- define "deployer.serveArguments" -}}
{{- end -}}

{{- define "deployer.serveMounts" -}}
{{- if (.Values.deployer | default dict).oci -}}
- {name: ociregistry, mountPath: /app/ls/registry/secrets, readOnly: true}
{{- end -}}
{{- end -}}

{{- define "deployer.serveVolumes" -}}
{{- if (.Values.deployer | default dict).oci -}}
- name: ociregistry
  secret: {secretName: {{ include "deployer.fullname" . }}-registry, defaultMode: 0440}
{{- end -}}
{{- end -}}

{{/* Options for the ports and the status page of commands that have no Configuration. */}}
{{- define "deployer.addressArguments" -}}
- --metrics-address={{ if .Values.metrics.port }}:{{ .Values.metrics.port }}{{ else }}off{{ end }}
- --health-address={{ if .Values.probes.enabled }}:{{ .Values.probes.port }}{{ else }}off{{ end }}
{{- if (.Values.ui | default dict).enabled }}
- --ui={{ ternary "token" "on" (.Values.ui.authentication | default false) }}
{{- end }}
{{- end -}}
