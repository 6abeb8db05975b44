# SPDX-License-Identifier: Apache-2.0
"""A proxy with bad manners between a program and an API server.

It ends TLS, so that it sees each request, and asks a plan what to do with it: pass it on, refuse it, lose it, apply it
and lose the answer. HTTP/1.1 only, which every client can fall back to; bodies of answers are streamed, so watches work.

    with FaultProxy(apiserver, plan=lambda request: PASS) as proxy:
        ...KUBERNETES_SERVICE_HOST=proxy.host, KUBERNETES_SERVICE_PORT=proxy.port
"""

import dataclasses
import http.client
import json
import socket
import ssl
import threading
import urllib.parse

HOP_HEADERS = {"connection", "transfer-encoding", "keep-alive", "te", "trailer", "upgrade", "proxy-connection"}


@dataclasses.dataclass(frozen=True)
class Action:
    """What happens to a request. Hooks run at their point, in the proxy's thread."""
    forward: bool = True        # pass it on to the server
    answer: tuple = None        # (status, object) given in place of the server's answer
    lose: bool = False          # break the connection in place of an answer
    hang: bool = False          # neither answer nor break
    before: object = None       # called before anything else
    applied: object = None      # called when the server has answered, before the client is
    after: object = None        # called when the client has been answered (or the connection broken)


PASS = Action()


def status(code, reason, message="made up by the fault proxy"):
    return code, {"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "message": message,
                  "reason": reason, "code": code}


@dataclasses.dataclass
class Request:
    method: str
    path: str                   # without query
    query: dict
    headers: dict
    body: bytes
    number: int                 # of all requests, from 0

    @property
    def is_watch(self):
        return self.query.get("watch") in ("1", "true")

    @property
    def json(self):
        return json.loads(self.body) if self.body else None


class FaultProxy:
    """Listens on loopback with a certificate of the server's authority."""

    def __init__(self, apiserver, plan=lambda request: PASS):
        self.plan = plan
        self.requests = []
        self._upstream = urllib.parse.urlsplit(apiserver.server)
        self._client_tls = ssl.create_default_context(cafile=str(apiserver.authority.certificate))
        pair = apiserver.authority.server("127.0.0.1", "localhost")
        self._server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._server_tls.load_cert_chain(str(pair.certificate), str(pair.key))
        self._server_tls.set_alpn_protocols(["http/1.1"])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self._listener.getsockname()
        self._lock = threading.Lock()
        self._open = set()
        self._closing = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._closing.set()
        self._listener.close()
        self.cut()

    def cut(self):
        """Breaks every connection that is open now."""
        with self._lock:
            connections, self._open = self._open, set()
        for connection in connections:
            _reset(connection)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- threads: one a connection ---

    def _accept(self):
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, plain):
        try:
            plain.settimeout(120)
            connection = self._server_tls.wrap_socket(plain, server_side=True)
            with self._lock:
                self._open.discard(plain)
                self._open.add(connection)
        except (OSError, ssl.SSLError):
            plain.close()
            return
        reader = connection.makefile("rb")
        try:
            while (request := self._read(reader, connection)) is not None:
                if not self._handle(request, connection):
                    break
        except (OSError, ssl.SSLError, http.client.HTTPException, ValueError):
            pass
        finally:
            with self._lock:
                self._open.discard(connection)
            _reset(connection)

    def _read(self, reader, connection):
        line = reader.readline().decode().strip()
        if not line:
            return None
        method, target, _ = line.split(" ")
        headers = {}
        while (header := reader.readline().decode().strip()):
            name, _, value = header.partition(":")
            headers[name.strip().lower()] = value.strip()
        if headers.get("expect", "").lower() == "100-continue":
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = self._read_body(reader, headers)
        parts = urllib.parse.urlsplit(target)
        with self._lock:
            request = Request(method, parts.path, dict(urllib.parse.parse_qsl(parts.query)), headers, body,
                              len(self.requests))
            request.target = target
            self.requests.append(request)
        return request

    @staticmethod
    def _read_body(reader, headers):
        if "chunked" in headers.get("transfer-encoding", ""):
            body = b""
            while size := int(reader.readline().split(b";")[0], 16):
                body += reader.read(size)
                reader.readline()
            reader.readline()
            return body
        return reader.read(int(headers.get("content-length", 0)))

    def _handle(self, request, connection):
        """Returns whether the connection stays."""
        action = self.plan(request) or PASS
        if action.before:
            action.before()
        answer = self._ask(request) if action.forward else None
        if action.applied:
            action.applied()
        if action.hang:
            self._closing.wait(60)
            return False
        if action.lose:
            _reset(connection)
        elif action.answer is not None:
            _send(connection, action.answer[0], {"content-type": "application/json"},
                  json.dumps(action.answer[1]).encode())
        elif answer is not None:
            self._relay(answer, connection)
        if action.after:
            action.after()
        return not action.lose

    def _ask(self, request):
        upstream = http.client.HTTPSConnection(self._upstream.hostname, self._upstream.port, context=self._client_tls,
                                               timeout=120)
        headers = {name: value for name, value in request.headers.items()
                   if name not in HOP_HEADERS and name not in ("host", "content-length", "expect")}
        upstream.request(request.method, request.target, body=request.body or None, headers=headers)
        return upstream.getresponse()

    @staticmethod
    def _relay(answer, connection):
        headers = {name.lower(): value for name, value in answer.getheaders() if name.lower() not in HOP_HEADERS}
        if "content-length" in headers or answer.status in (204, 304):
            _send(connection, answer.status, headers, answer.read())
            return
        connection.sendall(_head(answer.status, {**headers, "transfer-encoding": "chunked"}))
        while piece := answer.read1(65536):
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        connection.sendall(b"0\r\n\r\n")


def _head(code, headers):
    lines = [f"HTTP/1.1 {code} {http.client.responses.get(code, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _send(connection, code, headers, body):
    headers = {name: value for name, value in headers.items() if name != "content-length"}
    connection.sendall(_head(code, {**headers, "content-length": len(body)}) + body)


def _reset(connection):
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()
