# SPDX-License-Identifier: Apache-2.0
"""The chart of the helm deployer: it accepts the values of the Go deployer's chart."""

import base64

import yaml

from bench import paths
from ship import helm
from ship.test_chart import must_be_accepted

CHART = paths.CHECKOUT / "charts" / "helm-deployer"
REGISTRY = {"imageRegistry": "registry.example/longshore"}
# Every value that the Go deployer's chart knows.
GO_VALUES = {
    "deployer": {"landscaperClusterKubeconfig": {}, "identity": "go", "namespace": "", "verbosityLevel": "info",
                 "oci": {"allowPlainHttp": False, "insecureSkipVerify": False, "secrets": {"default": {"auths": {}}}},
                 "targetSelector": [{"annotations": [{"key": "a", "operator": "exists"}]}],
                 "controller": {"workers": 30, "cacheSyncTimeout": "2m"},
                 "k8sClientSettings": {"hostClient": {"burst": 30, "qps": 20}, "resourceClient": {"burst": 60, "qps": 40}}},
    "replicaCount": 1, "image": {"repository": "example.com/helm-deployer", "pullPolicy": "IfNotPresent", "tag": "v1"},
    "imagePullSecrets": [{"name": "pull"}], "nameOverride": "", "fullnameOverride": "",
    "serviceAccount": {"create": True, "annotations": {}, "name": ""}, "podAnnotations": {"a": "b"}, "podSecurityContext": {},
    "securityContext": {}, "resources": {"requests": {"cpu": "300m", "memory": "300Mi"}},
    "hpa": {"maxReplicas": 1, "averageCpuUtilization": 80, "averageMemoryUtilization": 80},
    "nodeSelector": {}, "tolerations": [], "affinity": {},
}


def test_the_api_server_accepts_every_object_and_the_program_its_configuration(apiserver, kube, namespace, tmp_path):
    for values in (REGISTRY, REGISTRY | GO_VALUES, REGISTRY | {"deployer": {"helm": {"repository": "example.com/helm", "tag": "4", "version": 4,
                                                                                      "resources": {"limits": {"memory": "1Gi"}}}}}):
        things = helm.template(values, namespace=namespace, chart=CHART)
        document = must_be_accepted(things, kube, namespace, tmp_path)
        assert document["apiVersion"].startswith("helm.deployer.") and document["helm"]["image"]
        deployment = helm.find(things, "Deployment")
        assert deployment["spec"]["template"]["metadata"]["labels"]["landscaper.gardener.cloud/topology"] == "helm-deployer"


def test_helm_lint_reports_nothing():
    helm.run("lint", "--strict", CHART, kube_version="1.34.0", values=REGISTRY)
    helm.run("lint", "--strict", CHART, kube_version="1.34.0", values=REGISTRY | GO_VALUES)


def test_the_container_deployer_serves_helm_items_only_if_enabled():
    def configuration(**more):
        secret = helm.find(helm.template(REGISTRY | {"deployer": {"helm": more}} if more else REGISTRY), "Secret", "deployer-container-deployer-config")
        return yaml.safe_load(base64.b64decode(secret["data"]["config.yaml"]))["helm"]

    assert configuration() == {"enabled": False}
    made = configuration(enabled=True, resources={"limits": {"memory": "1Gi"}})
    assert made["image"].startswith("registry.example/longshore/longshore-helm:") and made["resources"] == {"limits": {"memory": "1Gi"}}
