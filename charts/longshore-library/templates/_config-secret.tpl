{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "deployer.configSecret" -}}
apiVersion: v1
kind: Secret
metadata:
  name: {{ include "deployer.fullname" . }}-config
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
type: Opaque
data:
  config.yaml: {{ include "deployer-config" . | b64enc }}
{{- end -}}
