# SPDX-License-Identifier: Apache-2.0
"""SIGTERM ends init although it is process 1 of its container, where the kernel ignores signals without a handler."""

import os
import pathlib
import signal
import subprocess

import pytest

from bench import paths
from bench.waiting import wait_until
from faults.proxy import Action, FaultProxy
from init.harness import FSGROUP, GID, UID
from init.parts import blueprint_blob, context, descriptor, push_component, reference, resource

NAME = "example.com/termination/app"
REFUSE = Action(forward=False, answer=(503, {}))
HANG = Action(forward=False, hang=True, break_after=60)
# What a shell reports for a process that SIGTERM has killed; the kubelet shows it as the exit code.
TERMINATED = 128 + signal.SIGTERM


def start_as_process_1(pod, configuration):
    """Starts init as process 1 of a PID namespace, as the user of the pod. Returns unshare, whose child it is."""
    pod.write("configuration.json", configuration)
    command = [paths.installed("unshare"), "--pid", "--fork", "--kill-child",
               paths.installed("setpriv"), "--reuid", str(UID), "--regid", str(GID), "--groups", str(FSGROUP),
               "--inh-caps=-all", *pod.command()]
    return subprocess.Popen(command, env={"PATH": os.environ["PATH"], **pod.env}, cwd="/", umask=0o022,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def child_of(process):
    return int(pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())


@pytest.mark.parametrize("answer", [REFUSE, HANG], ids=["between two attempts", "during a request"])
def test_sigterm_ends_init_as_process_1(as_root, pod, registry, answer):
    blob = blueprint_blob()
    push_component(registry.client(), "termination", descriptor(NAME, resources=[resource(blob)]), [blob])
    with FaultProxy(registry, lambda request: answer) as proxy:
        process = start_as_process_1(pod, reference(context(f"{proxy.url}/termination"), NAME, blueprint="blueprint"))
        try:
            wait_until(lambda: proxy.requests, "the first request of init")
            os.kill(child_of(process), signal.SIGTERM)
            # Without a handler init goes on to its deadline and exits with 1.
            assert process.wait(60) == TERMINATED
        finally:
            process.kill()
            process.wait()
    # The files that are left in the volume do not disturb the next start.
    result = pod.run(reference(context(f"{registry.url}/termination"), NAME, blueprint="blueprint")).must_succeed()
    assert "blueprint.yaml" in result.content()
