# SPDX-License-Identifier: Apache-2.0
"""Items with invalid values in every field: each one ends with a reason, does not affect others, and costs little meanwhile."""

import json

from bench.kube import ApiError
from faults.proxy import Action, PASS, status as refusal

WRONG = (None, 5, "x", [], {}, [5], True)
# Where a value is inserted. Values of nested fields are put into an otherwise valid object.
FIELDS = {
    "apiVersion": lambda v: {"apiVersion": v},
    "kind": lambda v: {"kind": v},
    "image": lambda v: {"image": v},
    "command": lambda v: {"command": v},
    "args": lambda v: {"args": v},
    "imagePullPolicy": lambda v: {"imagePullPolicy": v},
    "registryPullSecrets": lambda v: {"registryPullSecrets": v},
    "env": lambda v: {"env": v},
    "env-entry": lambda v: {"env": [v]},
    "env-value": lambda v: {"env": [{"name": "A", "value": v}]},
    "resources": lambda v: {"resources": v},
    "limits": lambda v: {"resources": {"limits": v}},
    "limit": lambda v: {"resources": {"limits": {"cpu": v}}},
    "runtimeClassName": lambda v: {"runtimeClassName": v},
    "nodeSelector": lambda v: {"nodeSelector": v},
    "tolerations": lambda v: {"tolerations": v},
    "toleration": lambda v: {"tolerations": [v]},
    "importValues": lambda v: {"importValues": v},
    "componentDescriptor": lambda v: {"componentDescriptor": v},
    "descriptor-inline": lambda v: {"componentDescriptor": {"inline": v}},
    "descriptor-ref": lambda v: {"componentDescriptor": {"ref": v}},
    "blueprint": lambda v: {"blueprint": v},
    "blueprint-inline": lambda v: {"blueprint": {"inline": v}},
    "blueprint-ref": lambda v: {"blueprint": {"ref": v}},
    "continuousReconcile": lambda v: {"continuousReconcile": v},
    "cron": lambda v: {"continuousReconcile": {"cron": v}},
    "every": lambda v: {"continuousReconcile": {"every": v}},
}
# Fields that accept no other type: every value except null, which counts as absent, must be rejected.
STRICT = {"image": "x", "imagePullPolicy": None, "env-value": "x", "continuousReconcile": {}, "cron": None, "every": None}


def check_any_value(world, fields):
    controller = world.start()
    names = {}
    for field, make_config in fields.items():
        for number, value in enumerate(WRONG):
            name = f"{field.lower()}-{number}"
            if (field, value) == ("runtimeClassName", "x"):
                continue  # valid: the job waits, because the RuntimeClass may be created later
            try:
                world.item(name, config=make_config(value))
                names[name] = field, value
            except ApiError as error:
                # The API server itself validates these two fields.
                assert error.status in (400, 422) and field in ("apiVersion", "kind"), (field, value, error)
    world.item("good")
    assert world.finished("good")["phase"] == "Succeeded"
    for name, (field, value) in names.items():
        status = world.finished(name)
        if status["phase"] == "Failed":
            assert status["lastError"]["codes"] == ["ERR_CONFIGURATION_PROBLEM"], (field, value, status)
            assert world.kubelet.ran(name) == [], (field, value)
        else:
            assert status["phase"] == "Succeeded", (field, value, status)
            assert field not in STRICT or value in (None, STRICT[field]), (field, value)
    assert controller.running
    world.wait_for_cleanup()


def test_every_item_ends_whatever_the_type_of_a_value_in_any_field(world):
    check_any_value(world, FIELDS)


def test_failed_steps_are_retried_with_increasing_delays(world):
    """Counts attempts until the timeout: one per second would be twelve, and a slow machine makes fewer, never more."""
    def plan(request):
        if request.method == "POST" and request.path.endswith("/pods") and b'"refused"' in request.body:
            return Action(forward=False, answer=refusal(403, "Forbidden", "exceeded quota"))
        return PASS

    with world.behind_proxy(plan) as proxy:
        world.start(proxy=proxy)
        world.item("missing", context="never", timeout="12s")
        world.item("refused", timeout="12s")
        for name in ("missing", "refused"):
            assert world.finished(name)["lastError"]["reason"] == "ProgressingTimeout"
        tries = {
            "missing": [r for r in proxy.requests if r.method == "GET" and r.path.endswith("/contexts/never")],
            "refused": [r for r in proxy.requests if r.method == "POST" and r.path.endswith("/pods") and b'"refused"' in r.body]}
        for name, made in tries.items():
            assert 2 <= len(made) <= 6, (name, len(made))
        # The status is not written for each attempt, because the error is the same.
        written = [r for r in proxy.requests if r.method == "PATCH" and r.path.endswith("/missing/status")]
        assert len(written) == 2, [json.loads(r.body)["status"] for r in written]
        world.context("never")
        world.trigger("missing", "job-2")
        assert world.finished("missing", "job-2")["phase"] == "Succeeded"
