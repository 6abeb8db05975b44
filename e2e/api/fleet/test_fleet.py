# SPDX-License-Identifier: Apache-2.0
"""What the simulated fleet can do beyond an API server: many clusters, faults on command, counters."""

import contextlib
import http.client
import json
import pathlib
import re
import signal
import ssl
import sys
import urllib.request

import pytest

from bench import fleet_modules, paths
from bench.kube import ApiError
from bench.process import Process
from bench.waiting import wait_until

ANY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "any"}, "data": {"a": "1"}}


def code_of(kube, path="/api/v1/namespaces/default/configmaps"):
    return kube.raw("GET", path)[0]


def test_clusters_are_separate_and_each_shows_its_own_faults(make_fleet):
    fleet = make_fleet(12)
    kubes = [fleet.client(number) for number in range(12)]
    kubes[1].create(ANY, "default")
    assert kubes[2].find("configmaps", "any", "default") is None
    assert len(kubes[1].items("configmaps", "default")) == 1

    for code in (401, 403, 429, 500, 503):
        fleet.command("fault", 2, type="status", code=code, retryAfter=7, count=1)
        connection = kubes[2]._connect(30)
        connection.request("GET", "/api/v1/pods", headers=kubes[2]._headers)
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Retry-After"]) == (code, "7"), code
        connection.close()
        assert code_of(kubes[2]) == 200 and code_of(kubes[3]) == 200  # one request, one cluster
    fleet.command("fault", 2, type="status", code=403, verb="create", resource="secrets")
    assert code_of(kubes[2]) == 200
    with pytest.raises(ApiError, match="403"):
        kubes[2].create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}, "default")

    fleet.command("fault", (3, 5), type="hang")
    for number in (3, 5):
        with pytest.raises(TimeoutError):
            fleet.client(number).raw("GET", "/version", timeout=1)
    assert code_of(kubes[6]) == 200
    fleet.command("fault", 6, type="slow", delay=60000)
    with pytest.raises(TimeoutError):
        fleet.client(6).raw("GET", "/version", timeout=1)
    fleet.command("heal", 6)
    fleet.command("fault", 6, type="slow", delay=300)
    assert code_of(kubes[6]) == 200
    fleet.command("fault", 7, type="reset")
    fleet.command("fault", 8, type="down")
    for number in (7, 8):
        with pytest.raises((ConnectionError, http.client.HTTPException, ssl.SSLError)):
            code_of(kubes[number])
    fleet.command("fault", 9, type="silent")
    with pytest.raises(TimeoutError):
        fleet.client(9).raw("GET", "/version", timeout=1)
    fleet.command("heal")
    assert all(code_of(fleet.client(number)) == 200 for number in range(12))

    fleet.command("token", 10)
    assert code_of(kubes[10]) == 401 and code_of(fleet.client(10)) == 200
    fleet.command("certificate", 11)
    with pytest.raises(ssl.SSLError):
        code_of(kubes[11])
    assert code_of(fleet.client(11)) == 200
    assert code_of(kubes[0]) == 200


def test_watches_end_when_a_cluster_restarts_and_expire_on_command(make_fleet):
    fleet = make_fleet(2)
    kube = fleet.client(1)
    version = kube.create(ANY, "default")["metadata"]["resourceVersion"]
    stream = kube.watch("configmaps", "default", resourceVersion="1")
    assert next(stream)[0] == "ADDED"
    fleet.client(0).create(ANY, "default")
    other = fleet.client(0).watch("configmaps", "default", resourceVersion="1")
    assert next(other)[0] == "ADDED"
    assert fleet.get("counters", 1)["openWatches"] == 1
    fleet.command("restart", 1)
    with contextlib.suppress(ConnectionError, http.client.HTTPException, ssl.SSLError):
        assert next(stream, None) is None
    wait_until(lambda: fleet.get("counters", 1)["openWatches"] == 0, "the watch has ended")
    fleet.client(0).delete("configmaps", "any", "default")
    assert next(other)[0] == "DELETED", "the other cluster did not restart"
    assert [event for event, _ in kube.watch("configmaps", "default", resourceVersion=version, timeoutSeconds="1")] == []
    fleet.command("expire", 1)
    kube = fleet.client(1)
    events = list(kube.watch("configmaps", "default", resourceVersion=version))
    assert [(event, thing["code"]) for event, thing in events] == [("ERROR", 410)]
    assert len(kube.items("configmaps", "default")) == 1


