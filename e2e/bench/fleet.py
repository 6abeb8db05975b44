# SPDX-License-Identifier: Apache-2.0
"""The simulated fleet (e2e/fleet): many API servers in one process, each on its own address in 127.0.0.0/8."""

import base64
import json
import os
import pathlib
import urllib.error
import urllib.parse
import urllib.request

import yaml

from bench import paths, ports
from bench.kube import Client
from bench.process import Process

BUILD = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or paths.CHECKOUT / "build" / "dev")
FLEET = BUILD / "e2e" / "fleet" / "fleet"


class Fleet:
    """Starts when constructed. Clusters are numbered from 0; a range is a number or a pair (first, last)."""

    def __init__(self, clusters, *flags, variables=None):
        self.count = clusters
        self.port, self.control_port = ports.free_port(), ports.free_port()
        self.process = Process("fleet", [FLEET, "--clusters", clusters, "--port", self.port,
                                         "--control-port", self.control_port, *flags], env={**os.environ, **(variables or {})})
        self.process.wait_until(self._ready, "ready")

    def _ready(self):
        try:
            return self.get("memory", 0)
        except (urllib.error.URLError, ConnectionError):
            return None

    def close(self):
        self.process.stop()

    # --- control ---

    def _control(self, method, path, clusters, **query):
        if clusters is not None:
            query["clusters"] = clusters if isinstance(clusters, (int, str)) else f"{clusters[0]}-{clusters[1]}"
        url = f"http://127.0.0.1:{self.control_port}/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=120) as answer:
            return answer.read()

    def get(self, what, clusters=None):
        """counters, memory or kubeconfigs, of all clusters unless some are chosen."""
        return json.loads(self._control("GET", what, clusters))

    def command(self, name, clusters=None, **query):
        """fault, heal, restart, expire, certificate, token, log, reset, terminate: see e2e/fleet/README.md."""
        self._control("POST", name, clusters, **query)

    def log(self, cluster):
        """The requests to a cluster since command("log", cluster)."""
        return [json.loads(line) for line in self._control("GET", "log", cluster).splitlines()]

    def requests(self, clusters=None, **wanted):
        """How many requests with these values of verb, resource and code there were."""
        return sum(row["count"] for row in self.get("counters", clusters)["byRequest"]
                   if all(row[key] == value for key, value in wanted.items()))

    # --- clients ---

    def kubeconfig(self, cluster):
        """The text of a cluster's kubeconfig."""
        return self.get("kubeconfigs", cluster)[str(cluster)]

    def kubeconfig_file(self, cluster):
        path = paths.run_directory() / f"fleet-{os.getpid()}-{self.port}-{cluster}.yaml"
        path.write_text(self.kubeconfig(cluster))
        return path

    def client(self, cluster):
        config = yaml.safe_load(self.kubeconfig(cluster))
        target, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = paths.run_directory() / f"fleet-{os.getpid()}-{self.port}-{cluster}.pem"
        authority.write_bytes(base64.b64decode(target["certificate-authority-data"]))
        return Client(target["server"], authority, token=user["token"])
