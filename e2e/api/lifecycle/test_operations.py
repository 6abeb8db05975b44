# SPDX-License-Identifier: Apache-2.0
"""Permissions, metrics, health and the chart."""

import re
import subprocess
import urllib.request

import yaml

from bench import paths
from bench.waiting import wait_until
from controller_harness import PROGRAM
from lifecycle_harness import GROUP, KYMAS, TEMPLATES, RELEASES, SYSTEM, config_map

CHART = paths.CHECKOUT / "charts" / "lifecycle-manager"


def rules_of_chart():
    text = (CHART / "templates" / "rbac.yaml").read_text()
    return [yaml.safe_load(line[2:]) for line in text.splitlines() if line.startswith("- {apiGroups")]


def test_check_names_what_is_missing_and_the_chart_grants_it(world):
    user = f"checker-{world.namespace}"
    path = world.control_plane.user_kubeconfig(user)
    command = [PROGRAM, "lifecycle", "--check", f"--kubeconfig={path}", f"--namespace={world.namespace}"]
    missing = subprocess.run(command, capture_output=True, text=True)
    assert missing.returncode == 1 and "MISSING  watch   kymas.operator.kyma-project.io" in missing.stdout, missing
    rules = rules_of_chart()
    world.kcp.allow(user, [r for r in rules if "customresourcedefinitions" not in r["resources"]], world.namespace)
    world.kcp.allow(user, [r for r in rules if "customresourcedefinitions" in r["resources"]])
    complete = subprocess.run(command, capture_output=True, text=True)
    assert complete.returncode == 0 and "MISSING" not in complete.stdout, complete
    # A page that asks for tokens needs more.
    missing = subprocess.run([*command, "--ui=token"], capture_output=True, text=True)
    assert re.findall("MISSING  create  (.*)", missing.stdout) == ["tokenreviews.authentication.k8s.io", "subjectaccessreviews.authorization.k8s.io"]
    # With these permissions, and no others, a module is installed and removed.
    world.publish("fine", [config_map("fine")])
    world.access("fleet-0001")
    world.kyma(modules=["fine"])
    world.start(kubeconfig_path=path)
    world.wait_state("Ready")
    world.delete()


def free_port():
    import socket
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_metrics_have_the_names_of_the_original(world):
    port, health = free_port(), free_port()
    world.start(f"--metrics-address=127.0.0.1:{port}", f"--health-address=127.0.0.1:{health}")
    world.publish("fine", [config_map("fine")])
    world.access("fleet-0001")
    world.kcp.create({"apiVersion": f"{GROUP}/v1beta2", "kind": "Kyma", "metadata": {
        "name": "fleet-0001", "namespace": world.namespace, "labels": {"kyma-project.io/instance-id": "i-1"},
        "annotations": {"skr-domain": "shoot-1.example.test"}}, "spec": {"channel": "regular", "modules": [{"name": "fine", "managed": True}]}})
    world.wait_state("Ready")

    def read(path, at=port):
        with urllib.request.urlopen(f"http://127.0.0.1:{at}{path}", timeout=30) as answer:
            return answer.read().decode()

    assert read("/healthz", health) == "ok\n" and read("/readyz", health) == "ok\n"
    wait_until(lambda: 'lifecycle_mgr_kyma_state{kyma_name="fleet-0001",state="Ready",shoot="shoot-1",instance_id="i-1"} 1' in read("/metrics"), "metrics")
    text = read("/metrics")
    assert 'lifecycle_mgr_module_state{module_name="fine",kyma_name="fleet-0001",state="Ready",shoot="shoot-1",instance_id="i-1"} 1' in text
    dashboard = (CHART / "files" / "dashboard.json").read_text()
    names = set(re.findall(r"(lifecycle_mgr_\w+|longshore_\w+|rest_client_\w+|process_\w+)", dashboard))
    original = {"lifecycle_mgr_mandatory_modules", "lifecycle_mgr_requeue_reason_total", "lifecycle_mgr_maintenance_window_config_read_success",
                "workqueue_depth", "workqueue_adds_total", "controller_runtime_reconcile_total", "controller_runtime_active_workers"}
    assert all(name in text for name in (names | original) - {"lifecycle_mgr_mandatory_module_state"})


def test_the_module_of_the_guide_is_installed(world):
    """docs/lifecycle.md: the smallest module, as written there."""
    blocks = [b for b in re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", (paths.CHECKOUT / "docs" / "lifecycle.md").read_text(), re.MULTILINE) if "kind:" in b]
    objects, catalog = [list(yaml.safe_load_all(re.sub(r"^    ", "", b, flags=re.MULTILINE).replace("kcp-system", world.namespace))) for b in blocks]
    from lifecycle_harness import push_module
    push_module(world.registry, catalog[1]["spec"]["ocmComponentName"], "1.0.0", yaml.safe_dump_all(objects).encode())
    for thing in catalog:
        world.kcp.apply(thing)
    world.start()
    world.access("fleet-0001")
    world.kyma(modules=["hello"])
    world.wait_state("Ready")
    assert world.skr.get("configmaps", "hello", SYSTEM)["data"] == {"greeting": "ahoy"}
    assert world.skr.find(TEMPLATES, "hello-1.0.0", SYSTEM) and world.skr.find(RELEASES, "hello", SYSTEM) and world.skr.find(KYMAS, "default", SYSTEM)
