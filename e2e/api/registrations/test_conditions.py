# SPDX-License-Identifier: Apache-2.0
"""What `longshore registrations` reports: heartbeats of agents, acceptance, mistakes, Events and metrics. The test acts as the agent."""

import urllib.request

from bench.kube import TARGETS
from bench.ports import free_port
from bench.waiting import wait_until
from registrations_harness import ENVIRONMENTS, INSTALLATIONS, REGISTRATIONS, environment, registration

ACCEPTED = "longshore.deployers.landscaper.gardener.cloud/accepted"


def metrics(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}


def test_the_heartbeat_of_an_agent(world):
    """O1, O2, O3, O4, N4: the agent is ready, lost or stopped, judged by our own clock; changes are Events; a restart changes nothing.
    The Lease shortens the 40 s after which it is too old; the times in it are wrong on purpose."""
    address = f"127.0.0.1:{free_port()}"
    process = world.start(f"--metrics-address={address}", f"--health-address=127.0.0.1:{free_port()}")
    world.create(environment("beats"))
    world.create(registration("mock"))
    world.wait_condition(ENVIRONMENTS, "beats", "AgentReady", "Unknown", "NoHeartbeat")
    world.kube.patch(ENVIRONMENTS, "beats", {"status": {"agent": {"version": "v9", "leaseName": "beats", "types": []}}}, subresource="status")
    missing = world.wait_condition(ENVIRONMENTS, "beats", "AgentReady", "Unknown", "LeaseMissing")
    assert f"{world.namespace}/beats" in missing["message"] and "landscaperNamespace" in missing["message"]

    world.beat("beats", 1)
    world.beat("beats", 2)
    world.wait_condition(ENVIRONMENTS, "beats", "AgentReady", "True", "HeartbeatReceived")
    wait_until(lambda: metrics(address)["longshore_environments_alive"] == 1, "the metric")
    world.beat("beats", 3, seconds=1)
    lost = world.wait_condition(ENVIRONMENTS, "beats", "AgentReady", "Unknown", "HeartbeatLost")
    assert f"{world.namespace}/beats" in lost["message"]

    # The Event follows the status, and a process that ends does not wait for it.
    wait_until(lambda: "HeartbeatLost" in {e["reason"] for e in world.events("beats")}, "the Event")

    # After a restart nothing is known until the Lease is too old again; what was reported stays.
    assert process.stop() == 0
    mark = world.apiserver.audit.mark()
    process = world.start(f"--metrics-address={address}")
    wait_until(lambda: metrics(address)["longshore_heartbeat_age_seconds_max"] >= 4, "the Lease to be too old")
    assert "statuses compared" in process.output()
    assert [w for w in world.writes(mark, process.user) if "environments" in w] == []
    assert world.condition(ENVIRONMENTS, "beats", "AgentReady") == lost

    world.beat("beats", 4)
    world.wait_condition(ENVIRONMENTS, "beats", "AgentReady", "True", "HeartbeatReceived")
    world.beat("beats", 5, holder="")
    world.wait_condition(ENVIRONMENTS, "beats", "AgentReady", "False", "AgentStopped")
    wait_until(lambda: {"HeartbeatLost", "HeartbeatReceived", "AgentStopped"} <= {e["reason"] for e in world.events("beats")}, "the Events")
    assert len([e for e in world.events("beats") if e["reason"] == "HeartbeatLost"]) == 1
    assert all(e["involvedObject"]["kind"] == "Environment" and e["type"] in ("Normal", "Warning") for e in world.events("beats"))

    world.wait_triggered("mock-beats")
    world.finish("mock-beats")
    world.wait_condition(ENVIRONMENTS, "beats", "DeployersReady", "True")
    found = metrics(address)
    assert found["longshore_environments"] == 1 and found['longshore_registrations_pairs{phase="Ready"}'] == 1
    assert found["longshore_registrations_leader"] == 1 and found["longshore_registrations_failures_total"] == 0


def test_nothing_is_made_before_an_environment_is_accepted(world):
    """S9"""
    world.start("--acceptance=manual")
    world.create(registration("mock"))
    world.create(environment("later"))
    told = world.wait_condition(ENVIRONMENTS, "later", "Accepted", "False", "WaitingForAcceptance")
    assert ACCEPTED in told["message"]
    world.wait_condition(REGISTRATIONS, "mock", "Ready", "False")
    world.quiet()
    assert world.left() == [] and "finalizers" not in world.kube.get(ENVIRONMENTS, "later")["metadata"]
    assert [e["phase"] for e in world.kube.get(REGISTRATIONS, "mock")["status"]["environments"]] == ["WaitingForAcceptance"]
    world.kube.patch(ENVIRONMENTS, "later", {"metadata": {"annotations": {ACCEPTED: "true"}}})
    world.finish("mock-later")
    world.wait_condition(ENVIRONMENTS, "later", "Accepted", "True", "Accepted")
    world.wait_condition(ENVIRONMENTS, "later", "DeployersReady", "True")


def test_mistakes_are_reported_with_the_field_and_delay_nobody(world):
    """V1, V2, V3, R2: an invalid object is reported and not acted on, the others are; a server name is kept."""
    world.start()
    world.create(registration("good"))
    world.create(registration("duplicate", imports={"targets": [{"name": "cluster", "target": "other"}]}))
    config = environment("x")["spec"]["landscaperClusterConfig"]
    world.create(environment("insecure", landscaperClusterConfig={**config, "insecure": True}))
    world.create(environment("named", landscaperClusterConfig={**config, "serverName": "api.example"}))
    told = world.wait_condition(REGISTRATIONS, "duplicate", "Valid", "False", "Invalid")
    assert "spec.installationTemplate.imports.targets[0].name" in told["message"]
    told = world.wait_condition(ENVIRONMENTS, "insecure", "Valid", "False", "Invalid")
    assert "spec.landscaperClusterConfig" in told["message"]
    world.wait_triggered("good-named")
    assert "tls-server-name: api.example" in world.kube.get(TARGETS, "good-named", world.namespace)["spec"]["config"]["kubeconfig"]
    world.quiet()
    assert [i["metadata"]["name"] for i in world.kube.items(INSTALLATIONS, world.namespace)] == ["good-named"]
    wait_until(lambda: [e for e in world.events("duplicate") if e["reason"] == "Invalid"], "the Event")
    # Both can be corrected, and deleted without that.
    world.kube.patch(REGISTRATIONS, "duplicate", {"spec": {"installationTemplate": {"imports": None}}})
    world.wait_triggered("duplicate-named")
    wait_until(lambda: "lastError" not in world.kube.get(REGISTRATIONS, "duplicate")["status"], "lastError to be cleared")
    world.kube.delete(ENVIRONMENTS, "insecure")
    wait_until(lambda: world.kube.find(ENVIRONMENTS, "insecure") is None, "the environment to go")
