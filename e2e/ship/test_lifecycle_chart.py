# SPDX-License-Identifier: Apache-2.0
"""The chart of the lifecycle manager: objects that the API server accepts, and options that the program accepts."""

import subprocess

import pytest

from bench import paths
from ship import helm
from ship.test_chart import BUILD, dry_run

CHART = paths.CHECKOUT / "charts" / "lifecycle-manager"
REQUIRED = {"registry": {"host": "registry.example"}}
FULL = {
    "registry": {"host": "http://registry.example:5000", "subPath": "modules", "credentialsSecret": "pull"}, "ownCluster": True, "shareClusters": True, "moduleState": "manager",
    "maintenancePolicy": {"rules": [], "default": {"begin": "02:00:00+00:00", "end": "04:00:00+00:00", "days": ["Sat"]}}, "minMaintenanceWindowSize": "30m",
    "verbosityLevel": "debug", "replicaCount": 2, "imagePullSecrets": [{"name": "s"}], "nameOverride": "klm", "fullnameOverride": "manager",
    "serviceAccount": {"annotations": {"a": "b"}, "name": "given"}, "podAnnotations": {"a": "b"}, "podLabels": {"c": "d"}, "priorityClassName": "p",
    "terminationGracePeriodSeconds": 5, "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}], "nodeSelector": {"e": "f"},
    "tolerations": [{"operator": "Exists"}], "affinity": {"nodeAffinity": {}}, "resources": {"requests": {"memory": "64Mi"}, "limits": {"memory": "256Mi"}},
    "metrics": {"port": 9090, "dashboard": True}, "ui": {"enabled": True, "authentication": True}, "podDisruptionBudget": {"enabled": True},
    "networkPolicy": {"enabled": True, "metricsFrom": [{"podSelector": {}}]},
}


@pytest.mark.parametrize("values", [REQUIRED, FULL], ids=["required", "full"])
def test_the_api_server_accepts_every_object_and_the_program_its_options(kube, namespace, values):
    things = helm.template(values, namespace=namespace, chart=CHART)
    refused = {f"{thing['kind']} {thing['metadata']['name']}": str(error) for thing in things
               if thing["kind"] != "Pod" and (error := dry_run(kube, thing, namespace))}
    assert not refused
    for spec in (helm.find(things, "Deployment")["spec"]["template"]["spec"], helm.find(things, "Pod")["spec"]):
        container, = spec["containers"]
        assert container["command"] == ["/longshore", "lifecycle"]
        assert {mount["name"] for mount in container.get("volumeMounts") or []} == {volume["name"] for volume in spec.get("volumes") or []}
        # All options are parsed before the help is printed.
        done = subprocess.run([BUILD / "deployer" / "longshore", "lifecycle", *container["args"], "--help"], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.startswith("Usage: longshore lifecycle"), done.stderr


def test_the_values_have_their_effect():
    things = helm.template(REQUIRED, release="rel", chart=CHART)
    spec = helm.find(things, "Deployment", "rel")["spec"]
    assert spec["replicas"] == 1 and "strategy" not in spec
    # Immutable: an upgrade fails if this differs.
    assert spec["selector"] == {"matchLabels": {"app.kubernetes.io/name": "lifecycle-manager", "app.kubernetes.io/instance": "rel"}}
    assert {thing["metadata"]["name"] for thing in things if thing["kind"] in ("ServiceAccount", "Role", "RoleBinding")} == {"rel"}
    definitions = [thing for thing in things if thing["kind"] == "CustomResourceDefinition"]
    assert len(definitions) == 4 and all(d["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep" for d in definitions)
    assert "CustomResourceDefinition" not in {thing["kind"] for thing in helm.template({**REQUIRED, "installCRDs": False}, chart=CHART)}
    things = helm.template(FULL, release="rel", chart=CHART)
    pod = helm.find(things, "Deployment", "manager")["spec"]["template"]["spec"]
    container, = pod["containers"]
    assert container["args"] == [
        "--namespace=default", "--metrics-address=:9090", "--health-address=:8081", "--ui=token", "--oci-registry-host=http://registry.example:5000",
        "--modules-repository-subpath=modules", "--registry-config=/etc/longshore/registry/.dockerconfigjson", "--own-cluster", "--share-clusters",
        "--maintenance-policy=/etc/longshore/policy/policy.json", "--module-state=manager", "--min-maintenance-window-size=30m", "--verbosity=debug"]
    # A limit that the user has chosen is kept.
    assert container["resources"] == {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}
    assert pod["serviceAccountName"] == "given" and pod["terminationGracePeriodSeconds"] == 5
    assert {thing["kind"] for thing in things} >= {"PodDisruptionBudget", "NetworkPolicy"}
    assert {thing["metadata"]["name"] for thing in things if thing["kind"] == "ConfigMap"} == {"manager-policy", "manager-dashboard"}
    with pytest.raises(helm.HelmError, match="registry.host is required"):
        helm.template({}, chart=CHART)
