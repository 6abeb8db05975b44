# SPDX-License-Identifier: Apache-2.0
"""The rows of data/tables against two real API servers, as far as they can be seen there. deployer/lifecycle/tests/tables_test.c has all rows but those of definitions,
test_crds.py those."""

import json

from bench.waiting import wait_until
from lifecycle_harness import AVAILABLE, DATA, DEFINITIONS, DEPLOYMENTS, GROUP, KYMAS, STATEFUL_SETS, SYSTEM, TEMPLATES, Pods, config_map, workload

TABLES = json.loads((DATA / "tables" / "tables.json").read_text())
LETTERS = "abcdefghij"


def rows_of(table):
    rows = TABLES[table]["rows"]
    assert rows
    return rows


def wait_module(world, module, state, text=""):
    wait_until(lambda: (m := world.module(module)) and m["state"] == state and text in m.get("message", ""), f"{module} {state} {text}")


def test_states_of_deployments_and_stateful_sets(world):
    world.publish("quay", [workload("StatefulSet", "quay")])
    world.catalog()
    world.access("fleet-0001")
    world.kyma(modules=["harbour", "quay"])
    world.start("--module-state=manager")
    for available, progressing, reason, state in rows_of("deployment_state"):
        world.roll_out({**AVAILABLE, "conditions": [{"type": "Available", "status": available, "reason": "Any"},
                                                    {"type": "Progressing", "status": progressing, "reason": reason}]})
        # The reason tells one row from another with the same state.
        wait_module(world, "harbour", state, "" if state == "Ready" else reason)
    wait_until(lambda: world.skr.find(STATEFUL_SETS, "quay", SYSTEM), "the StatefulSet")
    pods = Pods(world)
    try:
        for replicas, ready, container, state in rows_of("statefulset_state"):
            assert replicas == 1
            if container is not None:
                pods.container(**container)
            pods.report(ready, replicas)
            wait_module(world, "quay", state)
    finally:
        pods.close()


def definition(kind):
    plural = f"{kind.lower()}s"
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{GROUP}"}, "spec": {
        "group": GROUP, "scope": "Namespaced", "names": {"plural": plural, "kind": kind}, "versions": [{"name": "v1alpha1", "served": True, "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def test_states_of_kymas(world):
    """The resource of a module has the state that the row gives the module."""
    names = [f"module{letter}" for letter in LETTERS[:max(len(states) for states, _, _ in rows_of("kyma_state"))]]
    for name in names:
        data = {"apiVersion": f"{GROUP}/v1alpha1", "kind": name.title(), "metadata": {"name": name}, "status": {"state": "Ready"}}
        world.publish(name, [definition(name.title())], data=data)
    world.access("fleet-0001")
    world.kyma(modules=names)
    world.start()
    world.wait_state("Ready")
    for states, are_true, state in rows_of("kyma_state"):
        assert are_true
        world.enable(names[:len(states)])
        wait_until(lambda: len(world.status().get("modules", [])) == len(states), "the modules of the row")
        for name, wanted in zip(names, states):
            resource = f"{GROUP}/v1alpha1/{name}s"
            wait_until(lambda: world.left(resource), "the resource")
            world.skr.patch(resource, name, {"status": {"state": wanted}}, SYSTEM)
        wait_until(lambda: [m["state"] for m in world.status().get("modules", [])] == states, f"{states}")
        found = world.wait_state(state)
        assert {c["type"]: c["status"] for c in found["conditions"] if c["type"] != "Modules"} == {"CRDsSync": "True", "ModuleCatalog": "True"}
        world.enable(names)
        wait_until(lambda: len(world.status().get("modules", [])) == len(names), "all modules")
    assert {t["metadata"]["name"] for t in world.skr.items(DEFINITIONS)} >= {f"{name}s.{GROUP}" for name in names}


def test_visibility_of_modules(world):
    """A module that a Kyma may not have is not installed, and not in the catalog of its cluster."""
    names = {f"row{letter}": row for letter, row in zip(LETTERS, rows_of("visibility"))}
    for name, (beta, internal, *_) in names.items():
        world.publish(name, [config_map(name)])
        labels = {f"{GROUP}/{label}": "true" for label, is_set in (("beta", beta), ("internal", internal)) if is_set}
        world.kcp.patch(TEMPLATES, f"{name}-1.0.0", {"metadata": {"labels": labels}}, world.namespace)
    world.access("fleet-0001")
    world.kyma(modules=list(names))
    world.start()
    for name, (beta, internal, has_beta, has_internal, is_visible) in names.items():
        labels = {f"{GROUP}/{label}": "true" if is_set else None for label, is_set in (("beta", has_beta), ("internal", has_internal))}
        world.kcp.patch(KYMAS, "fleet-0001", {"metadata": {"labels": labels}}, world.namespace)
        if is_visible:
            wait_module(world, name, "Ready")
        else:
            wait_module(world, name, "Error", "module template not allowed: " + ("internal" if internal and not has_internal else "beta") + " module")
            wait_until(lambda: world.manifest(name) is None, "no Manifest")
        wait_until(lambda: bool(world.skr.find(TEMPLATES, f"{name}-1.0.0", SYSTEM)) == bool(is_visible), f"the catalog of the cluster, {name}")
        wait_until(lambda: bool(world.skr.find("configmaps", name, SYSTEM)) == bool(is_visible), f"the objects of {name}")


def test_references_of_images(world):
    """An image with the same name and tag, from elsewhere, is replaced by the whole reference."""
    rows = rows_of("image_reference")
    world.publish("quay", [workload("Deployment", f"quay-{number}", image=f"elsewhere.example/deep/path/{key}") for number, (_, _, key, _) in enumerate(rows)],
                  images=[text for text, *_ in rows])
    world.access("fleet-0001")
    world.kyma(modules=["quay"])
    world.start()
    for number, (text, *_) in enumerate(rows):
        found = wait_until(lambda: world.skr.find(DEPLOYMENTS, f"quay-{number}", SYSTEM), "the Deployment")
        assert found["spec"]["template"]["spec"]["containers"][0]["image"] == text
