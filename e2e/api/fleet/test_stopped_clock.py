# SPDX-License-Identifier: Apache-2.0
"""How soon changes are handled, without measuring time: the clocks of all programs stand still, so that nothing is done by a timer. What happens nevertheless
follows from the change alone, however long the machine takes for it."""

import contextlib

import pytest

from bench.fleet_modules import API, GROUP, SYSTEM, objects
from bench.fleet_world import NAMESPACE, FleetWorld, kyma_name
from bench.simulated_time import SimulatedTime
from bench.waiting import wait_until

# After this time the objects of modules are watched, and all details are written.
SETTLED = 60
TIMEOUT = 120
LABEL = f"{GROUP}/managed-by"
KYMAS, MANIFESTS = f"{API}/kymas", f"{API}/manifests"
FAILED = {"conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]}


def first_few(module, version):
    """The first version has a ConfigMap and the manager, the next one has many kinds."""
    return [o for o in objects(module, version) if version != "1.0.0" or o["metadata"]["name"] == f"{module}-version" or o["kind"] == "Deployment"]


@contextlib.contextmanager
def stopped(*flags, state="Ready", **options):
    """Two clusters with a module each, in this state."""
    clock = SimulatedTime()
    made = FleetWorld(2, 1, *flags, variables=clock.environment, **options)
    try:
        made.prepare()
        program = made.start()
        made.view.wait(lambda: made.view.states[state] >= 2, f"two Kymas {state}", program, TIMEOUT)
        made.view.close()
        clock.pass_until(SETTLED, TIMEOUT)
        clock.stop()
        made.fleet.command("reset", 0)
        yield made
        program.must_run()
        # The Lease is renewed by a timer, so the clocks did stand still.
        assert made.fleet.requests(0, resource="leases.coordination.k8s.io") == 0
    finally:
        made.close()


@pytest.fixture
def world():
    with stopped() as made:
        yield made


def state(world, cluster):
    return world.kcp.get(KYMAS, kyma_name(cluster), NAMESPACE)["status"]["state"]


def eventually(condition, what):
    wait_until(condition, what, timeout=TIMEOUT)


def test_changes_are_handled_without_any_timer(world):
    module, = world.modules
    first, second = world.fleet.client(1), world.fleet.client(2)
    # An object of a module is deleted and changed.
    first.delete("configmaps", f"{module}-settings-0", SYSTEM)
    first.patch("services", module, {"spec": {"selector": {"app": "theirs"}}}, SYSTEM)
    eventually(lambda: first.find("configmaps", f"{module}-settings-0", SYSTEM), "the ConfigMap is back")
    eventually(lambda: first.get("services", module, SYSTEM)["spec"]["selector"] == {"app": module}, "the selector is back")
    # The manager of a module fails: both Kymas show it.
    second.patch("apps/v1/deployments", module, {"status": FAILED}, SYSTEM, "status")
    eventually(lambda: state(world, 2) == "Error", "Error in the control plane")
    eventually(lambda: second.get(KYMAS, "default", SYSTEM)["status"]["state"] == "Error", "Error in the cluster")
    # The user removes a module.
    first.patch(KYMAS, "default", {"spec": {"modules": []}}, SYSTEM)
    eventually(lambda: not first.find("configmaps", f"{module}-version", SYSTEM), "the objects are gone")
    eventually(lambda: not world.kcp.get(KYMAS, kyma_name(1), NAMESPACE)["status"].get("modules"), "the module is gone from the status")
    # The user adds it again, and the catalog gets a new version.
    first.patch(KYMAS, "default", {"spec": {"modules": [{"name": module, "managed": True}]}}, SYSTEM)
    eventually(lambda: first.find("configmaps", f"{module}-version", SYSTEM), "the objects are there")
    world.publish(module, "2.0.0")
    for client in (first, second):
        eventually(lambda: client.get("configmaps", f"{module}-version", SYSTEM)["data"] == {"version": "2.0.0"}, "the new version")
    # New credentials.
    world.fleet.command("token", 1)
    world.fleet.command("reset", 1)
    world.kcp.apply(world.secret(1, world.fleet.kubeconfig(1)))
    eventually(lambda: world.fleet.get("counters", 1)["handshakes"], "a connection with the new token")


def is_applied(manifest, version, state):
    marked = manifest["metadata"]["annotations"].get("sync-oci-ref")
    return manifest["spec"]["version"] == version and marked == manifest["spec"]["install"]["source"]["ref"] and manifest["status"]["state"] == state


@pytest.mark.parametrize("flags, state", [((), "Ready"), (("--no-controllers",), "Processing")], ids=["ready", "not-ready"])
def test_objects_are_watched_from_the_moment_they_are_applied(flags, state):
    """Of kinds that no module of the cluster had before. Without controllers the manager of the module never becomes available."""
    with stopped(*flags, state=state, content=first_few) as world:
        module, = world.modules
        client = world.fleet.client(1)
        world.publish(module, "2.0.0")
        eventually(lambda: all(is_applied(m, "2.0.0", state) for m in world.kcp.items(MANIFESTS, NAMESPACE)), f"the new version is {state}")
        client.delete("serviceaccounts", module, SYSTEM)
        client.patch("services", module, {"spec": {"selector": {"app": "theirs"}}}, SYSTEM)
        client.patch("rbac.authorization.k8s.io/v1/clusterroles", module, {"metadata": {"labels": {LABEL: None}}})
        eventually(lambda: client.find("serviceaccounts", module, SYSTEM), "the ServiceAccount is back")
        eventually(lambda: client.get("services", module, SYSTEM)["spec"]["selector"] == {"app": module}, "the selector is back")
        eventually(lambda: LABEL in client.get("rbac.authorization.k8s.io/v1/clusterroles", module)["metadata"]["labels"], "the label is back")
