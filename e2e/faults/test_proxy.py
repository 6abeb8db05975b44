# SPDX-License-Identifier: Apache-2.0
"""Each fault of the proxy by itself, and what the client of common/kube makes of it, over HTTP/1.1 and HTTP/2."""

import itertools
import json
import pathlib

import pytest

from api.kube_client.conftest import Driver
from faults.proxy import PASS, Action, FaultProxy, status

INTERNAL_ERROR, REFUSED_STREAM = 2, 7


@pytest.fixture(params=["http1", "http2"])
def proxy(request, apiserver):
    with FaultProxy(apiserver, http2=request.param == "http2") as running:
        running.is_http2 = request.param == "http2"
        yield running


@pytest.fixture
def client(proxy, apiserver, kube, namespace):
    """The driver behind the proxy, with a token, as a certificate would not go through."""
    token = apiserver.service_account("robot", namespace)
    kube.allow(f"{namespace}:robot", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}], namespace, name="robot",
               kind="ServiceAccount")
    path = pathlib.Path(apiserver.token_kubeconfig(token))
    config = json.loads(path.read_text())
    config["clusters"][0]["cluster"]["server"] = proxy.url
    path.write_text(json.dumps(config))
    kube.create(config_map("there", "x" * 2000), namespace)
    driver = Driver("--kubeconfig", path)
    yield driver
    driver.close()


def config_map(name, text=""):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}


def strike(proxy, action, *, count=1, where=lambda request: True):
    """The first requests (of those that where() picks) are hit by the action; returns a list that they are added to."""
    struck = []

    def plan(request):
        if not where(request) or len(struck) >= count:
            return PASS
        struck.append(request)
        return action
    proxy.plan = plan
    return struck


REPEATED = {
    "lost before it was applied": Action(forward=False, lose=True),
    "lost after it was applied": Action(lose=True),
    "cut after 0 bytes": Action(cut=0),
    "cut after 10 bytes": Action(cut=10),
    "cut after 1500 bytes": Action(cut=1500),
    "RST_STREAM after 10 bytes": Action(cut=10, cut_by="reset"),
    "GOAWAY and the end after 10 bytes": Action(cut=10, cut_by="goaway"),
    "RST_STREAM, refused": Action(forward=False, reset=REFUSED_STREAM),
    "RST_STREAM, internal error": Action(forward=False, reset=INTERNAL_ERROR),
    "429": Action(forward=False, answer=status(429, "TooManyRequests", retry_after=1)),
    "500": Action(forward=False, answer=status(500, "InternalError")),
    "503": Action(forward=False, answer=status(503, "ServiceUnavailable")),
    "an answer that is no JSON": Action(answer=(200, b"<html>Please log in to the hotel's network</html>")),
    "an answer that is half of a JSON": Action(answer=(200, b'{"kind": "ConfigMap", "metadata": {"na')),
    "an error that is no JSON": Action(forward=False, answer=(502, b"\x00\xff bad gateway")),
    "bytes that are no HTTP": Action(forward=False, noise=b"SSH-2.0-OpenSSH_9.2\r\n" * 4),
}


@pytest.mark.parametrize("fault", REPEATED)
def test_a_read_is_repeated_after(proxy, client, namespace, fault):
    struck = strike(proxy, REPEATED[fault], count=2)
    answer = client.call("get", "configmaps", "there", namespace)
    assert answer.get("object", answer)["data"]["text"] == "x" * 2000
    assert len(struck) == 2 and len(proxy.requests) >= 3


@pytest.mark.parametrize("fault", ["slow to answer", "a trickle", "GOAWAY before the answer"])
def test_a_read_is_not_repeated_after(proxy, client, namespace, fault):
    action = {"slow to answer": Action(delay=0.5), "a trickle": Action(trickle=100),
              "GOAWAY before the answer": Action(goaway=True)}[fault]
    struck = strike(proxy, action)
    assert client.call("get", "configmaps", "there", namespace)["object"]["data"]["text"] == "x" * 2000
    assert client.call("get", "configmaps", "there", namespace)["object"]
    assert len(struck) == 1 and len(proxy.requests) == 2
    if fault.startswith("GOAWAY"):
        assert client.stats()["connections"] == 2


@pytest.mark.parametrize("fault", ["hang", "freeze"])
def test_a_read_without_an_answer_is_repeated_on_another_connection(proxy, client, namespace, fault):
    strike(proxy, Action(**{fault: True}))
    call = client.call("get", "configmaps", "there", namespace, timeoutMs=3000, quiet=True)
    assert call.get("ok"), call
    assert client.stats()["connections"] == 2


