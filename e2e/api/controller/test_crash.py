# SPDX-License-Identifier: Apache-2.0
"""The controller is killed before and after every request of a run and of a deletion, and started again: the job runs exactly
once and nothing is left over."""

import hashlib

import pytest

from bench.waiting import wait_until
from controller_killer import REQUESTS_MAX
from controller_harness import GROUP, LABEL_ITEM_NAME, LABEL_ITEM_NAMESPACE, OPERATION, OURS, encode, ended, succeed, with_export_and_state

def start(world, killer, **config):
    """Starts the controller behind the proxy. After a crash the new process may be killed too. It has another pod name."""
    controller = world.start(proxy=killer.proxy, config={"garbageCollection": {"disable": True}, **config},
                             env={"MY_POD_NAME": f"deployer-{len(world.controllers)}", "MY_POD_NAMESPACE": world.host})
    controller.expected = False
    killer.controller = controller
    return controller


def listed(controller):
    controller.wait_until(lambda: "items listed" in controller.output(), "items listed")


def is_done(world, name):
    status = world.status(name)
    return status.get("jobID") and status.get("jobIDFinished") == status["jobID"] and not world.pods()


class Plain:
    """A minimal item."""
    phase, has_export, behaviour = "Succeeded", True, staticmethod(with_export_and_state)
    config, controller = {}, {}
    first, last = 1, REQUESTS_MAX  # the numbers of the requests between which the controller crashes
    is_run_sure = True
    jobs = ()  # of the runs; empty: the one of the status
    seen = {"GET contexts", "GET secrets", "POST serviceaccounts", "PATCH roles", "PATCH rolebindings", "PATCH secrets", "POST pods",
            "PATCH deployitems/status", "DELETE secrets", "DELETE pods", "PATCH pods"}
    requests_min = 14  # the documented number of requests without a target

    def __init__(self, world):
        self.world = world

    def make(self, name):
        self.world.item(name, config=self.config)

    def states(self, name):
        return [thing for thing in self.world.kube.items("secrets", self.world.host)
                if (labels := thing["metadata"].get("labels", {})).get(LABEL_ITEM_NAME) == name and labels.get(f"{GROUP}/type") == "state"]

    def check(self, name):
        assert len(self.states(name)) == 1, "the run did not save exactly one state"


class Script(Plain):
    config = {"apiVersion": "script.deployer.landscaper.gardener.cloud/v1alpha1", "script": "#!/bin/sh\n"}

    def make(self, name):
        self.world.item(name, item_type="landscaper.gardener.cloud/script", config={**self.config, "image": "example.com/main:1"})


class Rich(Plain):
    """An item with everything: target, its Secret, pull secrets of Context and item, OCM; and still without a finalizer."""
    seen = Plain.seen | {"PATCH deployitems", "GET targets", "GET configmaps"}
    requests_min = Plain.requests_min + 7

    def __init__(self, world):
        super().__init__(world)
        registry = {".dockerconfigjson": {"auths": {"example.com": {"username": "u", "password": "p"}}}}
        world.secret("kubeconfig", {"kubeconfig": "clusters: []"})
        world.target("target", secret="kubeconfig")
        for name in ("pull", "own"):
            world.secret(name, registry, type="kubernetes.io/dockerconfigjson")
        world.kube.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ocm", "namespace": world.namespace},
                          "data": {".ocmconfig": "type: generic.config.ocm.software/v1"}})
        world.context("rich", registryPullSecrets=[{"name": "pull"}], ocmConfig={"name": "ocm"})

    def make(self, name):
        self.world.item(name, target="target", context="rich", finalizer=False,
                        config={"registryPullSecrets": [{"name": "own", "namespace": self.world.namespace}]})


class Renamed(Plain):
    """The account already exists, created by a deployer with another name for the same item."""
    seen = Plain.seen | {"GET serviceaccounts", "PATCH serviceaccounts"}
    requests_min = Plain.requests_min + 2

    def make(self, name):
        made = self.world.item(name, job=None)
        account = f"{name}-{hashlib.sha256(f'{self.world.namespace}/{name}'.encode()).hexdigest()[:16]}-run"
        self.world.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {
            "name": account, "namespace": self.world.host, "labels": {f"{GROUP}/deployer-id": "before"},
            "annotations": {f"{OURS}/item-uid": made["metadata"]["uid"]}}})
        self.world.trigger(name, "job-1")


class OfTestReconcile(Plain):
    """Started by test-reconcile, with two writes and a job ID that the controller generates."""
    seen = Plain.seen | {"PATCH deployitems"}
    requests_min = Plain.requests_min + 2

    def make(self, name):
        self.world.item(name, job=None, annotations={OPERATION: "test-reconcile"})


class Failing(Plain):
    phase, has_export = "Failed", False
    seen = Plain.seen | {"GET pods/log"}
    requests_min = Plain.requests_min - 1

    @staticmethod
    def behaviour(pod):
        pod.run()
        pod.save_state()
        pod.fail(3)


class Stopped(Plain):
    """Ended from outside while main runs. The requests before that are the same as for the others."""
    phase, has_export, first = "Failed", False, 7

    def stop(self, pod):
        raise NotImplementedError

    def behaviour(self, pod):
        pod.run()
        self.stop(pod)
        pod.killed.wait(60)
        pod.save_state()
        pod.status("Failed", init=ended(), main=ended(143, signal=15), wait=ended(1, message="killed"))


