# SPDX-License-Identifier: Apache-2.0
"""The controller is killed after every request to either cluster, and started again: helm runs once, and the job succeeds."""

import pytest

from api.helm.harness import chart_archive, raw
from bench.waiting import wait_until
from controller_killer import REQUESTS_MAX

CHART = chart_archive({"templates/a.yaml": 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Release.Name }}"}\ndata: {color: {{ .Values.color }}}\n'})
EXPORTS = {"exports": [{"key": "color", "jsonPath": ".Values.color"}]}
# What only this mode requests, besides what every run does.
SEEN = {"render": {"GET discovery", "POST configmaps"}, "release": {"GET secrets"}}


def start(world, killer):
    controller = world.start(proxy=world.proxy)
    controller.expected = False
    killer.controller = controller
    controller.wait_until(lambda: "items listed" in controller.output(), "items listed")


def check(world, name, mode, killer):
    status = world.status(name)
    assert status["phase"] == "Succeeded", (killer.seen, status, world.kubelet.outputs)
    assert len(world.kubelet.ran(name)) == 1, killer.seen
    assert world.found(name)["data"] == {"color": "red"} and world.exported(name) == {"color": "red"}, killer.seen
    assert world.releases(name) == ({1: "deployed"} if mode == "release" else {}), killer.seen


@pytest.mark.parametrize("mode", ["render", "release"])
def test_a_job_survives_a_crash_at_every_request(world, killer, mode):
    start(world, killer)
    for number in range(1, REQUESTS_MAX):
        name = f"item-{number}"
        killer.arm(number)
        world.deploy(name, raw(CHART), release=name, is_release=mode == "release", values={"color": "red"}, exports=EXPORTS)
        wait_until(lambda: killer.has_killed.is_set() or world.status(name).get("jobIDFinished"), f"{name} crashed or finished")
        is_over = len(killer.seen) < number
        if not is_over:
            wait_until(killer.has_killed.is_set, "the crash")
            start(world, killer)
        killer.left = None
        wait_until(lambda: world.status(name).get("jobIDFinished"), f"{name} to finish after {killer.seen}")
        check(world, name, mode, killer)
        if is_over:
            assert len(killer.seen) > 15 and SEEN[mode] <= set(killer.seen), killer.seen
            break
    else:
        pytest.fail("the job did not complete")
