# SPDX-License-Identifier: Apache-2.0
"""The protocol between Landscaper and a deployer, which does not depend on how an item is executed: every test runs with the pod
engine and with the fake engine of deployer/protocol/tests; those that need no execution outside of the controller also with the smallest engine."""

import pytest

from bench.kube import DEPLOYITEMS, SYNCOBJECTS
from bench.waiting import wait_until
from controller_harness import FAKE, ITEM_FINALIZER, OPERATION, PROGRAM, FORCE_CLEANUP, hang, now, with_export_and_state
from controller_killer import REQUESTS_MAX

REPLICAS = {"hpa": {"maxReplicas": 2}}


class PodEngine:
    program, deployer = (PROGRAM, "controller"), "container.deployer.landscaper.gardener.cloud"
    subject, has_exports, writes = "container deployer", True, 4

    def __init__(self, world):
        self.world = world

    def item(self, name, result="succeed", **more):
        self.world.kubelet.behaviour = {"succeed": with_export_and_state, "hang": hang, "fail": lambda pod: (pod.run(), pod.fail(3))}[result]
        return self.world.item(name, **more)

    def will(self, name, result):
        """Sets the result from the next job on."""
        self.world.kubelet.behaviour = {"succeed": with_export_and_state, "hang": hang}[result]

    def executions(self):
        return [pod["metadata"]["annotations"]["longshore.container.deployer.landscaper.gardener.cloud/job"] for pod in self.world.pods()]


class FakeEngine:
    program, deployer, subject, has_exports, writes = (FAKE,), "fake", "fake deployer", True, 4

    def __init__(self, world):
        self.world = world

    def item(self, name, result="succeed", **more):
        return self.world.item(name, config={"result": result}, **more)

    def will(self, name, result):
        self.world.kube.patch(DEPLOYITEMS, name, {"spec": {"config": {"result": result}}}, self.world.namespace)

    def executions(self):
        return [thing["data"]["job"] for thing in self.world.kube.items("configmaps", self.world.host) if "job" in thing.get("data", {})]


class SmallestEngine:
    """Its items succeed at once, without exports."""
    program, deployer, has_exports, writes = (FAKE, "--engine=smallest"), "smallest", False, 1  # at least, in a job

    def __init__(self, world):
        self.world = world

    def item(self, name, **more):
        return self.world.item(name, **more)

    def executions(self):
        return []


@pytest.fixture(params=[PodEngine, FakeEngine], ids=["pod", "fake"])
def engine(request, world):
    return request.param(world)


@pytest.fixture(params=[PodEngine, FakeEngine, SmallestEngine], ids=["pod", "fake", "smallest"])
def any_engine(request, world):
    return request.param(world)


def start(world, engine, **more):
    return world.start(program=engine.program, **more)


def runs(world, engine, name, job="job-1"):
    wait_until(lambda: world.status(name).get("phase") == "Progressing" and engine.executions() == [job], f"{job} of {name} to run")


def cleaned(engine):
    wait_until(lambda: not engine.executions(), "the end of all executions")


def test_a_job_is_picked_up_and_finished_with_its_export(world, any_engine):
    start(world, any_engine)
    any_engine.item("item", finalizer=False)
    status = world.finished("item")
    assert status["phase"] == "Succeeded" and status["observedGeneration"] == 1 and "lastError" not in status
    assert status["deployer"]["name"] == any_engine.deployer and status["deployer"]["identity"] == "test"
    assert set(status["transitionTimes"]) >= {"triggerTime", "initTime", "finishedTime"}
    secret = world.kube.find("secrets", "item-export", world.namespace)
    if any_engine.has_exports:
        assert status["exportRef"] == {"name": "item-export", "namespace": world.namespace}
        assert secret["metadata"]["ownerReferences"][0]["name"] == "item" and "config" in secret["data"]
    else:
        assert "exportRef" not in status and secret is None
    assert ITEM_FINALIZER in world.kube.get(DEPLOYITEMS, "item", world.namespace)["metadata"]["finalizers"]
    cleaned(any_engine)


