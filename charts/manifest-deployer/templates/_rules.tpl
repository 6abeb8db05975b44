{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* The rules of the roles for items. */}}
{{- define "deployer.itemRules" -}}
- apiGroups: [landscaper.gardener.cloud]
  resources: [deployitems]
  verbs: [get, list, watch, patch]
- apiGroups: [landscaper.gardener.cloud]
  resources: [deployitems/status]
  verbs: [patch]
- apiGroups: [landscaper.gardener.cloud]
  resources: [targets]
  verbs: [get]
{{- if (.Values.deployer.lateChanges | default dict).trigger }}
# To trigger jobs because of late changes.
- apiGroups: [landscaper.gardener.cloud]
  resources: [executions]
  verbs: [get]
- apiGroups: [landscaper.gardener.cloud]
  resources: [installations]
  verbs: [get, patch]
{{- end }}
{{- if include "deployer.shares" . }}
# Locks among replicas, including those of the Go deployer.
- apiGroups: [landscaper.gardener.cloud]
  resources: [syncobjects]
  verbs: [get, create, update]
{{- end }}
# To read Targets and to write exports.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, patch, delete]
# Tokens for Targets with oidcConfig or selfConfig.
- apiGroups: [""]
  resources: [serviceaccounts/token]
  {{- with .Values.deployer.tokenAccounts }}
  resourceNames:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  verbs: [create]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- end -}}
