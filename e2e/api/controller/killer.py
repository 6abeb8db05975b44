# SPDX-License-Identifier: Apache-2.0
"""Kills a controller at a given request."""

import threading

from faults.proxy import Action, PASS

# More than any run or deletion needs. The test ends when a run completes before the request at which it would be killed.
REQUESTS_MAX = 40


def resource_of(path):
    """.../namespaces/NS/RESOURCE[/NAME[/SUBRESOURCE]], or /apis/GROUP/VERSION/RESOURCE..., as RESOURCE[/SUBRESOURCE]."""
    path = path.partition("?")[0]
    parts = path.partition("/namespaces/")[2].split("/")[1:] or path.split("/")[4:] or ["discovery"]
    return parts[0] if len(parts) < 3 else f"{parts[0]}/{parts[2]}"


class Killer:
    """Kills the controller at its n-th request after arm(n)."""

    def __init__(self, moment):
        self.moment = moment        # "before": the server does not get the request; "after": it does, but the response is lost
        self.left = None
        self.controller = None
        self.has_killed = threading.Event()
        self.seen = []
        self._lock = threading.Lock()

    def arm(self, number):
        self.seen, self.left = [], number
        self.has_killed.clear()

    def plan(self, request):
        if request.is_watch or "/events" in request.path:
            return PASS
        with self._lock:
            if self.left is None:
                return self._pass(request)
            self.seen.append(f"{request.method} {resource_of(request.path)}")
            self.left -= 1
            if self.left != 0:
                return self._pass(request)
            self.left = None
        if self.moment == "before":
            return Action(forward=False, lose=True, before=self._kill)
        return Action(lose=True, applied=self._kill)

    def _pass(self, request):
        """Answers requests for logs: there is no kubelet for the server to ask, and retrying takes time."""
        return Action(forward=False, answer=(200, b"boom\n")) if request.path.endswith("/log") else PASS

    def _kill(self):
        self.controller.kill()
        self.has_killed.set()
