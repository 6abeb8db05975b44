{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* helm test: runs the image with the account, configuration and kubeconfigs of this release, and fails if a permission or a
     CustomResourceDefinition is missing. `helm test --logs` shows which. */}}
{{- define "deployer.check" -}}
apiVersion: v1
kind: Pod
metadata:
  name: {{ include "deployer.fullname" . }}-test
  namespace: {{ .Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ include "deployer.name" . }}-test
    app.kubernetes.io/instance: {{ .Release.Name }}
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  restartPolicy: Never
  {{- include "deployer.podSettings" . | nindent 2 }}
  containers:
  - name: test
    {{- include "deployer.container" . | nindent 4 }}
    {{- with include "deployer.command" . }}
    command:
      {{- . | nindent 6 }}
    {{- end }}
    args:
    - --check
    {{- include "deployer.arguments" . | nindent 4 }}
    env:
    - name: MY_POD_NAMESPACE
      valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
    {{- with .Values.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    resources:
      requests: {cpu: 10m, memory: 16Mi}
      limits: {memory: 64Mi}
    {{- with include "deployer.configMounts" . | trim }}
    volumeMounts:
    {{- . | nindent 4 }}
    {{- end }}
  {{- with include "deployer.configVolumes" . | trim }}
  volumes:
  {{- . | nindent 2 }}
  {{- end }}
{{- end -}}
