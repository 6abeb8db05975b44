# SPDX-License-Identifier: Apache-2.0
"""The life of modules in a managed cluster beyond the scenarios."""

import re
import threading

from bench.audit import resource_of
from bench.waiting import wait_until
from faults.proxy import Action, FaultProxy, PASS
from lifecycle_harness import (AVAILABLE, DEPLOYMENTS, GROUP, HARBOURS, KYMAS, LABEL, MANAGER, MANIFESTS, RELEASES, SYSTEM, TEMPLATES)


def test_an_installation_is_processing_and_then_ready_with_few_requests(world):
    """C10, and the limits on requests: every state of one installation, at most 30 requests to the cluster, silence afterwards."""
    states, stop = [], threading.Event()

    def record():
        for _, thing in world.control_plane.kube.watch(KYMAS, world.namespace, timeout=120):
            states.append(thing.get("status", {}).get("state"))
            if stop.is_set():
                return

    world.start()
    recorder = threading.Thread(target=record, daemon=True)
    recorder.start()
    mark = world.cluster.audit.mark()
    world.ready()
    wait_until(lambda: world.skr.get(KYMAS, "default", SYSTEM).get("status", {}).get("state") == "Ready", "Ready in the cluster")
    until_ready = world.requests(mark)
    stop.set()
    assert len(until_ready) <= 30, "\n".join(until_ready)
    world.kcp.patch(KYMAS, "fleet-0001", {"metadata": {"annotations": {"a": "b"}}}, world.namespace)
    recorder.join(60)
    seen = [s for n, s in enumerate(states) if s and (n == 0 or states[n - 1] != s)]
    assert seen == ["Processing", "Ready"], states


def watched(world, *kinds):
    """Waits until the program watches these kinds in the managed cluster, besides what every cluster has."""
    def is_watching():
        seen = {r.split()[1] for r in world.requests(0) if r.startswith("watch ")}
        return set(kinds or ("configmaps", "services", "clusterroles", "serviceaccounts", "harbours")) <= seen
    wait_until(is_watching, "watches")


def versions(world):
    found = {}
    for kube, kinds, namespace in ((world.kcp, (KYMAS, MANIFESTS, TEMPLATES, RELEASES), world.namespace),
                                   (world.skr, (KYMAS, TEMPLATES, RELEASES, "configmaps", DEPLOYMENTS, HARBOURS), SYSTEM)):
        for kind in kinds:
            found.update({t["metadata"]["uid"]: (t["metadata"]["resourceVersion"], kind, t["metadata"]["name"]) for t in kube.items(kind, namespace)})
    return found


def wait_for_renewal(world, program):
    """Some seconds, after which the last status and the last Event have been written."""
    own = world.control_plane.audit.mark()
    wait_until(lambda: world.control_plane.audit.count(own, resource="leases", user=program.user) >= 2, "renewals")


def test_drift_is_corrected_and_silence_is_kept(world):
    """C5, C15: what others change comes back, what the module leaves to others stays, and an idle cluster causes no requests."""
    start = world.cluster.audit.mark()
    program = world.start()
    world.ready()
    watched(world)
    mark = world.cluster.audit.mark()
    world.skr.delete("configmaps", "harbour-settings", SYSTEM)
    world.skr.patch("services", "harbour-webhook", {"spec": {"selector": {"app": "theirs"}}}, SYSTEM)
    world.skr.patch("serviceaccounts", MANAGER, {"metadata": {"labels": {LABEL: None}}}, SYSTEM)
    world.skr.patch(DEPLOYMENTS, MANAGER, {"metadata": {"annotations": {"theirs": "stays"}}, "spec": {"minReadySeconds": 7}}, SYSTEM)
    wait_until(lambda: world.skr.find("configmaps", "harbour-settings", SYSTEM), "the ConfigMap")
    wait_until(lambda: world.skr.get("services", "harbour-webhook", SYSTEM)["spec"]["selector"]["app"] == MANAGER, "the selector")
    wait_until(lambda: world.skr.get("serviceaccounts", MANAGER, SYSTEM)["metadata"]["labels"].get(LABEL) == "kyma", "the label")
    world.roll_out()
    world.wait_state("Ready")
    applied = [r for r in world.requests(mark) if r.startswith("patch ") and "kymas" not in r]
    assert sorted({r.split()[1] for r in applied}) == ["configmaps", "serviceaccounts", "services"], applied
    manager = world.skr.get(DEPLOYMENTS, MANAGER, SYSTEM)
    assert manager["spec"]["minReadySeconds"] == 7 and manager["metadata"]["annotations"]["theirs"] == "stays"
    # Silence: nothing but the Lease. The last Event may still be under way before.
    wait_for_renewal(world, program)
    before, output = versions(world), len(program.output())
    mark, own = world.cluster.audit.mark(), world.control_plane.audit.mark()
    wait_until(lambda: world.control_plane.audit.count(own, resource="leases", user=program.user) >= 3, "three renewals")
    assert world.requests(mark) == []
    assert [e["verb"] for e in world.control_plane.audit.entries(own, user=program.user) if e["objectRef"]["resource"] != "leases"] == []
    assert versions(world) == before and len(program.output()) == output
    # Nothing but renewed watches comes later: less than two in five minutes.
    lives = {resource_of(e): int(re.search(r"timeoutSeconds=(\d+)", e["requestURI"]).group(1))
             for e in world.cluster.audit.entries(start, verb="watch", user=world.user)}
    assert len(lives) >= 8 and sum(300 / life for life in lives.values()) < 2, lives


