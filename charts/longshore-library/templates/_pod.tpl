{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* Parts of every pod with our image. */}}
{{- define "deployer.podSettings" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
serviceAccountName: {{ include "deployer.serviceAccountName" . }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Parts of every container with our image. */}}
{{- define "deployer.container" -}}
image: {{ include "deployer.image" (dict "root" . "name" "longshore" "image" .Values.image) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
{{- end -}}

{{/* Ports and probes of a container, for {metrics, health: numbers, or 0; prefix: of the names of the ports}. */}}
{{- define "deployer.ports" -}}
{{- $prefix := .prefix | default "" -}}
{{- if or .metrics .health }}
ports:
{{- if .metrics }}
- {name: {{ $prefix }}metrics, containerPort: {{ .metrics }}}
{{- end }}
{{- if .health }}
- {name: {{ $prefix }}health, containerPort: {{ .health }}}
{{- end }}
{{- end }}
{{- if .health }}
livenessProbe:
  httpGet: {path: /healthz, port: {{ $prefix }}health}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: {{ $prefix }}health}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}
{{- end -}}

{{/* Annotations of the pod that change with its configuration: a pod reads it only once. */}}
{{- define "deployer.checksums" -}}
checksum/config: {{ include "deployer-config" . | sha256sum }}
checksum/registrysecrets: {{ toJson (.Values.deployer | default dict).oci | sha256sum }}
checksum/kubeconfigs: {{ include "deployer.kubeconfigs" . | sha256sum }}
{{- end -}}
