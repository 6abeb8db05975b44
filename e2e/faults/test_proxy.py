# SPDX-License-Identifier: Apache-2.0
"""Each fault of the proxy separately, and how the client of common/kube handles it, with HTTP/1.1 and HTTP/2."""

import itertools
import json
import pathlib

import pytest

from api.kube_client.conftest import Driver
from bench.waiting import wait_until
from faults.proxy import PASS, Action, FaultProxy, status

INTERNAL_ERROR, REFUSED_STREAM = 2, 7


class Clients:
    """Drivers with one proxy each, so that many faults can be tested at the same time."""

    def __init__(self, apiserver, namespace, is_http2):
        self.apiserver, self.kube, self.namespace, self.is_http2 = apiserver, apiserver.kube, namespace, is_http2
        # A token, because the proxy cannot pass on a client certificate.
        self._token = apiserver.service_account("robot", namespace)
        self.kube.allow(f"{namespace}:robot", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}], namespace,
                        name="robot", kind="ServiceAccount")
        self.kube.create(config_map("there", "x" * 2000), namespace)
        self._made = []

    def make(self, plan=lambda request: PASS):
        """A driver. Its proxy is driver.proxy."""
        proxy = FaultProxy(self.apiserver, plan, http2=self.is_http2)
        path = pathlib.Path(self.apiserver.token_kubeconfig(self._token))
        config = json.loads(path.read_text())
        config["clusters"][0]["cluster"]["server"] = proxy.url
        path.write_text(json.dumps(config))
        driver = Driver("--kubeconfig", path)
        driver.proxy = proxy
        self._made.append(driver)
        return driver

    def with_fault(self, action, *, count=1, where=lambda request: True):
        """A driver for which the action applies to the first count requests that match where(). They are in driver.faulty."""
        faulty = []

        def plan(request):
            if not where(request) or len(faulty) >= count:
                return PASS
            faulty.append(request)
            return action
        driver = self.make(plan)
        driver.faulty = faulty
        return driver

    def send(self, drivers, verb, name=None, **more):
        """Sends the same call with every driver at once. Returns (key of the driver, driver, answer) for each."""
        more.update({"verb": verb, "plural": "configmaps", "namespace": self.namespace, **({"name": name} if name else {})})
        calls = {what: driver.send("call", **{key: value(what) if callable(value) else value for key, value in more.items()})
                 for what, driver in drivers.items()}
        return [(what, driver, driver.wait(calls[what], what=what)) for what, driver in drivers.items()]

    def connections(self, driver):
        """The number of connections, without the one that found out that the server does not support HTTP/2."""
        return driver.stats()["connections"] - (0 if self.is_http2 else 1)

    def close(self):
        for driver in self._made:
            driver.close()
            driver.proxy.close()


@pytest.fixture(params=["http1", "http2"])
def clients(request, apiserver, namespace):
    made = Clients(apiserver, namespace, request.param == "http2")
    yield made
    made.close()


def config_map(name, text=""):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}


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
    "a response that is not JSON": Action(answer=(200, b"<html>Please log in to the hotel's network</html>")),
    "a response with truncated JSON": Action(answer=(200, b'{"kind": "ConfigMap", "metadata": {"na')),
    "an error that is not JSON": Action(forward=False, answer=(502, b"\x00\xff bad gateway")),
    "bytes that are not HTTP": Action(forward=False, noise=b"SSH-2.0-OpenSSH_9.2\r\n" * 4),
}


def test_a_read_is_retried_after_every_temporary_fault(clients):
    drivers = {fault: clients.with_fault(action, count=2) for fault, action in REPEATED.items()}
    for fault, driver, answer in clients.send(drivers, "get", "there"):
        assert answer.get("object", answer).get("data", answer) == {"text": "x" * 2000}, fault
        assert len(driver.faulty) == 2 and len(driver.proxy.requests) >= 3, fault


def test_a_read_with_a_slow_response_or_a_goaway_is_not_retried(clients):
    actions = {"slow": Action(delay=0.5), "trickle": Action(trickle=100), "GOAWAY": Action(goaway=True)}
    drivers = {fault: clients.with_fault(action) for fault, action in actions.items()}
    for _ in range(2):
        for fault, _, answer in clients.send(drivers, "get", "there"):
            assert answer["object"]["data"]["text"] == "x" * 2000, fault
    for fault, driver in drivers.items():
        assert len(driver.faulty) == 1, fault
        # The second request may already be sent when GOAWAY arrives; the proxy ignores it on the old connection.
        assert len(driver.proxy.requests) == 2 or fault == "GOAWAY"
        assert clients.connections(driver) == (2 if fault == "GOAWAY" else 1), fault


