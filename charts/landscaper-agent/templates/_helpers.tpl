{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "deployer.serviceAccountName" -}}
{{- include "deployer.ownAccountName" . -}}
{{- end -}}

{{/* The labels of the chart of v0.98. */}}
{{- define "deployer.componentLabels" -}}
landscaper.gardener.cloud/component: controller
{{- end -}}

{{- define "deployer.resources" -}}
{{- include "deployer.limitedResources" (dict "given" .Values.resources "request" "24Mi" "limit" "128Mi") -}}
{{- end -}}

{{- define "deployer.verbosity" -}}
{{- include "deployer.level" (default "info" .Values.agent.verbosity) -}}
{{- end -}}

{{/* Name of the environment, and namespace of its deployers. */}}
{{- define "agent.environment" -}}
{{- default .Release.Name .Values.agent.name -}}
{{- end -}}

{{- define "agent.namespace" -}}
{{- default .Release.Namespace .Values.agent.namespace -}}
{{- end -}}

{{/* The Secret with the agent's own token; also that it has left. */}}
{{- define "agent.credentialSecret" -}}
{{- printf "landscaper-agent-%s" (include "agent.environment" .) -}}
{{- end -}}

{{/* The name of the Secret with the given kubeconfig. */}}
{{- define "agent.kubeconfigSecret" -}}
{{- $given := .Values.agent.landscaperClusterKubeconfig | default dict -}}
{{- $reference := $given.secretRef -}}
{{- if $given.kubeconfig -}}
{{- include "deployer.fullname" . }}-landscaper-cluster-kubeconfig
{{- else if kindIs "map" $reference -}}
{{- required "agent.landscaperClusterKubeconfig.secretRef needs a name" $reference.name -}}
{{- else -}}
{{- required "agent.landscaperClusterKubeconfig needs kubeconfig or secretRef" $reference -}}
{{- end -}}
{{- end -}}

{{/* The AgentConfiguration document. */}}
{{- define "agent.config" -}}
{{- $given := .Values.agent -}}
{{- $config := dict "apiVersion" "config.landscaper.gardener.cloud/v1alpha1" "kind" "AgentConfiguration" -}}
{{- $_ := set $config "name" (include "agent.environment" .) -}}
{{- $_ := set $config "namespace" (include "agent.namespace" .) -}}
{{- $_ := set $config "credentialSecret" (include "agent.credentialSecret" .) -}}
{{- $_ := set $config "types" (include "agent.types" . | fromJsonArray) -}}
{{- range $key := list "landscaperNamespace" "targetSelectors" "hostAccess" "access" "acceptance" "hostRules" -}}
{{- with get $given $key }}{{ $_ := set $config $key . }}{{ end -}}
{{- end -}}
{{- $_ := set $config "tokenSeconds" (int $given.tokenSeconds) -}}
{{- toYaml $config -}}
{{- end -}}

{{/* The Configuration of the deployer beside the agent: it serves the host Target of this environment only. */}}
{{- define "agent.deployerConfig" -}}
{{- $environment := include "agent.environment" . -}}
{{- $selector := list (dict "annotations" (list
      (dict "key" "landscaper.gardener.cloud/environment" "operator" "==" "values" (list $environment))
      (dict "key" "landscaper.gardener.cloud/deployer-only" "operator" "exists"))) -}}
{{- $config := dict "apiVersion" "manifest.deployer.landscaper.gardener.cloud/v1alpha2" "kind" "Configuration" -}}
{{- $_ := set $config "identity" (printf "agent-helm-deployer-%s" $environment) -}}
{{- $_ := set $config "namespace" (include "agent.namespace" .) -}}
{{- $_ := set $config "targetSelector" $selector -}}
{{- if eq .Values.agent.hostAccess "none" }}
{{- $_ := set $config "manifest" (dict "hostTarget" (printf "%s/%s" (default "ls-system" .Values.agent.landscaperNamespace) $environment)) -}}
{{- end -}}
{{- $_ := set $config "leaderElection" (dict "enabled" true "leaseName" (printf "%s-deployer" (include "deployer.fullname" .)) "leaseNamespace" (include "agent.namespace" .)) -}}
{{- $_ := set $config "serve" (dict "metricsPort" 8082 "healthPort" 8083) -}}
{{- $config = mergeOverwrite $config (include "agent.helmConfig" . | fromYaml) -}}
{{- toYaml (mergeOverwrite $config (deepCopy (.Values.deployer.configuration | default dict))) -}}
{{- end -}}

