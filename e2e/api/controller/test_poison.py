# SPDX-License-Identifier: Apache-2.0
"""Items that are wrong in every way there is: each ends, by itself and with a reason, and costs little while it lasts."""

import json

from bench.kube import ApiError
from faults.proxy import Action, PASS, status as refusal

WRONG = (None, 5, "x", [], {}, [5], True)
# Where a value is put in; what is nested stands in what is right otherwise.
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
# Of these no wrong type is a right one, so every value but null (which is as good as absent) must be refused.
STRICT = {"image": "x", "imagePullPolicy": None, "env-value": "x", "continuousReconcile": {}, "cron": None, "every": None}


def check_any_value(world, fields):
    controller = world.start()
    names = {}
    for field, place in fields.items():
        for number, value in enumerate(WRONG):
            name = f"{field.lower()}-{number}"
            if (field, value) == ("runtimeClassName", "x"):
                continue  # right, and waited for: somebody may make one
            try:
                world.item(name, config=place(value))
                names[name] = field, value
            except ApiError as error:
                # The API server itself looks at the two that make a document an object.
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
    world.quiet()


def test_any_value_of_any_type_in_any_field_ends_the_item_one_way_or_the_other(world):
    check_any_value(world, FIELDS)


def test_what_fails_is_tried_again_less_and_less_often(world):
    """Counted over the items' whole time: a try each second would be twelve, and a slow machine has fewer, never more."""
    def plan(request):
        if request.method == "POST" and request.path.endswith("/pods") and b'"refused"' in request.body:
            return Action(forward=False, answer=refusal(403, "Forbidden", "exceeded quota"))
        return PASS

    with world.behind(plan) as proxy:
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
        # And not in the status each time: it is the same trouble.
        written = [r for r in proxy.requests if r.method == "PATCH" and r.path.endswith("/missing/status")]
        assert len(written) == 2, [json.loads(r.body)["status"] for r in written]
        world.context("never")
        world.trigger("missing", "job-2")
        assert world.finished("missing", "job-2")["phase"] == "Succeeded"
