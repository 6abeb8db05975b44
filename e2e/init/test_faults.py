# SPDX-License-Identifier: Apache-2.0
"""Registries that fail now and then: init gets there all the same, and says so when it does not."""

import concurrent.futures
import os
import threading
import time

import pytest

from bench import certificates, paths
from bench.process import Process
from bench.registry import Registry
from bench.waiting import wait_until
from faults.chance import PAGE, REFUSED_STREAM
from faults.proxy import CUTS, PASS, Action, FaultProxy
from init.parts import blueprint_blob, context, descriptor, push_component, reference, resource

NAMES = [f"example.com/faults/c{i}" for i in range(5)]


@pytest.fixture(scope="module")
def published(registry):
    """Five components, a blueprint of 300 kB that can't be compressed."""
    blob = blueprint_blob({"data": os.urandom(300_000)})
    client = registry.client()
    push_component(client, "faults", descriptor(NAMES[0], references=[(name, "1.0.0") for name in NAMES[1:]],
                                                resources=[resource(blob)]), [blob])
    for name in NAMES[1:]:
        push_component(client, "faults", descriptor(name))
    return registry, blob


@pytest.fixture
def proxy(published):
    with FaultProxy(published[0]) as server:
        yield server


@pytest.fixture
def secure_proxy(request, pod, published):
    """With TLS of an authority that the pod trusts; the parameter says which version of HTTP it speaks."""
    authority = certificates.session_authority()
    pod.env["SSL_CERT_FILE"] = str(pod.write("ca.pem", authority.certificate.read_text()))
    with FaultProxy(published[0], authority=authority, http2=request.param == "HTTP/2") as server:
        yield server


def over(version, *faults):
    return [(version, fault) for fault in faults]


def configuration(server):
    return reference(context(f"{server.url}/faults"), NAMES[0], blueprint="blueprint")


def ranges(proxy, blob):
    """What the requests for a blob wanted of it; None is all."""
    return [request.headers.get("range") for request in proxy.requests if blob.digest in request.path]


def check(result):
    result.must_succeed()
    assert len(result.components()) == 5
    assert len(result.content()["data"]) == 300_000


def refusal(code, **headers):
    """An answer of a registry's own that says no."""
    return Action(forward=False, answer=(code, {}, headers))


LOST = Action(forward=False, lose=True)


@pytest.mark.parametrize("fault", [refusal(503), refusal(500), refusal(429, **{"retry-after": "0"}), LOST, Action(cut=50)],
                         ids=["503", "500", "429", "lost", "cut"])
def test_every_second_request_fails(pod, proxy, fault):
    proxy.plan = lambda request: PASS if request.number % 2 else fault
    check(pod.run(configuration(proxy), timeout=180))


# By what FaultProxy.struck calls them.
BAD_ANSWERS = {
    "GOAWAY": Action(goaway=True),
    "RST_STREAM": Action(forward=False, reset=REFUSED_STREAM),
    "noise": Action(forward=False, noise=b"SSH-2.0-OpenSSH_9.2\r\n" * 4),
    "502": Action(forward=False, answer=(502, *PAGE[1:])),
}


@pytest.mark.parametrize("secure_proxy, fault", over("HTTP/2", *BAD_ANSWERS) + over("HTTP/1.1", "noise", "502"),
                         indirect=["secure_proxy"])
def test_every_second_answer_is_a_bad_one(pod, secure_proxy, fault):
    secure_proxy.plan = lambda request: PASS if request.number % 2 else BAD_ANSWERS[fault]
    check(pod.run(configuration(secure_proxy)))
    assert secure_proxy.struck[fault] > 5


@pytest.mark.parametrize("secure_proxy", ["HTTP/2", "HTTP/1.1"], indirect=True)
def test_connections_that_are_half_open_for_a_while(pod, secure_proxy):
    """Not every second one: over HTTP/2 all requests that are under way on such a connection are lost with it."""
    secure_proxy.plan = lambda request: Action(freeze=True, thaw=0.5) if request.number in (0, 4, 9) else PASS
    check(pod.run(configuration(secure_proxy)))
    assert secure_proxy.struck["half-open"] == 3


@pytest.mark.parametrize("secure_proxy, cut_by", over("HTTP/2", *CUTS) + over("HTTP/1.1", "break", "freeze"),
                         indirect=["secure_proxy"])
def test_a_blob_that_ends_in_mid_stream_is_resumed(pod, secure_proxy, published, cut_by):
    _, blob = published
    secure_proxy.plan = lambda request: Action(cut=100_000, cut_by=cut_by, thaw=0.5) if blob.digest in request.path else PASS
    check(pod.run(configuration(secure_proxy)))
    assert secure_proxy.struck[CUTS[cut_by]] == 3
    assert ranges(secure_proxy, blob) == [None, "bytes=100000-", "bytes=200000-", "bytes=300000-"]