{{/* The part of it for helm items: images, and the registries of charts. */}}
{{- define "agent.helmConfig" -}}
{{- $given := .Values.deployer -}}
{{- if and $given.enabled ($given.helm | default dict).enabled -}}
{{- $config := dict "helm" (include "deployer.helmConfig" (dict "root" . "given" $given.helm) | fromYaml) -}}
{{- range $name := list "init" "wait" -}}
{{- $key := printf "%sContainer" $name -}}
{{- $_ := set $config $key (include "deployer.helperContainer" (dict "root" $ "name" (printf "longshore-%s" $name) "container" (get $given $key | default dict)) | fromYaml) -}}
{{- end -}}
{{- with .Values.agent.registryConfig -}}
{{- $_ := set $config "oci" (include "deployer.ociConfig" (dict "allowPlainHttp" .allowPlainHttpRegistries "insecureSkipVerify" .insecureSkipVerify "secrets" .secrets) | fromYaml) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
{{- end -}}

{{/* "true" if the deployer serves helm items, which run in pods. */}}
{{- define "agent.servesHelm" -}}
{{- if and .Values.deployer.enabled ((include "agent.deployerConfig" . | fromYaml).helm | default dict).enabled -}}
true
{{- end -}}
{{- end -}}

{{/* The types of items that the deployer serves, as JSON. */}}
{{- define "agent.types" -}}
{{- $types := list "landscaper.gardener.cloud/kubernetes-manifest" -}}
{{- if include "agent.servesHelm" . }}{{ $types = append $types "landscaper.gardener.cloud/helm" }}{{ end -}}
{{- ternary (.Values.deployer.types | default $types) list .Values.deployer.enabled | toJson -}}
{{- end -}}

{{/* Whether there are credentials for registries of charts. */}}
{{- define "agent.registrySecrets" -}}
{{- if and (include "agent.servesHelm" .) (.Values.agent.registryConfig | default dict).secrets -}}
true
{{- end -}}
{{- end -}}

{{/* The parts of a pod that runs the agent. */}}
{{- define "agent.podSpec" -}}
{{- include "deployer.podSettings" . }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
- name: config
  secret: {secretName: {{ include "deployer.fullname" . }}-config, defaultMode: 0440}
- name: landscaper-cluster-kubeconfig
  secret: {secretName: {{ include "agent.kubeconfigSecret" . }}, defaultMode: 0440}
# The agent's own token, for the deployer beside it. In memory, and gone with the pod.
- name: credential
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
{{- end -}}

{{- define "agent.arguments" -}}
- agent
- --config=/app/ls/config/config.yaml
- --landscaper-kubeconfig=/app/ls/landscaper-cluster-kubeconfig/kubeconfig
- --verbosity={{ include "deployer.verbosity" . }}
{{- end -}}

{{- define "agent.mounts" -}}
- {name: config, mountPath: /app/ls/config, readOnly: true}
- {name: landscaper-cluster-kubeconfig, mountPath: /app/ls/landscaper-cluster-kubeconfig, readOnly: true}
{{- end -}}

{{/* The init container that writes a kubeconfig of Landscaper's cluster with the agent's current token. */}}
{{- define "agent.prepare" -}}
- name: prepare
  {{- include "deployer.container" . | nindent 2 }}
  command: [/longshore]
  args:
  {{- include "agent.arguments" . | nindent 2 }}
  - --credential-directory=/app/ls/credential
  - --prepare
  resources:
    {{- include "deployer.resources" . | nindent 4 }}
  volumeMounts:
  {{- include "agent.mounts" . | nindent 2 }}
  - {name: credential, mountPath: /app/ls/credential}
{{- end -}}
