# SPDX-License-Identifier: Apache-2.0
"""Killed before and after every request of a run and of a deletion, and started again: the job runs exactly once and nothing
is left over."""

import hashlib
import threading

import pytest

from bench.waiting import wait_until
from controller_harness import GROUP, LABEL_ITEM_NAME, LABEL_ITEM_NAMESPACE, OPERATION, OURS, encode, ended, succeed, with_export_and_state
from faults.proxy import Action, PASS

# More than any run or deletion takes; requests beyond the last one never come, and the test ends there.
REQUESTS_MAX = 40


def resource_of(path):
    """.../namespaces/NS/RESOURCE[/NAME[/SUBRESOURCE]] as RESOURCE[/SUBRESOURCE]."""
    parts = path.partition("/namespaces/")[2].split("/")[1:]
    return parts[0] if len(parts) < 3 else f"{parts[0]}/{parts[2]}"


class Killer:
    """Kills the controller at its n-th request after being armed."""

    def __init__(self, moment):
        self.moment = moment        # "before": the server never sees the request; "after": it does, the answer is lost
        self.left = None
        self.controller = None
        self.struck = threading.Event()
        self.seen = []
        self._lock = threading.Lock()

    def arm(self, number):
        self.seen, self.left = [], number
        self.struck.clear()

    def plan(self, request):
        if request.is_watch or "/events" in request.path:
            return PASS
        with self._lock:
            if self.left is None:
                return self._pass(request)
            self.seen.append(f"{request.method} {resource_of(request.path)}")
            self.left -= 1
            if self.left != 0:
                return self._pass(request)
            self.left = None
        if self.moment == "before":
            return Action(forward=False, lose=True, before=self._strike)
        return Action(lose=True, applied=self._strike)

    def _pass(self, request):
        """No kubelet is there to be asked for a log, and asking for it again and again takes its time."""
        return Action(forward=False, answer=(200, b"boom\n")) if request.path.endswith("/log") else PASS

    def _strike(self):
        self.controller.kill()
        self.struck.set()


@pytest.fixture(params=["before", "after"])
def killer(request, world):
    made = Killer(request.param)
    with world.behind(made.plan) as proxy:
        made.proxy = proxy
        yield made


def start(world, killer, **config):
    """Through the proxy, armed or not: who goes on after a crash is the next to be killed. It is another pod, too."""
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
    """An item that has no more than it needs."""
    phase, has_export, behaviour = "Succeeded", True, staticmethod(with_export_and_state)
    config, controller = {}, {}
    first = 1  # the request that the first crash is at
    is_run_sure = True
    seen = {"GET contexts", "GET secrets", "POST serviceaccounts", "PATCH roles", "PATCH rolebindings", "PATCH secrets", "POST pods",
            "PATCH deployitems/status", "DELETE secrets", "DELETE pods", "PATCH pods"}
    least = 14  # as the documents say, without a target

    def __init__(self, world):
        self.world = world

    def make(self, name):
        self.world.item(name, config=self.config)

    def states(self, name):
        return [thing for thing in self.world.kube.items("secrets", self.world.host)
                if (labels := thing["metadata"].get("labels", {})).get(LABEL_ITEM_NAME) == name and labels.get(f"{GROUP}/type") == "state"]

    def check(self, name):
        assert len(self.states(name)) == 1, "the state of the run"


class Script(Plain):
    config = {"apiVersion": "script.deployer.landscaper.gardener.cloud/v1alpha1", "script": "#!/bin/sh\n"}

    def make(self, name):
        self.world.item(name, item_type="landscaper.gardener.cloud/script", config={**self.config, "image": "example.com/main:1"})


class Rich(Plain):
    """Everything that an item can have: target, its Secret, pull secrets of Context and item, OCM; and no finalizer yet."""
    seen = Plain.seen | {"GET deployitems", "PATCH deployitems", "GET targets", "GET configmaps"}
    least = Plain.least + 8

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
    """The account is there, made by a deployer of another name for this same item."""
    seen = Plain.seen | {"GET serviceaccounts", "PATCH serviceaccounts"}
    least = Plain.least + 2

    def make(self, name):
        made = self.world.item(name, job=None)
        account = f"{name}-{hashlib.sha256(f'{self.world.namespace}/{name}'.encode()).hexdigest()[:16]}-run"
        self.world.kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {
            "name": account, "namespace": self.world.host, "labels": {f"{GROUP}/deployer-id": "before"},
            "annotations": {f"{OURS}/item-uid": made["metadata"]["uid"]}}})
        self.world.trigger(name, "job-1")


