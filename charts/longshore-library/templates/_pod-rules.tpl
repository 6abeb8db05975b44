{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* The rules of the roles for items of deployers that run pods. */}}
{{- define "deployer.podItemRules" -}}
- apiGroups: [landscaper.gardener.cloud]
  resources: [deployitems]
  verbs: [get, list, watch, patch]
- apiGroups: [landscaper.gardener.cloud]
  resources: [deployitems/status]
  verbs: [patch]
- apiGroups: [landscaper.gardener.cloud]
  resources: [targets, contexts]
  verbs: [get]
{{- if include "deployer.shares" . }}
# Locks among replicas, including those of the Go deployer.
- apiGroups: [landscaper.gardener.cloud]
  resources: [syncobjects]
  verbs: [get, create, update]
{{- end }}
# To read Targets and pull secrets, and to write exports.
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create, patch, delete]
# To read the OCM configuration of a Context.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- end -}}
