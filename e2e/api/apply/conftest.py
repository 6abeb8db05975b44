# SPDX-License-Identifier: Apache-2.0
"""Runs apply_driver, which does one job with the library common/apply, and remembers what the job recorded."""

import itertools
import json
import os
import pathlib
import subprocess

import pytest

from bench import paths

CRASHED = 9
_users = itertools.count(1)


def program():
    build = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or paths.CHECKOUT / "build" / "dev")
    driver = build / "common" / "apply" / "apply_driver"
    assert driver.exists(), f"{driver} is not built; LONGSHORE_BUILD names the build directory"
    return driver


class Item:
    """What one owner applies. Every item is a user of its own, so that the audit log tells their requests apart."""

    def __init__(self, apiserver, folder, *, admin=True):
        self.user = f"applier-{next(_users)}"
        self._audit = apiserver.audit
        self._kubeconfig = apiserver.user_kubeconfig(self.user, groups=["system:masters"] if admin else [])
        self._job = folder / f"{self.user}-job.json"
        self._record = folder / f"{self.user}-record.json"

    def run(self, *manifests, crashes=False, **job):
        """A manifest is an object, or a dict with the members manifest, policy, ... Returns the driver's answer, or None if it
        crashed, as it was asked to."""
        rows = [row if "manifest" in row else {"manifest": row} for row in manifests]
        self._job.write_text(json.dumps({"owner": self.user, **job, "manifests": rows}))
        mark = self._audit.mark()
        done = subprocess.run([program(), self._kubeconfig, self._job, self._record], capture_output=True, timeout=120)
        if crashes and done.returncode == CRASHED:
            return None
        assert done.returncode == 0, done.stderr.decode()
        answer = json.loads(done.stdout)
        answer["requests"] = [f"{entry['verb']} {entry['objectRef']['resource']}" if "objectRef" in entry
                              else f"{entry['verb']} {entry['requestURI'].partition('?')[0]}"
                              for entry in self._audit.entries(mark, user=self.user)]
        return answer

    def record(self):
        """{(kind, name): entry}"""
        rows = json.loads(self._record.read_text()) if self._record.exists() else []
        return {(row["resource"]["kind"], row["resource"]["name"]): row for row in rows}

    def forget(self):
        self._record.unlink()


@pytest.fixture
def make_item(apiserver, tmp_path):
    return lambda **options: Item(apiserver, tmp_path, **options)


@pytest.fixture
def item(make_item):
    return make_item()
