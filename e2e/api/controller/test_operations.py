# SPDX-License-Identifier: Apache-2.0
"""Flags, probes, signals, metrics, and an API server that restarts."""

import json
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

from bench import paths
from bench.kube import DEPLOYITEMS
from bench.waiting import wait_until
from controller_harness import GROUP, PROGRAM, World
from faults.proxy import Action, PASS, status


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def get(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""
    except OSError:
        return None, ""


def test_probes_and_metrics(world):
    port = free_port()
    controller = world.start(arguments=[f"--health-address=127.0.0.1:{port}", f"--metrics-address=127.0.0.1:{port + 1}"])
    controller.wait_until(lambda: get(port, "/readyz")[0] == 200, "ready")
    assert get(port, "/healthz") == (200, "ok\n")
    assert get(port, "/nowhere")[0] == 404
    world.item("item")
    world.finished("item")
    text = get(port + 1, "/metrics")[1]
    for name in ("controller_runtime_reconcile_total", "controller_runtime_reconcile_errors_total",
                 "controller_runtime_reconcile_time_seconds_bucket", "workqueue_depth", "workqueue_queue_duration_seconds_bucket",
                 "rest_client_requests_total", "leader_election_master_status", "process_resident_memory_bytes"):
        assert name in text
    assert 'longshore_runs_total{operation="RECONCILE",outcome="succeeded"} 1' in text


def test_the_soft_limit_of_descriptors_does_not_limit_the_number_of_clusters(world):
    controller = world.start(program=("prlimit", "--nofile=128:4000", PROGRAM, "controller"))
    world.item("item")
    world.finished("item")
    limits = pathlib.Path(f"/proc/{controller.pid}/limits").read_text()
    assert re.search(r"Max open files +4000 +4000", limits), limits


def test_metrics_report_a_silent_watch_and_the_results_of_requests(world):
    """The probes do not fail, because a restart would not help."""
    port = free_port()

    def silence():
        text = get(port, "/metrics")[1]
        return {resource: float(value) for resource, value in re.findall(r'longshore_watch_silent_seconds{resource="(\w+)"} (\S+)', text)}

    def plan(request):
        return PASS if is_up.is_set() else Action(forward=False, answer=status(503, "ServiceUnavailable"))

    is_up = threading.Event()
    is_up.set()
    with world.behind_proxy(plan) as proxy:
        controller = world.start(proxy=proxy, arguments=[f"--health-address=127.0.0.1:{port}"])
        controller.wait_until(lambda: get(port, "/readyz")[0] == 200, "ready")
        is_up.clear()
        proxy.cut()
        wait_until(lambda: "watch on pods broke" in controller.output() and "watch on items broke" in controller.output(), "both watches to break")
        before = silence()
        wait_until(lambda: all(silence()[resource] > before[resource] + 1 for resource in ("deployitems", "pods")), "the metrics to show the silence")
        assert (get(port, "/healthz")[0], get(port, "/readyz")[0]) == (200, 200)
        broken = silence()
        is_up.set()
        world.item("item")
        assert world.finished("item")["phase"] == "Succeeded"
        assert all(silence()[resource] < broken[resource] for resource in broken), (silence(), broken)
        text = get(port, "/metrics")[1]
    for code, method in (("200", "GET"), ("201", "POST"), ("200", "PATCH"), ("503", "GET")):
        assert f'rest_client_requests_total{{cluster="landscaper",code="{code}",method="{method}"}}' in text


def test_readyz_succeeds_after_the_lists_and_fails_after_sigterm_while_healthz_still_succeeds(world):
    listing, draining = threading.Event(), threading.Event()

    def plan(request):
        if request.method == "GET" and request.path.endswith("/pods") and not request.is_watch:
            return Action(before=lambda: listing.wait(60))
        if request.method == "POST" and request.path.endswith("/pods"):
            return Action(before=lambda: draining.wait(60))
        return PASS

    port = free_port()
    with world.behind_proxy(plan) as proxy:
        controller = world.start(proxy=proxy, arguments=[f"--health-address=127.0.0.1:{port}"])
        controller.wait_until(lambda: "items listed" in controller.output(), "items listed")
        assert (get(port, "/healthz")[0], get(port, "/readyz")[0]) == (200, 503)
        listing.set()
        controller.wait_until(lambda: get(port, "/readyz")[0] == 200, "ready")
        world.item("item")
        wait_until(lambda: any(r.method == "POST" and r.path.endswith("/pods") for r in proxy.requests), "a pending request")
        controller.expected = False
        controller.signal(signal.SIGTERM)
        wait_until(lambda: get(port, "/readyz")[0] == 503, "not ready")
        assert get(port, "/healthz")[0] == 200
        draining.set()
        wait_until(lambda: not controller.running, "the controller to exit")
    assert controller.exit_code == 0


def test_sigterm_drains_requests_and_leaves_the_pod_to_the_next_controller(world):
    """The controller waits for pending requests and starts nothing new; the next controller continues from there."""
    held, release = threading.Event(), threading.Event()

    def plan(request):
        if request.method == "POST" and request.path.endswith("/pods"):
            return Action(before=lambda: (held.set(), release.wait(60)))
        return PASS

    with world.behind_proxy(plan) as proxy:
        controller = world.start(proxy=proxy)
        world.item("item")
        assert held.wait(30)
        controller.expected = False
        controller.signal(signal.SIGTERM)
        controller.wait_until(lambda: '"msg":"shutting down"' in controller.output(), "SIGTERM to be handled")
        mark = len(proxy.requests)
        time.sleep(1)  # a controller that does not wait for the response has exited by now
        assert controller.running
        release.set()
        wait_until(lambda: not controller.running, "the controller to exit")
        assert controller.exit_code == 0 and '"msg":"ended"' in controller.output()
        [pod] = world.pods()
        # The questions of the permission check at start-up change nothing.
        written = [(r.method, r.path) for r in proxy.requests[mark:] if r.method != "GET" and not r.path.endswith("/selfsubjectaccessreviews")]
        assert len(written) <= 1, written  # at most the rest of the current step
    world.start()
    assert world.finished("item")["phase"] == "Succeeded"
    assert world.kubelet.ran("item") == [("item", "job-1", "RECONCILE")]
    assert [p.uid for p in world.kubelet.pods.values()] == [pod["metadata"]["uid"]]


def test_a_request_without_a_response_does_not_block_the_shutdown(world):
    held = threading.Event()

    def plan(request):
        if request.method == "POST" and request.path.endswith("/pods"):
            return Action(forward=False, hang=True, before=held.set, break_after=60)
        return PASS

    with world.behind_proxy(plan) as proxy:
        controller = world.start(proxy=proxy)
        world.item("item")
        assert held.wait(30)
        controller.expected = False
        controller.signal(signal.SIGTERM)
        wait_until(lambda: not controller.running, "the controller to exit", 30)
    assert controller.exit_code == 0 and "although requests are under way" in controller.output()


def test_the_log_is_json_with_item_job_and_duration_and_signals_change_its_level(world):
    controller = world.start(verbosity="error")
    world.item("silent")
    world.finished("silent")
    world.wait_for_cleanup()
    assert '"level":"info"' not in controller.output()
    controller.signal(signal.SIGUSR1)
    world.item("loud")
    world.finished("loud")
    line = wait_until(lambda: next((json.loads(l) for l in controller.output().splitlines()
                                    if l.startswith("{") and '"job finished"' in l), None), "the line")
    assert line["deployItem"] == "loud" and line["namespace"] == world.namespace and line["jobID"] == "job-1"
    assert line["phase"] == "Succeeded" and line["durationMs"] >= 0 and line["ts"] and line["logger"] == "longshore"
    world.wait_for_cleanup()
    controller.signal(signal.SIGUSR2)
    world.item("silent-again")
    world.finished("silent-again")
    world.wait_for_cleanup()
    assert '"deployItem":"silent-again"' not in controller.output()


def test_a_deletion_is_logged_and_counted_with_its_duration(world):
    port = free_port()
    controller = world.start(arguments=[f"--metrics-address=127.0.0.1:{port}"])
    world.item("item")
    world.finished("item")
    world.wait_for_cleanup()
    world.kubelet.behaviour = lambda pod: (pod.run(), time.sleep(1.5), pod.succeed())  # times in a status have a resolution of one second
    world.delete("item")
    world.wait_until_deleted("item")
    line = wait_until(lambda: next((json.loads(l) for l in controller.output().splitlines()
                                    if '"job finished"' in l and '"job-delete"' in l), None), "the line")
    assert line["phase"] == "Succeeded" and line["durationMs"] > 0
    values = dict(l.rsplit(" ", 1) for l in get(port, "/metrics")[1].splitlines() if not l.startswith("#"))
    assert float(values['longshore_run_duration_seconds_sum{operation="DELETE"}']) > 0
    assert float(values['longshore_run_duration_seconds_count{operation="DELETE"}']) == 1


def test_a_run_that_ends_during_the_deletion_of_its_item_is_counted_as_a_run(world):
    port, deleted = free_port(), threading.Event()
    controller = world.start(arguments=[f"--metrics-address=127.0.0.1:{port}"])
    world.kubelet.behaviour = lambda pod: (pod.run(), deleted.wait(60), pod.succeed())
    world.item("item")
    wait_until(lambda: world.status("item").get("phase") == "Progressing", "phase Progressing")
    world.kube.delete(DEPLOYITEMS, "item", world.namespace)
    deleted.set()
    assert world.finished("item")["providerStatus"]["lastOperation"] == "RECONCILE"
    world.delete("item")
    world.wait_until_deleted("item")
    lines = wait_until(lambda: len(l := [json.loads(l) for l in controller.output().splitlines() if '"job finished"' in l]) == 2 and l,
                       "the lines of both jobs")
    assert [line.get("operation") for line in lines] == ["RECONCILE", "DELETE"]
    values = dict(l.rsplit(" ", 1) for l in get(port, "/metrics")[1].splitlines() if not l.startswith("#"))
    for operation in ("RECONCILE", "DELETE"):
        assert values[f'longshore_runs_total{{operation="{operation}",outcome="succeeded"}}'] == "1", values
        assert values[f'longshore_run_duration_seconds_count{{operation="{operation}"}}'] == "1"


def metric(port, name):
    return dict(l.rsplit(" ", 1) for l in get(port, "/metrics")[1].splitlines() if not l.startswith("#")).get(name)


def test_the_log_and_a_metric_name_the_rule_of_each_decision(world):
    port = free_port()
    controller = world.start(arguments=[f"--metrics-address=127.0.0.1:{port}"])

    def logged(rule):
        return len(re.findall(f'"msg":"decision".*"rule":"{rule}"', controller.output()))

    def counted(rule):
        return int(metric(port, f'longshore_decisions_total{{rule="{rule}"}}') or 0)

    world.item("item")
    world.finished("item")
    world.wait_for_cleanup()
    for rule in ("start", "succeeded", "no_job"):
        wait_until(lambda: logged(rule) > 0 and counted(rule) == logged(rule), f"log and metric to agree on rule {rule}")


def test_items_whose_deployer_is_unknown_are_counted_and_not_touched(world):
    """With a selector, an item whose Target cannot be read may belong to another deployer, so nothing is written to it."""
    refused, port = threading.Event(), free_port()
    refused.set()
    world.target("shy", config={}, labels={"env": "a"})
    world.target("deleted", config={}, labels={"env": "a"})

    def plan(request):
        if request.method == "GET" and "/targets/" in request.path and refused.is_set():
            return Action(forward=False, answer=status(403, "Forbidden", "targets is forbidden"))
        return PASS

    with world.behind_proxy(plan) as proxy:
        world.item("item", target="shy")
        world.item("other", target="deleted")
        before = world.kube.get(DEPLOYITEMS, "item", world.namespace)
        controller = world.start(proxy=proxy, arguments=[f"--metrics-address=127.0.0.1:{port}"],
                                 config={"targetSelector": [{"labels": [{"key": "env", "operator": "=", "values": ["a"]}]}]})
        wait_until(lambda: metric(port, "longshore_items_held") == "2", "both items to be counted")
        assert "cannot read the target" in controller.output()
        world.kube.patch(DEPLOYITEMS, "other", {"metadata": {"finalizers": None}}, world.namespace)
        world.kube.delete(DEPLOYITEMS, "other", world.namespace)
        wait_until(lambda: metric(port, "longshore_items_held") == "1", "the deleted item not to be counted any more")
        assert world.kube.get(DEPLOYITEMS, "item", world.namespace) == before and world.events("item") == []
        refused.clear()
        assert world.finished("item", timeout=120)["phase"] == "Succeeded"
        assert metric(port, "longshore_items_held") == "0"


def test_variables_of_the_go_deployer_without_effect_are_logged_once(world):
    given = {"LS_HOST_CLIENT_QPS": "5", "LS_RESOURCE_CLIENT_BURST": "7", "LS_HOST_CLIENT_BURST": ""}
    controller = world.start(env=given)
    world.item("item")
    world.finished("item")
    [line] = [json.loads(l) for l in controller.output().splitlines() if "environment variables have no effect" in l]
    assert line["variables"] == "LS_HOST_CLIENT_QPS, LS_RESOURCE_CLIENT_BURST"
    other = world.start()
    other.wait_until(lambda: '"msg":"started"' in other.output(), "started")
    assert "environment variables have no effect" not in other.output()


def run(*arguments):
    return subprocess.run([PROGRAM, "controller", *arguments], capture_output=True, text=True, timeout=30)


def test_flags_of_the_go_deployer_are_accepted():
    assert run("--version").stdout.startswith("longshore v")
    assert "--landscaper-kubeconfig" in run("--help").stdout
    assert run("--dev", "--disable-stacktrace", "--disable-caller=true", "--disable-timestamp=false", "--version").returncode == 0
    refused = run("--no-such-flag")
    assert refused.returncode == 2 and "no-such-flag" in refused.stderr


def test_an_invalid_configuration_is_rejected_with_the_name_of_the_field(world):
    path = paths.fresh_directory("config") / "config.yaml"
    path.write_text(json.dumps({"apiVersion": f"{GROUP}/v1alpha1", "kind": "Configuration", "namespace": 5,
                                "targetSelector": [{"labels": [{"key": "a", "operator": "near", "values": []}]}]}))
    refused = run(f"--config={path}")
    assert refused.returncode == 2
    assert "namespace" in refused.stderr and "targetSelector[0].labels[0].operator" in refused.stderr


def test_unknown_and_unused_configuration_fields_are_logged_and_the_effective_configuration_is_printed(world):
    controller = world.start(config={"surprise": True, "controller": {"workers": 30, "cacheSyncTimeout": "2m"},
                                     "garbageCollection": {"worker": 5}}, verbosity="info")
    controller.wait_until(lambda: "items listed" in controller.output(), "started")
    output = controller.output()
    logged = {line["field"]: line["reason"] for line in map(json.loads, (l for l in output.splitlines() if '"field":' in l))}
    assert logged.pop("surprise") == "unknown field"
    assert set(logged) == {"controller.workers", "controller.cacheSyncTimeout", "garbageCollection.worker"}
    assert all(reason.startswith("has no effect: ") for reason in logged.values()), logged
    assert "deleteOperation: run" in output and "imageGracePeriod:" in output


def test_two_clusters(world, make_apiserver):
    """Items on one API server, pods on another; the controller reaches both by kubeconfig."""
    landscaper = make_apiserver()
    landscaper.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": world.namespace}})
    host = world.kubelet
    remote = World(landscaper, world.namespace, host="unused")
    try:
        kubeconfig = landscaper.user_kubeconfig("remote", groups=["system:masters"])
        host.behaviour = lambda pod: (pod.run(), pod.export({"two": "clusters"}), pod.succeed())
        world.start(arguments=[f"--landscaper-kubeconfig={kubeconfig}"])
        remote.secret("s", {"kubeconfig": "clusters: []"})
        remote.target("cluster", secret="s")
        remote.item("item", target="cluster")
        result = remote.finished("item")
        assert result["phase"] == "Succeeded" and result["exportRef"]
        assert landscaper.kube.get("secrets", "item-export", world.namespace)
        world.wait_for_cleanup()
        remote.delete("item")
        remote.wait_until_deleted("item")
        wait_until(lambda: not world.host_objects(), "deletion of everything on the host")
    finally:
        remote.kubelet.close()


def test_server_errors_and_lost_responses_neither_repeat_nor_lose_a_run(world):
    """Every third write fails in one of four ways, most of them after it was applied."""
    count, lock = [0], threading.Lock()

    def plan(request):
        if request.method == "GET":
            return PASS
        with lock:
            count[0] += 1
            number = count[0]
        if number % 3:
            return PASS
        return [Action(forward=False, answer=status(503, "ServiceUnavailable")), Action(lose=True),
                Action(answer=status(500, "InternalError")), Action(forward=False, answer=status(429, "TooManyRequests"))][number // 3 % 4]

    with world.behind_proxy(plan) as proxy:
        world.kubelet.behaviour = lambda pod: (pod.run(), pod.export({"a": 1}), pod.succeed())
        world.start(proxy=proxy)
        for number in range(5):
            world.item(f"item-{number}")
        for number in range(5):
            assert world.finished(f"item-{number}", timeout=120)["phase"] == "Succeeded"
            assert len(world.kubelet.ran(f"item-{number}")) == 1
        world.wait_for_cleanup(timeout=60)


def test_the_controller_reconnects_to_an_api_server_that_restarts(private_apiserver, request):
    private_apiserver.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "items"}})
    world = World(private_apiserver, "items")
    try:
        world.start()
        world.item("before")
        world.finished("before")
        private_apiserver.restart(crash=True)
        world.item("after")
        assert world.finished("after", timeout=90)["phase"] == "Succeeded"
    finally:
        world.close()
