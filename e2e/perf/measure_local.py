# SPDX-License-Identifier: Apache-2.0
"""Measures a local run compared to the OCI runtime alone, with the same image and program."""

import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from bench import images, oci

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LONGSHORE_BUILD") or ROOT / "build/dev")
ITEM = """apiVersion: landscaper.gardener.cloud/v1alpha1
kind: DeployItem
metadata: {name: bench}
spec:
  type: landscaper.gardener.cloud/container
  config:
    apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1
    kind: ProviderConfiguration
    image: "oci-archive:busybox.tar"
    command: [/bin/true]
"""


def _timed(command, directory, rounds):
    seconds = []
    for _ in range(rounds):
        begin = time.monotonic()
        subprocess.run(command, cwd=directory, check=True, capture_output=True)
        seconds.append(time.monotonic() - begin)
    return statistics.median(seconds)


def _bundle(directory, rootfs):
    subprocess.run(["runc", "spec"], cwd=directory, check=True)
    spec = json.loads((directory / "config.json").read_text())
    spec["process"].update(args=["/bin/true"], terminal=False)
    spec["root"] = {"path": str(rootfs), "readonly": True}
    (directory / "config.json").write_text(json.dumps(spec))


def overhead(quick):
    rounds = 5 if quick else 30
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "busybox.tar").write_bytes(oci.archive(images.busybox(), "x"))
        (directory / "item.yaml").write_text(ITEM)
        run = [BUILD / "deployer/longshore", "run", "item.yaml", "--state", "state", "--cache", "cache", "-o", "json"]
        subprocess.run(run, cwd=directory, check=True, capture_output=True)
        bundle = directory / "bundle"
        bundle.mkdir()
        _bundle(bundle, next((directory / "cache/rootfs").iterdir()) / "root")
        alone = _timed(["runc", "run", "longshore-bench"], bundle, rounds)
        whole = _timed(run, directory, rounds)
        return {"runtimeMs": alone * 1000, "runMs": whole * 1000, "ratio": whole / alone}