def test_a_restart_changes_nothing_and_finds_what_happened_meanwhile(world):
    first = world.start()
    world.ready()
    watched(world)
    wait_for_renewal(world, first)
    before = versions(world)
    first.stop()
    mark = world.cluster.audit.mark()
    second = world.start()
    wait_until(lambda: "connected" in second.output(), "connected")
    watched(world)
    wait_until(lambda: len([r for r in world.requests(mark) if r.startswith("watch ")]) >= 7, "watches")
    assert versions(world) == before
    second.stop()
    world.skr.delete("configmaps", "harbour-settings", SYSTEM)
    world.skr.patch("rbac.authorization.k8s.io/v1/clusterroles", "harbour-manager", {"rules": []})
    world.start()
    wait_until(lambda: world.skr.find("configmaps", "harbour-settings", SYSTEM), "the ConfigMap")
    wait_until(lambda: world.skr.get("rbac.authorization.k8s.io/v1/clusterroles", "harbour-manager")["rules"], "the rules")


def test_a_restart_does_not_report_what_it_has_not_read_yet(world):
    """C10: the catalog of the cluster is read late. The Kyma stays Ready meanwhile."""
    held = []

    def plan(request):
        is_held = is_restarted.is_set() and request.path.endswith("/moduletemplates") and not held
        return Action(delay=3, before=lambda: held.append(True)) if is_held else PASS

    is_restarted = threading.Event()
    with FaultProxy(world.cluster, plan) as proxy:
        world.access_through(proxy)
        program = world.start()
        world.catalog()
        world.kyma()
        world.roll_out()
        world.wait_state("Ready")
        wait_for_renewal(world, program)
        version = world.kcp.get(KYMAS, "fleet-0001", world.namespace)["metadata"]["resourceVersion"]
        program.stop()
        is_restarted.set()
        program = world.start()
        wait_until(lambda: held, "the catalog is read")
        wait_for_renewal(world, program)
        assert world.kcp.get(KYMAS, "fleet-0001", world.namespace)["metadata"]["resourceVersion"] == version
        program.stop()


def test_a_rotated_secret_is_used_for_the_next_request(world):
    """C2, C3: no error in between, and nothing is left of the old connections."""
    import os
    program = world.start()
    world.ready()
    watched(world)
    states = []
    for number in range(5):
        user = f"{world.user}-rotated-{number}"
        world.access("fleet-0001", world.kubeconfig_text(user))
        wait_until(lambda: world.requests(0, user=user), f"a request of {user}")
        states.append(world.status()["state"])
    world.skr.delete("configmaps", "harbour-settings", SYSTEM)
    wait_until(lambda: world.skr.find("configmaps", "harbour-settings", SYSTEM), "the ConfigMap")
    assert set(states) == {"Ready"}
    assert any(r.startswith("patch configmaps") for r in world.requests(0, user=user))
    assert '"level":"error"' not in program.output()
    wait_until(lambda: len(os.listdir(f"/proc/{program.pid}/fd")) < 60, "old connections closed")


