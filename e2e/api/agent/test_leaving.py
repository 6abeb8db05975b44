# SPDX-License-Identifier: Apache-2.0
"""An agent leaves in every direction, and remembers it."""

from agent_harness import PREFIX
from bench.waiting import wait_until
from registrations_harness import ENVIRONMENTS


def test_an_environment_that_is_deleted_goes_with_everything(world):
    """S7, R7, R8: deployers keep their access until they are uninstalled, then nothing is left, and nobody has to help."""
    agent = world.start()
    world.manage()
    before = world.host_objects()
    world.ls.delete(ENVIRONMENTS, world.name)
    wait_until(lambda: world.environment()["metadata"].get("deletionTimestamp"), "the deletion")
    # While deployers are uninstalled, their access is kept and repaired.
    world.ls.delete("secrets", f"{world.name}-target-access", world.namespace)
    wait_until(world.target_secret, "the Secret of the host Target restored")
    assert world.host_objects() == before
    # R7: a restart during the deletion creates nothing.
    assert agent.stop() == 0
    marks = world.marks()
    world.unmanage()
    agent = world.start(waits=False)
    wait_until(lambda: world.environment() is None, "the Environment to go")
    agent.wait_until(lambda: "this agent has left" in agent.output(), "left")
    assert not [w for w in world.writes(marks) if w.startswith("create")]
    assert not world.left_there() and not world.host_objects()
    assert "token" not in world.own_secret().get("data", {})

    # It remembers that it left: no restart registers it again.
    assert agent.stop() == 0
    marks = world.marks()
    agent = world.start(waits=False)
    agent.wait_until(lambda: "this agent has left" in agent.output(), "left")
    assert not world.writes(marks) and not world.left_there()
    assert agent.stop() == 0
    # Nor does the loss of its Secret, which helm deletes before the agent.
    agent = world.start(waits=False)
    agent.wait_until(lambda: "this agent has left" in agent.output(), "left")
    marks = world.marks()
    world.host.delete("secrets", f"landscaper-agent-{world.name}", world.namespace)
    assert world.leave().exit_code == 0
    assert "create environments" not in world.writes(marks)
    assert agent.stop() == 0
    # Unless somebody asks for it.
    world.start("--register")
    assert world.environment() and PREFIX + "/left" not in world.own_secret()["metadata"].get("annotations", {})


def test_leave_by_hand(world):
    """With a running agent, which does the work, and without one; and again, when nothing is left to be done."""
    agent = world.start()
    leaving = world.leave()
    assert leaving.exit_code == 0, leaving.output()
    assert not world.left_there() and not world.host_objects()
    agent.wait_until(lambda: "this agent has left" in agent.output(), "left")
    assert agent.stop() == 0 and not world.left_there()
    assert world.leave().exit_code == 0
    # Without a running agent.
    assert world.start("--register").stop() == 0
    assert len(world.left_there()) == 3 and world.host_objects()
    leaving = world.leave()
    assert leaving.exit_code == 0, leaving.output()
    assert not world.left_there() and not world.host_objects()


def test_leave_says_why_it_has_to_wait(world):
    agent = world.start()
    world.manage()
    world.ls.patch(ENVIRONMENTS, world.name, {"status": {"conditions": [{
        "type": "DeployersReady", "status": "False", "reason": "ServesItems", "message": "manifest serves 3 items",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, subresource="status")
    leaving = world.leave("--timeout=1s")
    assert leaving.exit_code == 1 and "manifest serves 3 items" in leaving.output()
    assert world.environment()["metadata"]["deletionTimestamp"] and world.target_secret()
    world.unmanage()
    wait_until(lambda: world.environment() is None, "the Environment to go")
    agent.wait_until(lambda: "this agent has left" in agent.output(), "left")
    assert not world.left_there()
