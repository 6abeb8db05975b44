{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* For deployers that run pods: registry credentials of the operator. */}}
{{- define "deployer.registrySecret" -}}
{{- if .Values.deployer.oci }}
apiVersion: v1
kind: Secret
metadata:
  name: {{ include "deployer.fullname" . }}-registry
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
type: Opaque
data:
  {{- range $name, $config := .Values.deployer.oci.secrets }}
  {{ $name }}: {{ (kindIs "string" $config | ternary $config (toJson $config)) | b64enc }}
  {{- end }}
{{- end }}
{{- end -}}
