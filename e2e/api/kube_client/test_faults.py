# SPDX-License-Identifier: Apache-2.0
"""Effects of the network, the token and an overloaded server on a client."""

import base64
import http.server
import itertools
import json
import os
import pathlib
import signal
import socket
import ssl
import threading

import pytest

from bench import paths
from bench.kube import ApiError
from bench.waiting import wait_until


# --- tokens ----------------------------------------------------------------------------------------------------------

def _mount(directory, apiserver, token):
    """A service account directory like that of a kubelet: the token is replaced atomically."""
    directory.mkdir(exist_ok=True)
    (directory / "ca.crt").write_bytes(pathlib.Path(apiserver.authority.certificate).read_bytes())
    aside = directory / "token.new"
    aside.write_text(token + "\n")
    aside.rename(directory / "token")


def _in_cluster(make_driver, apiserver, directory):
    host, _, port = apiserver.server.removeprefix("https://").rpartition(":")
    return make_driver("--in-cluster", directory,
                       env={"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port})


def test_a_replaced_token_is_used_at_once(make_driver, apiserver, namespace, kube, tmp_path):
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]
    for account in ("first", "second"):
        token = apiserver.service_account(account, namespace)
        kube.allow(f"{namespace}:{account}", rules if account == "first" else rules[:1], namespace, name=account,
                   kind="ServiceAccount")
    kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "thing"}}, namespace)
    _mount(tmp_path, apiserver, apiserver.kube.token("first", namespace))
    driver = _in_cluster(make_driver, apiserver, tmp_path)

    mark = apiserver.audit.mark()
    assert "object" in driver.call("get", "configmaps", "thing", namespace)
    _mount(tmp_path, apiserver, token)
    assert "object" in driver.call("get", "configmaps", "thing", namespace)
    wait_until(lambda: apiserver.audit.count(mark, verb="get", resource="configmaps",
                                             user=f"system:serviceaccount:{namespace}:second") == 1,
               "the second account in the audit log")
    assert apiserver.audit.count(mark, verb="get", resource="configmaps",
                                 user=f"system:serviceaccount:{namespace}:first") == 1


def test_a_rejected_token_is_read_again_once(make_driver, apiserver, namespace, kube, tmp_path):
    """The file has the same time, size and inode as before, so only the rejection shows that it changed."""
    apiserver.service_account("robot", namespace)
    kube.allow(f"{namespace}:robot", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}], namespace,
               name="robot", kind="ServiceAccount")
    kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "thing"}}, namespace)
    good = apiserver.kube.token("robot", namespace)
    _mount(tmp_path, apiserver, "bad" * 10)
    driver = _in_cluster(make_driver, apiserver, tmp_path)

    error = driver.call("get", "configmaps", "thing", namespace)["error"]
    assert error["kind"] == "denied"
    assert error["httpStatus"] == 401
    assert "badbad" not in error["text"]
    assert driver.stats()["requests"] == 2

    token = tmp_path / "token"
    before = token.stat()
    with open(token, "w") as file:
        file.write(good)
    os.utime(token, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert token.stat().st_mtime_ns == before.st_mtime_ns and token.stat().st_ino == before.st_ino
    assert "object" in driver.call("get", "configmaps", "thing", namespace)


def test_a_watch_outlives_its_token(make_driver, private_apiserver, tmp_path):
    server = private_apiserver
    server.service_account("robot", "default")
    server.kube.allow("default:robot", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}],
                      "default", name="robot", kind="ServiceAccount")
    _mount(tmp_path, server, server.kube.token("robot", "default"))
    driver = _in_cluster(make_driver, server, tmp_path)
    watch = driver.watch("configmaps", "default")
    count = driver.event(watch, "SYNCED")["count"]

    _mount(tmp_path, server, "no-token-at-all")
    server.restart(crash=True)
    denied = driver.wait(watch, lambda line: line["event"] == "BROKEN" and line["error"]["httpStatus"] == 401)
    _mount(tmp_path, server, server.kube.token("robot", "default"))
    server.kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}, "default")
    driver.event(watch, "ADDED", "late", after=denied["count"])
    assert not [line for line in driver.answers(watch) if line["event"] == "LISTED" and line["count"] > count]


# --- too many requests -----------------------------------------------------------------------------------------------

