# SPDX-License-Identifier: Apache-2.0
"""A proxy that injects faults between a program and an API server or a registry. It can also replace the server.

It terminates TLS, so that it sees each request, and asks a plan what to do with it: forward it, reject it, drop it, forward it
and drop the response, or cut the response. Response bodies are streamed, so watches work. It supports HTTP/1.1, which every
client can fall back to, and with http2=True also HTTP/2 (http2.py), with GOAWAY and RST_STREAM.

    with FaultProxy(apiserver, plan=lambda request: PASS) as proxy:
        ...KUBERNETES_SERVICE_HOST=proxy.host, KUBERNETES_SERVICE_PORT=proxy.port
    with FaultProxy(registry, plan=lambda request: Action(cut=100) if "/blobs/" in request.path else PASS) as proxy:
        ...proxy.url
"""

import collections
import dataclasses
import functools
import http.client
import itertools
import json
import socket
import ssl
import threading
import time
import urllib.parse

from bench.audit import is_permission_check

HOP_HEADERS = {"connection", "transfer-encoding", "keep-alive", "te", "trailer", "upgrade", "proxy-connection"}
# The server may close a connection that has been idle for longer at any moment.
REUSE_SECONDS = 10
# The first byte of a TLS connection, and the response of Go's servers to connections that start differently.
HANDSHAKE = b"\x16"
NO_HANDSHAKE = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
# How long a hanging connection is kept open: longer than any timeout of a client under test.
HANG_SECONDS = 600


@dataclasses.dataclass(frozen=True)
class Action:
    """What happens to a request. The callbacks run in the thread of the proxy."""
    forward: bool = True        # send the request to the server
    answer: tuple = None        # (status, object or bytes or ENDLESS[, headers]) to send instead of the server's response
    alter: object = None        # called with the headers (may be changed) and the body of the response; returns the body to send
    lose: bool = False          # break the connection instead of responding
    hang: bool = False          # neither respond nor break the connection
    freeze: bool = False        # the same for everything on this connection from now on (half-open connection)
    break_after: float = None   # seconds after which a hanging or frozen connection breaks
    noise: bytes = None         # send these bytes instead of HTTP, then break the connection
    reset: int = None           # send RST_STREAM with this code instead of a response (HTTP/1.1: break the connection)
    goaway: bool = False        # send GOAWAY, then the response, then close the connection
    cut: int = None             # stop after this number of bytes of the response body ...
    cut_by: str = "break"       # ... by "break" (the connection), "reset" (RST_STREAM), "goaway" (GOAWAY, then break), "freeze"
    delay: float = 0            # seconds to wait before the response
    trickle: int = None         # send the response body in pieces of this number of bytes, every TRICKLE_SECONDS
    before: object = None       # called first
    applied: object = None      # called when the server has responded, before the client gets the response
    after: object = None        # called when the client has the response, or the connection is broken


PASS = Action()
TRICKLE_SECONDS = 0.02
# A response body that never ends.
ENDLESS = itertools.repeat(b"x" * 65536)
# The names in FaultProxy.injected of faults in the middle of a response.
CUTS = {"break": "cut", "reset": "RST_STREAM in mid-stream", "goaway": "GOAWAY in mid-stream", "freeze": "half-open in mid-stream"}


def status(code, reason, message="made up by the fault proxy", retry_after=None):
    """A response for Action: a Status object, with a Retry-After header if retry_after is given."""
    body = {"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "message": message,
            "reason": reason, "code": code}
    return (code, body) if retry_after is None else (code, body, {"retry-after": str(retry_after)})


def redirect(url):
    """A response for Action: a temporary redirect."""
    return (307, b"", {"location": url})


@dataclasses.dataclass
class Request:
    method: str
    path: str                   # without the query
    query: dict
    headers: dict               # names are lower-case
    body: bytes
    number: int                 # among all requests, starting at 0
    target: str                 # path and query as sent to the server

    @property
    def is_watch(self):
        return self.query.get("watch") in ("1", "true")

    @property
    def json(self):
        return json.loads(self.body) if self.body else None