def test_a_watch_gets_bookmarks_only_if_it_asks_for_them(make_fleet):
    kube = make_fleet(1, "--bookmarks", 1).client(0)
    version = kube.create(ANY, "default")["metadata"]["resourceVersion"]
    assert list(kube.watch("configmaps", "default", resourceVersion=version, timeoutSeconds="3")) == []
    event, thing = next(kube.watch("configmaps", "default", resourceVersion=version, allowWatchBookmarks="true", timeoutSeconds="120"))
    assert (event, thing["kind"], thing["apiVersion"]) == ("BOOKMARK", "ConfigMap", "v1")
    # The watch can be continued from there.
    assert int(thing["metadata"]["resourceVersion"]) >= int(version)


def test_a_namespace_hangs_in_termination_on_command(make_fleet):
    fleet = make_fleet(2)
    kube = fleet.client(1)
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "stuck"}})
    kube.create(ANY, "stuck")
    fleet.command("terminate", 1, namespace="stuck")
    assert kube.get("namespaces", "stuck")["status"]["phase"] == "Terminating"
    assert kube.find("configmaps", "any", "stuck") is None
    with pytest.raises(ApiError, match="403"):
        kube.create(ANY, "stuck")
    kube.patch("configmaps", "fleet-holds-namespace", {"metadata": {"finalizers": None}}, "stuck")
    assert kube.find("namespaces", "stuck") is None


def test_counters_and_the_log_name_every_request(make_fleet):
    fleet = make_fleet(3)
    kube = fleet.client(1)
    fleet.command("log", 1)
    fleet.command("reset")
    kube.create(ANY, "default")
    code_of(kube, "/api/v1/namespaces/default/configmaps/none")
    kube.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "default"}, "spec": {}})
    assert fleet.requests(1, verb="create", resource="configmaps", code=201) == 1
    assert fleet.requests(1, verb="get", code=404) == 1
    assert fleet.requests(1, verb="patch", resource="deployments.apps") == 1
    assert fleet.requests(2) == 0
    assert [(row["verb"], row["resource"], row["code"]) for row in fleet.log(1) if row["resource"]] == [
        ("create", "configmaps", 201), ("get", "configmaps", 404), ("patch", "deployments.apps", 201)]
    counters = fleet.get("counters", 1)
    assert counters["writes"] == 2 and counters["connections"] == counters["handshakes"] == 1
    assert kube.get("apps/v1/deployments", "d", "default")["status"]["readyReplicas"] == 1


def test_a_thousand_clusters_share_their_objects(make_fleet):
    """Bytes per cluster, not times: 60 objects in each of 1,000 clusters, of which one object differs everywhere."""
    clusters, modules = 1000, 5
    fleet = make_fleet(clusters + 1)
    kube = fleet.client(0)
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": fleet_modules.SYSTEM}})
    for module in fleet_modules.NAMES[:modules]:
        for thing in fleet_modules.objects(module, "1.0.0"):
            kube.apply(thing)
    before = fleet.get("memory")
    fleet.command("copy", (1, clusters), **{"from": 0})
    copied = fleet.get("memory")
    assert copied["objects"] == (clusters + 1) * (modules * fleet_modules.OBJECTS + 5)
    assert copied["texts"] == before["texts"]
    assert (copied["allocatedBytes"] - before["allocatedBytes"]) / clusters < 4000, copied
    fleet.client(7).patch("configmaps", "anchor-version", {"data": {"version": "9"}}, fleet_modules.SYSTEM)
    versions = {number: fleet.client(number).get("configmaps", "anchor-version", fleet_modules.SYSTEM)["data"]["version"] for number in (0, 7, 8)}
    assert versions == {0: "1.0.0", 7: "9", 8: "1.0.0"}


def test_a_fleet_for_manual_use_is_started_and_ended():
    """What `make fleet CLUSTERS=3` runs."""
    start = Process("start", [sys.executable, paths.CHECKOUT / "e2e/fleet/start", "--clusters", 3, "--modules", 1])
    try:
        start.wait_until(lambda: "Ctrl-C ends the fleet." in start.output(), "the fleet is served")
        directory = pathlib.Path(re.search(r"kubeconfigs are (\S+)/N\.yaml", start.output())[1])
        assert sorted(path.name for path in directory.iterdir()) == ["0.yaml", "1.yaml", "2.yaml", "3.yaml"]
        with urllib.request.urlopen(re.search(r"'(http://127\.0\.0\.1:\d+/counters)\?clusters=1-3'", start.output())[1] + "?clusters=0") as answer:
            created = {row["resource"]: row["count"] for row in json.load(answer)["byRequest"] if (row["verb"], row["code"]) == ("create", 201)}
        assert created[f"kymas.{fleet_modules.GROUP}"] == 3 and created["secrets"] >= 3
        start.signal(signal.SIGINT)
        assert start.wait() == 0
    finally:
        start.stop(grace=60)