def test_a_failed_job_is_reported(world, engine):
    start(world, engine)
    engine.item("item", "fail")
    status = world.finished("item")
    assert status["phase"] == "Failed" and status["lastError"]["message"]
    wait_until(lambda: world.events("item"), "an Event")
    cleaned(engine)


def test_a_timeout_ends_the_job_and_its_execution(world, engine):
    start(world, engine)
    engine.item("item", "hang", timeout="3s")
    status = world.finished("item")
    assert status["phase"] == "Failed" and status["lastError"]["codes"] == ["ERR_TIMEOUT"]
    assert status["lastError"]["message"].startswith(f'timeout at: "{engine.subject}: start reconcile"')
    cleaned(engine)


def test_an_interrupt_ends_the_execution(world, engine):
    start(world, engine)
    engine.item("item", "hang")
    runs(world, engine, "item")
    world.interrupt("item", "job-1")
    cleaned(engine)
    assert world.status("item")["lastError"]["reason"] == "InterruptOperation"


def test_a_new_job_replaces_the_execution_of_the_previous_one(world, engine):
    start(world, engine)
    engine.item("item", "hang")
    runs(world, engine, "item")
    engine.will("item", "succeed")
    world.trigger("item", "job-2")
    assert world.finished("item", "job-2")["phase"] == "Succeeded"
    cleaned(engine)


def test_an_execution_outlives_the_controller(world, engine):
    first = start(world, engine)
    engine.item("item", "hang")
    runs(world, engine, "item")
    first.expected = False
    first.kill()
    second = start(world, engine)
    second.wait_until(lambda: "items listed" in second.output(), "items listed")
    assert engine.executions() == ["job-1"] and world.status("item")["phase"] == "Progressing"
    world.interrupt("item", "job-1")
    cleaned(engine)


def test_an_engine_looks_after_an_item_whose_job_is_finished(world):
    """Once, also after a restart; not for other items, and not after the next job ended without the wish."""
    engine = FakeEngine(world)
    controller = start(world, engine)

    def followed():
        return [t["metadata"]["name"] for t in world.kube.items("configmaps", world.host) if t["metadata"]["name"].endswith("-followed")]

    world.item("plain", config={"result": "succeed"})
    world.item("item", config={"result": "succeed", "followUp": True})
    world.finished("plain")
    wait_until(lambda: followed() == ["item-followed"], "the item to be looked after")
    controller.stop()
    world.kube.delete("configmaps", "item-followed", world.host)
    start(world, engine)
    wait_until(lambda: followed() == ["item-followed"], "the same after a restart")
    world.kube.delete("configmaps", "item-followed", world.host)
    world.kube.patch(DEPLOYITEMS, "item", {"spec": {"config": {"followUp": False}}}, world.namespace)
    world.trigger("item", "job-2")
    world.finished("item", "job-2")
    cleaned(engine)
    assert followed() == []


def test_a_deletion_removes_the_item_and_its_export(world, any_engine):
    start(world, any_engine)
    any_engine.item("item")
    world.finished("item")
    cleaned(any_engine)
    world.delete("item")
    world.wait_until_deleted("item")
    assert world.kube.find("secrets", "item-export", world.namespace) is None
    cleaned(any_engine)


def test_force_cleanup_ends_an_execution_that_hangs(world, engine):
    start(world, engine)
    engine.item("item", "hang")
    runs(world, engine, "item")
    world.kube.patch(DEPLOYITEMS, "item", {"metadata": {"annotations": {FORCE_CLEANUP: "true"}}}, world.namespace)
    world.delete("item")
    world.wait_until_deleted("item")
    cleaned(engine)


