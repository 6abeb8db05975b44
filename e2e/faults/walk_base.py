# SPDX-License-Identifier: Apache-2.0
"""What all random walks have in common: a seed, a controller that is killed and started again, and a report."""

import collections
import signal
import time

from bench.process import forget
from faults.chance import Chance, kind_of
from faults.proxy import Action

# Reached only if a program is broken. The longest walk of the tests takes 90 s on two cores, and longer if every request takes half a second. More than the timeout
# of a job, so that a job that hangs is reported with its status.
LIMIT_SECONDS = 900
LOOK_SECONDS, LOOK_ANYWAY_SECONDS = 0.1, 2
ITEMS = "/apis/landscaper.gardener.cloud/v1alpha1/deployitems"


class Broken(AssertionError):
    """An invariant does not hold."""


class ControllerWalk:
    """Subclasses set world and controller_proxy, and implement start_controller() and command()."""

    def __init__(self, seed, rate):
        self.seed = seed
        self.chance = Chance(seed, rate)
        self.rng = self.chance.rng("script")
        self.crashes = {}           # "before" or "after", by the number of the request of the controller
        self.other_faults = collections.Counter()     # faults that no proxy injected, by kind
        self.failures = []          # violated invariants reported by other threads
        self.world = self.controller = None
        self.began = time.monotonic()
        self.deadline = self.began + LIMIT_SECONDS

    def make_namespace(self, kube):
        """Creates a namespace and returns its name and the function for FaultProxy.rewrite that hides the items of others."""
        name = f"walk-{self.seed}-{int(time.time() * 1000):x}"
        kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        own = f"/apis/landscaper.gardener.cloud/v1alpha1/namespaces/{name}/deployitems"
        return name, lambda path: own if path == ITEMS else path

    def wait_for(self, condition, what):
        """Checks after each request of the controller and at intervals: polling would cost the API server more than the walk."""
        seen, looked = None, 0
        while True:
            if self.failures:
                raise Broken("; ".join(self.failures))
            self._restart_if_killed()
            now, requests = time.monotonic(), len(self.controller_proxy.requests)
            if requests != seen or now - looked > LOOK_ANYWAY_SECONDS:
                seen, looked = requests, now
                if condition():
                    return
            if now > self.deadline:
                raise Broken(f"timed out after {LIMIT_SECONDS} s waiting for: {what() if callable(what) else what}")
            time.sleep(LOOK_SECONDS)

    def stop_controller(self):
        code = self.controller.stop()
        # The last fault may have killed it just now.
        was_killed = code == -signal.SIGKILL and bool(self.chance.drawn) and self.chance.drawn[-1][2].startswith("killed")
        if code != 0 and not was_killed:
            raise Broken(f"the controller ended with {code}")

    def _restart_if_killed(self):
        if self.controller.running:
            return
        if self.controller.exit_code != -signal.SIGKILL:
            raise Broken(f"the controller exited unexpectedly with {self.controller.exit_code}")
        self.start_controller()

    def crash_at(self, number, request):
        """The action that kills the controller at its n-th request; None: it lives."""
        moment = self.crashes.get(number)
        if not moment:
            return None
        self.chance.drawn.append(("controller", kind_of(request), f"killed {moment}"))
        self.other_faults["controller killed"] += 1
        # This runs in a thread of the proxy. The thread of the walk starts the next controller.
        kill = self.controller.kill
        return Action(forward=False, lose=True, before=kill) if moment == "before" else Action(lose=True, applied=kill)

    def figures(self, proxies, **more):
        faults = sum((proxy.injected for proxy in proxies), self.other_faults)
        return {"seed": self.seed, **more, "requests": sum(len(proxy.requests) for proxy in proxies),
                "faults": dict(sorted(faults.items())), "seconds": round(time.monotonic() - self.began, 2)}

    def broken(self, error):
        drawn = "\n".join("    " + ": ".join(fault) for fault in self.chance.drawn)
        tail = "\n".join(self.controller.output().splitlines()[-15:]) if self.controller else ""
        broken = Broken(f"walk {self.seed}: {error}\n  repeat it with: {self.command()}\n  faults:\n{drawn}\n  controller:\n{tail}")
        broken.seed = self.seed
        return broken

    def close(self):
        self.world.close()
        for controller in self.world.controllers:
            forget(controller)
