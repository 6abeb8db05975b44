# SPDX-License-Identifier: Apache-2.0
"""Prometheus, which reads the metrics of a program and evaluates expressions over them."""

import json
import tempfile
import urllib.error
import urllib.parse
import urllib.request

import yaml

from bench import paths, ports
from bench.process import Process


class Prometheus:
    """Runs with one scrape configuration, a document as under scrape_configs."""

    def __init__(self, scrape):
        self._data = tempfile.TemporaryDirectory(prefix="prometheus-", dir=paths.run_directory())
        configuration = f"{self._data.name}/prometheus.yml"
        with open(configuration, "w") as file:
            yaml.safe_dump({"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [scrape]}, file)
        self.url = f"http://127.0.0.1:{ports.free_port()}"
        self.process = Process("prometheus", [paths.installed("prometheus"), f"--config.file={configuration}", f"--storage.tsdb.path={self._data.name}/data",
                                              f"--web.listen-address={self.url.removeprefix('http://')}"])
        # A rate needs two samples.
        self.process.wait_until(lambda: any(int(row["value"][1]) >= 3 for row in self._try("count_over_time(process_cpu_seconds_total[5m])")), "samples")

    def query(self, expression):
        """The series that an expression yields now: {"metric": {label: value}, "value": [time, text]}."""
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': expression})}", timeout=30) as answer:
            return json.load(answer)["data"]["result"]

    def _try(self, expression):
        try:
            return self.query(expression)
        except (urllib.error.URLError, OSError):  # it does not listen yet
            return []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stop()
        self._data.cleanup()
