{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{- define "deployer.kubeconfigSecrets" -}}
{{- range $cluster, $given := include "deployer.kubeconfigs" . | fromJson }}
{{- if and $given $given.kubeconfig }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ include "deployer.fullname" $ }}-{{ $cluster }}-cluster-kubeconfig
  namespace: {{ $.Release.Namespace }}
  labels:
    {{- include "deployer.labels" $ | nindent 4 }}
type: Opaque
data:
  kubeconfig: {{ $given.kubeconfig | b64enc }}
{{- end }}
{{- end }}
{{- end -}}