@pytest.mark.parametrize("action", [Action(lose=True), Action(cut=5), Action(cut=5, cut_by="reset"), Action(reset=INTERNAL_ERROR),
                                    Action(answer=(200, b"{")), Action(answer=status(500, "InternalError"))])
def test_a_create_whose_answer_was_lost_is_told_that_it_exists(proxy, client, namespace, kube, action):
    """It was applied; whether it was ours that did it is the caller's to judge."""
    strike(proxy, action)
    error = client.call("create", "configmaps", namespace=namespace, body=config_map("new"))["error"]
    assert error["kind"] == "exists", error
    assert kube.get("configmaps", "new", namespace)


@pytest.mark.parametrize("action", [Action(forward=False, lose=True), Action(forward=False, answer=status(503, "ServiceUnavailable"))])
def test_a_create_that_was_lost_on_its_way_is_repeated(proxy, client, namespace, kube, action):
    strike(proxy, action)
    assert client.call("create", "configmaps", namespace=namespace, body=config_map("new"))["object"]
    assert kube.get("configmaps", "new", namespace)


@pytest.mark.parametrize("code, reason, kind", [(409, "Conflict", "conflict"), (409, "AlreadyExists", "exists"), (410, "Expired", "gone"),
                                                (403, "Forbidden", "denied"), (404, "NotFound", "not-found"),
                                                (422, "Invalid", "invalid")])
def test_what_the_server_has_decided_is_not_asked_again(proxy, client, namespace, code, reason, kind):
    struck = strike(proxy, Action(forward=False, answer=status(code, reason)), count=10)
    error = client.call("update", "configmaps", "there", namespace, body=config_map("there"))["error"]
    assert (error["kind"], error["httpStatus"]) == (kind, code)
    assert "made up by the fault proxy" in error["text"]
    assert len(struck) == 1


def test_retry_after_is_obeyed_and_told(proxy, client, namespace):
    strike(proxy, Action(forward=False, answer=status(429, "TooManyRequests", retry_after=7)))
    error = client.call("get", "configmaps", "there", namespace, noRetry=True)["error"]
    assert (error["kind"], error["httpStatus"], error["retryAfterMs"]) == ("temporary", 429, 7000)


STREAM_FAULTS = {
    "cut": lambda number: Action(cut=400 * (number + 1)),
    "RST_STREAM": lambda number: Action(cut=400 * (number + 1), cut_by="reset"),
    "GOAWAY": lambda number: Action(cut=400 * (number + 1), cut_by="goaway"),
    "GOAWAY before": lambda number: Action(goaway=True, cut=600),
    "410": lambda number: Action(forward=False, answer=status(410, "Expired")),
    "429": lambda number: Action(forward=False, answer=status(429, "TooManyRequests", retry_after=0)),
    "500": lambda number: Action(forward=False, answer=status(500, "InternalError")),
    "garbage": lambda number: Action(forward=False, answer=(200, b'{"type": "ADDED", "obj\xff\x00\n{}\n[]\nnull\n')),
    "noise": lambda number: Action(forward=False, noise=b"\x00\x00\x10\x04" * 20),
}


@pytest.mark.parametrize("fault", STREAM_FAULTS)
def test_a_watch_goes_on_and_misses_nothing_after(proxy, client, namespace, kube, fault):
    numbers = itertools.count()
    proxy.plan = lambda request: (STREAM_FAULTS[fault](number) if request.is_watch and (number := next(numbers)) < 4 else PASS)
    watch = client.watch("configmaps", namespace)
    client.event(watch, "SYNCED")
    names = [f"event-{number}" for number in range(8)]
    for name in names:
        kube.create(config_map(name, "y" * 300), namespace)
    for name in names:
        client.wait(watch, lambda line: line["event"] in ("LISTED", "ADDED") and line["name"] == name, name)
    seen = [line["name"] for line in client.answers(watch) if line["event"] == "ADDED"]
    assert seen == sorted(set(seen)), "each one once and in order"
    assert next(numbers) > 3, "not all faults were met"


@pytest.mark.parametrize("action", [Action(cut=3000), Action(cut=3000, cut_by="reset"), Action(lose=True),
                                    Action(forward=False, answer=status(410, "Expired"))])
def test_a_list_of_pages_comes_whole(proxy, client, namespace, kube, action):
    kube.create_many((config_map(f"page-{number}", "z" * 1000) for number in range(10)), namespace)
    struck = strike(proxy, action, where=lambda request: "continue" in request.query)
    watch = client.watch("configmaps", namespace, pageSize=4)
    client.event(watch, "SYNCED")
    listed = {line["name"] for line in client.answers(watch) if line["event"] == "LISTED"}
    assert listed >= {f"page-{number}" for number in range(10)}
    assert struck
