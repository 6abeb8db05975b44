{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "deployer.deployment" -}}
{{- $deployer := .Values.deployer | default dict }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "deployer.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
spec:
  {{- if not (include "deployer.hasAutoscaler" .) }}
  replicas: {{ include "deployer.replicas" . }}
  {{- end }}
  {{- if and .Values.hpa (not (include "deployer.shares" .)) }}
  strategy:
    type: Recreate
  {{- end }}
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      {{- include "deployer.selectorLabels" . | nindent 6 }}
  template:
    metadata:
      annotations:
        {{- include "deployer.checksums" . | nindent 8 }}
        {{- range $key, $value := .Values.podAnnotations }}
        {{ $key }}: {{ $value | quote }}
        {{- end }}
      labels:
        {{- include "deployer.labels" . | nindent 8 }}
        landscaper.gardener.cloud/topology: {{ .Chart.Name }}
        landscaper.gardener.cloud/topology-ns: {{ .Release.Namespace }}
        {{- range $key, $value := .Values.podLabels }}
        {{ $key }}: {{ $value | quote }}
        {{- end }}
    spec:
      {{- include "deployer.podSettings" . | nindent 6 }}
      {{- with .Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
      containers:
      - name: {{ .Chart.Name }}
        {{- include "deployer.container" . | nindent 8 }}
        {{- with include "deployer.command" . }}
        command:
          {{- . | nindent 10 }}
        {{- end }}
        args:
        {{- include "deployer.arguments" . | nindent 8 }}
        {{- with include "deployer.serveArguments" . }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- with include "deployer.verbosity" . }}
        - --verbosity={{ . }}
        {{- end }}
        env:
        - name: MY_POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - name: MY_POD_NAMESPACE
          valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
        {{- with $deployer.k8sClientSettings }}
        {{- range $name, $client := dict "HOST" .hostClient "RESOURCE" .resourceClient }}
        {{- range $setting, $value := $client }}
        - name: LS_{{ $name }}_CLIENT_{{ upper $setting }}
          value: {{ $value | quote }}
        {{- end }}
        {{- end }}
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- include "deployer.ports" (dict "metrics" .Values.metrics.port "health" (ternary .Values.probes.port 0 .Values.probes.enabled)) | nindent 8 }}
        resources:
          {{- include "deployer.resources" . | nindent 10 }}
        {{- with printf "%s\n%s" (include "deployer.configMounts" .) (include "deployer.serveMounts" .) | trim }}
        volumeMounts:
        {{- . | nindent 8 }}
        {{- end }}
      {{- with printf "%s\n%s" (include "deployer.configVolumes" .) (include "deployer.serveVolumes" .) | trim }}
      volumes:
      {{- . | nindent 6 }}
      {{- end }}
      {{- with .Values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
      {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
      - maxSkew: 1
        topologyKey: {{ $key }}
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels:
            landscaper.gardener.cloud/topology: {{ $.Chart.Name }}
            landscaper.gardener.cloud/topology-ns: {{ $.Release.Namespace }}
      {{- end }}
{{- end -}}
