# SPDX-License-Identifier: Apache-2.0
"""Registries with faults: init retries transient errors until its deadline, and fails early on errors that do not go away."""

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
    """A proxy with TLS of an authority that the pod trusts. The parameter is the HTTP version."""
    authority = certificates.session_authority()
    pod.env["SSL_CERT_FILE"] = str(pod.write("ca.pem", authority.certificate.read_text()))
    with FaultProxy(published[0], authority=authority, http2=request.param == "HTTP/2") as server:
        yield server


def over(version, *faults):
    return [(version, fault) for fault in faults]


def configuration(server):
    return reference(context(f"{server.url}/faults"), NAMES[0], blueprint="blueprint")


def ranges(proxy, blob):
    """The Range headers of the requests for a blob; None: no Range."""
    return [request.headers.get("range") for request in proxy.requests if blob.digest in request.path]


def check(result):
    result.must_succeed()
    assert len(result.components()) == 5
    assert len(result.content()["data"]) == 300_000


def refusal(code, **headers):
    """An error response of the registry."""
    return Action(forward=False, answer=(code, {}, headers))


LOST = Action(forward=False, lose=True)


@pytest.mark.parametrize("fault", [refusal(503), refusal(500), refusal(429, **{"retry-after": "0"}), LOST, Action(cut=50)],
                         ids=["503", "500", "429", "lost", "cut"])
def test_every_second_request_fails(pod, proxy, fault):
    proxy.plan = lambda request: PASS if request.number % 2 else fault
    check(pod.run(configuration(proxy), timeout=180))


# The keys are those of FaultProxy.injected.
INVALID_ANSWERS = {
    "GOAWAY": Action(goaway=True),
    "RST_STREAM": Action(forward=False, reset=REFUSED_STREAM),
    "noise": Action(forward=False, noise=b"SSH-2.0-OpenSSH_9.2\r\n" * 4),
    "502": Action(forward=False, answer=(502, *PAGE[1:])),
}


@pytest.mark.parametrize("secure_proxy, fault", over("HTTP/2", *INVALID_ANSWERS) + over("HTTP/1.1", "noise", "502"),
                         indirect=["secure_proxy"])
def test_every_second_answer_is_invalid(pod, secure_proxy, fault):
    secure_proxy.plan = lambda request: PASS if request.number % 2 else INVALID_ANSWERS[fault]
    check(pod.run(configuration(secure_proxy)))
    assert secure_proxy.injected[fault] > 5


@pytest.mark.parametrize("secure_proxy", ["HTTP/2", "HTTP/1.1"], indirect=True)
def test_half_open_connections(pod, secure_proxy):
    """Not every second connection: over HTTP/2 all requests on such a connection are lost."""
    secure_proxy.plan = lambda request: Action(freeze=True, break_after=0.5) if request.number in (0, 4, 9) else PASS
    check(pod.run(configuration(secure_proxy)))
    assert secure_proxy.injected["half-open"] == 3


@pytest.mark.parametrize("secure_proxy, cut_by", over("HTTP/2", *CUTS) + over("HTTP/1.1", "break", "freeze"),
                         indirect=["secure_proxy"])
def test_a_blob_that_is_cut_off_is_resumed(pod, secure_proxy, published, cut_by):
    _, blob = published
    secure_proxy.plan = lambda request: Action(cut=100_000, cut_by=cut_by, break_after=0.5) if blob.digest in request.path else PASS
    check(pod.run(configuration(secure_proxy)))
    assert secure_proxy.injected[CUTS[cut_by]] == 3
    assert ranges(secure_proxy, blob) == [None, "bytes=100000-", "bytes=200000-", "bytes=300000-"]


@pytest.mark.parametrize("secure_proxy", ["HTTP/2"], indirect=True)
def test_lost_requests_do_not_switch_to_plain_http(pod, secure_proxy):
    """Plain HTTP is allowed, so that init tries it when https fails; a server with TLS rejects it."""
    secure_proxy.plan = lambda request: LOST if request.number < 2 else PASS
    check(pod.run(configuration(secure_proxy), env={"LONGSHORE_OCI_ALLOW_PLAIN_HTTP": "true"}))
    assert secure_proxy.injected["request lost"] == 2


