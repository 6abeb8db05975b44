{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* Objects have the name of the release. */}}
{{- define "deployer.fullname" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "deployer.serviceAccountName" -}}
{{- default (include "deployer.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "deployer.componentLabels" -}}
app.kubernetes.io/component: controller
app.kubernetes.io/part-of: kyma
{{- end -}}

{{- define "deployer.checksums" -}}
checksum/policy: {{ .Values.maintenancePolicy | toJson | sha256sum }}
{{- end -}}

{{- define "deployer.command" -}}
[/longshore, lifecycle]
{{- end -}}

{{- define "deployer.arguments" -}}
- --namespace={{ .Release.Namespace }}
{{ include "deployer.addressArguments" . }}
{{- end -}}

{{- define "deployer.serveArguments" -}}
- --oci-registry-host={{ required "registry.host is required: the registry with the components of modules" .Values.registry.host }}
{{- with .Values.registry.subPath }}
- --modules-repository-subpath={{ . }}
{{- end }}
{{- if .Values.registry.credentialsSecret }}
- --registry-config=/etc/longshore/registry/.dockerconfigjson
{{- end }}
{{- if .Values.ownCluster }}
- --own-cluster
{{- end }}
{{- if .Values.shareClusters }}
- --share-clusters
{{- end }}
{{- if .Values.maintenancePolicy }}
- --maintenance-policy=/etc/longshore/policy/policy.json
{{- end }}
- --module-state={{ .Values.moduleState }}
- --min-maintenance-window-size={{ .Values.minMaintenanceWindowSize }}
{{- end -}}

{{- define "deployer.verbosity" -}}
{{- .Values.verbosityLevel | default "" -}}
{{- end -}}

{{- define "deployer.resources" -}}
{{- toYaml .Values.resources -}}
{{- end -}}

{{- define "deployer.serveMounts" -}}
{{- if .Values.registry.credentialsSecret }}
- {name: registry, mountPath: /etc/longshore/registry, readOnly: true}
{{- end }}
{{- if .Values.maintenancePolicy }}
- {name: policy, mountPath: /etc/longshore/policy, readOnly: true}
{{- end }}
{{- end -}}

{{- define "deployer.serveVolumes" -}}
{{- with .Values.registry.credentialsSecret }}
- name: registry
  secret: {secretName: {{ . }}}
{{- end }}
{{- if .Values.maintenancePolicy }}
- name: policy
  configMap: {name: {{ include "deployer.fullname" . }}-policy}
{{- end }}
{{- end -}}
