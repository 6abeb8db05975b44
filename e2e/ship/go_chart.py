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

# Every value that the charts of Go programs know. What is below a listed key is free: names of Secrets, labels, fields of Kubernetes.
_POD_KEYS = """
image.repository image.pullPolicy image.tag imagePullSecrets nameOverride fullnameOverride serviceAccount.create serviceAccount.annotations
serviceAccount.name podAnnotations podSecurityContext securityContext resources.requests resources.limits nodeSelector tolerations affinity
""".split()
_DEPLOYER_KEYS = """
deployer.landscaperClusterKubeconfig.kubeconfig deployer.landscaperClusterKubeconfig.secretRef deployer.identity deployer.namespace
deployer.verbosityLevel deployer.targetSelector deployer.controller.workers deployer.controller.cacheSyncTimeout
deployer.k8sClientSettings.hostClient.burst deployer.k8sClientSettings.hostClient.qps deployer.k8sClientSettings.resourceClient.burst
deployer.k8sClientSettings.resourceClient.qps replicaCount hpa.maxReplicas hpa.averageCpuUtilization hpa.averageMemoryUtilization
""".split() + _POD_KEYS
_REGISTRY_KEYS = "deployer.oci.allowPlainHttp deployer.oci.insecureSkipVerify deployer.oci.secrets".split()
KEYS = {
    "container-deployer": _DEPLOYER_KEYS + _REGISTRY_KEYS + """
        deployer.initContainer.repository deployer.initContainer.tag deployer.waitContainer.repository deployer.waitContainer.tag
        deployer.defaultImage.repository deployer.defaultImage.tag""".split(),
    "manifest-deployer": _DEPLOYER_KEYS,
    "helm-deployer": _DEPLOYER_KEYS + _REGISTRY_KEYS,
    # Of Landscaper v0.98, the last with an agent.
    "landscaper-agent": _POD_KEYS + """
        agent.verbosity agent.name agent.namespace agent.landscaperNamespace agent.landscaperClusterKubeconfig.kubeconfig
        agent.landscaperClusterKubeconfig.secretRef.name agent.targetSelectors agent.registryConfig.cache.useInMemoryOverlay
        agent.registryConfig.allowPlainHttpRegistries agent.registryConfig.insecureSkipVerify agent.registryConfig.secrets""".split(),
}
