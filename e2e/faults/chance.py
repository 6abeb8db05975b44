# SPDX-License-Identifier: Apache-2.0
"""Chooses which fault hits which request of a walk: a pure function of the seed, the actor, the kind of request and its number.

So a seed always produces the same faults, whatever the scheduling of threads and processes.
"""

import collections
import random
import threading

from faults.proxy import PASS, Action, status

INTERNAL_ERROR, REFUSED_STREAM = 2, 7
IN_A_ROW_MAX = 2        # so that a client that retries succeeds
FAULTY_MAX = 30         # per kind of request, so that every walk ends
PAGE = (200, b"<html>Please log in to the hotel's network</html>", {"content-type": "text/html"})


def _cut(rng, by, **more):
    return Action(cut=rng.choice([0, 1, 100, rng.randrange(4000)]), cut_by=by, **more)


def _half_open(rng):
    """Ends with a reset, as from a firewall that has dropped the connection state; a watch would otherwise wait for minutes."""
    seconds = 1 + 3 * rng.random()
    return rng.choice([Action(forward=False, freeze=True, break_after=seconds), Action(freeze=True, break_after=seconds),
                       _cut(rng, "freeze", break_after=seconds)])


# name: (weight, kinds of requests, action); "any" is any request except a watch. No fault makes a false statement about
# objects, as a 404 or an AlreadyExists would.
FAULTS = {
    "lost before it was applied": (3, {"any", "watch"}, lambda rng: Action(forward=False, lose=True)),
    "lost after it was applied": (4, {"any"}, lambda rng: Action(lose=True)),
    "cut": (4, {"any", "watch"}, lambda rng: _cut(rng, "break")),
    "RST_STREAM in the middle": (3, {"any", "watch"}, lambda rng: _cut(rng, "reset")),
    "GOAWAY in the middle": (2, {"any", "watch"}, lambda rng: _cut(rng, "goaway")),
    "GOAWAY": (2, {"any", "watch"}, lambda rng: Action(goaway=True)),
    "RST_STREAM": (2, {"any", "watch"}, lambda rng: Action(forward=False, reset=rng.choice([REFUSED_STREAM, INTERNAL_ERROR]))),
    "RST_STREAM after it was applied": (2, {"any"}, lambda rng: Action(reset=INTERNAL_ERROR)),
    "409": (3, {"PATCH", "PUT"}, lambda rng: Action(forward=False, answer=status(409, "Conflict"))),
    "410": (2, {"list", "watch"}, lambda rng: Action(forward=False, answer=status(410, "Expired"))),
    "429": (1, {"any", "watch"}, lambda rng: Action(forward=False, answer=status(429, "TooManyRequests", retry_after=1))),
    "500": (2, {"any", "watch"}, lambda rng: Action(forward=False, answer=status(500, "InternalError"))),
    "503": (2, {"any", "watch"}, lambda rng: Action(forward=False, answer=status(503, "ServiceUnavailable"))),
    "slow": (2, {"any", "watch"}, lambda rng: Action(delay=rng.random())),
    "garbage": (1, {"any"}, lambda rng: Action(answer=PAGE)),
    "noise": (1, {"any", "watch"}, lambda rng: Action(forward=False, noise=rng.randbytes(100))),
    "half-open": (2, {"any", "watch"}, _half_open),
    # Only the timeout of the client ends it. Rare, because the controller has a timeout of 20 s; see SHORT_TIMEOUT_WEIGHTS.
    "half-open for good": (0.05, {"any"}, lambda rng: Action(forward=rng.random() < 0.5, freeze=True)),
}
# Weights for a program whose timeouts are short.
SHORT_TIMEOUT_WEIGHTS = {"half-open for good": 4}


def categories_of(request):
    """The kinds in FAULTS that a request belongs to."""
    if request.is_watch:
        return {"watch"}
    is_list = request.method == "GET" and not _name(request)
    return {"any", request.method, "list"} if is_list else {"any", request.method}


def _parts(request):
    parts = request.path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    return parts[2:] if parts[:1] == ["namespaces"] else parts


def _name(request):
    return _parts(request)[1:2]


def kind_of(request):
    """The kind of a request, without the names of objects."""
    parts = _parts(request)
    return f"{'WATCH' if request.is_watch else request.method} {'/'.join(parts[:1] + parts[2:])}"


class Chance:
    def __init__(self, seed, rate):
        self.seed, self.rate = seed, rate
        self.drawn = []             # (actor, request, fault) for reports; the faults that took effect are in FaultProxy.injected
        self._counts = collections.Counter()
        self._lock = threading.Lock()

    def rng(self, *about):
        return random.Random(f"{self.seed}/{'/'.join(map(str, about))}")

    def count(self, *about):
        """How often count was called with these arguments before."""
        with self._lock:
            self._counts[about] += 1
            return self._counts[about] - 1

    def _is_hit(self, actor, kind, number, rate):
        return 0 <= number < FAULTY_MAX and self.rng(actor, kind, number).random() < rate

    def pick(self, actor, kind, categories, *, weights={}, times=1):
        """The action for the next request of this kind. times multiplies the fault rate for this actor."""
        number, rate = self.count(actor, kind), self.rate * times
        before = range(number - IN_A_ROW_MAX, number)
        if not self._is_hit(actor, kind, number, rate) or all(self._is_hit(actor, kind, other, rate) for other in before):
            return PASS
        rng = self.rng(actor, kind, number, "which")
        names = [name for name in FAULTS if FAULTS[name][1] & categories]
        name = rng.choices(names, [weights.get(name, FAULTS[name][0]) for name in names])[0]
        with self._lock:
            self.drawn.append((actor, f"{kind} #{number}", name))
        return FAULTS[name][2](rng)
