{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* "true" if several replicas may work at the same time. Charts of programs that always elect a leader have no value hpa. */}}
{{- define "deployer.shares" -}}
{{- if gt (int (.Values.hpa | default dict).maxReplicas) 1 }}true{{ end -}}
{{- end -}}

{{/* "true" if there is an autoscaler. With leader election only one replica works: an autoscaler could only add idle ones. */}}
{{- define "deployer.hasAutoscaler" -}}
{{- if and (include "deployer.shares" .) (not ((.Values.deployer | default dict).leaderElection | default dict).enabled) }}true{{ end -}}
{{- end -}}

{{/* The number of replicas without an autoscaler: hpa.maxReplicas of 2 or more asks for a second one, which stands by. */}}
{{- define "deployer.replicas" -}}
{{- if include "deployer.shares" . }}{{ max (int .Values.replicaCount) 2 }}{{ else }}{{ .Values.replicaCount }}{{ end -}}
{{- end -}}

{{/* By CPU only: the process uses a few megabytes whatever it does, so memory would never trigger. */}}
{{- define "deployer.autoscaler" -}}
{{- if include "deployer.hasAutoscaler" . }}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "deployer.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "deployer.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "deployer.fullname" . }}
  minReplicas: {{ min (max (int .Values.replicaCount) 1) (int .Values.hpa.maxReplicas) }}
  maxReplicas: {{ .Values.hpa.maxReplicas }}
  metrics:
  - type: Resource
    resource:
      name: cpu
      target: {type: Utilization, averageUtilization: {{ .Values.hpa.averageCpuUtilization }}}
{{- end }}
{{- end -}}
