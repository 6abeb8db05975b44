# SPDX-License-Identifier: Apache-2.0
"""Dashboards show the metrics of the lifecycle manager: those of the original, with the scrape configuration of docs/lifecycle.md, and
our own. Prometheus evaluates every expression."""

import json
import re

import pytest
import yaml

from bench import paths, ports
from bench.prometheus import Prometheus
from bench.waiting import wait_until
from lifecycle_harness import API, GROUP, config_map

OWN = paths.CHECKOUT / "charts" / "lifecycle-manager" / "files" / "dashboard.json"
# The labels that the dashboards of the original expect from Prometheus.
JOB = {"job": "klm-controller-manager-metrics"}
CONTAINER = {"container": "manager"}
RECONCILED = {"controller": "=~kyma|watcher|manifest|mandatory-module-installation|mandatory-module-deletion", **JOB}
STATES = ("Ready", "Deleting", "Processing", "Error", "Warning")
QUEUES = ("kyma", "manifest")


def of_queues(label, *metrics):
    return [(metric, {label: queue, **JOB}, (label,)) for metric in metrics for queue in QUEUES]


# What the dashboards "overview" and "status" of the original use: metrics, their labels with the values that are selected, and the labels
# by which values are grouped or that a panel shows. Left out are expressions of responses that are errors, which have no series until there
# is one; lifecycle_mgr_self_signed_cert_not_renew, because we have no certificates; the dashboard of the watcher, which we do not have; and
# the one of mandatory modules, which uses no metrics of the lifecycle manager.
COUNTERS = [
    ("rest_client_requests_total", {"code": "=~2..", **JOB}, ()),
    ("process_cpu_seconds_total", JOB, ("job",)),
    ("controller_runtime_reconcile_total", {"result": "=~success|requeue_after", **RECONCILED}, ("controller", "result")),
    ("controller_runtime_reconcile_errors_total", RECONCILED, ("controller",)),
    ("lifecycle_mgr_requeue_reason_total", {}, ("requeue_reason", "requeue_type")),
    *of_queues("controller", "controller_runtime_reconcile_time_seconds_sum", "controller_runtime_reconcile_time_seconds_count"),
    *of_queues("name", "workqueue_queue_duration_seconds_sum", "workqueue_queue_duration_seconds_count", "workqueue_work_duration_seconds_sum",
               "workqueue_work_duration_seconds_count", "workqueue_adds_total"),
]
GAUGES = [
    ("process_resident_memory_bytes", JOB, ()),
    *[("controller_runtime_max_concurrent_reconciles", {"controller": queue, **CONTAINER}, ("controller",)) for queue in QUEUES],
    *of_queues("controller", "controller_runtime_active_workers"),
    ("workqueue_longest_running_processor_seconds", JOB, ("job",)),
    ("workqueue_unfinished_work_seconds", JOB, ("job",)),
    *of_queues("name", "workqueue_depth"),
    ("lifecycle_mgr_maintenance_window_config_read_success", {}, ()),
    ("lifecycle_mgr_mandatory_modules", {}, ()),
    ("lifecycle_mgr_module_state", {}, ("module_name", "kyma_name", "state", "shoot", "instance_id")),
    *[("lifecycle_mgr_kyma_state", {"state": state}, ("kyma_name", "shoot", "instance_id")) for state in STATES],
    *[("lifecycle_mgr_module_state", {"state": state}, ()) for state in (*STATES, "Unmanaged")],
    *[("lifecycle_mgr_mandatory_module_state", {"state": state}, ("module_name", "kyma_name")) for state in STATES],
]


# What Prometheus finds out about a pod of the chart.
POD = {"__meta_kubernetes_pod_label_app_kubernetes_io_name": "lifecycle-manager", "__meta_kubernetes_pod_container_port_name": "metrics"}


def scrape_configuration(port):
    """The one of the documentation, for a program on this machine."""
    text = (paths.CHECKOUT / "docs" / "lifecycle.md").read_text()
    block = re.search(r"^    scrape_configs:\n(?:    .*\n)+", text, re.MULTILINE).group()
    scrape, = yaml.safe_load(re.sub("^    ", "", block, flags=re.MULTILINE))["scrape_configs"]
    assert scrape.pop("kubernetes_sd_configs")
    return {**scrape, "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": POD}]}


def selector(matches):
    written = [f'{label}{"=~" if value.startswith("=~") else "="}"{value.removeprefix("=~")}"' for label, value in matches.items()]
    return "{" + ",".join(written) + "}"


@pytest.fixture
def prometheus(world):
    """Of a control plane with a cluster whose modules are in different states."""
    port = ports.free_port()
    world.start(f"--metrics-address=127.0.0.1:{port}")
    world.publish("fine", [config_map("fine")])
    world.publish("broken", b"{]")
    world.catalog("pilot")  # mandatory
    world.access("fleet-0001")
    world.kcp.create({"apiVersion": API, "kind": "Kyma", "metadata": {
        "name": "fleet-0001", "namespace": world.namespace, "labels": {"kyma-project.io/instance-id": "i-1"}, "annotations": {"skr-domain": "shoot-1.example.test"}},
        "spec": {"channel": "regular", "modules": [{"name": name, "managed": True} for name in ("fine", "broken")]}})
    world.wait_state("Error")
    wait_until(lambda: (m := world.module("fine")) and m["state"] == "Ready", "a module that is Ready")
    wait_until(lambda: world.kcp.items(f"{API}/manifests", world.namespace, labelSelector=f"{GROUP}/mandatory-module=true"), "the mandatory module")
    with Prometheus(scrape_configuration(port)) as made:
        yield made


def test_every_expression_has_a_result(world, prometheus):
    empty = []
    for metric, matches, shown in COUNTERS + GAUGES:
        expression = f"rate({metric}{selector(matches)}[5m])" if (metric, matches, shown) in COUNTERS else f"{metric}{selector(matches)}"
        found = prometheus.query(expression)
        if not found or not all(row["metric"].get(label) for row in found for label in shown):
            empty.append((expression, shown, found))
    # Our own, with the labels that their legends show.
    for panel in json.loads(OWN.read_text())["panels"]:
        for target in panel.get("targets", []):
            found = prometheus.query(target["expr"].replace("$__rate_interval", "5m"))
            legend = re.findall(r"{{\s*(\w+)\s*}}", target["legendFormat"])
            if not found or not all(row["metric"].get(label) for row in found for label in legend):
                empty.append((target["expr"], legend, found))
    assert empty == []

    def numbers(expression, *labels):
        return {tuple(row["metric"].get(label) for label in labels): float(row["value"][1]) for row in prometheus.query(expression)}

    # Values: each is in one state.
    assert numbers("sum by (module_name) (lifecycle_mgr_module_state)", "module_name") == {("fine",): 1, ("broken",): 1}
    assert numbers('lifecycle_mgr_module_state{state="Error"} > 0', "module_name", "kyma_name", "shoot", "instance_id") == {
        ("broken", "fleet-0001", "shoot-1", "i-1"): 1}
    assert numbers("sum by (state) (lifecycle_mgr_kyma_state) > 0", "state") == {("Error",): 1}
    assert numbers("sum(lifecycle_mgr_mandatory_modules)") == {(): 1}
    assert numbers("sum(lifecycle_mgr_mandatory_module_state)") == {(): 1}