@pytest.mark.parametrize("secure_proxy", ["HTTP/2"], indirect=True)
def test_a_bad_begin_does_not_make_a_registry_a_plain_one(pod, secure_proxy):
    """Plain HTTP is allowed, so it is tried when https fails, and a server with TLS answers that it does not speak it."""
    secure_proxy.plan = lambda request: LOST if request.number < 2 else PASS
    check(pod.run(configuration(secure_proxy), env={"LONGSHORE_OCI_ALLOW_PLAIN_HTTP": "true"}))
    assert secure_proxy.struck["request lost"] == 2


@pytest.mark.parametrize("page", [PAGE, (*PAGE[:1], PAGE[1] * 10_000, *PAGE[2:])], ids=["short", "long"])
def test_a_web_page_in_place_of_everything_at_first(pod, proxy, page):
    """As from a hotel's network: shorter than each of the blobs, so that it could be their beginning, or longer than any."""
    seen = set()

    def plan(request):
        is_first = request.path not in seen
        seen.add(request.path)
        return Action(answer=page) if is_first else PASS

    proxy.plan = plan
    check(pod.run(configuration(proxy)))
    assert proxy.struck["garbage"] == len(seen) == 16


def test_a_web_page_that_stays_is_named_at_the_deadline(pod, proxy):
    proxy.plan = lambda request: Action(answer=PAGE)
    result = pod.run(configuration(proxy), env={"LONGSHORE_INIT_DEADLINE": "3s"}).must_fail("given up after", "web page")
    assert result.failure["kind"] == "temporary"


def test_a_registry_that_asks_for_patience(pod, proxy):
    proxy.plan = lambda request: refusal(429, **{"retry-after": "1"}) if request.number == 0 else PASS
    check(pod.run(configuration(proxy)))


def test_a_blob_that_breaks_off_is_resumed_not_begun_again(pod, proxy, published):
    _, blob = published
    proxy.plan = lambda request: Action(cut=100_000) if blob.digest in request.path else PASS
    check(pod.run(configuration(proxy)))
    assert ranges(proxy, blob)[:3] == [None, "bytes=100000-", "bytes=200000-"]


def test_a_slow_registry_is_waited_for(pod, proxy, published):
    _, blob = published
    proxy.plan = lambda request: Action(trickle=6000 if blob.digest in request.path else 1200)
    check(pod.run(configuration(proxy)))


def test_a_registry_that_restarts_in_the_middle(pod):
    """The registry is killed and started again, three times, while a slow download is under way."""
    registry = Registry()
    blob = blueprint_blob({"data": os.urandom(300_000)})
    push_component(registry.client(), "faults", descriptor(NAMES[0], resources=[resource(blob)]), [blob])
    proxy = FaultProxy(registry, lambda request: Action(trickle=2400) if blob.digest in request.path else PASS)
    # The registry is this thread's child and would end with any other, so it is init that runs in another thread.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(pod.run, configuration(proxy))
        for seen in range(3):
            wait_until(lambda: len(ranges(proxy, blob)) > seen, "the next download")
            time.sleep(0.3)
            proxy.close()
            registry.process.kill()
            registry.process = Process("registry-again", [paths.installed("docker-registry"), "serve",
                                                          registry.directory / "config.yml"])
            proxy.start()
        result = running.result().must_succeed()
    proxy.close()
    registry.close()
    assert len(result.content()["data"]) == 300_000
    assert sum(wanted is not None for wanted in ranges(proxy, blob)) >= 3


def test_a_registry_that_comes_late(pod, proxy):
    """Nobody listens when init starts: connect errors are no end."""
    proxy.close()
    starter = threading.Timer(1, proxy.start)
    starter.start()
    try:
        check(pod.run(configuration(proxy)))
    finally:
        starter.join()


def test_a_registry_that_stays_away_is_named_at_the_deadline(pod, proxy):
    proxy.plan = lambda request: refusal(503)
    result = pod.run(configuration(proxy), env={"LONGSHORE_INIT_DEADLINE": "3s"})
    result.must_fail("given up after", proxy.netloc, "503")
    assert result.failure["kind"] == "temporary"
    assert "LONGSHORE_INIT_DEADLINE" in result.failure["advice"]
    assert len(proxy.requests) > 2


@pytest.mark.parametrize("status, kind", [(200, "invalid"), (400, "invalid"), (401, "denied"), (403, "denied"), (404, "not-found")])
def test_final_answers_are_not_asked_for_again(pod, proxy, status, kind):
    proxy.plan = lambda request: refusal(status)
    result = pod.run(configuration(proxy)).must_fail()
    assert result.failure["kind"] == kind
    assert len(proxy.requests) == 1
