# SPDX-License-Identifier: Apache-2.0
"""Both item types are processed in the same way: runs tests of the container type with script items, and tests what only scripts have.

Each test in AGAIN is the test with the same name in another module, one for each behaviour that depends on the type: its
configuration, the content of the pod, and what must be redacted."""

import importlib.util
import json
import pathlib
import sys

import pytest

import controller_harness as harness
from controller_harness import TYPE, decode, succeed

AGAIN = {
    "test_run": ("test_a_first_run_succeeds_with_state_and_export_and_leaves_only_state_and_account",
                 "test_a_repeated_run_gets_its_state_and_updates_the_export",
                 "test_update_on_change_only_runs_once_per_generation",
                 "test_continuous_reconcile_causes_one_event_per_item_however_its_job_starts"),
    "test_delete": ("test_deletion_runs_main_with_delete_and_the_last_state_then_removes_everything",
                    "test_an_item_without_a_configuration_can_be_deleted"),
    "test_inputs": ("test_the_target_reaches_the_pod_as_a_document",
                    "test_a_missing_pull_secret_is_reported_with_its_name",
                    "test_a_missing_pull_secret_of_the_item_is_reported_with_its_name",
                    "test_a_missing_configuration_fails_the_job",
                    "test_invalid_items_fail_with_an_error_and_do_not_affect_others",
                    "test_items_that_cannot_be_read_fail_with_an_error"),
    "test_trouble": ("test_a_failed_main_is_reported_with_container_reason_exit_code_and_signal",
                     "test_the_pod_of_a_crashed_controller_is_finished_by_the_next_one",
                     "test_the_end_of_the_log_of_main_is_in_the_status_without_inputs"),
    "test_secrets": ("test_no_canary_appears_in_logs_events_status_or_metrics",),
}
SCRIPT_TYPE = "landscaper.gardener.cloud/script"
SCRIPT_API = "script.deployer.landscaper.gardener.cloud/v1alpha1"
# test_secrets looks for its canary everywhere: neither the script nor its files may be reported.
CANARY = "canary-4711"
# The script is not valid YAML, like most programs.
SCRIPT = f"""#!/bin/sh
set -eu
if [ -z "$A" ]; then echo 'a: b: c'; fi
KEY="{CANARY}-script"
curl -u admin:{CANARY}-basic https://example.com/
"""
PROGRAM = {"apiVersion": SCRIPT_API, "script": SCRIPT, "files": {"lib.sh": f"login {CANARY}-file\n\treturn 1; 'a: b: c'\n"}}


class ScriptWorld(harness.World):
    """A world whose items are scripts unless a test sets another type."""

    canaries = [f"{CANARY}-script", f"{CANARY}-basic", f"{CANARY}-file"]

    def item(self, name, *, item_type=TYPE, config={}, annotations=None, **more):
        if item_type == TYPE:
            item_type = SCRIPT_TYPE
            config = None if config is None else {**PROGRAM, **config}
            annotations = {key: SCRIPT_TYPE if value == TYPE else value for key, value in (annotations or {}).items()}
        return super().item(name, item_type=item_type, config=config, annotations=annotations, **more)


@pytest.fixture
def world(apiserver, namespace):
    made = ScriptWorld(apiserver, namespace)
    yield made
    made.close()


def load(name):
    """Imports a module in the same directory with pytest's assertion rewriting."""
    folder = str(pathlib.Path(__file__).parent)
    spec = next(filter(None, (finder.find_spec(name, [folder]) for finder in sys.meta_path)))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


for _name, _tests in AGAIN.items():
    _module = load(_name)
    for _test in _tests:
        globals()[_test] = getattr(_module, _test)


def test_every_script_item_ends_whatever_the_type_of_a_value_in_any_field(world):
    load("test_poison").check_any_value(world, {
        "script": lambda v: {"script": v}, "files": lambda v: {"files": v}, "file": lambda v: {"files": {"a.sh": v}},
        "interpreter": lambda v: {"interpreter": v}})


def failed(world, name):
    status = world.finished(name)
    assert status["phase"] == "Failed" and status["lastError"]["codes"] == ["ERR_CONFIGURATION_PROBLEM"], status
    assert world.kubelet.ran(name) == []
    return status["lastError"]["message"]


def test_a_script_is_mounted_as_a_file_in_main_only(world):
    seen = {}

    def look(pod):
        seen["pod"] = pod.object
        [volume] = [v["secret"] for v in pod.object["spec"]["volumes"] if v["name"] == "script"]
        secret = world.kube.get("secrets", volume["secretName"], world.host)
        seen["files"] = {file["path"]: decode(secret["data"][file["key"]]).decode() for file in volume["items"]}
        seen["mode"] = volume["defaultMode"]
        succeed(pod)

    world.kubelet.behaviour = look
    world.start(config={"script": {"image": "example.com/tools:2"}})
    world.item("item", config={"image": None, "args": ["one"]})
    assert world.finished("item")["phase"] == "Succeeded"
    assert seen["files"] == {"script": PROGRAM["script"], "lib.sh": PROGRAM["files"]["lib.sh"]} and seen["mode"] == 0o555
    spec = seen["pod"]["spec"]
    assert spec["securityContext"]["fsGroup"] == 2000
    mounts = {c["name"]: {m["mountPath"]: m for m in c["volumeMounts"]} for c in spec["containers"] + spec["initContainers"]}
    assert mounts["main"]["/data/ls/script"]["readOnly"] is True
    assert "/data/ls/script" not in mounts["init"] and "/data/ls/script" not in mounts["wait"]
    [main] = [c for c in spec["containers"] if c["name"] == "main"]
    assert (main["image"], main["command"], main["args"]) == ("example.com/tools:2", ["/data/ls/script/script"], ["one"])
    assert CANARY not in json.dumps(seen["pod"])
    world.wait_for_cleanup()


