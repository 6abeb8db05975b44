# SPDX-License-Identifier: Apache-2.0
"""Measures init and wait with inputs of different sizes: memory must not grow with them. Compares the stored bytes to a plain
tar.gz."""

import gzip
import io
import os
import random
import shutil
import subprocess
import tarfile
import time

from bench import paths
from bench.apiserver import ApiServer
from bench.proc import memory
from bench.registry import Registry
from init import samples
from init.parts import blueprint_blob, context, descriptor, push_component, reference, resource
from init.harness import Pod
from wait.harness import Item, ended, wait_for_log
from wait.reader import newest_generation

MIB = 1 << 20
NAME = "example.com/bench/app"


def _sizes(quick):
    return (1, 4) if quick else (1, 10, 50, 200)


def _random_files(mib, seed=7):
    chance = random.Random(seed)
    return {f"file-{number}": chance.randbytes(MIB) for number in range(mib)}


def _peak_while(process):
    """The largest RssAnon, which is sampled, and the largest RSS, which the kernel keeps, of a process during its life."""
    peak = {"RssAnon": 0, "VmHWM": 0}
    while process.poll() is None:
        try:
            found = memory(process.pid)
        except OSError:
            continue
        peak = {name: max(value, found.get(name, 0)) for name, value in peak.items()}
        time.sleep(0.001)
    return peak


def _pod():
    return Pod(paths.fresh_directory("init"))


def _init(pod, configuration, env=None):
    pod.write("configuration.json", configuration)
    with open(pod.directory / "log", "wb") as log:
        process = subprocess.Popen(pod.command(), env={"PATH": os.environ["PATH"], **pod.env, **(env or {})}, cwd="/", umask=0o022,
                                   stderr=log, **pod.identity())
        peak = _peak_while(process)
    assert process.returncode == 0, (pod.directory / "log").read_text()[-2000:]
    shutil.rmtree(pod.directory, ignore_errors=True)
    return peak


def init_by_size(quick):
    rows = []
    registry = Registry()
    try:
        for mib in _sizes(quick):
            files = _random_files(mib)
            blob = blueprint_blob(files)
            push_component(registry.client(), "bench", descriptor(NAME, f"1.0.{mib}", resources=[resource(blob)]), [blob])
            of_blob = _init(_pod(), reference(context(f"{registry.url}/bench"), NAME, f"1.0.{mib}", "blueprint"))
            pod = _pod()
            directory = samples.mount(pod.inputs / "state", samples.own(files, 1))
            of_state = _init(pod, {}, {"LONGSHORE_STATE_SOURCE_DIR": str(directory)})
            rows.append({"mib": mib, "blobAnonBytes": of_blob["RssAnon"], "blobRssBytes": of_blob["VmHWM"],
                         "stateAnonBytes": of_state["RssAnon"], "stateRssBytes": of_state["VmHWM"]})
    finally:
        registry.close()
    return rows


def _tar_gz_size(files):
    """The size of an archive as Python writes it, with our default compression level."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return len(out.getvalue())


def wait_by_size(quick):
    rows = []
    server = ApiServer()
    try:
        server.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bench-sizes"}})
        for mib in _sizes(quick):
            item = Item(server, "bench-sizes")
            files = _random_files(mib)
            item.write_state(files)
            process = item.start(flags=["-v", "debug"])
            wait_for_log(process, "the pod was seen")
            time.sleep(1)
            waiting = memory(process.pid)
            item.end_main()
            peak = _peak_while(process._popen)
            ended(process, 0)
            stored = len(newest_generation(item.kube, item).data)
            rows.append({"mib": mib, "waitingRssBytes": waiting["VmRSS"], "storingRssBytes": peak["VmHWM"],
                         "storingAnonBytes": peak["RssAnon"], "storedBytes": stored, "tarGzBytes": _tar_gz_size(files)})
    finally:
        server.close()
    return rows
