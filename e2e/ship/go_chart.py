# SPDX-License-Identifier: Apache-2.0
"""Facts of the Go deployer's chart that tests need."""

_LANDSCAPER = "landscaper.gardener.cloud"
# The rules of the ClusterRole in the chart of the Go deployer.
RULES = [
    {"apiGroups": [_LANDSCAPER], "resources": ["deployitems", "deployitems/status"], "verbs": ["get", "watch", "list", "update", "patch"]},
    {"apiGroups": [_LANDSCAPER], "resources": ["targets", "contexts"], "verbs": ["get", "watch", "list"]},
    {"apiGroups": [_LANDSCAPER], "resources": ["syncobjects", "criticalproblems"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "get", "watch", "patch", "update"]},
    {"apiGroups": [""], "resources": ["pods", "pods/status", "secrets", "serviceaccounts", "configmaps"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["*"]}]
