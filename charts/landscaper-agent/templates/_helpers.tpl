{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* Names as the chart of v0.98 makes them: an upgrade of its release must find its own objects. */}}
{{- define "agent.chartName" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "agent.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "agent.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "agent.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
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

{{- define "agent.selectorLabels" -}}
app.kubernetes.io/name: {{ include "agent.chartName" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "agent.labels" -}}
{{ include "agent.selectorLabels" . }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
landscaper.gardener.cloud/component: controller
{{- end -}}

{{- define "agent.image" -}}
{{- $ours := ternary (printf "%s/longshore" (trimSuffix "/" .Values.imageRegistry)) "longshore" (not (empty .Values.imageRegistry)) -}}
{{- $tag := toString (default .Chart.AppVersion .Values.image.tag) -}}
{{- default $ours .Values.image.repository }}{{ ternary "@" ":" (hasPrefix "sha256:" $tag) }}{{ $tag -}}
{{- end -}}

{{- define "agent.verbosity" -}}
{{- $level := toString (default "info" .Values.agent.verbosity) -}}
{{- if regexMatch "^[0-9]+$" $level }}{{ ternary "debug" "info" (gt (int $level) 1) }}{{ else }}{{ $level }}{{ end -}}
{{- end -}}

{{/* The name of the Secret with the given kubeconfig. */}}
{{- define "agent.kubeconfigSecret" -}}
{{- $given := .Values.agent.landscaperClusterKubeconfig | default dict -}}
{{- $reference := $given.secretRef -}}
{{- if $given.kubeconfig -}}
{{- include "agent.fullname" . }}-landscaper-cluster-kubeconfig
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
{{- $_ := set $config "types" (ternary .Values.deployer.types list .Values.deployer.enabled) -}}
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
{{- $_ := set $config "leaderElection" (dict "enabled" true "leaseName" (printf "%s-deployer" (include "agent.fullname" .)) "leaseNamespace" (include "agent.namespace" .)) -}}
{{- $_ := set $config "serve" (dict "metricsPort" 8082 "healthPort" 8083) -}}
{{- toYaml (mergeOverwrite $config (deepCopy .Values.deployer.configuration)) -}}
{{- end -}}

{{/* The parts of a pod that runs the agent. */}}
{{- define "agent.podSpec" -}}
serviceAccountName: {{ include "agent.serviceAccountName" . }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
- name: config
  secret: {secretName: {{ include "agent.fullname" . }}-config, defaultMode: 0440}
- name: landscaper-cluster-kubeconfig
  secret: {secretName: {{ include "agent.kubeconfigSecret" . }}, defaultMode: 0440}
# The agent's own token, for the deployer beside it. In memory, and gone with the pod.
- name: credential
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
{{- end -}}

{{- define "agent.container" -}}
image: {{ include "agent.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
{{- end -}}

{{- define "agent.arguments" -}}
- agent
- --config=/app/ls/config/config.yaml
- --landscaper-kubeconfig=/app/ls/landscaper-cluster-kubeconfig/kubeconfig
- --verbosity={{ include "agent.verbosity" . }}
{{- end -}}

{{- define "agent.mounts" -}}
- {name: config, mountPath: /app/ls/config, readOnly: true}
- {name: landscaper-cluster-kubeconfig, mountPath: /app/ls/landscaper-cluster-kubeconfig, readOnly: true}
{{- end -}}