class Gate(http.server.ThreadingHTTPServer):
    """An admission webhook that delays every request until it is opened."""

    def __init__(self, pair):
        super().__init__(("127.0.0.1", 0), self.Handler)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(pair.certificate, pair.key)
        self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.held = threading.Event()
        self.opened = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.server.held.set()
            self.server.opened.wait(60)
            body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                               "response": {"uid": review["request"]["uid"], "allowed": True}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass


@pytest.fixture
def full_server(make_apiserver):
    """(server, gate): an API server that allows one write at a time and is busy with one until the gate is opened."""
    server = make_apiserver(flags=["--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=1"])
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]
    server.kube.allow("holder", rules)
    server.kube.allow("crowd", rules)
    gate = Gate(server.authority.server("127.0.0.1"))
    bundle = base64.b64encode(pathlib.Path(server.authority.certificate).read_bytes()).decode()
    server.kube.create({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "gate"}, "webhooks": [{
            "name": "gate.longshore.test", "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 30,
            "objectSelector": {"matchLabels": {"held": "yes"}},
            "clientConfig": {"url": f"https://127.0.0.1:{gate.server_port}/", "caBundle": bundle},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]}]})
    holder = server.user("holder")

    def hold():
        # The webhook takes effect after a moment; requests that pass before that use another name.
        for number in itertools.count():
            if gate.opened.is_set():
                return
            try:
                holder.create({"apiVersion": "v1", "kind": "ConfigMap",
                               "metadata": {"name": f"held-{number}", "labels": {"held": "yes"}}}, "default")
            except ApiError as error:
                if error.status != 429:
                    raise

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    assert gate.held.wait(60), "the webhook was not called"
    yield server, gate
    gate.opened.set()
    thread.join(60)
    gate.shutdown()
    gate.server_close()