@pytest.mark.parametrize("item_type", [TYPE, SCRIPT_TYPE])
def test_main_of_both_types_gets_both_spellings_of_the_environment_variables(world, item_type):
    seen = {}

    def look(pod):
        seen.update({e["name"]: e.get("value") for e in pod.container("main")["env"]})
        succeed(pod)

    world.kubelet.behaviour = look
    world.start()
    if item_type == TYPE:
        harness.World.item(world, "item")
    else:
        world.item("item")
    assert world.finished("item")["phase"] == "Succeeded"
    assert seen["EXPORTS_PATH"] == seen["EXPORT_PATH"] == "/data/ls/shared/exports/values"
    assert seen["STATE_PATH"] == seen["STATE"] == "/data/ls/shared/state"


def test_a_script_of_512_kib_runs_and_a_larger_one_is_rejected(world):
    world.start()
    world.item("fits", config={"script": "#" * 512 * 1024})
    world.item("over", config={"script": "#" * (512 * 1024 + 1)})
    assert "script: Too long: must not exceed 512 KiB; put larger programs into an image" in failed(world, "over")
    assert world.finished("fits")["phase"] == "Succeeded"
    assert world.kubelet.ran("fits") == [("fits", "job-1", "RECONCILE")]


MISTAKES = {
    "no-script": ({"script": None}, "script: Required value: text of the program"),
    "list": ({"script": ["a"]}, "script: expected a string, got a list"),
    "command": ({"command": ["sh"]}, "command: Forbidden: a script item has 'interpreter' and 'args' instead"),
    "interpreter": ({"interpreter": []}, "interpreter: Invalid value: must name a program"),
    "up": ({"files": {"../up": ""}}, 'files."../up": Invalid value'),
    "taken": ({"files": {"script": ""}}, "files.script: Forbidden"),
    "container": ({"apiVersion": f"{harness.GROUP}/v1alpha1"}, f"apiVersion: \"{harness.GROUP}/v1alpha1\""),
}


def test_every_invalid_script_item_fails_with_the_name_of_the_field(world):
    world.start()
    for name, (config, _) in MISTAKES.items():
        world.item(name, config=config)
    for name, (_, message) in MISTAKES.items():
        assert message in failed(world, name)


def test_a_container_item_cannot_have_a_script(world):
    """The type decides which fields are read: a script in a container item is an unknown field."""
    world.start()
    harness.World.item(world, "item", config={"script": "echo"})
    assert world.finished("item")["phase"] == "Succeeded"
    [pod] = world.kubelet.pods.values()
    assert all(v["name"] != "script" for v in pod.object["spec"]["volumes"])


def test_a_controller_with_scripts_disabled_does_not_touch_script_items_and_their_state(world):
    """Like items of an unknown type they are not read, failed, finished or garbage collected."""
    world.kubelet.behaviour = harness.with_export_and_state
    first = world.start()
    world.item("script")
    assert world.finished("script")["phase"] == "Succeeded"
    world.wait_for_cleanup()
    first.stop()
    before = world.host_objects(("secrets",))
    assert before
    mark = world.apiserver.audit.mark()
    controller = world.start(config={"script": {"enabled": False}, "garbageCollection": {"requeueTimeSeconds": 1}})
    world.trigger("script", "job-2")
    world.item("wrong", config={"script": None})
    world.item("unknown", annotations={"deployer.landscaper.gardener.cloud/type": TYPE}, config={"script": None})
    harness.World.item(world, "container")
    assert world.finished("container")["phase"] == "Succeeded"
    for _ in range(2):  # wait for complete passes of the collector
        seen = world.apiserver.audit.mark()
        harness.wait_until(lambda: [e for e in world.apiserver.audit.entries(seen, user=controller.user)
                                    if e["verb"] == "list" and e["objectRef"]["resource"] == "secrets"], "the collector looked")
    world.wait_for_cleanup()
    touched = [e for e in world.apiserver.audit.entries(mark, user=controller.user)
               if e.get("objectRef", {}).get("name") in ("script", "wrong", "unknown") and e["verb"] != "get"]
    assert touched == []
    assert world.status("script")["jobIDFinished"] == "job-1" and "phase" not in world.status("wrong")
    assert set(before) <= set(world.host_objects(("secrets",)))
    assert [job for _, job, _ in world.kubelet.ran("script")] == ["job-1"]


def test_items_of_both_types_run_and_are_deleted_side_by_side(world):
    world.kubelet.behaviour = harness.with_export_and_state
    world.start()
    world.item("script")
    harness.World.item(world, "container")
    for name in ("script", "container"):
        assert world.finished(name)["phase"] == "Succeeded"
        assert json.loads(decode(world.kube.get("secrets", f"{name}-export", world.namespace)["data"]["config"])) == {"answer": 42}
    world.wait_for_cleanup()
    world.kubelet.behaviour = succeed
    for name in ("script", "container"):
        world.delete(name)
    for name in ("script", "container"):
        world.wait_until_deleted(name)
        assert [operation for _, _, operation in world.kubelet.ran(name)] == ["RECONCILE", "DELETE"]
    harness.wait_until(lambda: not world.host_objects(), "deletion of everything on the host")
