# SPDX-License-Identifier: Apache-2.0
"""The number of requests per run, counted by the API server."""

import time

from bench.audit import resource_of
from controller_harness import with_export_and_state


def settle(world, controller):
    """Waits for the last requests of a run, which follow the deletion of its objects, so that they do not count for the next run."""
    world.wait_for_cleanup()
    seen = -1
    while (count := len(world.apiserver.audit.entries(0, user=controller.user))) != seen:
        seen = count
        time.sleep(1.5)


def requests(world, controller, mark):
    found = world.apiserver.audit.entries(mark, user=controller.user)
    return [f"{e['verb']} {resource_of(e)}" for e in found if e["verb"] != "watch"]


def run_counter(world, controller):
    """Returns counted(name, job, begin): the requests of a job, from begin() until all of its objects are deleted."""
    def counted(name, job, begin):
        mark = world.apiserver.audit.mark()
        begin()
        world.finished(name, job)
        settle(world, controller)
        return requests(world, controller, mark)
    return counted


def test_a_first_run_sends_at_most_16_requests_and_a_repeated_one_13(world):
    world.kubelet.behaviour = with_export_and_state
    world.secret("kubeconfig", {"kubeconfig": "apiVersion: v1\nkind: Config\nclusters: []\n"})
    world.target("cluster", secret="kubeconfig")
    controller = world.start()
    world.item("marker")
    world.finished("marker")
    settle(world, controller)

    counted = run_counter(world, controller)
    # On a busy machine a run can take so long that its status is refreshed: use the minimum of three.
    first = min((counted(f"counted-{n}", "job-1", lambda: world.item(f"counted-{n}", target="cluster")) for n in range(3)), key=len)
    assert len(first) <= 16, first
    repeated = min((counted("counted-0", f"job-{n}", lambda: world.trigger("counted-0", f"job-{n}")) for n in (2, 3, 4)), key=len)
    assert len(repeated) <= 13, repeated
    print("first", len(first), first)
    print("repeated", len(repeated), repeated)


def test_a_failed_run_sends_three_more_requests_and_one_for_each_chunk_of_its_state(world):
    """It reads its inputs and its state to redact them, and then the log. A successful run needs none of these."""
    def fail(pod):
        pod.run()
        pod.fail(1)

    controller = world.start()
    counted = run_counter(world, controller)
    world.kubelet.behaviour = fail
    world.item("item")
    world.finished("item")
    settle(world, controller)
    without = min((counted("item", f"job-{n}", lambda: world.trigger("item", f"job-{n}")) for n in (2, 3, 4)), key=len)
    world.kubelet.behaviour = lambda pod: (pod.run(), pod.save_state(chunks=2), pod.succeed())
    world.trigger("item", "job-5")
    world.finished("item", "job-5")
    settle(world, controller)
    world.kubelet.behaviour = fail
    given = min((counted("item", f"job-{n}", lambda: world.trigger("item", f"job-{n}")) for n in (6, 7, 8)), key=len)
    print("without", len(without), without)
    print("given", len(given), given)
    for found, chunks in ((without, 0), (given, 2)):
        # The first list is from the start of the run, which looks for existing state.
        assert found.count("list secrets") == 3 and found.count("get secrets") == chunks and found.count("get pods/log") == 1, found
