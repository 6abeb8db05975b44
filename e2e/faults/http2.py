# SPDX-License-Identifier: Apache-2.0
"""The HTTP/2 side of the fault proxy: one client connection, one thread per stream, GOAWAY and RST_STREAM on demand.

Each stream becomes a separate request to the server (proxy.py), because the tests are about what the client sees.
"""

import http.client
import select
import threading

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
from hyperframe.frame import GoAwayFrame

from faults.proxy import hang_up, shut

INTERNAL_ERROR = int(h2.errors.ErrorCodes.INTERNAL_ERROR)
REFUSED_STREAM = int(h2.errors.ErrorCodes.REFUSED_STREAM)
STREAMS_MAX = 250  # the limit of the API server
READ_BYTES = 65536


class Http2:
    """One connection. One lock protects TLS and the protocol state, neither of which is thread-safe."""

    def __init__(self, proxy, connection):
        self.proxy, self.connection = proxy, connection
        self._closing = proxy.closing   # the event of this start: the proxy may be closed and started again
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)   # signalled when the client opens a window or the connection ends
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self._streams = {}      # by id
        self._is_over = self._is_frozen = self._is_leaving = False
        connection.setblocking(False)

    def serve(self):
        with self._lock:
            self._h2.local_settings[h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS] = STREAMS_MAX
            self._h2.initiate_connection()
            self._flush()
        try:
            while data := self._receive():
                with self._lock:
                    events = self._h2.receive_data(data)
                    for event in events:
                        self._handle_event(event)
                    self._flush()
                    self._room.notify_all()
        except h2.exceptions.ProtocolError:
            pass
        finally:
            self._end()

    def _end(self):
        with self._lock:
            self._is_over = True
            self._room.notify_all()
            upstreams = [stream.upstream for stream in self._streams.values() if stream.upstream]
        for upstream in upstreams:
            hang_up(upstream)

    def _receive(self):
        """The next bytes. Empty at the end of the connection, or when the proxy closes while it is frozen."""
        while not self._is_over and not self._closing.is_set():
            if self._is_frozen:
                self._closing.wait(1)
                continue
            if not self.connection.pending():
                self._poll(select.POLLIN)
            try:
                with self._lock:
                    return self.connection.recv(READ_BYTES)
            except BlockingIOError:
                continue
            except OSError as error:
                if "Want" in type(error).__name__:  # SSLWantReadError: an incomplete record
                    continue
                return b""
        return b""

    def _poll(self, events):
        poll = select.poll()
        poll.register(self.connection, events)
        poll.poll(1000)

    def _flush(self):
        """Sends pending protocol data. The caller holds the lock."""
        self.write(self._h2.data_to_send())

    def write(self, data):
        view = memoryview(data)
        while view and not self._is_frozen:
            try:
                view = view[self.connection.send(view):]
            except OSError as error:
                if "Want" not in type(error).__name__ and not isinstance(error, BlockingIOError):
                    raise
                self._poll(select.POLLIN | select.POLLOUT)

    def _handle_event(self, event):
        if isinstance(event, h2.events.RequestReceived):
            self._streams[event.stream_id] = Stream(self, event.stream_id, dict(event.headers))
        elif isinstance(event, h2.events.DataReceived):
            self._streams[event.stream_id].body += event.data
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            threading.Thread(target=self._streams[event.stream_id].run, daemon=True).start()
        elif isinstance(event, h2.events.StreamReset):
            stream = self._streams.get(event.stream_id)
            if stream:
                stream.is_cancelled = True
                if stream.upstream:
                    hang_up(stream.upstream)
        elif isinstance(event, h2.events.ConnectionTerminated):
            self._is_over = True

    # --- used by streams ---

    def forget(self, identity):
        with self._lock:
            self._streams.pop(identity, None)
            if self._is_leaving and not self._streams:
                self._is_over = True

    def do(self, action):
        """Changes the protocol state and sends the resulting frames to the client."""
        with self._lock:
            if self._is_over:
                raise ConnectionAbortedError
            action(self._h2)
            self._flush()

    def send(self, stream, piece, is_last=False):
        """Sends data within the flow control windows of the client."""
        view = memoryview(piece)
        with self._lock:
            while view or is_last:
                if self._is_over or stream.is_cancelled:
                    raise ConnectionAbortedError
                room = min(self._h2.local_flow_control_window(stream.identity), self._h2.max_outbound_frame_size)
                if view and room <= 0:
                    self._room.wait(1)
                    continue
                part, view = bytes(view[:room]), view[room:]
                self._h2.send_data(stream.identity, part, end_stream=is_last and not view)
                self._flush()
                if not view:
                    return

    def goaway(self, last):
        """Builds the frame itself: the library would close the connection, but open streams have to continue."""
        with self._lock:
            self._is_leaving = True
            self.write(GoAwayFrame(0, last_stream_id=last, error_code=0).serialize())

    def freeze(self):
        self._is_frozen = True

    def break_off(self):
        with self._lock:
            self._is_over = True
            self._room.notify_all()
        shut(self.connection)
        return False


class Stream:
    """One request and the reply to it (Http1 is the equivalent for HTTP/1.1)."""

    is_http2 = True

    def __init__(self, owner, identity, headers):
        self.owner, self.identity, self.headers = owner, identity, headers
        self.body = b""
        self.upstream = None
        self.is_cancelled = False

    def run(self):
        names = {name: value for name, value in self.headers.items() if not name.startswith(":")}
        request = self.owner.proxy.record(self.headers[":method"], self.headers[":path"], names, self.body)
        try:
            self.owner.proxy.handle(request, self)
        except (OSError, ValueError, http.client.HTTPException, h2.exceptions.H2Error):
            self._abandon()
        finally:
            self.owner.forget(self.identity)

    def _abandon(self):
        """The client or the server closed its connection. If it was the server, the client must be notified."""
        try:
            self.reset(INTERNAL_ERROR)
        except (OSError, h2.exceptions.H2Error):
            pass

    def begin(self, code, headers, length):
        fields = [(":status", str(code)), *((name, str(value)) for name, value in headers.items())]
        if length is not None:
            fields.append(("content-length", str(length)))
        self.owner.do(lambda connection: connection.send_headers(self.identity, fields))

    def send(self, piece):
        if piece:
            self.owner.send(self, piece)

    def end(self):
        self.owner.send(self, b"", is_last=True)

    def noise(self, data):
        with self.owner._lock:
            self.owner.write(data)
        self.owner.break_off()

    def break_off(self):
        return self.owner.break_off()

    def reset(self, code=INTERNAL_ERROR):
        self.owner.do(lambda connection: connection.reset_stream(self.identity, code))
        return True

    def goaway(self):
        self.owner.goaway(self.identity)

    def go_away_and_break(self):
        self.owner.goaway(self.identity)
        return self.owner.break_off()

    def close_when_done(self):
        return True

    def freeze(self):
        self.owner.freeze()
