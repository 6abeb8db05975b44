# SPDX-License-Identifier: Apache-2.0
"""What decides the state of a module, and the images that its workloads get."""

import json

from bench.waiting import wait_until
from faults.proxy import Action, FaultProxy, PASS
from lifecycle_harness import DEPLOYMENTS, GROUP, RELEASES, STATEFUL_SETS, SYSTEM, TEMPLATES, Pods, config_map, workload

QUAYS = f"{GROUP}/v1alpha1/quays"
DIGEST = "sha256:" + "9a" * 32


def module_state(world, module, state, text):
    def is_there():
        entry = world.module(module)
        return entry and entry["state"] == state and text in entry.get("message", "")
    try:
        wait_until(is_there, f"{module} {state}: {text}")
    except TimeoutError as error:
        raise TimeoutError(f"{error}: {json.dumps(world.status())}") from None


def test_a_stateful_set_decides_and_its_first_pod_until_all_replicas_are_ready(world):
    world.publish("quay", [workload("StatefulSet", "quay", replicas=2)])
    world.access("fleet-0001")
    world.kyma(modules=["quay"])
    world.start()
    wait_until(lambda: world.skr.find(STATEFUL_SETS, "quay", SYSTEM), "the StatefulSet")
    pods = Pods(world)
    try:
        module_state(world, "quay", "Processing", "its controller has not seen it yet")
        pods.report(0)
        module_state(world, "quay", "Error", "0 of 2 replicas ready, and it has no pod")
        pods.container()  # no status of a container yet
        pods.report(0)
        module_state(world, "quay", "Error", "the first container of its first pod has not started")
        pods.container(started=True, ready=False)
        pods.report(0)
        module_state(world, "quay", "Processing", "0 of 2 replicas ready")
        pods.container(started=False)
        pods.report(1)
        module_state(world, "quay", "Error", "1 of 2 replicas ready, and the first container of its first pod has not started")
        pods.container(started=True, ready=True)
        pods.report(1)
        module_state(world, "quay", "Ready", "")
        pods.container(started=False)
        pods.report(2)
        world.wait_state("Ready")
        assert world.manifest("quay")["status"]["state"] == "Ready"
    finally:
        pods.close()


def test_a_late_answer_about_pods_does_not_hide_that_all_replicas_are_ready(world):
    held, pods = [], Pods(world)

    def get_ready():
        held.append(True)
        pods.report(2)
        # Until the program has seen it: it reports the module as Ready.
        wait_until(lambda: (world.module("quay") or {}).get("state") == "Ready", "Ready")

    def plan(request):
        return Action(applied=get_ready) if request.path.endswith("/pods") and not held else PASS

    world.publish("quay", [workload("StatefulSet", "quay", replicas=2)])
    with FaultProxy(world.cluster, plan) as proxy:
        world.access_through(proxy)
        world.kyma(modules=["quay"])
        program = world.start()
        wait_until(lambda: world.skr.find(STATEFUL_SETS, "quay", SYSTEM), "the StatefulSet")
        pods.report(0)
        wait_until(lambda: held, "the pods are read")
        world.wait_state("Ready")
        mark = world.control_plane.audit.mark()
        wait_until(lambda: world.control_plane.audit.count(mark, resource="leases", user=program.user) >= 2, "renewals")
        assert world.status()["state"] == "Ready"
        program.stop()


