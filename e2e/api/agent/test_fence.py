# SPDX-License-Identifier: Apache-2.0
"""Two API servers and both programs. The managed cluster and its agent are behind a firewall that lets only outgoing connections pass."""

import datetime
import socket
import urllib.parse

import pytest
import yaml

from agent_harness import AgentWorld, value
from bench import crds
from bench.apiserver import ApiServer
from bench.fence import Fence
from bench.kube import TARGETS, Client
from bench.waiting import wait_until
from registrations_harness import DEFINITIONS, ENVIRONMENTS, INSTALLATION_DEFINITION, REGISTRATIONS, RegistrationsWorld, registration

NAMESPACE, PAIR = "fenced", "mock-fenced"
LOST_AFTER, LOST_AT_MOST = 40, 60  # seconds; 45 if the program gets its share of the processor


@pytest.fixture
def fence():
    made = Fence()
    yield made
    made.close()


@pytest.fixture
def landscaper(fence):
    server = ApiServer(location=fence.outside())
    crds.install(server.kube, crds.load(DEFINITIONS) + [INSTALLATION_DEFINITION])
    server.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield server
    server.close()


@pytest.fixture
def managed(fence):
    with fence.entered():
        server = ApiServer(location=fence.inside(), with_crds=False)
    yield server
    server.close()


@pytest.fixture
def manager(landscaper):
    made = RegistrationsWorld(landscaper, NAMESPACE)
    yield made
    made.close()


@pytest.fixture
def world(fence, landscaper, managed, manager):
    """Everything that it does happens behind the firewall. It is closed first, because the manager removes what is left."""
    with fence.entered():
        made = AgentWorld(landscaper, managed, NAMESPACE)
    yield made
    with fence.entered():
        made.close()


def connects(server):
    address = urllib.parse.urlsplit(server)
    with socket.create_connection((address.hostname, address.port), timeout=30):
        return True


def seconds_of(text):
    """A time of an object, with or without fractions."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def published_client(world):
    """What somebody can do with the kubeconfig that the agent published in Landscaper's cluster."""
    config = yaml.safe_load(value(world.target_secret(), "kubeconfig"))
    return Client(config["clusters"][0]["cluster"]["server"], world.managed.authority.certificate, token=config["users"][0]["user"]["token"])


def check_firewall(fence, world):
    """The same address and the same kubeconfig work inside and are refused outside."""
    for attempt in (lambda: connects(world.managed.server), lambda: published_client(world).items("serviceaccounts", NAMESPACE)):
        with fence.entered():
            assert attempt()
        with pytest.raises(ConnectionRefusedError):
            attempt()
    with fence.entered():
        assert connects(world.landscaper.server)


def sources_of(server, **filters):
    return {address for entry in server.audit.entries(0, **filters) for address in entry["sourceIPs"]}


def check_lost(manager, world):
    """The agent is killed: the Environment says so, at a time that fits the last heartbeat, and nothing else changes."""
    before = manager.condition(ENVIRONMENTS, NAMESPACE, "DeployersReady")
    agent, = world.agents
    agent.expected = False
    agent.kill()
    last = seconds_of(world.lease()["spec"]["renewTime"])
    # Meanwhile registrations goes on: the deployer is upgraded.
    manager.kube.patch(*mock_with_version("v2.0.0"))
    manager.finish(PAIR, job="upgraded")
    lost = manager.wait_condition(ENVIRONMENTS, NAMESPACE, "AgentReady", "Unknown", "HeartbeatLost")
    assert f"{NAMESPACE}/{NAMESPACE}" in lost["message"]
    # Both times are those of the objects; conditions have whole seconds.
    assert LOST_AFTER - 1 <= seconds_of(lost["lastTransitionTime"]) - last <= LOST_AT_MOST
    assert seconds_of(world.lease()["spec"]["renewTime"]) == last
    assert manager.condition(ENVIRONMENTS, NAMESPACE, "DeployersReady")["status"] == before["status"] == "True"
    assert [e["reason"] for e in manager.events(NAMESPACE)].count("HeartbeatLost") == 1


def mock_with_version(version):
    return REGISTRATIONS, "mock", {"spec": {"installationTemplate": {"componentDescriptor": {"ref": {"version": version}}}}}


def test_a_cluster_that_cannot_be_reached_becomes_an_environment(fence, landscaper, managed, manager, world):
    manager.start()
    manager.create(registration("mock"))
    with fence.entered():
        world.start()
    manager.finish(PAIR)
    manager.wait_condition(ENVIRONMENTS, NAMESPACE, "AgentReady", "True", "HeartbeatReceived")
    manager.wait_condition(ENVIRONMENTS, NAMESPACE, "DeployersReady", "True")
    target = manager.kube.get(TARGETS, NAMESPACE, NAMESPACE)
    assert target["spec"]["secretRef"]["name"] == f"{NAMESPACE}-target-access"
    check_firewall(fence, world)
    check_lost(manager, world)

    # The agent comes back, and finds everything as it left it.
    with fence.entered():
        marks = world.marks()
        world.start()
        assert world.writes(marks) == []
    manager.wait_condition(ENVIRONMENTS, NAMESPACE, "AgentReady", "True", "HeartbeatReceived")

    # It leaves: first the deployer goes, then the environment, then its own objects.
    with fence.entered():
        leaving = world.start("--leave", waits=False)
    leaving.expected = False
    manager.uninstall(PAIR)
    wait_until(lambda: not leaving.running, "--leave to end")
    assert leaving.exit_code == 0, leaving.output()
    assert world.left_there() == [] and not manager.installation(PAIR) and manager.bindings() == []
    with fence.entered():
        assert not world.host_objects()

    # Nobody outside ever spoke to the managed cluster, and the agent spoke to Landscaper's from inside.
    assert sources_of(managed) <= {fence.address, "::1", "127.0.0.1"}
    assert sources_of(landscaper, user=world.account) == {fence.address}