def _config_map(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def test_requests_to_an_overloaded_server_are_retried_until_they_succeed(make_driver, full_server):
    server, gate = full_server
    driver = make_driver("--kubeconfig", server.user_kubeconfig("crowd"))
    call = driver.send("call", verb="create", plural="configmaps", namespace="default", body=_config_map("late"),
                       quiet=True, timeoutMs=60_000)
    wait_until(lambda: driver.stats()["requests"] >= 2, "a second attempt")
    assert not driver.answers(call)
    gate.opened.set()
    assert driver.wait(call) == {"id": call, "ok": True}


def test_without_retries_the_error_contains_the_retry_delay(make_driver, full_server):
    server, _ = full_server
    driver = make_driver("--kubeconfig", server.user_kubeconfig("crowd"))
    error = driver.call("create", "configmaps", namespace="default", body=_config_map("never"), noRetry=True)["error"]
    assert error["kind"] == "temporary"
    assert error["httpStatus"] == 429
    assert error["retryAfterMs"] == 1000


# --- leases ----------------------------------------------------------------------------------------------------------

QUICK = {"durationMs": 3000, "renewDeadlineMs": 2000, "retryMs": 200}


def _leader(driver, lease, is_leader=True):
    return driver.wait(lease, lambda line: line.get("leader") is is_leader, f"leader {is_leader}")


def test_there_is_one_leader_at_a_time_and_the_next_one_when_it_releases_the_lease(make_driver, apiserver, namespace, kube):
    first = make_driver("--kubeconfig", apiserver.kubeconfig)
    second = make_driver("--kubeconfig", apiserver.kubeconfig)
    held = first.send("lease", namespace=namespace, name="one", identity="first", **QUICK)
    _leader(first, held)
    waiting = second.send("lease", namespace=namespace, name="one", identity="second", **QUICK)
    renewed = kube.get("coordination.k8s.io/v1/leases", "one", namespace)["spec"]["renewTime"]
    spec = wait_until(lambda: (found := kube.get("coordination.k8s.io/v1/leases", "one", namespace)["spec"])
                      ["renewTime"] != renewed and found, "a renewal")
    assert spec["holderIdentity"] == "first"
    assert spec["leaseDurationSeconds"] == 3
    assert spec["leaseTransitions"] == 0
    assert not second.answers(waiting)

    first.process.stdin.write(b'{"do": "stop", "id": "1"}\n')
    first.process.stdin.flush()
    _leader(second, waiting)
    spec = kube.get("coordination.k8s.io/v1/leases", "one", namespace)["spec"]
    assert spec["holderIdentity"] == "second"
    assert spec["leaseTransitions"] == 1


def test_a_leader_that_was_suspended_notices_its_loss_when_it_continues(make_driver, apiserver, namespace):
    first = make_driver("--kubeconfig", apiserver.kubeconfig)
    second = make_driver("--kubeconfig", apiserver.kubeconfig)
    held = first.send("lease", namespace=namespace, name="still", identity="first", **QUICK)
    _leader(first, held)
    waiting = second.send("lease", namespace=namespace, name="still", identity="second", **QUICK)
    os.kill(first.process.pid, signal.SIGSTOP)
    try:
        _leader(second, waiting)
    finally:
        os.kill(first.process.pid, signal.SIGCONT)
    _leader(first, held, False)
    assert [line["leader"] for line in second.answers(waiting)] == [True]


def test_a_leader_without_a_server_stops_leading(make_driver, private_apiserver):
    driver = make_driver("--kubeconfig", private_apiserver.kubeconfig)
    held = driver.send("lease", namespace="default", name="lost", identity="us", **QUICK)
    _leader(driver, held)
    private_apiserver.kill()
    _leader(driver, held, False)
    private_apiserver.start()
    driver.wait(held, lambda line: line.get("leader") and
                [other.get("leader") for other in driver.answers(held)].count(True) == 2, "leader again")


# --- the network -----------------------------------------------------------------------------------------------------

class Relay:
    """Forwards connections between client and server and can cut or freeze all of them."""

    def __init__(self, port):
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.connections = 0
        self._pairs = []
        self._flows = threading.Event()  # for connections that are made from now on
        self._flows.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            server = socket.create_connection(("127.0.0.1", self._port))
            self._pairs.append((client, server))
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._copy, args=(source, target, self._flows), daemon=True).start()

    def _copy(self, source, target, flows):
        try:
            while data := source.recv(65536):
                flows.wait()
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(2)
            except OSError:
                pass

    def cut(self):
        """Ends all connections without a TLS or HTTP message."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                try:
                    end.shutdown(2)
                except OSError:
                    pass

    def freeze(self):
        """Stops forwarding on all existing connections for good, while the kernel still acknowledges data."""
        self._flows.clear()
        self._flows = threading.Event()
        self._flows.set()

    def close(self):
        self._listener.close()
        self.cut()


@pytest.fixture
def relay(apiserver):
    running = Relay(apiserver.port)
    yield running
    running.close()


@pytest.fixture
def relayed(make_driver, apiserver, relay):
    config = pathlib.Path(apiserver.kubeconfig).read_text().replace(f":{apiserver.port}", f":{relay.port}")
    path = paths.run_directory() / f"relayed-{relay.port}"
    path.write_text(config)
    return make_driver("--kubeconfig", path)


def test_calls_survive_cut_connections(relayed, relay, namespace, kube, secret):
    kube.create(secret("there"), namespace)
    for _ in range(5):
        ids = [relayed.send("call", verb="get", plural="secrets", name="there", namespace=namespace, quiet=True)
               for _ in range(20)]
        relay.cut()
        assert all("ok" in relayed.wait(identity) for identity in ids)


def test_a_watch_survives_cut_connections_without_missing_events(relayed, relay, namespace, kube, secret):
    watch = relayed.watch("secrets", namespace)
    relayed.event(watch, "SYNCED")
    for i in range(10):
        if i % 2:
            relay.cut()
        kube.create(secret(f"event-{i}"), namespace)
    for i in range(10):
        relayed.event(watch, "ADDED", f"event-{i}")
    names = [line["name"] for line in relayed.answers(watch) if line["event"] == "ADDED"]
    assert names == sorted(set(names)), "each event once and in order"


def test_a_call_on_a_dead_connection_uses_another_one(relayed, relay, namespace, kube, secret):
    kube.create(secret("there"), namespace)
    assert "ok" in relayed.call("get", "secrets", "there", namespace, quiet=True)
    relay.freeze()
    ids = [relayed.send("call", verb="get", plural="secrets", name="there", namespace=namespace, quiet=True,
                        timeoutMs=6000) for _ in range(10)]
    assert all("ok" in relayed.wait(identity) for identity in ids)
    assert relay.connections == 2


def test_a_call_that_must_not_be_retried_ends_at_its_timeout_and_the_next_one_works(
        relayed, relay, namespace, kube, secret):
    kube.create(secret("there"), namespace)
    assert "ok" in relayed.call("get", "secrets", "there", namespace, quiet=True)
    relay.freeze()
    error = relayed.call("get", "secrets", "there", namespace, timeoutMs=500, noRetry=True)["error"]
    assert error["kind"] == "temporary"
    assert "ok" in relayed.call("get", "secrets", "there", namespace, quiet=True)
    assert relay.connections == 2
