{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* To find out who may see the status page. Reviews have no namespace. If Landscaper is in another cluster, the user of the
     kubeconfig needs these rules there. */}}
{{- define "deployer.reviews" -}}
{{- $ui := .Values.ui | default dict }}
{{- if and $ui.enabled (not .Values.metrics.port) }}
{{- fail "ui.enabled needs metrics.port: the status page is on the port of the metrics. Set metrics.port=8080, or ui.enabled=false" }}
{{- end }}
{{- if and $ui.enabled $ui.authentication .Values.serviceAccount.create (not (.Values.deployer | default dict).landscaperClusterKubeconfig) }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "deployer.fullname" . }}-reviews
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
rules:
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ include "deployer.fullname" . }}-reviews
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ include "deployer.fullname" . }}-reviews
subjects:
- kind: ServiceAccount
  name: {{ include "deployer.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}
{{- end -}}
