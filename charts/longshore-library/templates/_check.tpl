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
  serviceAccountName: {{ include "deployer.serviceAccountName" . }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
  - name: test
    image: {{ include "deployer.image" (dict "root" . "name" "longshore" "image" .Values.image) | quote }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    {{- with include "deployer.command" . }}
    command:
      {{- . | nindent 4 }}
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
    securityContext:
      {{- toYaml .Values.securityContext | nindent 6 }}
    resources:
      requests: {cpu: 10m, memory: 16Mi}
      limits: {memory: 64Mi}
    volumeMounts:
    {{- include "deployer.configMounts" . | nindent 4 }}
  volumes:
  {{- include "deployer.configVolumes" . | nindent 2 }}
{{- end -}}
