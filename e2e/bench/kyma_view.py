# SPDX-License-Identifier: Apache-2.0
"""What the control plane says about thousands of Kymas, from one watch: to list them again and again would keep the simulation busy."""

import collections
import http.client
import threading
import time

from bench.fleet_modules import API
from bench.kube import ApiError

KYMAS = f"{API}/kymas"
RETRY_SECONDS = 0.5
SILENT_SECONDS = 24 * 3600  # nothing may happen for long


def _facts(thing):
    """The state, and the modules as name -> (version, state)."""
    status = thing.get("status", {})
    return status.get("state", ""), {module["name"]: (module.get("version"), module["state"]) for module in status.get("modules", [])}


class KymaView:
    """Starts to watch when constructed."""

    def __init__(self, kube, namespace):
        self._kube, self._namespace = kube, namespace
        self._changed = threading.Condition()
        self._kymas = {}
        self._is_closed = False
        self.states = collections.Counter()  # state -> number of Kymas
        self.versions = collections.Counter()  # (module, version) -> number of Kymas that report it as Ready
        threading.Thread(target=self._run, daemon=True).start()

    def close(self):
        self._is_closed = True

    def _run(self):
        while not self._is_closed:
            try:
                self._follow()
            except (ApiError, OSError, http.client.HTTPException):
                time.sleep(RETRY_SECONDS)

    def _follow(self):
        found = self._kube.list(KYMAS, self._namespace)
        there = {thing["metadata"]["name"]: thing for thing in found["items"]}
        for name in {*self._kymas, *there}:
            self._note(name, there.get(name))
        for event, thing in self._kube.watch(KYMAS, self._namespace, SILENT_SECONDS, resourceVersion=found["metadata"]["resourceVersion"]):
            if event == "ERROR":
                return
            self._note(thing["metadata"]["name"], None if event == "DELETED" else thing)

    def _note(self, name, thing):
        with self._changed:
            self._count(self._kymas.pop(name, None), -1)
            if thing is not None:
                self._kymas[name] = _facts(thing)
                self._count(self._kymas[name], 1)
            self._changed.notify_all()

    def _count(self, facts, by):
        if facts is None:
            return
        state, modules = facts
        self.states[state] += by
        for module, (version, module_state) in modules.items():
            if module_state == "Ready":
                self.versions[module, version] += by

    def module_state(self, kyma, module):
        return self._kymas.get(kyma, ("", {}))[1].get(module, ("", ""))[1]

    def wait(self, condition, what, program, timeout):
        """Waits until the condition, which asks this view, is met while the program runs."""
        end = time.monotonic() + timeout
        with self._changed:
            while not condition():
                program.must_run()
                if time.monotonic() > end:
                    raise TimeoutError(f"{what}: states {+self.states}, versions {+self.versions}")
                self._changed.wait(1)
