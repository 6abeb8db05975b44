{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* The rules in the namespace of the runs. */}}
{{- define "deployer.runsRules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
# The controller does not use "update", but RBAC forbids granting a permission that the granter lacks: wait updates its export.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, create, update, patch, delete, deletecollection]
# Left by the Go deployer.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [list, deletecollection]
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get, list, create, patch, deletecollection]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [list, create, patch, deletecollection]
{{- end -}}

{{/* For deployers that run pods: the permissions in the namespace of the runs. */}}
{{- define "deployer.runsRole" -}}
{{- /* Permissions in the namespace of the runs. If that is in another cluster, the user of the kubeconfig needs these rules there. */ -}}
{{- if and .Values.serviceAccount.create (not .Values.deployer.hostClusterKubeconfig) }}
{{- $full := include "deployer.fullname" . }}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $full }}
  namespace: {{ include "deployer.hostNamespace" . }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
rules:
{{ include "deployer.runsRules" . }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ include "deployer.serviceAccountName" . }}
  namespace: {{ include "deployer.hostNamespace" . }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ $full }}
subjects:
- kind: ServiceAccount
  name: {{ include "deployer.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}
{{- end -}}
