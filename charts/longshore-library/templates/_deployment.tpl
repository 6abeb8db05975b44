{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "deployer.deployment" -}}
{{- $full := include "deployer.fullname" . }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $full }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
spec:
  {{- if not (include "deployer.hasAutoscaler" .) }}
  replicas: {{ include "deployer.replicas" . }}
  {{- end }}
  {{- if le (int .Values.hpa.maxReplicas) 1 }}
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
        checksum/config: {{ include "deployer-config" . | sha256sum }}
        checksum/registrysecrets: {{ toJson .Values.deployer.oci | sha256sum }}
        checksum/kubeconfigs: {{ include "deployer.kubeconfigs" . | sha256sum }}
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
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      serviceAccountName: {{ include "deployer.serviceAccountName" . }}
      {{- with .Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
      securityContext:
        {{- toYaml .Values.podSecurityContext | nindent 8 }}
      containers:
      - name: {{ .Chart.Name }}
        image: {{ include "deployer.image" (dict "root" . "name" "longshore" "image" .Values.image) | quote }}
        imagePullPolicy: {{ .Values.image.pullPolicy }}
        {{- with include "deployer.command" . }}
        command:
          {{- . | nindent 8 }}
        {{- end }}
        args:
        {{- include "deployer.arguments" . | nindent 8 }}
        {{- if .Values.deployer.verbosityLevel }}
        - --verbosity={{ include "deployer.verbosity" . }}
        {{- end }}
        env:
        - name: MY_POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - name: MY_POD_NAMESPACE
          valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
        {{- with .Values.deployer.k8sClientSettings }}
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
        {{- if or .Values.probes.enabled .Values.metrics.port }}
        ports:
        {{- if .Values.metrics.port }}
        - {name: metrics, containerPort: {{ .Values.metrics.port }}}
        {{- end }}
        {{- if .Values.probes.enabled }}
        - {name: health, containerPort: {{ .Values.probes.port }}}
        {{- end }}
        {{- end }}
        {{- if .Values.probes.enabled }}
        livenessProbe:
          httpGet: {path: /healthz, port: health}
          periodSeconds: 10
          timeoutSeconds: 5
          failureThreshold: 6
        readinessProbe:
          httpGet: {path: /readyz, port: health}
          periodSeconds: 5
          timeoutSeconds: 5
        {{- end }}
        securityContext:
          {{- toYaml .Values.securityContext | nindent 10 }}
        resources:
          {{- include "deployer.resources" . | nindent 10 }}
        volumeMounts:
        {{- include "deployer.configMounts" . | nindent 8 }}
        {{- if .Values.deployer.oci }}
        - {name: ociregistry, mountPath: /app/ls/registry/secrets, readOnly: true}
        {{- end }}
      volumes:
      {{- include "deployer.configVolumes" . | nindent 6 }}
      {{- if .Values.deployer.oci }}
      - name: ociregistry
        secret: {secretName: {{ $full }}-registry, defaultMode: 0440}
      {{- end }}
      {{- with .Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.tolerations }}
      tolerations:
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
