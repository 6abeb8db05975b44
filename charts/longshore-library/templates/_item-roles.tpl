{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* Permissions for items and the objects that they refer to: the rules of the chart's template "deployer.itemRules", in all namespaces or in
     those of rbac.namespaces. If Landscaper is in another cluster, the user of the kubeconfig needs the rules there, and the account of
     the release does not need them here. */}}
{{- define "deployer.itemRoles" -}}
{{- if and .Values.serviceAccount.create (not .Values.deployer.landscaperClusterKubeconfig) }}
{{- $namespaces := (.Values.rbac | default dict).namespaces | default list }}
{{- range $namespace := $namespaces | default (list "") }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "Role" "ClusterRole" (ne $namespace "") }}
metadata:
  name: {{ include "deployer.itemRoleName" $ }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "deployer.labels" $ | nindent 4 }}
rules:
{{ include "deployer.itemRules" $ }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "RoleBinding" "ClusterRoleBinding" (ne $namespace "") }}
metadata:
  name: {{ ternary (include "deployer.itemRoleName" $) (include "deployer.serviceAccountName" $) (ne $namespace "") }}
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "deployer.labels" $ | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ ternary "Role" "ClusterRole" (ne $namespace "") }}
  name: {{ include "deployer.itemRoleName" $ }}
subjects:
- kind: ServiceAccount
  name: {{ include "deployer.serviceAccountName" $ }}
  namespace: {{ $.Release.Namespace }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The ClusterRole has the name of the release. The Role for runs, which may be in the same namespace, has it too. */}}
{{- define "deployer.itemRoleName" -}}
{{- $full := include "deployer.fullname" . -}}
{{- ternary (printf "%s-items" $full) $full (not (empty (.Values.rbac | default dict).namespaces)) -}}
{{- end -}}
