# SPDX-License-Identifier: Apache-2.0
"""Many pairs: none waits for another one, and each costs as few requests as documented. A thousand environments: e2e/perf."""

import collections
import threading

from bench.proc import memory
from bench.waiting import wait_until
from faults.proxy import PASS, Action, status
from registrations_harness import ENVIRONMENTS, INSTALLATIONS, REGISTRATIONS, environment, registration

COUNT = 20
HANGING = "reg-7-env-3"
# What is sent for a new pair, once each. The status is counted for the object that it belongs to.
REQUESTS = {"serviceaccounts": 1, "serviceaccounts/token": 1, "clusterrolebindings": 1, "targets": 1, "installations": 1}


def requests_of_pairs(proxy):
    """Name of a pair -> number of requests for each kind of object."""
    found = collections.defaultdict(collections.Counter)
    for request in list(proxy.requests):
        parts = request.path.split("/")
        if request.method == "GET" or "leases" in parts or "events" in parts or parts[-1] == "status":
            continue
        if parts[-1] == "token":
            found[parts[-2]]["serviceaccounts/token"] += 1
        elif request.method == "POST":
            found[request.json["metadata"]["name"]][parts[-1]] += 1
        else:
            found[parts[-1]][f"{request.method} {parts[-2]}"] += 1
    return found


def test_a_blocked_pair_delays_no_other_one(world):
    """R4: 20 registrations in 20 environments. One registration is blocked everywhere, the requests of another one are refused, one pair
    gets no response, and one environment is invalid. All others are complete before the response arrives, with as few requests as possible."""
    answered = threading.Event()

    def plan(request):
        name = request.json["metadata"]["name"] if request.method == "POST" and request.path.endswith("/serviceaccounts") else ""
        if name.startswith("refused-"):
            return Action(forward=False, answer=status(403, "Forbidden"))
        return Action(before=lambda: answered.wait(600)) if name == HANGING else PASS

    with world.behind_proxy(plan) as proxy:
        process = world.start(proxy=proxy)
        for number in range(COUNT):
            world.create(environment(f"env-{number}"))
        world.create(environment("bad", landscaperClusterConfig={"host": "https://x", "apiPath": "", "insecure": True, "caData": "YQ=="}))
        world.create(registration("blocked", required=["example.com/nobody"]))
        world.create(registration("refused"))
        wait_until(lambda: len(world.targets()) == COUNT, "the host Targets")
        world.wait_condition(REGISTRATIONS, "blocked", "Blocked", "True", "DeployerMissing")
        for number in range(COUNT):
            world.create(registration(f"reg-{number}"))
        others = {f"reg-{r}-env-{e}" for r in range(COUNT) for e in range(COUNT)} - {HANGING}
        wait_until(lambda: {i["metadata"]["name"] for i in world.kube.items(INSTALLATIONS, world.namespace)} == others,
                   "all Installations but the one of the pair that waits", timeout=300, interval=1)
        answered.set()
        wait_until(lambda: world.installation(HANGING), "the pair whose request was not answered", timeout=300)
        found = requests_of_pairs(proxy)
        assert {name: found[name] for name in others if found[name] != REQUESTS} == {}
        assert not [name for name in found if name.startswith("blocked-") or name.endswith("-bad")]
        assert {kind for name in found if name.startswith("refused-") for kind in found[name]} == {"serviceaccounts"}
        assert all(i["metadata"]["annotations"]["landscaper.gardener.cloud/operation"] == "reconcile"
                   for i in world.kube.items(INSTALLATIONS, world.namespace))
        wait_until(lambda: all(e["status"]["deployers"]["total"] == COUNT + 2 for e in world.kube.items(ENVIRONMENTS)
                               if e["metadata"]["name"] != "bad"), "the statuses")
        assert process.stop() == 0

    world._purge(REGISTRATIONS, "refused")
    # After a restart everything is as it should be: it is listed, and nothing is written.
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
