# SPDX-License-Identifier: Apache-2.0
"""Manifest items in a real cluster: the kubelet runs their workloads, and the deployer is a release of charts/manifest-deployer
with no permissions but those of its roles."""

import json

import pytest

from bench import images, paths
from bench.waiting import wait_until
from cluster.conftest import OwnTarget, restricted
from ship import helm, release

CHART = paths.CHECKOUT / "charts" / "manifest-deployer"
HOST = "longshore-manifests"
RELEASE = "manifest-deployer"
TYPE = "landscaper.gardener.cloud/kubernetes-manifest"
CONFIGURATION = {"apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2", "kind": "ProviderConfiguration"}
DEFINITIONS = "apiextensions.k8s.io/v1/customresourcedefinitions"
DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS = "apps/v1/deployments", "apps/v1/statefulsets", "apps/v1/daemonsets"
# Long enough for a slow node to report why a container does not run.
PROGRESS_SECONDS = 20


@pytest.fixture(scope="module")
def manifest_deployer(node):
    """The deployer, for the tests of this file."""
    restricted(node, HOST)
    release.load(node)
    helm.run("install", RELEASE, CHART, "--wait", "--timeout", "3m", kubeconfig=node.kubeconfig, namespace=HOST)
    yield node
    helm.run("uninstall", RELEASE, "--wait", "--timeout", "2m", kubeconfig=node.kubeconfig, namespace=HOST)


class Manifests(OwnTarget):
    def __init__(self, node, namespace):
        super().__init__(node, namespace, HOST, TYPE)

    def deploy(self, name, things, *, job="job-1", **config):
        """Creates or changes an item and triggers it."""
        self.put(name, {**CONFIGURATION, "manifests": [{"manifest": thing} for thing in things], **config}, job)

    def thing(self, api_version, kind, name, **more):
        return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": self.namespace}, **more}

    def pod_template(self, name, script="sleep 3600", image=images.BUSYBOX, is_never_ready=False, **more):
        """is_never_ready: without a probe a pod is ready as long as its container runs, however short that is."""
        probe = {"readinessProbe": {"exec": {"command": ["/bin/false"]}}} if is_never_ready else {}
        return {"metadata": {"labels": {"app": name}}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [
            {"name": "worker", "image": image, "command": ["/bin/sh", "-c", script], **probe}], **more}}

    def workload(self, kind, name, *, spec=None, **template):
        return self.thing("apps/v1", kind, name, spec={"selector": {"matchLabels": {"app": name}},
                                                       "template": self.pod_template(name, **template), **(spec or {})})

    def job(self, name, script, **spec):
        return self.thing("batch/v1", "Job", name, spec={**spec, "template": self.pod_template(name, script, restartPolicy="Never")})

    def deployment(self, name, **template):
        return self.workload("Deployment", name, spec={"replicas": 1, "progressDeadlineSeconds": PROGRESS_SECONDS}, **template)

    def reference(self, api_version, kind, name):
        return {"apiVersion": api_version, "kind": kind, "name": name, "namespace": self.namespace}

    def completed(self, name):
        """A custom check: the Job has completed. By the rules of kstatus, a Job is ready when it has started."""
        return {"name": "the job has completed", "resourceSelector": [self.reference("batch/v1", "Job", name)],
                "requirements": [{"jsonPath": ".status.succeeded", "operator": "==", "values": [{"value": 1}]}]}

    def pods_of(self, name):
        return [pod for pod in self.kube.items("pods", self.namespace) if pod["metadata"].get("labels", {}).get("app") == name]


@pytest.fixture
def manifests(manifest_deployer, node_namespace):
    made = Manifests(manifest_deployer, node_namespace)
    yield made
    made.release_items()


def refused_requests(node):
    prefix = f"system:serviceaccount:{HOST}:"
    return [f"{entry['verb']} {entry['requestURI']}" for entry in node.api.audit.entries()
            if entry["user"]["username"].startswith(prefix) and entry.get("responseStatus", {}).get("code") == 403]


