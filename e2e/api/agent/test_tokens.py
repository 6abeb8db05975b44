# SPDX-License-Identifier: Apache-2.0
"""Renewal of tokens: the agent's own, that of the host Target, and those of deployers."""

import pathlib
import threading

import yaml

from agent_harness import CHART, PREFIX, claims_of, value
from bench import paths
from bench.audit import resource_of
from bench.kube import LANDSCAPER
from bench.proc import memory
from bench.waiting import wait_until
from faults.clock import HOUR, Clock
from faults.proxy import PASS, Action, status

SHORT = {"tokenSeconds": 600}
MIB = 1 << 20


def tokens(world):
    return value(world.own_secret(), "token"), world.host_token()


def test_tokens_are_renewed_whatever_the_clock_says(world):
    """A clock that is wrong by a day at a restart causes a renewal, one that jumps while the agent runs does not; an outage of the
    API servers delays it."""
    clock, is_away = Clock(), threading.Event()

    def plan(request):
        return Action(forward=False, answer=status(503, "ServiceUnavailable")) if is_away.is_set() and not request.is_watch else PASS

    with world.proxies(plan) as proxies:
        agent = world.start(config=SHORT, proxies=proxies, env=clock.environment)
        first = tokens(world)
        assert all(claims_of(token)["exp"] - claims_of(token)["iat"] == 600 for token in first)
        # Running: the monotonic clock counts.
        for seconds in (24 * HOUR, -48 * HOUR):
            clock.jump(seconds)
            before = world.lease()["spec"]["renewTime"]
            wait_until(lambda: world.lease()["spec"]["renewTime"] != before, "the next heartbeat")
            assert tokens(world) == first
        assert agent.stop() == 0
        # Restarted with a clock that is a day behind, then with one that is half a life ahead; both during an outage.
        for seconds in (0, 24 * HOUR + 310):
            clock.jump(seconds)
            before = tokens(world)
            is_away.set()
            agent = world.start(config=SHORT, proxies=proxies, env=clock.environment, waits=False)
            agent.wait_until(lambda: "heartbeat failed" in agent.output() or "watch failed" in agent.output(), "the outage")
            is_away.clear()
            wait_until(lambda: all(new != old for new, old in zip(tokens(world), before)), "both tokens replaced")
            agent.wait_until(lambda: '"msg":"registered"' in agent.output(), "registered")
            assert agent.stop() == 0


def wait_beats(world, count=2):
    """Every evaluation that a moved clock causes is followed by a heartbeat; two, because one may be under way."""
    for _ in range(count):
        before = world.lease()["spec"]["renewTime"]
        wait_until(lambda: world.lease()["spec"]["renewTime"] != before, "the next heartbeat")


def test_a_renewal_survives_an_outage_of_an_hour_and_a_clock_that_is_wrong_by_a_day(world):
    """The clocks of the agent are moved forward by hours. Its tokens live for a day and are renewed after 9.6 to 12 hours. At that time
    no API server can be reached, until at least an hour after both are due. Meanwhile its wall clock is set forward or back by a day."""
    clock, is_away = Clock(), threading.Event()
    clock.jump(24 * HOUR)

    def plan(_):
        return Action(forward=False, lose=True) if is_away.is_set() else PASS

    with world.proxies(plan) as proxies:
        agent = world.start(proxies=proxies, env=clock.environment)
        for correction in (-24 * HOUR, 24 * HOUR):
            first, marks = tokens(world), world.marks()
            clock.advance(9 * HOUR)
            wait_beats(world)
            assert "create serviceaccounts/token" not in world.requests(marks), "renewed too early"
            is_away.set()
            for proxy in proxies:
                proxy.cut()
            for _ in range(4):
                clock.advance(HOUR)
                seen = [len(proxy.requests) for proxy in proxies]
                wait_until(lambda: all(len(proxy.requests) > count for proxy, count in zip(proxies, seen)), "attempts during the outage")
            clock.jump(correction)
            assert agent.running and tokens(world) == first
            is_away.clear()
            wait_until(lambda: all(new != old for new, old in zip(tokens(world), first)), "both tokens replaced")
            wait_beats(world)
            assert world.requests(marks).count("create serviceaccounts/token") == 2
        assert agent.stop() == 0


def test_a_token_that_is_refused_is_replaced_with_the_given_kubeconfig(world):
    """After a downtime longer than the life of its token, the agent starts with the kubeconfig that it was given."""
    agent = world.start()
    assert agent.stop() == 0
    old = value(world.own_secret(), "token")
    stale = old[:-8] + "AAAAAAAA"
    world.host.patch("secrets", f"landscaper-agent-{world.name}", {"stringData": {"token": stale}}, world.namespace)
    agent = world.start()
    wait_until(lambda: value(world.own_secret(), "token") not in (old, stale), "a new token")
    assert "own token is refused" in agent.output()
    # The token is not in the log.
    assert value(world.own_secret(), "token") not in agent.output() and world.host_token() not in agent.output()