# Contexts are cached because certificates take long to create. functools.cache alone would let two threads create the same one.
_tls_lock = threading.Lock()


@functools.cache
def _client_tls_context(authority):
    """The TLS context for connections to a server with this authority."""
    return ssl.create_default_context(cafile=str(authority.certificate))


@functools.cache
def _server_tls_context(authority, address, http2):
    """The TLS context for connections from clients."""
    pair = authority.server(address, "localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(pair.certificate), str(pair.key))
    context.set_alpn_protocols(["h2", "http/1.1"] if http2 else ["http/1.1"])
    return context


class FaultProxy:
    """Listens on loopback, with a certificate of the server's authority if the server uses TLS."""

    def __init__(self, server, plan=lambda request: PASS, *, http2=False, rewrite=lambda path: path, address="127.0.0.1",
                 authority=None):
        """server is an ApiServer or a Registry, or None if the plan answers every request. rewrite maps the path of a request
        to the path that is requested from the server. authority enables TLS in front of a server without TLS."""
        self.plan = plan
        self.rewrite = rewrite
        self.requests = []
        self.injected = collections.Counter()     # faults that really reached a client, by kind
        self.admit = lambda: None   # called for each new connection, in its thread, before the TLS handshake
        self._upstream = urllib.parse.urlsplit(getattr(server, "server", None) or getattr(server, "url", ""))
        self._client_tls = self._server_tls = None
        with _tls_lock:
            if self._upstream.scheme == "https":
                self._client_tls = _client_tls_context(server.authority)
                authority = authority or server.authority
            if authority:
                self._server_tls = _server_tls_context(authority, address, http2)
        self.host, self.port = address, 0
        self._lock = threading.Lock()
        self._open = set()          # client connections
        self._active = set()        # connections to the server with a response in progress
        self._idle = []             # (idle since, connection to the server)
        self.start()

    def start(self):
        """Starts to listen. After close() it uses the same port again, like a server that was killed and restarted."""
        self._listener = socket.create_server((self.host, self.port))
        self.port = self._listener.getsockname()[1]
        self.netloc = f"{self.host}:{self.port}"
        self.url = f"{'https' if self._server_tls else 'http'}://{self.netloc}"
        self.closing = threading.Event()
        threading.Thread(target=self._accept, args=(self._listener, self.closing), daemon=True).start()

    def close(self):
        self.closing.set()
        # A thread in accept() keeps the port open, and close() alone would not wake it.
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()
        self.cut()
        with self._lock:
            upstreams = list(self._active) + [upstream for _, upstream in self._idle]
            self._idle = []
        for upstream in upstreams:
            hang_up(upstream)

    def cut(self):
        """Breaks all connections that are open now."""
        with self._lock:
            connections, self._open = self._open, set()
        for connection in connections:
            shut(connection)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- client connections: one thread each ---

    def _accept(self, listener, closing):
        while not closing.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, plain):
        connection = plain
        try:
            plain.settimeout(120)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._server_tls:
                if plain.recv(1, socket.MSG_PEEK) != HANDSHAKE:
                    plain.sendall(NO_HANDSHAKE)
                    return
                self.admit()
                connection = self._server_tls.wrap_socket(plain, server_side=True)
                with self._lock:
                    self._open.discard(plain)
                    self._open.add(connection)
            if self._server_tls and connection.selected_alpn_protocol() == "h2":
                from faults.http2 import Http2  # imported here because only HTTP/2 needs Debian's python3-h2
                Http2(self, connection).serve()
            else:
                Http1(self, connection).serve()
        except (OSError, ssl.SSLError, http.client.HTTPException, ValueError):
            pass
        finally:
            with self._lock:
                self._open.discard(connection)
            reset(connection)

    def record(self, method, target, headers, body):
        """Records a request that has been read completely."""
        parts = urllib.parse.urlsplit(target)
        path = self.rewrite(parts.path)
        with self._lock:
            request = Request(method, path, dict(urllib.parse.parse_qsl(parts.query)), headers, body, len(self.requests),
                              path + (f"?{parts.query}" if parts.query else ""))
            self.requests.append(request)
        return request

    # --- handling of a request ---

    def handle(self, request, reply):
        """Does what the plan says, on a reply of Http1 or Http2. Returns whether the connection can be used again."""
        # Plans count and break requests that have effects, so permission checks pass if there is a server.
        action = PASS if self._upstream.netloc and is_permission_check(request.path) else self.plan(request) or PASS
        if action.before:
            action.before()
        upstream = answer = None
        try:
            if action.forward:
                upstream, answer = self._forward(request, reply)
            if action.applied:
                action.applied()
            is_kept = self._reply(action, answer, reply)
            if action.after:
                action.after()
            return is_kept
        finally:
            self._release(upstream, answer)

    def _count_fault(self, kind):
        with self._lock:
            self.injected[kind] += 1

    def _reply(self, action, answer, reply):
        if action.delay:
            self._count_fault("slow")
            self.closing.wait(action.delay)
        if action.hang or action.freeze:
            kind = "half-open" if action.freeze else "no answer"
            self._count_fault(kind if action.break_after is not None else f"{kind} for good")
            return self._hang(action, reply)
        if action.noise is not None:
            self._count_fault("noise")
            reply.noise(action.noise)
            return False
        if action.lose:
            self._count_fault("answer lost after it was applied" if answer else "request lost")
            return reply.break_off()
        if action.reset is not None:
            self._count_fault("RST_STREAM" if reply.is_http2 else "answer lost after it was applied" if answer else "request lost")
            return reply.reset(action.reset)
        if action.goaway and reply.is_http2:
            self._count_fault("GOAWAY")
            reply.goaway()
        if action.answer is not None:
            self._send_answer(action, reply)
        elif answer is not None and not self._relay(action, answer, reply):
            return False
        return not action.goaway or reply.close_when_done()

    def _hang(self, action, reply):
        """Sends nothing more until the connection has to break or the proxy closes."""
        if action.freeze or action.cut_by == "freeze":
            reply.freeze()
        self.closing.wait(HANG_SECONDS if action.break_after is None else action.break_after)
        return reply.break_off()

    def _send_answer(self, action, reply):
        code, body, *more = action.answer
        self._count_fault("garbage" if code == 200 else str(code))
        headers = {"content-type": "application/json", **(more[0] if more else {})}
        if body is ENDLESS:
            reply.begin(code, headers, None)
            for piece in body:      # until the client disconnects
                reply.send(piece)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        reply.begin(code, headers, len(data))
        reply.send(data)
        reply.end()

    def _relay(self, action, answer, reply):
        headers = {name.lower(): value for name, value in answer.getheaders() if name.lower() not in HOP_HEADERS}
        length = headers.pop("content-length", None)
        if action.alter:
            return self._relay_altered(action.alter, headers, answer, reply)
        reply.begin(answer.status, headers, None if length is None else int(length))
        sent = 0
        while piece := answer.read1(action.trickle or 65536):
            if action.cut is not None and sent + len(piece) >= action.cut:
                reply.send(piece[:action.cut - sent])
                return self._cut(action, reply)
            reply.send(piece)
            sent += len(piece)
            if action.trickle:
                time.sleep(TRICKLE_SECONDS)
        reply.end()
        return True

    def _relay_altered(self, alter, headers, answer, reply):
        body = alter(headers, answer.read())
        self._count_fault("altered")
        reply.begin(answer.status, headers, len(body))
        reply.send(body)
        reply.end()
        return True

    def _cut(self, action, reply):
        self._count_fault(CUTS[action.cut_by if reply.is_http2 or action.cut_by == "freeze" else "break"])
        if action.cut_by == "freeze":
            return self._hang(action, reply)
        return {"break": reply.break_off, "reset": reply.reset, "goaway": reply.go_away_and_break}[action.cut_by]()

    # --- the server ---

    def _connect(self):
        with self._lock:
            while self._idle:
                since, upstream = self._idle.pop()
                if time.monotonic() - since < REUSE_SECONDS:
                    return upstream
                upstream.close()
        if not self._upstream.hostname:
            raise ConnectionRefusedError("there is no server behind this proxy")
        address = (self._upstream.hostname, self._upstream.port)
        if self._client_tls:
            return http.client.HTTPSConnection(*address, context=self._client_tls, timeout=HANG_SECONDS)
        return http.client.HTTPConnection(*address, timeout=HANG_SECONDS)

    def _forward(self, request, reply):
        upstream = self._connect()
        with self._lock:
            self._active.add(upstream)
        reply.upstream = upstream
        headers = {name: value for name, value in request.headers.items()
                   if name not in HOP_HEADERS and name not in ("host", "content-length", "expect")}
        upstream.request(request.method, request.target, body=request.body or None, headers=headers)
        return upstream, upstream.getresponse()

    def _release(self, upstream, answer):
        if upstream is None:
            return
        with self._lock:
            self._active.discard(upstream)
            if answer is not None and answer.isclosed() and upstream.sock and not self.closing.is_set():
                self._idle.append((time.monotonic(), upstream))
                return
        hang_up(upstream)
        upstream.close()


