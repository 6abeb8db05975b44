{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* For deployers that run pods: the namespace of the runs, and what restricts them there. */}}
{{- define "deployer.runs" -}}
{{- /* The namespace of the runs, and what restricts them there. */ -}}
{{- $namespace := include "deployer.hostNamespace" . }}
{{- $full := include "deployer.fullname" . }}
{{- $runs := .Values.runs | default dict }}
{{- if and .Values.deployer.hostClusterKubeconfig (or $runs.createNamespace $runs.resourceQuota $runs.limitRange $runs.networkPolicy.enabled) }}
{{- fail "runs.* creates objects in this cluster, but the runs are in that of deployer.hostClusterKubeconfig: create the namespace, the quota and the policies there" }}
{{- end }}
{{- if $runs.createNamespace }}
{{- if eq $namespace .Release.Namespace }}
{{- fail "runs.createNamespace needs deployer.namespace, a namespace other than that of the release, which exists already" }}
{{- end }}
---
apiVersion: v1
kind: Namespace
metadata:
  name: {{ $namespace }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
    {{- with $runs.namespaceLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if $runs.keepNamespace }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
{{- end }}
{{- with $runs.resourceQuota }}
---
apiVersion: v1
kind: ResourceQuota
metadata:
  name: {{ $full }}-runs
  namespace: {{ $namespace }}
  labels:
    {{- include "deployer.labels" $ | nindent 4 }}
spec:
  hard:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- with $runs.limitRange }}
---
apiVersion: v1
kind: LimitRange
metadata:
  name: {{ $full }}-runs
  namespace: {{ $namespace }}
  labels:
    {{- include "deployer.labels" $ | nindent 4 }}
spec:
  limits:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- if $runs.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ $full }}-runs
  namespace: {{ $namespace }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
spec:
  # The pods of runs: they, and no others, have this label.
  podSelector:
    matchExpressions:
    - {key: container.deployer.landscaper.gardener.cloud/name, operator: Exists}
  policyTypes: [Ingress, Egress]
  egress:
  - ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
  - ports:
    {{- range .Values.networkPolicy.apiServerPorts }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
  {{- with $runs.networkPolicy.egress }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}
