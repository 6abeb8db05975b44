{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "deployer.configSecret" -}}
{{- with include "deployer-config" . }}
apiVersion: v1
kind: Secret
metadata:
  name: {{ include "deployer.fullname" $ }}-config
  namespace: {{ $.Release.Namespace }}
  labels:
    {{- include "deployer.labels" $ | nindent 4 }}
type: Opaque
data:
  config.yaml: {{ . | b64enc }}
{{- end }}
{{- end -}}