DEFINITION = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"quays.{GROUP}"}, "spec": {
    "group": GROUP, "scope": "Namespaced", "names": {"plural": "quays", "kind": "Quay"}, "versions": [{"name": "v1alpha1", "served": True, "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


def test_a_custom_state_check_maps_fields_of_the_resource_to_a_state(world):
    checks = [{"jsonPath": "status.phase", "value": "Fine", "mappedState": "Ready"}, {"jsonPath": "status.tide", "value": "high", "mappedState": "Ready"},
              {"jsonPath": "status.phase", "value": "Leaking", "mappedState": "Warning"}, {"jsonPath": "status.phase", "value": "Sunk", "mappedState": "Error"}]
    world.publish("quay", [DEFINITION], data={"apiVersion": f"{GROUP}/v1alpha1", "kind": "Quay", "metadata": {"name": "quay"}},
                  template={"customStateCheck": checks})
    world.access("fleet-0001")
    world.kyma(modules=["quay"])
    world.start()
    wait_until(lambda: world.left(QUAYS), "the resource")
    module_state(world, "quay", "Processing", f"Quay {SYSTEM}/quay: no state of the module's customStateCheck matches")
    for status, state, text in (({"phase": "Fine"}, "Processing", "no state"), ({"tide": "high"}, "Ready", ""), ({"phase": "Leaking"}, "Warning", "customStateCheck"),
                                ({"phase": "Sunk", "state": "Ready"}, "Error", "customStateCheck"), ({"phase": "Fine"}, "Ready", "")):
        world.skr.patch(QUAYS, "quay", {"status": status}, SYSTEM)
        module_state(world, "quay", state, text)


def test_a_template_with_an_invalid_path_is_refused_by_name(world):
    checks = [{"jsonPath": "status.phase", "value": "Fine", "mappedState": "Ready"}]
    data = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Quay", "metadata": {"name": "quay"}, "status": {"phase": "Fine"}}
    world.publish("quay", [DEFINITION], data=data, template={"customStateCheck": checks})
    world.access("fleet-0001")
    world.kyma(modules=["quay"])
    world.start()
    world.wait_state("Ready")
    # The update reaches no cluster until the template is corrected.
    wrong = [{**checks[0], "jsonPath": "status.phase["}]
    world.publish("quay", [DEFINITION, config_map("quay")], version="1.1.0", data=data, template={"customStateCheck": wrong})
    module_state(world, "quay", "Error", f"ModuleTemplate {world.namespace}/quay-1.1.0: spec.customStateCheck[0].jsonPath: invalid JSONPath at offset")
    assert world.module("quay")["version"] == "1.0.0" == world.manifest("quay")["spec"]["version"]
    world.kcp.patch(TEMPLATES, "quay-1.1.0", {"spec": {"customStateCheck": checks}}, world.namespace)
    wait_until(lambda: (m := world.module("quay"))["version"] == "1.1.0" and m["state"] == "Ready", "the corrected version Ready")
    assert world.skr.find("configmaps", "quay", SYSTEM)


def test_a_mandatory_module_with_an_invalid_path_reports_it(world):
    world.publish("quay", [DEFINITION], data={"apiVersion": f"{GROUP}/v1alpha1", "kind": "Quay", "metadata": {"name": "quay"}},
                  template={"customStateCheck": [{"jsonPath": "status.phase[", "value": "Fine", "mappedState": "Ready"}]})
    world.kcp.patch(RELEASES, "quay", {"spec": {"channels": None, "mandatory": {"version": "1.0.0"}}}, world.namespace)
    world.access("fleet-0001")
    world.kyma(modules=[])
    world.start()

    def report():
        status = (world.manifest("quay") or {}).get("status", {})
        return (status.get("state"), status.get("lastOperation", {}).get("operation", ""))
    wait_until(lambda: report()[0] == "Error", "an error")
    assert f"Quay {SYSTEM}/quay: its ModuleTemplate: spec.customStateCheck[0].jsonPath: invalid JSONPath at offset" in report()[1], report()


def test_images_of_the_component_replace_those_of_the_same_name_and_tag(world):
    mirrored = f"mirror.example.com/copies/quay:1.0.0@{DIGEST}"
    images = (mirrored, "mirror.example.com/copies/init:2.0", "mirror.example.com/copies/helper:3.0")
    container = {"env": [{"name": "HELPER", "value": "docker.io/library/helper:3.0"}, {"name": "TEXT", "value": "not an image!"},
                         {"name": "OTHER_TAG", "value": "example.com/helper:4.0"}]}
    deployment = workload("Deployment", "quay", container=container, initContainers=[{"name": "init", "image": "example.com/deep/path/init:2.0"}])
    world.publish("quay", [deployment, workload("StatefulSet", "quay-store"), workload("StatefulSet", "quay-other", image="example.com/other:1.0.0")], images=images)
    world.access("fleet-0001")
    world.kyma(modules=["quay"])
    world.start()

    def pod(kind, name):
        return wait_until(lambda: world.skr.find(kind, name, SYSTEM), name)["spec"]["template"]["spec"]

    assert pod(STATEFUL_SETS, "quay-store")["containers"][0]["image"] == mirrored
    assert pod(STATEFUL_SETS, "quay-other")["containers"][0]["image"] == "example.com/other:1.0.0"
    found = pod(DEPLOYMENTS, "quay")
    assert found["containers"][0]["image"] == mirrored and found["initContainers"][0]["image"] == "mirror.example.com/copies/init:2.0"
    assert {e["name"]: e["value"] for e in found["containers"][0]["env"]} == {
        "HELPER": "mirror.example.com/copies/helper:3.0", "TEXT": "not an image!", "OTHER_TAG": "example.com/helper:4.0"}
    assert world.manifest("quay")["spec"]["localizedImages"] == list(images)
    # The image of the raw manifest is drift.
    wait_until(lambda: any(r.startswith("watch deployments") for r in world.requests(0)), "the watch")
    world.skr.patch(DEPLOYMENTS, "quay", {"spec": {"template": {"spec": {"containers": [{"name": "operator", "image": "example.com/quay:1.0.0"}]}}}}, SYSTEM,
                    content_type="application/strategic-merge-patch+json")
    wait_until(lambda: pod(DEPLOYMENTS, "quay")["containers"][0]["image"] == mirrored, "the image of the component")
