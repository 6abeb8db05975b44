# SPDX-License-Identifier: Apache-2.0
"""What operators of the original complain about (C), and faults of the original (K): README.md lists them."""

import contextlib
import json
import os
import pathlib
import socket
import threading

import pytest

from bench import ports
from bench.waiting import wait_until
from faults.proxy import Action, FaultProxy, PASS, status
from lifecycle_harness import DEFINITIONS, GROUP, HARBOURS, KYMAS, MANIFESTS, SYSTEM, config_map, metric, token_kubeconfig


# A component without the resource that has the objects.
EMPTY = """{{"meta": {{"schemaVersion": "v2"}}, "component": {{"name": "{name}", "version": "1.0.0", "provider": "p", "sources": [],
"componentReferences": [], "resources": [], "repositoryContexts": [{{"type": "OCIRegistry", "baseUrl": "example.com"}}]}}}}"""


@contextlib.contextmanager
def silent_server():
    """A server that accepts connections and never answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    kept = []

    def accept():
        with contextlib.suppress(OSError):
            while True:
                kept.append(listener.accept()[0])

    threading.Thread(target=accept, daemon=True).start()
    yield f"https://127.0.0.1:{listener.getsockname()[1]}"
    listener.close()
    for connection in kept:
        connection.close()


def test_a_broken_module_hides_no_other_and_says_why(world):
    """K1, K2, K4, K5, C12, C13: modules without content, without YAML, and with an object that the server refuses."""
    port = ports.free_port()
    program = world.start(f"--metrics-address=127.0.0.1:{port}")
    long = f"example.com/module/{world.namespace}/" + "a-very-long-name-" * 3
    world.publish("fine", [config_map("fine", answer="42")])
    world.publish("empty", b"", descriptor=EMPTY.format(name=f"example.com/module/{world.namespace}/empty"))
    world.publish("noyaml", b"{]")
    refused = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "refused", "namespace": SYSTEM}, "spec": {"ports": "many"}}
    world.publish("refused", [config_map("before"), refused])
    world.publish("twin", [config_map("twin")], component=f"{long}one")
    world.publish("twintwo", [config_map("twintwo")], component=f"{long}two")
    world.access("fleet-0001")
    world.kyma(modules=["fine", "empty", "noyaml", "refused", "twin", "twintwo"])

    def states():
        return {m["name"]: m["state"] for m in world.status().get("modules", [])}

    wanted = {"fine": "Ready", "empty": "Error", "noyaml": "Error", "refused": "Error", "twin": "Ready", "twintwo": "Ready"}
    wait_until(lambda: states() == wanted, f"{wanted}, not {states()}")
    messages = {m["name"]: m.get("message", "") for m in world.status()["modules"]}
    assert "raw-manifest" in messages["empty"] and "line" in messages["noyaml"], messages
    assert "Service kyma-system/refused" in messages["refused"] and "ports" in messages["refused"], messages
    # The status in the cluster follows that in the control plane.
    def remote():
        found = world.skr.get(KYMAS, "default", SYSTEM)["status"]
        return found["state"], {m["name"]: m.get("message", "") for m in found["modules"]}
    wait_until(lambda: remote() == ("Error", messages), f"{messages} in the cluster")
    # The report of an error is written once.
    version = world.kcp.get(KYMAS, "fleet-0001", world.namespace)["metadata"]["resourceVersion"]
    own = world.control_plane.audit.mark()
    wait_until(lambda: world.control_plane.audit.count(own, resource="leases", user=program.user) >= 2, "renewals")
    assert world.kcp.get(KYMAS, "fleet-0001", world.namespace)["metadata"]["resourceVersion"] == version
    assert world.status()["state"] == "Error"
    assert len({m["metadata"]["name"] for m in world.kcp.items(MANIFESTS, world.namespace)}) == 5
    assert metric(port, 'longshore_lifecycle_failures_total{class="content"}') == 1, "of noyaml, which stays wrong"
    # What was applied before another object failed is recorded, and goes with the module.
    assert {s["name"] for s in world.manifest("refused")["status"]["synced"]} == {"before", "refused"}
    assert world.skr.find("configmaps", "before", SYSTEM)
    world.enable(["fine", "twin", "twintwo"])
    world.wait_state("Ready")
    wait_until(lambda: world.manifest("refused") is None, "the Manifest gone")
    assert world.skr.find("configmaps", "before", SYSTEM) is None
    errors = [line for line in program.output().splitlines() if '"level":"error"' in line]
    assert len(errors) <= 3, errors


def test_a_stray_manifest_and_a_second_secret_are_noticed(world):
    """K3, K6, K8, C11: and nothing with certificates is ever installed."""
    program = world.start()
    world.publish("fine", [config_map("fine")])
    world.access("fleet-0001")
    world.kyma(modules=["fine"])
    world.wait_state("Ready")
    stray = world.manifest("fine")
    stray["metadata"] = {"name": "stray", "namespace": world.namespace, "labels": {**stray["metadata"]["labels"], f"{GROUP}/module-name": "stray"}}
    stray.pop("status")
    world.kcp.create(stray)
    wait_until(lambda: world.kcp.find(MANIFESTS, "stray", world.namespace) is None, "the stray Manifest gone")
    world.access("fleet-0001", name="second")
    assert "both have the label" in world.wait_state("Error")["lastOperation"]["operation"]
    world.kcp.delete("secrets", "second", world.namespace)
    world.wait_state("Ready")
    # Another Kyma with the same cluster.
    world.access("fleet-0002")
    world.kyma("fleet-0002", modules=[])
    assert f"belongs to Kyma {world.namespace}/fleet-0001" in world.wait_state("Error", "fleet-0002")["lastOperation"]["operation"]
    assert world.status()["state"] == "Ready"
    for kind in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"):
        assert world.skr.items(f"admissionregistration.k8s.io/v1/{kind}") == []
    assert world.skr.items("secrets", SYSTEM) == []

    def kept():
        return [thing["metadata"]["uid"] for thing in (*world.skr.items(DEFINITIONS), *world.skr.items(KYMAS, SYSTEM), *world.skr.items("configmaps", SYSTEM))]

    # Its deletion leaves the cluster alone, also if the program has not seen yet whose cluster it is.
    before = kept()
    world.delete("fleet-0002")
    assert kept() == before and len(before) >= 5
    world.kyma("fleet-0002", modules=[])
    world.wait_state("Error", "fleet-0002")
    world.kill(program)
    world.kcp.delete(KYMAS, "fleet-0002", world.namespace)
    world.start()
    wait_until(lambda: world.kcp.find(KYMAS, "fleet-0002", world.namespace) is None, "fleet-0002 gone")
    assert kept() == before
    world.kcp.delete("secrets", "fleet-0002", world.namespace)
    assert world.wait_state("Ready")


def test_a_kyma_that_was_led_to_the_cluster_of_another_removes_nothing_there(world):
    """Its modules stay in the cluster in which they are, until its Secret leads there again."""
    world.start()
    world.publish("fine", [config_map("fine")])
    world.access("fleet-0001")
    world.kyma(modules=["fine"])
    world.wait_state("Ready")
    # As if the second Kyma had had its modules elsewhere.
    world.access("fleet-0002")
    world.kyma("fleet-0002", modules=[])
    world.wait_state("Error", "fleet-0002")
    other = world.manifest("fine")
    other["metadata"] = {"name": "other", "namespace": world.namespace, "finalizers": ["declarative.kyma-project.io/finalizer"],
                         "labels": {**other["metadata"]["labels"], f"{GROUP}/kyma-name": "fleet-0002"}}
    precious = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "precious", "namespace": SYSTEM}, "spec": {"limits": []}}
    other["spec"]["resource"] = precious
    other.pop("status")
    world.kcp.create(other)
    world.skr.apply(precious)
    mark, own = world.cluster.audit.mark(), world.control_plane.audit.mark()
    world.kcp.delete(KYMAS, "fleet-0002", world.namespace)
    wait_until(lambda: world.kcp.get(MANIFESTS, "other", world.namespace)["metadata"].get("deletionTimestamp"), "the Manifest being deleted")
    wait_until(lambda: world.control_plane.audit.count(own, resource="leases") >= 3, "renewals")
    assert [r for r in world.requests(mark) if r.startswith("delete")] == []
    assert "belongs to Kyma" in world.status("fleet-0002")["lastOperation"]["operation"]
    # Without a Secret it goes, and leaves its objects.
    world.kcp.delete("secrets", "fleet-0002", world.namespace)
    wait_until(lambda: world.kcp.find(KYMAS, "fleet-0002", world.namespace) is None, "fleet-0002 gone")
    assert world.skr.find("limitranges", "precious", SYSTEM) and world.skr.find(KYMAS, "default", SYSTEM)
    world.skr.delete("limitranges", "precious", SYSTEM)


def test_untrusted_kubeconfigs_are_refused(world):
    """No exec plugins, no files, no proxies; the message says so, and nothing of the Secret is shown."""
    program = world.start()
    text = world.kubeconfig_text()
    made = world.control_plane.directory / f"made-by-plugin-{world.namespace}"
    bad = {"exec": ("users", "user", {"exec": {"command": "touch", "apiVersion": "client.authentication.k8s.io/v1", "args": [str(made)]}}),
           "tokenFile": ("users", "user", {"tokenFile": "/etc/passwd"}),
           "client-certificate": ("users", "user", {"client-certificate": "/etc/passwd", "client-certificate-data": None}),
           "client-key": ("users", "user", {"client-key": "/etc/passwd", "client-key-data": None}),
           "certificate-authority": ("clusters", "cluster", {"certificate-authority": "/etc/passwd", "certificate-authority-data": None}),
           "proxy-url": ("clusters", "cluster", {"proxy-url": "http://127.0.0.1:1"})}
    world.kyma(modules=[])
    for word, (section, entry, values) in bad.items():
        document = json.loads(text)
        place = document[section][0][entry]
        place.update({key: value for key, value in values.items() if value is not None})
        for key in (key for key, value in values.items() if value is None):
            place.pop(key, None)
        world.access("fleet-0001", json.dumps(document))
        wait_until(lambda: word in world.status().get("lastOperation", {}).get("operation", ""), f"{word} refused")
    world.access("fleet-0001", "{}")
    wait_until(lambda: "access Secret" in world.status()["lastOperation"]["operation"], "refused")
    assert "passwd" not in program.output() and "PRIVATE" not in program.output() and not made.exists()
    world.access("fleet-0001", text)
    world.wait_state("Ready")


def test_clusters_that_hang_or_are_gone_delay_nobody(world):
    """C4, C7, K7: a silent cluster next to a working one; deletion without the cluster, its Secret or its definition."""
    program = world.start()
    with silent_server() as server:
        for number in range(2, 8):
            world.access(f"fleet-000{number}", world.kubeconfig_text(server=server))
            world.kyma(f"fleet-000{number}", modules=[])
        world.ready()
        assert "Error" in world.wait_state("Error", "fleet-0002")["state"]
        # The cluster is gone, and so is its Secret: the Kyma goes.
        world.kcp.delete(KYMAS, "fleet-0002", world.namespace)
        waiting = wait_until(lambda: (s := world.status("fleet-0002"))["state"] == "Deleting" and s, "Deleting")
        assert server.removeprefix("https://") in waiting["lastOperation"]["operation"], waiting
        world.kcp.delete("secrets", "fleet-0002", world.namespace)
        wait_until(lambda: world.kcp.find(KYMAS, "fleet-0002", world.namespace) is None, "gone without its cluster")
        for number in range(3, 8):
            world.kcp.delete("secrets", f"fleet-000{number}", world.namespace)
            world.delete(f"fleet-000{number}")
    # The definition of the module's resources is gone before the module is disabled.
    world.skr.delete(HARBOURS, "harbour", SYSTEM)
    world.skr.delete(DEFINITIONS, f"harbours.{GROUP}")
    world.enable([])
    wait_until(lambda: world.manifest() is None, "the Manifest gone")
    world.wait_state("Ready")
    assert world.objects() == [] and "Sanitizer" not in program.output()


@pytest.mark.parametrize("is_hanging", [True, False], ids=["hangs", "refuses-connections"])
def test_a_kyma_with_modules_goes_without_its_cluster(world, is_hanging):
    """C7, K7: the cluster fails while it is connected and has a module. Nothing is dropped until the Secret is deleted."""
    away = threading.Event()

    with FaultProxy(world.cluster, lambda request: Action(forward=False, hang=True) if away.is_set() else PASS) as proxy:
        world.access_through(proxy)
        program = world.start()
        world.catalog()
        world.kyma()
        world.roll_out()
        world.wait_state("Ready")
        before = world.objects()
        away.set()
        if not is_hanging:
            proxy.close()
        world.kcp.delete(KYMAS, "fleet-0001", world.namespace)
        # A server that hangs is noticed after most of a minute, so the test does not wait for that message.
        text = "waiting for modules to be deleted" if is_hanging else proxy.netloc
        wait_until(lambda: (s := world.status())["state"] == "Deleting" and text in s["lastOperation"]["operation"], text)
        wait_until(lambda: world.manifest()["status"]["state"] == "Deleting", "the Manifest Deleting")
        assert world.manifest()["metadata"]["finalizers"] and world.manifest()["status"]["lastOperation"]["operation"]
        world.kcp.delete("secrets", "fleet-0001", world.namespace)
        wait_until(lambda: world.kcp.find(KYMAS, "fleet-0001", world.namespace) is None, "gone without its cluster")
        assert world.kcp.items(MANIFESTS, world.namespace) == []
        # What could not be reached is still there.
        assert world.objects() == before and len(before) == 7 and world.skr.find(HARBOURS, "harbour", SYSTEM)
        program.stop()


def test_a_module_goes_although_its_definition_is_not_there_any_more(world):
    """C7: the program has read that the cluster has the kind, and cannot apply its definition again."""
    broken = threading.Event()

    def plan(request):
        if broken.is_set() and request.method == "PATCH" and f"harbours.{GROUP}" in request.path:
            return Action(forward=False, answer=status(403, "Forbidden"))
        return PASS

    with FaultProxy(world.cluster, plan) as proxy:
        world.access_through(proxy)
        program = world.start()
        world.catalog()
        world.kyma()
        world.roll_out()
        world.wait_state("Ready")
        world.enable([])
        wait_until(lambda: world.manifest() is None, "the Manifest gone")
        assert world.skr.find(DEFINITIONS, f"harbours.{GROUP}") is None
        broken.set()
        world.enable(["harbour"])
        assert f"harbours.{GROUP}" in world.wait_state("Error")["modules"][0]["message"]
        world.enable([])
        wait_until(lambda: world.manifest() is None, "the Manifest gone although nothing was applied")
        world.wait_state("Ready")
        assert world.objects() == []
        program.stop()


def test_a_deletion_needs_neither_the_registry_nor_luck(world):
    """C6, C9: one pull for a version; the registry is away and Secrets cannot be read while a Kyma is deleted: nothing is dropped."""
    broken = threading.Event()

    def plan(request):
        if broken.is_set() and "/secrets" in request.path:
            return Action(forward=False, answer=status(500, "InternalError"))
        return PASS

    with FaultProxy(world.control_plane, plan) as proxy:
        path = world.control_plane.directory / f"orphans-{world.namespace}.json"
        path.write_text(json.dumps(token_kubeconfig(world.control_plane, world.namespace, proxy)))
        mark = world.registry.mark()
        program = world.start(kubeconfig_path=path)
        world.ready()
        pulls = [p for m, p, s in world.registry.requests(mark) if m == "GET" and "harbour" in p]
        assert len(pulls) == 4 == len(set(pulls)), pulls  # manifest, its config, descriptor, layer
        program.expected = False
        world.kill(program)
        broken.set()
        world.registry.process.signal(19)
        try:
            program = world.start(kubeconfig_path=path, is_waiting=False)
            world.kcp.delete(KYMAS, "fleet-0001", world.namespace)
            wait_until(lambda: "watch failed" in program.output(), "the failed list")
            assert world.manifest()["metadata"]["finalizers"] and len(world.objects()) == 7
            broken.clear()
            wait_until(lambda: world.kcp.find(KYMAS, "fleet-0001", world.namespace) is None, "deleted")
            assert world.objects() == []
        finally:
            world.registry.process.signal(18)
        program.expected = False
        program.stop()


def connections(program):
    """Descriptors of sockets: those of the control plane, the cluster and the registry."""
    links = []
    for entry in pathlib.Path(f"/proc/{program.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(entry))
    return {link for link in links if link.startswith("socket:")}


def test_a_terminating_namespace_costs_a_handful_of_requests(world):
    """C1: no storm of requests, log lines or passes, no new connections, and other clusters are fine."""
    port = ports.free_port()
    program = world.start(f"--metrics-address=127.0.0.1:{port}")
    world.ready()
    wait_until(lambda: any(r.startswith("watch configmaps") for r in world.requests(0)), "watches")
    world.skr.delete("namespaces", SYSTEM)
    try:
        mark, lines = world.cluster.audit.mark(), len(program.output().splitlines())
        world.skr.delete("configmaps", "harbour-settings", SYSTEM)
        world.skr.delete("services", "harbour-webhook", SYSTEM)
        message = world.wait_state("Error")["modules"][0]["message"]
        assert "being terminated" in message and "ConfigMap" in message, message
        own, open_before, passes = world.control_plane.audit.mark(), connections(program), metric(port, "workqueue_adds_total")
        wait_until(lambda: world.control_plane.audit.count(own, resource="leases", user=program.user) >= 5, "renewals")
        assert len(world.requests(mark)) <= 10, world.requests(mark)
        assert len(program.output().splitlines()) - lines <= 20
        assert connections(program) <= open_before, "a new connection"
        assert metric(port, "workqueue_adds_total") - passes <= 50, "the cluster is looked at without end"
    finally:
        world.close_namespace()
