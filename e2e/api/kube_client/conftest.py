# SPDX-License-Identifier: Apache-2.0
"""Drives the client of common/kube with kube_driver: JSON commands in, JSON answers out."""

import itertools
import json
import os
import pathlib
import subprocess

import pytest

from bench import paths
from bench.process import Process
from bench.waiting import wait_until


def program():
    build = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or paths.CHECKOUT / "build" / "dev")
    driver = build / "common" / "kube" / "kube_driver"
    assert driver.exists(), f"{driver} is not built; LONGSHORE_BUILD names the build directory"
    return driver


class Driver:
    """A running kube_driver. Answers are found by the id of their command."""

    def __init__(self, *arguments, env=None):
        self.process = Process("kube_driver", [program(), *arguments], stdin=subprocess.PIPE,
                               env={**os.environ, **(env or {})})
        self._ids = itertools.count(1)
        self._lines = []
        self._read_to = 0

    def _answers(self):
        with open(self.process.log, "rb") as log:
            log.seek(self._read_to)
            data = log.read()
        whole = data[:data.rfind(b"\n") + 1]
        self._read_to += len(whole)
        # Other output, such as the report of a sanitizer, ends the process, which is detected elsewhere.
        self._lines += [json.loads(line) for line in whole.splitlines() if line.startswith(b"{")]
        return self._lines

    def answers(self, identity):
        return [line for line in self._answers() if line["id"] == identity]

    def send(self, do, **command):
        """Starts a command and returns the id of its answers."""
        identity = str(next(self._ids))
        line = json.dumps({"do": do, "id": identity, **command}) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        return identity

    def wait(self, identity, condition=lambda line: True, what="an answer", timeout=120):
        """Waits for the first answer with this id that meets the condition."""
        def check():
            found = [line for line in self.answers(identity) if condition(line)]
            if not found:
                self.process.must_run()
            return found
        return wait_until(check, f"kube_driver: {what}", timeout)[0]

    def call(self, verb, plural, name=None, namespace=None, **more):
        """Sends one request and returns its answer: {"object": ...} or {"error": ...}."""
        more.update({key: value for key, value in (("name", name), ("namespace", namespace)) if value is not None})
        return self.wait(self.send("call", verb=verb, plural=plural, **more), what=f"{verb} {plural} {name}")

    def watch(self, plural, namespace=None, **more):
        if namespace is not None:
            more["namespace"] = namespace
        return self.send("watch", plural=plural, **more)

    def event(self, identity, event, name=None, after=0, timeout=120):
        """Waits for an event of a watch, optionally for an object and after a number of other events."""
        return self.wait(identity, lambda line: line["event"] == event and name in (None, line["name"]) and
                         line["count"] > after, f"{event} of {name}", timeout)

    def stats(self):
        return self.wait(self.send("stats"))

    def close(self):
        """Ends the driver cleanly: a leak or a crash fails the test."""
        if self.process.running:
            self.process.stdin.close()
            self.process.wait(60)
        assert self.process.exit_code == 0, f"kube_driver ended with {self.process.exit_code}"


@pytest.fixture
def make_driver():
    """make_driver("--kubeconfig", path): drivers that must exit with 0."""
    drivers = []

    def make(*arguments, **options):
        drivers.append(Driver(*arguments, **options))
        return drivers[-1]

    yield make
    for driver in drivers:
        driver.close()


@pytest.fixture
def driver(make_driver, apiserver):
    """The driver as admin of the shared API server."""
    return make_driver("--kubeconfig", apiserver.kubeconfig)


@pytest.fixture
def secret():
    """secret(name, size=0): a Secret object."""
    def make(name, size=0, **metadata):
        import base64
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, **metadata},
                "data": {"content": base64.b64encode(b"x" * size).decode()}}
    return make