def account(world, name):
    """The account of a deployer of this environment in Landscaper's cluster."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {
        "name": name, "namespace": world.namespace, "labels": {"deployers.landscaper.gardener.cloud/environment": world.name}}}


def test_deployers_get_their_tokens_from_the_agent(world):
    """S5, access: agent: the token of a deployer is in Secrets only, and goes with its account. The agent may request the tokens of the
    accounts that its role names, and one that is missing there does not delay the others."""
    text = (CHART / "files" / "landscaper-access-deployers.yaml").read_text().replace("REGISTRATION-ENVIRONMENT", "mock-one, mock-two")
    for thing in yaml.safe_load_all(text.replace("ENVIRONMENT", world.name).replace("ls-system", world.namespace)):
        world.ls.apply(thing)
    for name in ("another", "mock-one"):
        world.ls.create(account(world, name))
    agent = world.start(config={"access": "agent"}, waits=False)
    agent.wait_until(lambda: '"object":"another"' in agent.output(), "a refused token")
    assert world.host.find("secrets", "another-landscaper-access", world.namespace) is None
    secret = wait_until(lambda: world.host.find("secrets", "mock-one-landscaper-access", world.namespace), "the Secret of the deployer")
    token, config = value(secret, "token"), yaml.safe_load(value(secret, "kubeconfig"))
    assert claims_of(token)["sub"] == f"system:serviceaccount:{world.namespace}:mock-one"
    assert config["users"][0]["user"] == {"tokenFile": "/app/ls/landscaper-cluster-kubeconfig/token"}
    assert config["clusters"][0]["cluster"]["server"] == world.landscaper.server
    assert world.environment()["metadata"]["annotations"][f"{PREFIX}/access"] == "agent"
    elsewhere = [str(world.ls.items(kind)) for kind in (f"{LANDSCAPER}/environments", f"{LANDSCAPER}/targets", "configmaps", "events")]
    assert not [text for text in elsewhere if token in text]
    # A restart writes nothing; an account that goes takes its Secret along; so does leaving.
    assert agent.stop() == 0
    world.ls.delete("serviceaccounts", "another", world.namespace)
    marks = world.marks()
    agent = world.start(config={"access": "agent"})
    assert not world.writes(marks)
    world.ls.delete("serviceaccounts", "mock-one", world.namespace)
    wait_until(lambda: world.host.find("secrets", "mock-one-landscaper-access", world.namespace) is None, "the Secret to go")
    world.ls.create(account(world, "mock-two"))
    wait_until(lambda: world.host.find("secrets", "mock-two-landscaper-access", world.namespace), "the other Secret")
    assert world.leave(config={"access": "agent"}).exit_code == 0
    assert not world.host_objects()


def test_without_host_access_no_kubeconfig_is_stored(world):
    """S8: hostAccess none; and acceptance, S9: nothing is published before the Environment is accepted."""
    agent = world.start(config={"acceptance": "manual"}, waits=False)
    agent.wait_until(lambda: "waiting for acceptance" in agent.output(), "the wait for acceptance")
    assert world.environment() and world.target_secret() is None and not world.host_objects()
    world.condition("Accepted", "True")
    agent.wait_until(lambda: '"msg":"registered"' in agent.output(), "registered")
    assert world.target_secret()
    world.condition("Accepted", "False")
    wait_until(lambda: world.target_secret() is None, "the kubeconfig withdrawn")
    world.condition("Accepted", "True")
    wait_until(world.target_secret, "the kubeconfig published again")
    assert agent.stop() == 0
    world.start(config={"hostAccess": "none"})
    target = world.environment()["spec"]["hostTarget"]
    assert target["config"]["hostConfig"]["serviceAccount"] == {"name": f"deployer-{world.name}", "namespace": world.namespace}
    assert "secretRef" not in target and world.target_secret() is None


def test_the_deployer_beside_the_agent_gets_the_own_token(world):
    """Files in a directory that both share, complete at every moment, and replaced after a renewal."""
    directory = paths.fresh_directory("credential")
    prepared = world.start(f"--credential-directory={directory}", "--prepare", waits=False)
    prepared.expected = False
    wait_until(lambda: not prepared.running, "--prepare to end")
    assert prepared.exit_code == 0, prepared.output()
    config = yaml.safe_load((directory / "kubeconfig").read_text())
    assert config["users"][0]["user"] == {"tokenFile": str(directory / "token")}
    given = (directory / "token").read_text()
    agent = world.start(f"--credential-directory={directory}")
    own = wait_until(lambda: value(world.own_secret(), "token"), "the own token")
    wait_until(lambda: (directory / "token").read_text() == own != given, "the token written")
    assert not list(directory.glob(".*"))
    assert agent.stop() == 0


def test_an_idle_agent_is_small_and_quiet(world):
    """At most 7 requests per minute, 8 MiB, only outgoing connections; the managed cluster is used by the agent only."""
    all_marks = world.marks()
    agent = world.start(config={"heartbeatSeconds": 12})
    before = world.lease()["spec"]["renewTime"]
    wait_until(lambda: world.lease()["spec"]["renewTime"] != before, "a heartbeat")
    marks, beats = world.marks(), set()

    def two_beats():
        beats.add(world.lease()["spec"]["renewTime"])
        return len(beats) > 2
    wait_until(two_beats, "two more heartbeats")
    # Heartbeats are twelve seconds apart: at most 7 requests per minute are 2 in this time.
    requests = world.requests(marks)
    found = wait_until(lambda: (m := memory(agent.pid))["VmRSS"] <= 8 * MIB and m, "at most 8 MiB between two heartbeats")
    print(f"\nidle agent: {requests}, " + ", ".join(f"{key} {found[key] / MIB:.1f} MiB" for key in ("RssAnon", "VmRSS", "VmHWM")))
    assert len(requests) <= 2 and set(requests) == {"update leases"}
    assert not listening_sockets(agent.pid)
    users = {entry["user"]["username"] for entry in world.managed.audit.entries(all_marks[1])}
    assert not [u for u in users if u.startswith("system:serviceaccount:") and u != world.host_account], users
    assert not [e for e in world.managed.audit.entries(all_marks[1]) if resource_of(e) == "environments"]


def listening_sockets(pid):
    listening = {line.split()[9] for name in ("tcp", "tcp6") for line in pathlib.Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
                 if line.split()[3] == "0A"}
    links = [str(link.readlink()) for link in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
    return [link for link in links if link.startswith("socket:") and link[8:-1] in listening]
