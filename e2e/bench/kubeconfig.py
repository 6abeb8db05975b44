# SPDX-License-Identifier: Apache-2.0
"""Kubeconfig files."""

import base64
import json
import pathlib


def _inline(path):
    return base64.b64encode(pathlib.Path(path).read_bytes()).decode()


def write(path, server, authority, *, pair=None, token=None, token_file=None, namespace="default"):
    """Writes a kubeconfig with all data inline, so that the file can be moved or put into a Secret. Returns its path."""
    user = {}
    if pair is not None:
        user = {"client-certificate-data": _inline(pair.certificate), "client-key-data": _inline(pair.key)}
    if token is not None:
        user["token"] = token
    if token_file is not None:
        user["tokenFile"] = str(token_file)
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {"server": server, "certificate-authority-data": _inline(authority)}}],
        "users": [{"name": "bench", "user": user}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench", "namespace": namespace}}],
    }
    path = pathlib.Path(path)
    path.touch(mode=0o600)
    # JSON is valid YAML, and every client accepts it.
    path.write_text(json.dumps(config, indent=2) + "\n")
    return path