class OfTestReconcile(Plain):
    """Begun by test-reconcile, in two writes and with a job of our own."""
    seen = Plain.seen | {"PATCH deployitems"}
    least = Plain.least + 2

    def make(self, name):
        self.world.item(name, job=None, annotations={OPERATION: "test-reconcile"})


class Failing(Plain):
    phase, has_export = "Failed", False
    seen = Plain.seen | {"GET pods/log"}
    least = Plain.least - 1

    @staticmethod
    def behaviour(pod):
        pod.run()
        pod.save_state()
        pod.fail(3)


class Stopped(Plain):
    """Ended from outside while main runs. What comes before is as with all others."""
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
    least = Plain.least - 3

    def stop(self, pod):
        self.world.interrupt(pod.item()[1], pod.job)


class TimedOut(Stopped):
    least = Plain.least - 2
    is_run_sure = False  # who comes back too late finds the time over before there was a pod
    seen = Plain.seen | {"GET pods/log"}

    def make(self, name):
        self.world.item(name, timeout="2s")

    def stop(self, pod):
        pass

    def check(self, name):
        assert len(self.states(name)) == len(self.world.kubelet.ran(name)), "the state of the run"


class WithOldState(Plain):
    """So much of it that it is worth a request to remove it."""
    least = Plain.least + 1
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
        assert len(self.states(name)) == len(old) + 1, "the state of the run"
        assert 2 <= len(old) < self.OLD, "what it began with, and one before"


class Locked(Plain):
    """Beside other replicas: the lock of a pod that is no more has to be taken over."""
    controller = {"hpa": {"maxReplicas": 2}}
    seen = Plain.seen | {"GET deployitems", "GET syncobjects", "POST syncobjects", "PUT syncobjects"}
    least = Plain.least + 4


@pytest.mark.parametrize("kind", [Plain, Script, Rich, Renamed, OfTestReconcile, Failing, Interrupted, TimedOut, WithOldState, Locked])
def test_a_run_survives_a_crash_at_every_request(world, killer, kind):
    wanted = kind(world)
    world.kubelet.behaviour = wanted.behaviour
    controller = start(world, killer, **kind.controller)
    for number in range(kind.first, REQUESTS_MAX):
        name = f"item-{number}"
        listed(controller)
        killer.arm(number)
        wanted.make(name)
        # A lock is given back after the end, which may be the request to be killed at.
        wait_until(lambda: killer.struck.is_set() or (is_done(world, name) and len(killer.seen) >= kind.least and
                                                      set(killer.seen) >= kind.seen), f"{name} crashed or finished")
        if not killer.struck.is_set():
            assert set(killer.seen) == kind.seen
            break
        controller = start(world, killer, **kind.controller)
        wait_until(lambda: is_done(world, name), f"{name} finished after {killer.seen}")
        status = world.status(name)
        assert status["phase"] == kind.phase, (number, killer.seen, status)
        assert status.get("exportRef", {}).get("name") == (f"{name}-export" if kind.has_export else None)
        world.quiet()
        runs = world.kubelet.ran(name)
        assert runs == [(name, status["jobID"], "RECONCILE")] or not (runs or kind.is_run_sure), (number, killer.seen)
        wanted.check(name)
    else:
        pytest.fail("the run never came to its end")


def test_a_deletion_survives_a_crash_at_every_request(world, killer):
    controller = start(world, killer)
    for number in range(1, REQUESTS_MAX):
        name = f"item-{number}"
        world.kubelet.behaviour = with_export_and_state
        world.item(name)
        world.finished(name)
        world.quiet()
        world.kubelet.behaviour = succeed
        listed(controller)
        killer.arm(number)
        world.delete(name)
        wait_until(lambda: killer.struck.is_set() or not world.host_objects(), f"{name} crashed or gone")
        if not killer.struck.is_set():
            assert len(killer.seen) >= 17, killer.seen
            break
        controller = start(world, killer)
        world.gone(name)
        wait_until(lambda: not world.host_objects(), f"everything gone after {killer.seen}: {world.host_objects()}", 30)
        assert world.kube.find("secrets", f"{name}-export", world.namespace) is None, (number, killer.seen)
        assert [begun[2] for begun in world.kubelet.ran(name)] == ["RECONCILE", "DELETE"], (number, killer.seen)
    else:
        pytest.fail("the deletion never came to its end")