def test_a_read_without_a_response_is_retried_on_another_connection(clients):
    drivers = {fault: clients.with_fault(Action(**{fault: True})) for fault in ("hang", "freeze")}
    for fault, driver, answer in clients.send(drivers, "get", "there", timeoutMs=3000, quiet=True):
        assert answer.get("ok"), (fault, answer)
        assert clients.connections(driver) == 2, fault


def test_a_create_whose_response_was_lost_reports_already_exists(clients):
    """The create was applied. The caller has to find out whether the object is its own."""
    actions = {"lost": Action(lose=True), "cut": Action(cut=5), "reset-late": Action(cut=5, cut_by="reset"),
               "reset": Action(reset=INTERNAL_ERROR), "half": Action(answer=(200, b"{")),
               "error": Action(answer=status(500, "InternalError"))}
    drivers = {fault: clients.with_fault(action) for fault, action in actions.items()}
    for fault, _, answer in clients.send(drivers, "create", body=config_map):
        assert answer.get("error", answer).get("kind") == "exists", (fault, answer)
        assert clients.kube.get("configmaps", fault, clients.namespace)


def test_a_create_that_did_not_reach_the_server_is_retried(clients):
    actions = {"lost": Action(forward=False, lose=True), "refused": Action(forward=False, reset=REFUSED_STREAM),
               "unavailable": Action(forward=False, answer=status(503, "ServiceUnavailable"))}
    drivers = {fault: clients.with_fault(action) for fault, action in actions.items()}
    for fault, _, answer in clients.send(drivers, "create", body=config_map):
        assert "object" in answer, (fault, answer)
        assert clients.kube.get("configmaps", fault, clients.namespace)


DECIDED = {"conflict": (409, "Conflict"), "exists": (409, "AlreadyExists"), "gone": (410, "Expired"), "denied": (403, "Forbidden"),
           "not-found": (404, "NotFound"), "invalid": (422, "Invalid")}


def test_permanent_errors_are_not_retried(clients):
    drivers = {kind: clients.with_fault(Action(forward=False, answer=status(*error)), count=10) for kind, error in DECIDED.items()}
    for kind, driver, answer in clients.send(drivers, "update", "there", body=config_map("there")):
        error = answer["error"]
        assert (error["kind"], error["httpStatus"]) == (kind, DECIDED[kind][0])
        assert "made up by the fault proxy" in error["text"]
        assert len(driver.faulty) == 1, kind


def test_retry_after_is_reported(clients):
    driver = clients.with_fault(Action(forward=False, answer=status(429, "TooManyRequests", retry_after=7)))
    error = driver.call("get", "configmaps", "there", clients.namespace, noRetry=True)["error"]
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
FAULTY_STREAMS = 3


def test_a_watch_continues_without_missing_events_after_every_fault(clients):
    def faulty(fault):
        numbers = itertools.count()
        return lambda request: (STREAM_FAULTS[fault](number)
                                if request.is_watch and (number := next(numbers)) < FAULTY_STREAMS else PASS)

    drivers = {fault: clients.make(faulty(fault)) for fault in STREAM_FAULTS}
    watches = {fault: driver.watch("configmaps", clients.namespace) for fault, driver in drivers.items()}
    for fault, driver in drivers.items():
        driver.event(watches[fault], "SYNCED")
    names = [f"event-{number}" for number in range(8)]
    for name in names:
        clients.kube.create(config_map(name, "y" * 300), clients.namespace)
    for fault, driver in drivers.items():
        for name in names:
            driver.wait(watches[fault], lambda line: line["event"] in ("LISTED", "ADDED") and line["name"] == name,
                        f"{name} after {fault}")
        seen = [line["name"] for line in driver.answers(watches[fault]) if line["event"] == "ADDED"]
        assert seen == sorted(set(seen)), (fault, "each event once and in order")
        wait_until(lambda: sum(request.is_watch for request in driver.proxy.requests) > FAULTY_STREAMS, f"all faults of {fault}")


def test_a_paged_list_is_complete_after_every_fault(clients):
    clients.kube.create_many((config_map(f"page-{number}", "z" * 1000) for number in range(10)), clients.namespace)
    actions = {"cut": Action(cut=3000), "RST_STREAM": Action(cut=3000, cut_by="reset"), "lost": Action(lose=True),
               "410": Action(forward=False, answer=status(410, "Expired"))}
    drivers = {fault: clients.with_fault(action, where=lambda request: "continue" in request.query) for fault, action in actions.items()}
    watches = {fault: driver.watch("configmaps", clients.namespace, pageSize=4) for fault, driver in drivers.items()}
    for fault, driver in drivers.items():
        driver.event(watches[fault], "SYNCED")
        listed = {line["name"] for line in driver.answers(watches[fault]) if line["event"] == "LISTED"}
        assert listed >= {f"page-{number}" for number in range(10)}, fault
        assert driver.faulty, fault
