# SPDX-License-Identifier: Apache-2.0
"""Runs kube_load, the load generator of the measurements: it acts as a kubelet that finishes pods at once, or repeats
API requests."""

import json
import os
import pathlib
import subprocess

from bench import paths
from bench.process import Process

BUILD = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or paths.CHECKOUT / "build" / "dev")
PROGRAM = BUILD / "common" / "kube" / "kube_load"
# In any string of a request this is replaced by the number of the run.
N = "@N@"


def kubelet(server, namespace):
    kubeconfig = server.user_kubeconfig("kubelet", groups=["system:masters"])
    return Process("kube_load", [PROGRAM, kubeconfig, "kubelet", namespace])


def repeat(server, requests, count, width=32):
    """Sends the list of requests count times, with up to width lists in parallel. A C program sends them, because Python would
    be slower than the server. Returns {"requests", "failed", "seconds"}."""
    return send(server.user_kubeconfig("load", groups=["system:masters"]), requests, count, width)


def send(kubeconfig, requests, count, width=32):
    """The same with a kubeconfig."""
    done = subprocess.run([PROGRAM, kubeconfig, "floor", str(count), str(width)], input=json.dumps(requests),
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def request(verb, resource, namespace, name=None, subresource=None, body=None, **more):
    """resource as in bench.kube: "secrets", "group/version/plural"."""
    group_version, _, plural = resource.rpartition("/")
    group, _, version = group_version.rpartition("/")
    found = {"verb": verb, "group": group, "version": version or "v1", "plural": plural, "namespace": namespace,
             "name": name, "subresource": subresource, "body": body, **more}
    return {key: value for key, value in found.items() if value is not None}
