# SPDX-License-Identifier: Apache-2.0
"""Many pairs: none waits for another one, and each costs as few requests as documented. A thousand environments: e2e/perf."""

from bench.proc import memory
from bench.waiting import wait_until
from registrations_harness import ENVIRONMENTS, INSTALLATIONS, REGISTRATIONS, environment, registration

COUNT = 20


def test_a_blocked_pair_delays_no_other_one(world):
    """R4: 20 registrations in 20 environments. One registration is blocked everywhere, and one environment is invalid."""
    process = world.start()
    for number in range(COUNT):
        world.create(environment(f"env-{number}"))
    world.create(environment("bad", landscaperClusterConfig={"host": "https://x", "apiPath": "", "insecure": True, "caData": "YQ=="}))
    world.create(registration("blocked", required=["example.com/nobody"]))
    wait_until(lambda: len(world.targets()) == COUNT, "the host Targets")
    world.wait_condition(REGISTRATIONS, "blocked", "Blocked", "True", "DeployerMissing")
    mark = world.apiserver.audit.mark()
    for number in range(COUNT):
        world.create(registration(f"reg-{number}"))
    wait_until(lambda: len(world.kube.items(INSTALLATIONS, world.namespace)) == COUNT * COUNT, "all Installations", timeout=300, interval=1)
    assert all(i["metadata"]["annotations"]["landscaper.gardener.cloud/operation"] == "reconcile"
               for i in world.kube.items(INSTALLATIONS, world.namespace))
    wait_until(lambda: all(e["status"]["deployers"]["total"] == COUNT + 1 for e in world.kube.items(ENVIRONMENTS)
                           if e["metadata"]["name"] != "bad"), "the statuses")
    # Five requests for each pair, and statuses, which are written once per second and object at most.
    writes = world.writes(mark, process.user)
    pairs = [w for w in writes if "/status" not in w and "deployerregistrations" not in w]
    assert len(pairs) == 5 * COUNT * COUNT, {w: pairs.count(w) for w in pairs}
    assert not any(w.startswith(("patch", "update")) for w in pairs)

    # After a restart everything is as it should be: it is listed, and nothing is written.
    assert process.stop() == 0
    mark = world.apiserver.audit.mark()
    process = world.start()
    wait_until(lambda: "statuses compared" in process.output(), "the first report")
    requests = [e for e in world.apiserver.audit.entries(mark, user=process.user) if e["verb"] not in ("watch",) and "leases" not in e["requestURI"]]
    assert {e["verb"] for e in requests} <= {"list", "patch"}
    assert [w for w in world.writes(mark, process.user) if "/status" not in w] == []
    assert memory(process.pid)["RssAnon"] < 64 << 20
    remove_all(world)


def remove_all(world):
    """Without a program that would create them again."""
    for controller in world.controllers:
        controller.stop()
    for thing in world.kube.items(INSTALLATIONS, world.namespace):
        world.kube.patch(INSTALLATIONS, thing["metadata"]["name"], {"metadata": {"finalizers": None}}, world.namespace)
    world.kube.delete_all(INSTALLATIONS, world.namespace)
    for binding in world.bindings():
        world.kube.delete("rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
