# SPDX-License-Identifier: Apache-2.0
"""etcd, the store behind an API server."""

import json
import shutil
import subprocess
import urllib.error
import urllib.request

from bench import paths


def _known_flags(wanted):
    """The subset of the flags that this version of etcd supports."""
    text = subprocess.run([paths.installed("etcd"), "--help"], capture_output=True, text=True)
    return [flag for flag in wanted if flag.split("=")[0].lstrip("-") in text.stdout + text.stderr]


class Etcd:
    """A single member that keeps its data in a directory."""

    def __init__(self, location, request_bytes=16777216):
        """request_bytes=None keeps the default limit of etcd, 1.5 MiB, which most clusters have."""
        self._location, self._directory = location, location.directory("etcd")
        self.url = f"http://{location.address}:{location.port(2379)}"
        peer = f"http://127.0.0.1:{location.port(2380)}"
        self._command = [
            paths.installed("etcd"), f"--data-dir={self._directory}", "--name=bench",
            f"--listen-client-urls={self.url}", f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=bench={peer}",
            "--quota-backend-bytes=8589934592", *([f"--max-request-bytes={request_bytes}"] if request_bytes else []),
            *_known_flags(["--unsafe-no-fsync=true"])]
        self._start()

    def _start(self):
        self.process = self._location.start("etcd", self._command)
        self.process.wait_until(self._healthy, "healthy")

    def _healthy(self):
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def call(self, method, message):
        """Calls a method of etcd's JSON gateway, e.g. kv/range."""
        request = urllib.request.Request(f"{self.url}/v3/{method}", data=json.dumps(message).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def revision(self):
        return int(self.call("kv/range", {"key": "eA==", "count_only": True})["header"]["revision"])

    def compact(self):
        """Removes all history: a watch from any revision so far fails because its revision is compacted."""
        # No client may hold the revision that is compacted to, nor the one before it: make two writes without meaning.
        for value in ("MQ==", "Mg=="):
            self.call("kv/put", {"key": "L2xvbmdzaG9yZS1iZW5jaA==", "value": value})
        revision = self.revision()
        self.call("kv/compaction", {"revision": str(revision), "physical": True})

    def _while_stopped(self, work):
        self.process.kill()
        work()
        self._start()

    def backup(self):
        """Copies all data, for restore(). The API server must be stopped first."""
        copy = paths.fresh_directory("etcd-backup")
        self._while_stopped(lambda: shutil.copytree(self._directory, copy, dirs_exist_ok=True))
        return copy

    def restore(self, copy):
        """Restores the data of a backup, including the revision counter. The API server must be stopped first."""
        def put_back():
            shutil.rmtree(self._directory)
            shutil.copytree(copy, self._directory)
        self._while_stopped(put_back)

    def stop(self):
        self.process.stop()
