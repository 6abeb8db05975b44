{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* The rules of the roles for items. */}}
{{- define "deployer.itemRules" -}}
{{- include "deployer.podItemRules" . }}
# Tokens for Targets with oidcConfig or selfConfig.
- apiGroups: [""]
  resources: [serviceaccounts/token]
  verbs: [create]
{{- end -}}
