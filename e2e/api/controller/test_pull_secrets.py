# SPDX-License-Identifier: Apache-2.0
"""Hundreds of registry pull Secrets: the lists of one namespace must not cost others time or memory."""

import json

from bench import paths, proc
from bench.waiting import wait_until
from controller_harness import decode, succeed

DOCKER = "kubernetes.io/dockerconfigjson"


def credentials(*hosts, password="secret-password"):
    return {".dockerconfigjson": {"auths": {host: {"username": "u", "password": password} for host in hosts}}}


def ready(world):
    """Completes one run, so that the watches are open and everything that a run needs is in memory."""
    world.item("first", context="plain")
    world.finished("first")
    world.wait_for_cleanup()


def test_a_secret_that_is_listed_several_times_is_read_once(world):
    world.secret("small", credentials("example.com"), type=DOCKER)
    world.context(registryPullSecrets=[{"name": "small"}] * 5000)
    controller = world.start(verbosity="info")
    mark = world.apiserver.audit.mark()
    world.item("item", config={"registryPullSecrets": [{"name": "small", "namespace": world.namespace}] * 3})
    assert world.finished("item")["phase"] == "Succeeded"
    assert world.apiserver.audit.count(mark, verb="get", resource="secrets", name="small", user=controller.user) == 1


def test_too_many_different_secrets_are_rejected_with_the_list_and_the_limit(world):
    world.context(registryPullSecrets=[{"name": f"s{n}"} for n in range(300)])
    controller = world.start(verbosity="info")
    mark = world.apiserver.audit.mark()
    world.item("item")
    status = world.finished("item")
    error = status["lastError"]
    assert status["phase"] == "Failed" and error["codes"] == ["ERR_CONFIGURATION_PROBLEM"], status
    assert 'registryPullSecrets of context "default"' in error["message"] and "300 different" in error["message"]
    assert "the maximum is 100" in error["message"] and world.kubelet.ran("item") == []
    assert world.apiserver.audit.count(mark, verb="get", resource="secrets", user=controller.user) == 0


def test_large_secrets_cost_no_more_memory_than_one_run_can_use(world):
    large = credentials(*(f"r{n}.example.com" for n in range(2200)), password="p" * 300)
    for name in ("large", "larger"):
        world.secret(name, large, type=DOCKER)
    world.context("plain")
    world.context(registryPullSecrets=[{"name": "large"}] * 300 + [{"name": "larger"}])
    controller = world.start(verbosity="info")
    ready(world)
    before = proc.memory(controller.pid)["VmRSS"]
    world.item("item")
    assert world.finished("item")["phase"] == "Succeeded"
    # Here init may need any of them: more than fits into a pod is rejected before it is collected.
    world.item("component", config={"componentDescriptor": {"inline": {"meta": {"schemaVersion": "v2"}}}})
    status = world.finished("component")
    assert status["phase"] == "Failed" and status["lastError"]["codes"] == ["ERR_CONFIGURATION_PROBLEM"], status
    assert f"{world.namespace}/larger" in status["lastError"]["message"] and "1048576" in status["lastError"]["message"]
    assert proc.memory(controller.pid)["VmHWM"] <= before + 16 * 2**20, (before, proc.memory(controller.pid))


def test_a_namespace_with_long_lists_does_not_delay_others(world):
    """The items with long lists send as few requests as others."""
    world.secret("small", credentials("example.com"), type=DOCKER)
    world.context(registryPullSecrets=[{"name": "small"}] * 5000)
    world.context("plain")
    controller = world.start(verbosity="info")
    mark = world.apiserver.audit.mark()
    for n in range(30):
        world.item(f"many-{n}")
    world.item("good", context="plain")
    assert world.finished("good")["phase"] == "Succeeded"
    wait_until(lambda: all(world.status(f"many-{n}").get("phase") == "Succeeded" for n in range(30)), "all items to finish", 120)
    assert world.apiserver.audit.count(mark, verb="get", resource="secrets", name="small", user=controller.user) == 30


def test_registry_files_are_read_again_when_they_change(world):
    """A mounted Secret is updated while the controller runs: it needs no restart, and a missing file leaves the last content in use."""
    path = paths.fresh_directory("registry") / "config.json"
    users = []

    def rotate(user):
        """Writes a new file and renames it, like a kubelet."""
        path.with_suffix(".new").write_text(json.dumps({"auths": {"example.com": {"username": user, "password": "secret-password"}}}))
        path.with_suffix(".new").rename(path)

    def look(pod):
        [name] = [s["name"] for s in pod.object["spec"]["imagePullSecrets"]]
        config = json.loads(decode(world.kube.get("secrets", name, world.host)["data"][".dockerconfigjson"]))
        users.append(config["auths"]["example.com"]["username"])
        succeed(pod)

    world.kubelet.behaviour = look
    rotate("first")
    controller = world.start(config={"oci": {"configFiles": [str(path)]}})
    for job, change in (("job-1", None), ("job-2", lambda: rotate("second")), ("job-3", path.unlink), ("job-4", None), ("job-5", lambda: rotate("third"))):
        if change:
            change()
        if job == "job-1":
            world.item("item")
        else:
            world.trigger("item", job)
        assert world.finished("item", job)["phase"] == "Succeeded"
        world.wait_for_cleanup()
    assert users == ["first", "second", "second", "second", "third"]
    logged = [line for line in controller.output().splitlines() if "registry credential is unusable" in line]
    assert len(logged) == 1 and str(path) in logged[0] and "the previous content is used" in logged[0], logged
    assert "secret-password" not in controller.output()
