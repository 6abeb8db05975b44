# SPDX-License-Identifier: Apache-2.0
"""The controller is killed after every request to either cluster, and started again: helm runs once for each job, and all jobs succeed."""

import json
import pathlib

import pytest

from api.helm.harness import chart_archive, raw
from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_killer import REQUESTS_MAX

CHART = chart_archive({"templates/a.yaml": 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Release.Name }}"}\ndata: {color: {{ .Values.color }}}\n'})
EXPORTS = {"exports": [{"key": "color", "jsonPath": ".Values.color"}]}
# What only this mode requests, besides what every run does.
SEEN = {"render": {"GET discovery", "POST configmaps"}, "release": {"GET secrets"}, "token": {"POST serviceaccounts/token"}}


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
    assert world.releases(name) == ({} if mode == "render" else {1: "deployed"}), killer.seen


def use_tokens(world):
    """Another Target of the same cluster: every attempt of a job requests another token, which the immutable Secret of the pod contains."""
    world.kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "target", "namespace": world.namespace}})
    world.kube.allow(f"{world.namespace}:target", [{"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["*"]}],
                     namespace=world.space, kind="ServiceAccount")
    cluster = json.loads(pathlib.Path(world.apiserver.kubeconfig).read_text())["clusters"][0]["cluster"]
    world.target("cluster", config={"oidcConfig": {"server": cluster["server"], "caData": cluster["certificate-authority-data"],
                                                   "serviceAccount": {"name": "target"}}})


@pytest.mark.parametrize("mode", ["render", "release", "token"])
def test_a_job_survives_a_crash_at_every_request(world, killer, mode):
    if mode == "token":
        use_tokens(world)
    start(world, killer)
    for number in range(1, REQUESTS_MAX):
        name = f"item-{number}"
        killer.arm(number)
        world.deploy(name, raw(CHART), release=name, is_release=mode != "render", values={"color": "red"}, exports=EXPORTS)
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


MORE = "{{ if .Values.more }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}-more\"}\n{{ end }}"
LATER = chart_archive({"templates/a.yaml": 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Release.Name }}"}\ndata: {color: {{ .Values.color }}}\n',
                       "templates/more.yaml": MORE})


def deployed(world, name, mode):
    """An item whose first job is over."""
    world.deploy(name, raw(LATER), release=name, is_release=mode == "release", values={"color": "red", "more": True}, exports=EXPORTS)
    world.succeeded(name)
    world.wait_for_cleanup()


def update(world, name):
    world.update(name, raw(LATER), job="job-2", release=name, values={"color": "blue"}, exports=EXPORTS)


def is_updated(world, name):
    return world.status(name).get("jobIDFinished") == "job-2"


def check_updated(world, name, killer):
    assert world.status(name)["phase"] == "Succeeded", (killer.seen, world.status(name), world.kubelet.outputs)
    assert [job for _, job, _ in world.kubelet.ran(name)] == ["job-1", "job-2"], killer.seen
    assert world.found(name)["data"] == {"color": "blue"} and world.exported(name) == {"color": "blue"}, killer.seen
    assert world.found(f"{name}-more") is None and world.recorded(name) == [f"ConfigMap/{name}"], killer.seen


def delete(world, name):
    world.delete(name)


def is_deleted(world, name):
    return world.kube.find(DEPLOYITEMS, name, world.namespace) is None


def check_deleted(world, name, killer):
    assert [operation for _, _, operation in world.kubelet.ran(name)] == ["RECONCILE", "DELETE"], killer.seen
    assert world.releases(name) == {} and world.found(name) is None and world.found(f"{name}-more") is None, killer.seen


@pytest.mark.parametrize("mode, begin, is_finished, check_end", [("render", update, is_updated, check_updated), ("release", delete, is_deleted, check_deleted)],
                         ids=["update of rendered objects", "deletion of a release"])
def test_a_later_job_survives_a_crash_at_every_request(world, killer, mode, begin, is_finished, check_end):
    start(world, killer)
    for number in range(1, REQUESTS_MAX):
        name = f"item-{number}"
        killer.left = None
        deployed(world, name, mode)
        killer.arm(number)
        begin(world, name)
        wait_until(lambda: killer.has_killed.is_set() or is_finished(world, name), f"{name} crashed or finished")
        is_over = len(killer.seen) < number
        if not is_over:
            wait_until(killer.has_killed.is_set, "the crash")
            start(world, killer)
        killer.left = None
        wait_until(lambda: is_finished(world, name), f"{name} to finish after {killer.seen}")
        check_end(world, name, killer)
        if is_over:
            assert len(killer.seen) > 8, killer.seen
            break
    else:
        pytest.fail("the job did not complete")