def test_workloads_and_custom_resources_from_the_first_job_to_the_deletion(manifests):
    world, kube, namespace = manifests, manifests.kube, manifests.namespace
    thing = world.thing(f"{world.group}/v1", "Thing", "thing", spec={"size": 3})
    service = world.thing("v1", "Service", "web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]})
    stateful = world.workload("StatefulSet", "store", spec={"replicas": 1, "serviceName": "web"})
    job = world.job("task", "exit 0")
    exports = {"exports": [
        {"key": "web.ready", "jsonPath": ".status.readyReplicas", "fromResource": world.reference("apps/v1", "Deployment", "web")},
        {"key": "web.address", "jsonPath": ".spec.clusterIP", "fromResource": world.reference("v1", "Service", "web")},
        {"key": "size", "jsonPath": ".spec.size", "fromResource": world.reference(f"{world.group}/v1", "Thing", "thing")}]}

    # The first job: default readiness, a Job that has to complete, exports of what the cluster has assigned.
    world.deploy("item", [thing, service, world.deployment("web"), stateful, job, world.workload("DaemonSet", "agent"),
                          world.definition()], exports=exports, readinessChecks={"custom": [world.completed("task")]})
    status = world.succeeded("item")
    assert "firstError" not in status, status
    assert kube.get(DEPLOYMENTS, "web", namespace)["status"]["availableReplicas"] == 1
    assert kube.get(STATEFUL_SETS, "store", namespace)["status"]["availableReplicas"] == 1
    address = kube.get("services", "web", namespace)["spec"]["clusterIP"]
    assert json.loads(world.exports("item")) == {"web": {"ready": 1, "address": address}, "size": 3}
    # The CRD comes first, then the namespaced objects by kind.
    assert [entry["resource"]["kind"] for entry in status["providerStatus"]["managedResources"]] == [
        "CustomResourceDefinition", "DaemonSet", "Deployment", "Job", "Service", "StatefulSet", "Thing"]
    first, = world.pods_of("web")

    # An update: strict rules wait for the new pods; what left the list is removed with its pods; the Job is unchanged.
    thing["spec"]["size"] = 4
    task = kube.get("batch/v1/jobs", "task", namespace)
    world.deploy("item", [thing, service, world.deployment("web", script="sleep 7200"), stateful, job, world.definition()],
                 job="job-2", exports=exports, readinessChecks={"strict": True})
    status = world.succeeded("item", "job-2")
    deployed = kube.get(DEPLOYMENTS, "web", namespace)["status"]
    assert deployed["updatedReplicas"] == deployed["replicas"] == deployed["availableReplicas"] == 1
    assert first["metadata"]["name"] not in [pod["metadata"]["name"] for pod in world.pods_of("web")
                                             if "deletionTimestamp" not in pod["metadata"]]
    assert kube.find(DAEMON_SETS, "agent", namespace) is None
    wait_until(lambda: not world.pods_of("agent"), "removal of the pods of the DaemonSet")
    assert kube.get("batch/v1/jobs", "task", namespace)["metadata"]["resourceVersion"] == task["metadata"]["resourceVersion"]
    assert json.loads(world.exports("item")) == {"web": {"ready": 1, "address": address}, "size": 4}

    # The deletion waits for all objects, and their pods go with them, also those of the Job.
    world.delete("item")
    world.wait_until_deleted("item", timeout=120)
    for kind in (DEPLOYMENTS, STATEFUL_SETS, "batch/v1/jobs"):
        assert kube.items(kind, namespace) == [], kind
    assert kube.find(DEFINITIONS, f"things.{world.group}") is None
    wait_until(lambda: not kube.items("pods", namespace), "removal of all pods")
    assert refused_requests(world.node) == []


def test_strict_readiness_fails_early_and_names_the_container(manifests):
    world = manifests
    strict = {"strict": True}
    world.deploy("pull", [world.deployment("pull", image=f"{world.node.registry.host}/no/such-image:1")], readinessChecks=strict)
    world.deploy("crash", [world.deployment("crash", script="exit 3", is_never_ready=True)], readinessChecks=strict)
    world.deploy("job", [world.job("job", "exit 4", backoffLimit=0)], readinessChecks={**strict, "custom": [world.completed("job")]})
    crashing = world.pod_template("pod", "exit 5", is_never_ready=True)["spec"]
    world.deploy("pod", [world.thing("v1", "Pod", "pod", spec=crashing)], readinessChecks=strict)
    expected = {
        "pull": ("Deployment", "ProgressDeadlineExceeded", ("ErrImagePull", "ImagePullBackOff")),
        "crash": ("Deployment", "ProgressDeadlineExceeded", ("exit code 3",)),
        "job": ("Job", "BackoffLimitExceeded", ("exit code 4",)),
        "pod": ("Pod", "CrashLoopBackOff", ("exit code 5",)),
    }
    for name, (kind, reason, causes) in expected.items():
        error = world.failed(name)["lastError"]
        message = error["message"]
        assert error["reason"] == "ReadinessFailed", error
        assert f"{kind} {world.namespace}/{name}" in message and reason in message, message
        assert "container worker: " in message and any(cause in message for cause in causes), message

    # The pods of the former revision crash on while the corrected one starts: they do not fail the job.
    world.deploy("crash", [world.deployment("crash")], job="job-2", readinessChecks=strict)
    world.succeeded("crash", "job-2")
    for name in expected:
        world.delete(name)
    for name in expected:
        world.wait_until_deleted(name, timeout=120)
    wait_until(lambda: not world.kube.items("pods", world.namespace), "removal of all pods")
