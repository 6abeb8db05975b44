# SPDX-License-Identifier: Apache-2.0
"""The chart of the manifest deployer: it accepts the values of the Go deployer's chart and grants only what is used."""

from bench import paths
from ship import helm
from ship.test_chart import must_be_accepted

CHART = paths.CHECKOUT / "charts" / "manifest-deployer"
# Every value that the Go deployer's chart knows.
GO_VALUES = {
    "deployer": {"landscaperClusterKubeconfig": {}, "identity": "go", "namespace": "", "verbosityLevel": "info",
                 "targetSelector": [{"annotations": [{"key": "a", "operator": "exists"}]}],
                 "controller": {"workers": 30, "cacheSyncTimeout": "2m"},
                 "k8sClientSettings": {"hostClient": {"burst": 30, "qps": 20}, "resourceClient": {"burst": 60, "qps": 40}}},
    "replicaCount": 1, "image": {"repository": "example.com/manifest-deployer", "pullPolicy": "IfNotPresent", "tag": "v1"},
    "imagePullSecrets": [{"name": "pull"}], "nameOverride": "", "fullnameOverride": "",
    "serviceAccount": {"create": True, "annotations": {}, "name": ""}, "podAnnotations": {"a": "b"}, "podSecurityContext": {},
    "securityContext": {}, "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}},
    "hpa": {"maxReplicas": 2, "averageCpuUtilization": 80, "averageMemoryUtilization": 80},
    "nodeSelector": {}, "tolerations": [], "affinity": {},
}


def rules(things):
    return {(group, resource, verb) for thing in things if thing["kind"] in ("Role", "ClusterRole") for rule in thing["rules"]
            for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]}


def test_the_api_server_accepts_every_object_and_the_program_its_configuration(apiserver, kube, namespace, tmp_path):
    for values in ({}, GO_VALUES, {"deployer": {"landscaperClusterKubeconfig": {"secretRef": "ls"}, "tokenAccounts": ["one"],
                                                    "lateChanges": {"trigger": True, "minimumInterval": "1h"}}}):
        things = helm.template(values, namespace=namespace, chart=CHART)
        assert must_be_accepted(things, kube, namespace, tmp_path)["apiVersion"].startswith("manifest.deployer.")
        deployment = helm.find(things, "Deployment")
        assert deployment["spec"]["template"]["metadata"]["labels"]["landscaper.gardener.cloud/topology"] == "manifest-deployer"


def test_helm_lint_reports_nothing():
    helm.run("lint", "--strict", CHART, kube_version="1.34.0")
    helm.run("lint", "--strict", CHART, kube_version="1.34.0", values=GO_VALUES)


def test_the_role_has_no_lists_of_secrets_and_nothing_in_other_groups():
    """F37."""
    found = rules(helm.template(GO_VALUES, chart=CHART))
    assert {verb for group, resource, verb in found if resource == "secrets"} == {"get", "create", "patch", "delete"}
    assert {resource for group, resource, verb in found} == {
        "deployitems", "deployitems/status", "targets", "syncobjects", "secrets", "serviceaccounts/token", "events", "leases", "pods"}


def test_installations_can_be_patched_only_if_late_changes_may_trigger_jobs():
    found = rules(helm.template({"deployer": {"lateChanges": {"trigger": True}}}, chart=CHART))
    assert {(resource, verb) for group, resource, verb in found if resource in ("installations", "executions")} == {
        ("installations", "get"), ("installations", "patch"), ("executions", "get")}
    assert "installations" not in {resource for group, resource, verb in rules(helm.template({}, chart=CHART))}