def test_a_module_is_handed_over_hidden_and_left_alone(world):
    """Unmanaged modules, the skip label, beta and internal modules, and a policy that is changed (C14)."""
    program = world.start()
    world.ready()
    world.enable([{"name": "harbour", "managed": True, "customResourcePolicy": "Ignore"}])
    wait_until(lambda: world.manifest()["spec"]["customResourcePolicy"] == "Ignore", "the policy in the Manifest")
    wait_until(lambda: "resource.kyma-project.io/finalizer" not in world.manifest()["metadata"]["finalizers"], "the finalizer gone")
    assert world.skr.find(HARBOURS, "harbour", SYSTEM)
    # Hidden.
    world.skr.delete(HARBOURS, "harbour", SYSTEM)
    for label in ("beta", "internal"):
        world.kcp.patch(TEMPLATES, "harbour-1.0.0", {"metadata": {"labels": {f"{GROUP}/{label}": "true"}}}, world.namespace)
        wait_until(lambda: world.manifest() is None, f"the Manifest of a module that is {label} deleted")
        wait_until(lambda: f"{label} module" in world.wait_state("Error")["modules"][0]["message"], f"the message about {label}")
        wait_until(lambda: world.skr.find(TEMPLATES, "harbour-1.0.0", SYSTEM) is None, "the template gone from the catalog")
        assert world.objects() == []
        world.kcp.patch(KYMAS, "fleet-0001", {"metadata": {"labels": {f"{GROUP}/{label}": "true"}}}, world.namespace)
        world.roll_out()
        world.wait_state("Ready")
        assert world.skr.find(TEMPLATES, "harbour-1.0.0", SYSTEM)
    # Handed over.
    world.enable([{"name": "harbour", "managed": False}])
    wait_until(lambda: world.manifest() is None, "the Manifest of an unmanaged module gone")
    wait_until(lambda: world.status()["modules"][0]["state"] == "Unmanaged", "Unmanaged")
    world.wait_state("Ready")
    assert LABEL not in world.skr.get(DEPLOYMENTS, MANAGER, SYSTEM)["metadata"]["labels"]
    assert world.objects() == []
    # Skipped.
    world.kcp.patch(KYMAS, "fleet-0001", {"metadata": {"labels": {f"{GROUP}/skip-reconciliation": "true"}}}, world.namespace)
    before = world.status()
    world.enable([])
    wait_for_renewal(world, program)
    assert world.status() == before and before["modules"], "the Kyma is not looked at"
    world.kcp.patch(KYMAS, "fleet-0001", {"metadata": {"labels": {f"{GROUP}/skip-reconciliation": None}}}, world.namespace)
    wait_until(lambda: not world.status().get("modules"), "no modules")
    for kind in (DEPLOYMENTS, "services", "serviceaccounts"):
        for thing in world.skr.items(kind, SYSTEM):
            world.skr.delete(kind, thing["metadata"]["name"], SYSTEM)


def test_the_state_of_a_module_is_that_of_its_manager_and_its_resource(world):
    world.start()
    world.ready()
    world.skr.patch(HARBOURS, "harbour", {"status": {"state": "Warning"}}, SYSTEM, "status")
    status = world.wait_state("Warning")
    assert "Harbour kyma-system/harbour" in status["modules"][0]["message"]
    world.skr.patch(HARBOURS, "harbour", {"status": {"state": "Ready"}}, SYSTEM, "status")
    world.wait_state("Ready")
    failed = {**AVAILABLE, "conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]}
    world.roll_out(failed)
    status = world.wait_state("Error")
    assert f"Deployment {SYSTEM}/{MANAGER}" in status["modules"][0]["message"], status
    remote = wait_until(lambda: (s := world.skr.get(KYMAS, "default", SYSTEM)["status"])["state"] == "Error" and s, "Error in the cluster")
    assert remote["modules"][0]["message"] == status["modules"][0]["message"]
    world.roll_out()
    world.wait_state("Ready")


def test_the_state_of_a_module_can_be_that_of_its_manager_or_its_resource_alone(world):
    program = world.start("--module-state=manager")
    world.ready()
    world.skr.patch(HARBOURS, "harbour", {"status": {"state": "Warning"}}, SYSTEM, "status")
    wait_for_renewal(world, program)
    assert world.status()["state"] == "Ready", "the resource decides"
    world.kill(program)
    program = world.start("--module-state=resource")
    world.wait_state("Warning")
    world.roll_out({**AVAILABLE, "conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]})
    wait_for_renewal(world, program)
    assert world.status()["state"] == "Warning", "the manager decides"


def test_a_control_plane_manages_itself(world):
    """In-cluster mode: no Secret, no copy of the Kyma, no catalog. The managed cluster plays the control plane."""
    own = type(world)(world.cluster, world.cluster, world.registry, world.namespace)
    own.skr.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": world.namespace}})
    from bench import crds, paths
    crds.install(own.skr, crds.load(paths.CHECKOUT / "charts" / "lifecycle-manager" / "files" / "crds"))
    try:
        program = own.start("--own-cluster")
        own.catalog()
        own.kyma()
        own.roll_out()
        status = own.wait_state("Ready")
        assert [c["type"] for c in status["conditions"]] == ["Modules"]
        assert own.skr.find(KYMAS, "default", SYSTEM) is None and own.skr.items(TEMPLATES, SYSTEM) == []
        assert len(own.objects()) == 7
        own.delete()
        assert own.objects() == []
        program.stop()
    finally:
        own.close()