def test_test_reconcile_makes_a_job(world, any_engine):
    start(world, any_engine)
    any_engine.item("item", job=None, annotations={OPERATION: "test-reconcile"})
    status = wait_until(lambda: (s := world.status("item")).get("jobID") and s.get("jobIDFinished") == s["jobID"] and s, "the job to finish")
    assert status["phase"] == "Succeeded"
    assert OPERATION not in world.kube.get(DEPLOYITEMS, "item", world.namespace)["metadata"].get("annotations", {})


def test_a_missing_target_fails_and_an_item_of_another_deployer_is_not_touched(world, any_engine):
    world.target("theirs", config={}, labels={"env": "b"})
    world.target("ours", config={}, labels={"env": "a"})
    start(world, any_engine, config={"targetSelector": [{"labels": [{"key": "env", "operator": "=", "values": ["a"]}]}]})
    any_engine.item("theirs", target="theirs")
    any_engine.item("nowhere", target="nowhere")
    any_engine.item("ours", target="ours")
    assert world.finished("nowhere")["lastError"]["reason"] == "NoTargetFound"
    assert world.finished("ours")["phase"] == "Succeeded"
    assert "phase" not in world.status("theirs")


def lock(world, name, holder):
    uid = world.kube.get(DEPLOYITEMS, name, world.namespace)["metadata"]["uid"]
    world.kube.create({"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "SyncObject",
                       "metadata": {"name": f"container-{uid}", "namespace": world.namespace},
                       "spec": {"podName": holder, "kind": "DeployItem", "name": name, "prefix": "container", "lastUpdateTime": now()}})


def test_a_lock_is_taken_released_and_respected(world, any_engine):
    for name, holder in (("outside", "nopodname"), ("dead", "died"), ("free", "")):
        any_engine.item(name, job=None)
        lock(world, name, holder)
        world.trigger(name, "job-1")
    start(world, any_engine, config=REPLICAS, env={"MY_POD_NAME": "me", "MY_POD_NAMESPACE": world.host})
    for name in ("dead", "free"):
        assert world.finished(name)["phase"] == "Succeeded"
        uid = world.kube.get(DEPLOYITEMS, name, world.namespace)["metadata"]["uid"]
        wait_until(lambda: world.kube.get(SYNCOBJECTS, f"container-{uid}", world.namespace)["spec"]["podName"] == "", "the release of the lock")
    assert "phase" not in world.status("outside")


def is_done(world, engine, name):
    status = world.status(name)
    return status.get("jobID") and status.get("jobIDFinished") == status["jobID"] and not engine.executions()


@pytest.mark.parametrize("config", [{}, REPLICAS], ids=["alone", "replicas"])
def test_a_job_survives_a_crash_at_every_request(world, any_engine, killer, config):
    def restart():
        controller = start(world, any_engine, proxy=killer.proxy, config={"garbageCollection": {"disable": True}, **config},
                           env={"MY_POD_NAME": f"deployer-{len(world.controllers)}", "MY_POD_NAMESPACE": world.host})
        controller.expected = False
        killer.controller = controller
        return controller

    controller = restart()
    for number in range(1, REQUESTS_MAX):
        name = f"item-{number}"
        controller.wait_until(lambda: "items listed" in controller.output(), "items listed")
        killer.arm(number)
        any_engine.item(name)
        wait_until(lambda: killer.has_killed.is_set() or is_done(world, any_engine, name), f"the crash or the end of {name}")
        if not killer.has_killed.is_set():
            assert number > any_engine.writes, "the controller sent too few requests"
            break
        controller = restart()
        wait_until(lambda: is_done(world, any_engine, name), f"{name} to finish after {killer.seen}")
        status = world.status(name)
        export = {"exportRef": {"name": f"{name}-export", "namespace": world.namespace}} if any_engine.has_exports else {}
        assert status["phase"] == "Succeeded", (number, killer.seen, status)
        assert {key: status[key] for key in ("exportRef",) if key in status} == export, (number, killer.seen, status)
    else:
        pytest.fail("the job did not complete")
