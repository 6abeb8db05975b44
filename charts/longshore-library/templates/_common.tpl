{{/* SPDX-License-Identifier: Apache-2.0 */}}

{{/* All objects that a chart has in common with the others. Each is also a template of its own. */}}
{{- define "deployer.common" -}}
{{- range $name := list "serviceAccount" "configSecret" "kubeconfigSecrets" "deployment" "autoscaler" "disruptionBudget" "networkPolicy" "replicaRoles" "reviews" "check" }}
---
{{ include (printf "deployer.%s" $name) $ }}
{{- end }}
{{- end -}}
