# SPDX-License-Identifier: Apache-2.0
"""The state of an interrupted run is never cut off, however long saving it takes. Controller and wait are real; the test plays the
kubelet, which kills the pod at the end of its grace period. The API server takes longer for the state than a pod with a small
state is given."""

import os
import signal
import threading
import time

import pytest

from api.controller.harness import World
from bench.waiting import wait_until
from faults.node import Run
from faults.proxy import PASS, Action, FaultProxy
from wait.reader import whole_generations

CHUNKS, SECONDS_PER_CHUNK = 5, 2.5
MAIN_SECONDS = 1  # so that a pod without state is killed after 9 seconds
STATE = os.urandom((CHUNKS - 1) * (1 << 20) + 1000)


@pytest.fixture
def world(apiserver, namespace):
    world = World(apiserver, namespace)
    yield world
    world.close()


def is_chunk(request):
    return request.method == "POST" and request.path.endswith("/secrets") and b"/uuid" in (request.body or b"")


class Stubborn:
    """A pod whose main ignores SIGTERM and changes the state after it. Killed together with wait at the end of the grace period."""

    def __init__(self, apiserver, proxy):
        self.apiserver, self.proxy = apiserver, proxy
        self.is_cut_off = None
        self.is_up = threading.Event()

    def __call__(self, pod):
        self.run = Run(pod, self.apiserver.authority, self.main, api=self.proxy)
        self.run.execute()

    def main(self, run):
        state = run.file("STATE_PATH")
        (state / "data").write_bytes(STATE)
        self.is_up.set()
        run.pod.killed.wait(240)
        grace = run.pod.kube.get("pods", run.pod.name, run.pod.namespace)["metadata"]["deletionGracePeriodSeconds"]
        until = time.monotonic() + grace
        run.wait.signal(signal.SIGTERM)
        (state / "a-last-change").write_bytes(b"x")
        while run.wait.running and time.monotonic() < until:
            time.sleep(0.1)
        self.is_cut_off = run.wait.running
        run.wait.kill()
        return 137


def state_secrets(world):
    return [secret for secret in world.kube.items("secrets", world.host)
            if secret["metadata"].get("labels", {}).get("container.deployer.landscaper.gardener.cloud/type") == "state"]


def test_the_state_of_an_interrupted_run_is_saved_although_that_takes_longer_than_the_grace_period(world, apiserver):
    is_uploading = threading.Event()

    def plan(request):
        if not is_chunk(request):
            return PASS
        return Action(delay=SECONDS_PER_CHUNK, before=is_uploading.set)

    with FaultProxy(apiserver, plan) as proxy:
        first = world.start()
        pod = world.kubelet.behaviour = Stubborn(apiserver, proxy)
        world.kubelet.respond = None  # the real wait does
        world.item("item", config={"terminationGracePeriodSeconds": MAIN_SECONDS})
        assert pod.is_up.wait(60)
        world.interrupt("item", "job-1")
        # Another controller goes on with the pod, whatever the first one had in mind.
        assert is_uploading.wait(60)
        first.expected = False
        first.kill()
        world.start()
        wait_until(lambda: pod.is_cut_off is not None, "the end of the pod", 240)
        newest = next(iter(whole_generations(state_secrets(world))), None)
        assert newest, "no state was saved"
        assert newest.files.get("data") == STATE
        assert not pod.is_cut_off, pod.run.wait.output()
        assert newest.files.get("a-last-change") == b"x"
        world.wait_for_cleanup()