class Http1:
    """One HTTP/1.1 connection: one request after the other. It is also the reply object for each request."""

    is_http2 = False

    def __init__(self, proxy, connection):
        self.proxy, self.connection = proxy, connection
        self.upstream = None
        self._reader = connection.makefile("rb")
        self._is_chunked = False

    def serve(self):
        while (request := self._read()) is not None:
            if not self.proxy.handle(request, self):
                break

    def _read(self):
        line = self._reader.readline().decode().strip()
        if not line:
            return None
        method, target, _ = line.split(" ")
        headers = {}
        while (header := self._reader.readline().decode().strip()):
            name, _, value = header.partition(":")
            headers[name.strip().lower()] = value.strip()
        if headers.get("expect", "").lower() == "100-continue":
            self.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        return self.proxy.record(method, target, headers, self._read_body(headers))

    def _read_body(self, headers):
        if "chunked" in headers.get("transfer-encoding", ""):
            body = b""
            while size := int(self._reader.readline().split(b";")[0], 16):
                body += self._reader.read(size)
                self._reader.readline()
            self._reader.readline()
            return body
        return self._reader.read(int(headers.get("content-length", 0)))

    # --- used by handle() ---

    def begin(self, code, headers, length):
        self._is_chunked = length is None and code not in (204, 304)
        size = {"transfer-encoding": "chunked"} if self._is_chunked else {} if length is None else {"content-length": length}
        lines = [f"HTTP/1.1 {code} {http.client.responses.get(code, 'Unknown')}"]
        lines += [f"{name}: {value}" for name, value in {**headers, **size}.items()]
        self.connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())

    def send(self, piece):
        if piece:
            self.connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if self._is_chunked else piece)

    def end(self):
        if self._is_chunked:
            self.connection.sendall(b"0\r\n\r\n")

    def noise(self, data):
        self.connection.sendall(data)

    def break_off(self):
        shut(self.connection)
        return False

    def reset(self, code=None):
        return self.break_off()

    def go_away_and_break(self):
        return self.break_off()

    def goaway(self):
        pass

    def close_when_done(self):
        return False

    def freeze(self):
        pass


def shut(connection):
    """Ends a connection, whichever thread uses it. Uses the shutdown of the plain socket, because that of TLS would change the
    state of the connection while another thread reads from it."""
    try:
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
    except OSError:
        pass


def reset(connection):
    shut(connection)
    connection.close()


def hang_up(upstream):
    """Ends a connection to the server, even if a thread is reading from it; that thread closes it."""
    if upstream.sock is not None:
        shut(upstream.sock)