class Interrupted(Stopped):
    requests_min = Plain.requests_min - 3

    def stop(self, pod):
        self.world.interrupt(pod.item()[1], pod.job)


class Superseded(Stopped):
    """Another job is triggered while main runs. It has to wait until the pod of the first one is gone."""
    phase, has_export = "Succeeded", True
    last = 17  # then the second run has begun
    jobs = ("job-1", "job-2")

    def behaviour(self, pod):
        if pod.job == self.jobs[1]:
            with_export_and_state(pod)
        else:
            super().behaviour(pod)

    def stop(self, pod):
        self.world.trigger(pod.item()[1], self.jobs[1])

    def check(self, name):
        assert len(self.states(name)) == 2, "not every run saved its state"


class TimedOut(Stopped):
    requests_min = Plain.requests_min - 2
    is_run_sure = False  # a controller that restarts too late finds that the job timed out before a pod was created
    seen = Plain.seen | {"GET pods/log"}

    def make(self, name):
        self.world.item(name, timeout="2s")

    def stop(self, pod):
        pass

    def check(self, name):
        assert len(self.states(name)) == len(self.world.kubelet.ran(name)), "the number of states is not the number of runs"


class WithOldState(Plain):
    """The item has so many old states that they are removed."""
    requests_min = Plain.requests_min + 1
    OLD = 8

    def make(self, name):
        for number in range(self.OLD):
            self.world.kube.create({"apiVersion": "v1", "kind": "Secret", "data": {"config": encode(f"{number}")}, "metadata": {
                "name": f"state-{name}-{number}", "namespace": self.world.host,
                "labels": {LABEL_ITEM_NAME: name, LABEL_ITEM_NAMESPACE: self.world.namespace, f"{GROUP}/type": "state"},
                "annotations": {f"{GROUP}/uuid": f"uuid-{number}", f"{GROUP}/num": "0"}}})
        super().make(name)

    def check(self, name):
        old = [thing for thing in self.states(name) if thing["metadata"]["name"].startswith(f"state-{name}-")]
        assert len(self.states(name)) == len(old) + 1, "the run did not save its state"
        assert 2 <= len(old) < self.OLD, "the state before the run and the one before it were not kept, or none was removed"


class Locked(Plain):
    """With other replicas: the lock of a pod that no longer exists has to be taken over."""
    controller = {"hpa": {"maxReplicas": 2}}
    seen = Plain.seen | {"GET deployitems", "GET syncobjects", "POST syncobjects", "PUT syncobjects"}
    requests_min = Plain.requests_min + 4


@pytest.mark.parametrize("kind", [Plain, Script, Rich, Renamed, OfTestReconcile, Failing, Interrupted, Superseded, TimedOut, WithOldState,
                                  Locked])
def test_a_run_survives_a_crash_at_every_request(world, killer, kind):
    wanted = kind(world)
    world.kubelet.behaviour = wanted.behaviour
    controller = start(world, killer, **kind.controller)
    for number in range(kind.first, kind.last):
        name = f"item-{number}"
        listed(controller)
        killer.arm(number)
        wanted.make(name)
        # A lock is released after the end of the run, and the controller may be killed at that request.
        wait_until(lambda: killer.has_killed.is_set() or (is_done(world, name) and len(killer.seen) >= kind.requests_min and
                                                      set(killer.seen) >= kind.seen), f"{name} crashed or finished")
        if not killer.has_killed.is_set():
            assert set(killer.seen) == kind.seen
            break
        controller = start(world, killer, **kind.controller)
        wait_until(lambda: is_done(world, name), f"{name} to finish after {killer.seen}")
        status = world.status(name)
        assert status["phase"] == kind.phase, (number, killer.seen, status)
        assert status.get("exportRef", {}).get("name") == (f"{name}-export" if kind.has_export else None)
        world.wait_for_cleanup()
        runs = world.kubelet.ran(name)
        wanted_runs = [(name, job, "RECONCILE") for job in kind.jobs or (status["jobID"],)]
        assert runs == wanted_runs or not (runs or kind.is_run_sure), (number, killer.seen)
        wanted.check(name)
    else:
        assert kind.last < REQUESTS_MAX, "the run did not complete"


def test_a_deletion_survives_a_crash_at_every_request(world, killer):
    controller = start(world, killer)
    for number in range(1, REQUESTS_MAX):
        name = f"item-{number}"
        world.kubelet.behaviour = with_export_and_state
        world.item(name)
        world.finished(name)
        world.wait_for_cleanup()
        world.kubelet.behaviour = succeed
        listed(controller)
        killer.arm(number)
        world.delete(name)
        wait_until(lambda: killer.has_killed.is_set() or not world.host_objects(), f"the crash or the deletion of {name}")
        if not killer.has_killed.is_set():
            assert len(killer.seen) >= 16, killer.seen
            break
        controller = start(world, killer)
        world.wait_until_deleted(name)
        wait_until(lambda: not world.host_objects(), f"deletion of everything after {killer.seen}: {world.host_objects()}", 30)
        assert world.kube.find("secrets", f"{name}-export", world.namespace) is None, (number, killer.seen)
        assert [begun[2] for begun in world.kubelet.ran(name)] == ["RECONCILE", "DELETE"], (number, killer.seen)
    else:
        pytest.fail("the deletion did not complete")