@pytest.mark.parametrize("page", [PAGE, (*PAGE[:1], PAGE[1] * 10_000, *PAGE[2:])], ids=["short", "long"])
def test_a_web_page_instead_of_every_first_answer(pod, proxy, page):
    """As from a captive portal. The page is shorter than each of the blobs, so that it could be their start, or longer than any."""
    seen = set()

    def plan(request):
        is_first = request.path not in seen
        seen.add(request.path)
        return Action(answer=page) if is_first else PASS

    proxy.plan = plan
    check(pod.run(configuration(proxy)))
    assert proxy.injected["garbage"] == len(seen) == 16


# A deadline that no test reaches: one that is retried until then fails by the time limit of pod.run().
FAR_DEADLINE = {"LONGSHORE_INIT_DEADLINE": "10m"}
# A label of 64 bytes is invalid, so that no name server has to be asked for it.
UNKNOWN_HOST = "a" * 64 + ".example"


def test_a_web_page_three_times_in_a_row_is_final(pod, proxy):
    """As if baseUrl was the address of a web site."""
    proxy.plan = lambda request: Action(answer=PAGE)
    result = pod.run(configuration(proxy), env=FAR_DEADLINE).must_fail(NAMES[0], proxy.netloc, "not a registry", "web page")
    assert result.failure["kind"] == "invalid"
    assert "repository context" in result.failure["advice"]
    assert proxy.injected["garbage"] == 3
    assert [line["msg"] for line in result.log].count("retrying registry request") == 2


def test_plain_http_on_a_tls_connection_is_final(pod, published):
    """A registry without TLS, and a baseUrl without http://."""
    host = published[0].host
    result = pod.run(reference(context(f"{host}/faults"), NAMES[0]), env=FAR_DEADLINE)
    result.must_fail(NAMES[0], host, "does not speak TLS")
    assert result.failure["kind"] == "invalid"
    assert [line["msg"] for line in result.log].count("retrying registry request") == 2


def test_an_unknown_host_is_final(pod):
    result = pod.run(reference(context(f"{UNKNOWN_HOST}/faults"), NAMES[0]), env=FAR_DEADLINE)
    result.must_fail(NAMES[0], UNKNOWN_HOST, "unknown host")
    assert result.failure["kind"] == "invalid"
    assert [line["msg"] for line in result.log].count("retrying registry request") >= 2


def test_retry_after_is_honoured(pod, proxy):
    proxy.plan = lambda request: refusal(429, **{"retry-after": "1"}) if request.number == 0 else PASS
    check(pod.run(configuration(proxy)))


def test_an_interrupted_blob_is_resumed(pod, proxy, published):
    _, blob = published
    proxy.plan = lambda request: Action(cut=100_000) if blob.digest in request.path else PASS
    check(pod.run(configuration(proxy)))
    assert ranges(proxy, blob)[:3] == [None, "bytes=100000-", "bytes=200000-"]


def test_a_slow_registry_is_not_an_error(pod, proxy, published):
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


def test_a_registry_that_is_not_up_yet(pod, proxy):
    """The port is closed when init starts: connection errors are retried."""
    proxy.close()
    starter = threading.Timer(1, proxy.start)
    starter.start()
    try:
        check(pod.run(configuration(proxy)))
    finally:
        starter.join()


def test_transient_errors_are_retried_until_the_deadline(pod, proxy):
    proxy.plan = lambda request: refusal(503)
    result = pod.run(configuration(proxy), env={"LONGSHORE_INIT_DEADLINE": "3s"})
    result.must_fail("given up after", proxy.netloc, "503")
    assert result.failure["kind"] == "temporary"
    assert "LONGSHORE_INIT_DEADLINE" in result.failure["advice"]
    assert len(proxy.requests) > 2
    assert [line["msg"] for line in result.log].count("retrying registry request") == len(proxy.requests) - 1


@pytest.mark.parametrize("status, kind", [(200, "invalid"), (400, "invalid"), (401, "denied"), (403, "denied"), (404, "not-found")])
def test_final_answers_are_not_retried(pod, proxy, status, kind):
    proxy.plan = lambda request: refusal(status)
    result = pod.run(configuration(proxy)).must_fail()
    assert result.failure["kind"] == kind
    assert len(proxy.requests) == 1
