# SPDX-License-Identifier: Apache-2.0
"""The lifecycle manager sends the same requests to a simulated cluster and to a real API server, gets the same responses, and leaves the same objects."""

import collections
import json
import pathlib
import re
import urllib.parse

import pytest

from bench.apiserver import ApiServer
from bench.fleet_modules import SYSTEM
from bench.fleet_world import NAMESPACE, FleetWorld, kyma_name
from bench.kyma_view import KYMAS
from bench.modules import load
from bench.waiting import wait_until

comparison = load("fleet_comparison", pathlib.Path(__file__).with_name("test_comparison.py"))

SIMULATED, REAL = 1, 2  # the Kyma REAL has the kubeconfig of the real server instead of that of cluster 2
MODULE = "anchor"
USER = "fleet-manager"
DEPLOYMENTS = "apps/v1/deployments"
DEFINITIONS = "apiextensions.k8s.io/v1/customresourcedefinitions"
AVAILABLE = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "updatedReplicas": 1, "conditions": [
    {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
    {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]}
# Kinds without defaults that only a real server fills in.
COMPARED = (("configmaps", f"{MODULE}-version"), ("configmaps", f"{MODULE}-settings-1"), ("rbac.authorization.k8s.io/v1/roles", MODULE), (KYMAS, "default"))
TIMEOUT = 300
# Watches end whenever the server likes, and whether a watch continues or begins with a list depends on what happened before.
READS = ("get", "list", "watch")


class Servers:
    """A world in which one of two managed clusters is real, and what both have been asked for since the last step."""

    def __init__(self, world, server):
        self.world, self.server = world, server
        self.kubes = {SIMULATED: world.fleet.client(SIMULATED), REAL: server.kube}

    def begin(self):
        self.world.fleet.command("log", SIMULATED)
        self.mark = self.server.audit.mark()

    def simulated(self):
        """(verb, resource, name, code) of each request."""
        for row in self.world.fleet.log(SIMULATED):
            if not row["agent"].startswith("longshore") or not row["resource"]:
                continue
            path = urllib.parse.urlsplit(row["target"]).path
            parts = re.sub(r"^/(api/v1|apis/[^/]+/[^/]+)/", "", path).split("/")
            if parts[0] == "namespaces" and len(parts) > 2:
                parts = parts[2:]
            yield row["verb"], "/".join([parts[0], *parts[2:3]]), parts[1] if len(parts) > 1 else "", row["code"]

    def real(self):
        for entry in self.server.audit.entries(self.mark, user=USER):
            reference = entry.get("objectRef", {})
            if reference:
                yield entry["verb"], comparison_resource(reference), name_of(entry), entry["responseStatus"]["code"]

    def sent(self):
        """To each server: how often each write was sent, and which kinds were read. Without statuses: they are written as often as
        the state is seen to change, and the controllers of the two are not equally fast."""
        for requests in ([r for r in found if not r[1].endswith("/status")] for found in (self.simulated(), self.real())):
            yield (collections.Counter(request for request in requests if request[0] not in READS),
                   collections.Counter({request[:2] for request in requests if request[0] in READS}))

    def check(self, step):
        """Both have got the same requests, once all have arrived."""
        def is_same():
            simulated, real = self.sent()
            # A real server on a busy machine may time out; then the request is repeated, and its codes are others.
            if any(code >= 500 for *_, code in real[0]):
                return {request[:3] for request in simulated[0]} == {request[:3] for request in real[0]} and simulated[1] == real[1]
            return simulated == real
        try:
            wait_until(is_same, f"the same requests to both ({step})", timeout=TIMEOUT, interval=0.5)
        except TimeoutError as error:
            raise AssertionError(f"{error}: {[differences(*both) for both in zip(*self.sent())]}") from None
        assert any(next(self.sent())), f"{step}: no request at all"

    def make_available(self):
        """What the controllers of a cluster do."""
        for kube in self.kubes.values():
            wait_until(lambda: kube.find(DEPLOYMENTS, MODULE, SYSTEM), "the Deployment is there", timeout=TIMEOUT)
            generation = kube.get(DEPLOYMENTS, MODULE, SYSTEM)["metadata"]["generation"]
            kube.patch(DEPLOYMENTS, MODULE, {"status": {**AVAILABLE, "observedGeneration": generation}}, SYSTEM, "status")


def comparison_resource(reference):
    return "/".join([reference["resource"], *([reference["subresource"]] if "subresource" in reference else [])])


def name_of(entry):
    """As in the path of the request: who creates an object names it in the body, who watches one in the field selector."""
    return "" if entry["verb"] in ("create", "list", "watch") else entry["objectRef"].get("name", "")


def differences(simulated, real):
    return {"only simulated": sorted((simulated - real).elements()), "only real": sorted((real - simulated).elements())}


@pytest.fixture
def servers():
    server = ApiServer(with_crds=False)
    world = FleetWorld(2, 1, "--no-controllers")
    world.kubeconfigs = lambda clusters=None, simulated=world.kubeconfigs: {
        **simulated(clusters), REAL: pathlib.Path(server.user_kubeconfig(USER, groups=["system:masters"])).read_text()}
    yield Servers(world, server)
    world.close()
    server.close()


def test_requests_responses_and_objects_are_the_same(servers):
    world = servers.world
    servers.begin()
    world.prepare()
    program = world.start()
    servers.make_available()
    world.wait_ready(program, timeout=TIMEOUT)
    servers.check("installation")

    servers.begin()
    world.publish(MODULE, "2.0.0")
    wait_until(lambda: all(kube.get("configmaps", f"{MODULE}-version", SYSTEM)["data"]["version"] == "2.0.0" for kube in servers.kubes.values()),
               "version 2.0.0", timeout=TIMEOUT)
    servers.make_available()
    world.wait_version(program, MODULE, "2.0.0", timeout=TIMEOUT)
    servers.check("new version")

    # Drift: a deleted object is made again, a changed one is set right.
    servers.begin()
    for kube in servers.kubes.values():
        kube.delete("configmaps", f"{MODULE}-settings-0", SYSTEM)
        kube.patch("configmaps", f"{MODULE}-settings-1", {"data": {"key-0": "changed"}}, SYSTEM)
    wait_until(lambda: all(kube.find("configmaps", f"{MODULE}-settings-0", SYSTEM) and
                           kube.get("configmaps", f"{MODULE}-settings-1", SYSTEM)["data"]["key-0"] != "changed" for kube in servers.kubes.values()),
               "the objects are as they were", timeout=TIMEOUT)
    servers.check("drift")

    # Both forget their history: every watch is answered with 410, lists again and goes on.
    servers.begin()
    world.fleet.command("expire", SIMULATED)
    servers.server.expire_watches()
    wait_until(lambda: all(("list", "deployments", "", 200) in requests and ("watch", "deployments", "", 200) in requests
                           for requests in (list(servers.simulated()), list(servers.real()))), "both are watched again", timeout=TIMEOUT)
    for kube in servers.kubes.values():
        kube.delete("configmaps", f"{MODULE}-settings-2", SYSTEM)
    wait_until(lambda: all(kube.find("configmaps", f"{MODULE}-settings-2", SYSTEM) for kube in servers.kubes.values()), "the object is back", timeout=TIMEOUT)

    for resource, name in COMPARED:
        simulated, real = (comparison.normal(servers.kubes[server].get(resource, name, SYSTEM)) for server in (SIMULATED, REAL))
        text = json.dumps(real).replace(kyma_name(REAL), kyma_name(SIMULATED))
        assert not list(comparison.differ(name, json.loads(text), simulated)), "\n".join(comparison.differ(name, json.loads(text), simulated))

    # Everything goes with the Kyma.
    servers.begin()
    for cluster in (SIMULATED, REAL):
        world.kcp.delete(KYMAS, kyma_name(cluster), NAMESPACE)
    wait_until(lambda: not world.kcp.items(KYMAS, NAMESPACE), "the Kymas are gone", timeout=TIMEOUT)
    servers.check("deletion")
