# SPDX-License-Identifier: Apache-2.0
"""A stand-in for an API server with very many objects, which a real one would need minutes to create. Lists and watches, and accepts
statuses and Leases; every other request is an error. Used for memory and idle requests only."""

import http.server
import json
import threading
import time
import urllib.parse


class LargeServer:
    """collections: path of a collection -> list of objects. requests: method and path of everything but lists and watches."""

    def __init__(self, collections):
        self.collections, self.requests, self.statuses, self.lists = collections, [], 0, 0
        self.renewals = 0
        self.closing = threading.Event()
        self._lock, self._leases, self._version = threading.Lock(), {}, 10 ** 6
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                owner.get(self)

            def do_POST(self):
                owner.write(self)

            do_PUT = do_PATCH = do_DELETE = do_POST

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def get(self, handler):
        url = urllib.parse.urlsplit(handler.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if query.get("watch"):
            self._watch(handler)
        elif url.path in self.collections:
            self._list(handler, url.path, query)
        elif url.path in self._leases:
            self._answer(handler, 200, self._leases[url.path])
        else:
            self._answer(handler, 404, {"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "not found"})

    def _watch(self, handler):
        """Nothing ever changes."""
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.flush()
        self.closing.wait()

    def _list(self, handler, path, query):
        items, start = self.collections[path], int(query.get("continue") or 0)
        end = start + int(query.get("limit") or len(items) or 1)
        metadata = {"resourceVersion": "1000000"}
        if end < len(items):
            metadata["continue"] = str(end)
        self.lists += 1
        self._answer(handler, 200, {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items[start:end]})

    def write(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        path = urllib.parse.urlsplit(handler.path).path
        with self._lock:
            self._version += 1
            if "/leases" in path:
                self.renewals += 1
                lease = json.loads(body)
                lease["metadata"].update(resourceVersion=str(self._version), uid="lease")
                self._leases[path if handler.command == "PUT" else f"{path}/{lease['metadata']['name']}"] = lease
                self._answer(handler, 200, lease)
            elif path.endswith("/status") and handler.command == "PATCH":
                self.statuses += 1
                self._answer(handler, 200, self._with_status(path, json.loads(body)["status"]))
            elif path.endswith("/events"):
                self._answer(handler, 201, json.loads(body))
            else:
                self.requests.append(f"{handler.command} {path}")
                self._answer(handler, 403, {"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "not expected"})

    def _with_status(self, path, status):
        collection, name = path.rsplit("/", 2)[0], path.rsplit("/", 2)[1]
        [found] = [thing for thing in self.collections[collection] if thing["metadata"]["name"] == name]
        found["status"] = status
        found["metadata"]["resourceVersion"] = str(self._version)
        return found

    @staticmethod
    def _answer(handler, code, document):
        data = json.dumps(document).encode()
        handler.send_response(code)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)


def now(offset=0):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + offset))
