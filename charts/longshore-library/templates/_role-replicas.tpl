{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "deployer.replicaRoles" -}}
{{- /* Permissions in the host cluster that several replicas need: the Lease, and the pods that hold locks. */ -}}
{{- $deployer := .Values.deployer | default dict }}
{{- if and .Values.serviceAccount.create (not $deployer.hostClusterKubeconfig) }}
{{- $full := include "deployer.fullname" . }}
{{- $election := $deployer.leaderElection | default dict }}
{{- $shares := include "deployer.shares" . }}
{{- if $election.enabled }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $full }}-replicas
  namespace: {{ $election.leaseNamespace | default .Release.Namespace }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
rules:
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ $election.leaseName | default $full | quote }}]
  verbs: [get, update]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $full }}-replicas
  namespace: {{ $election.leaseNamespace | default .Release.Namespace }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $full }}-replicas
subjects:
- kind: ServiceAccount
  name: {{ include "deployer.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}
{{- if $shares }}
---
# To find out whether the holder of a lock still exists.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $full }}-locks
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
rules:
- apiGroups: [""]
  resources: [pods]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $full }}-locks
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $full }}-locks
subjects:
- kind: ServiceAccount
  name: {{ include "deployer.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}
{{- end }}
{{- end -}}
